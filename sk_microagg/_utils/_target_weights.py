"""How much columns tell of a target."""

from typing import Any

import numpy as np

from sk_microagg._utils._seeds import check_seed
from sk_microagg._utils._slopes import slopes
from sk_microagg._utils._targets import as_numbers
from sk_microagg._utils._typing import Array, Estimator, Floats, RandomState
from sk_microagg._utils._validation import own_copy

# A column that tells nothing has this share of the largest weight.
FLOOR = 0.1

# Each of two quick forests.
N_TREES = 50
MIN_RECORDS_PER_LEAF = 5
COORDINATES_PER_SPLIT = 50
RECORDS_PER_FOREST = 20_000

# Weights are powers of this. Finer ones would depend on single records, so that guesses at one
# could be tested.
STEP = 2.0

# Below this many standard errors, what a column tells may be chance, and depends on single records:
# it counts as this much.
STANDARD_ERRORS = 5.0


def target_weights(
    points: Any,
    column_of: Array,
    y: Array,
    floor: float = FLOOR,
    random_state: RandomState = 0,
    estimator: Estimator = None,
) -> Floats:
    """Weights of columns by what two forests find them to tell of a target."""
    random = check_seed(random_state)
    if estimator is None:
        told, chance = _told_by_forests(points, column_of, y, random)
    else:
        told = np.bincount(column_of, _importances(estimator, points, y, random_state))
        chance = STANDARD_ERRORS / np.sqrt(points.shape[0])
    if told.max() == 0.0:
        return np.ones(len(told))
    # A column may tell as much as chance could hide.
    told = np.clip(told / told.max(), min(chance, 1.0), 1.0)
    # Only ratios matter: relative to the largest, columns that tell about the same stay equal. What
    # makes the mean about 1 follows from the ratios, and tells nothing more.
    exponents = _exponents(floor + (1.0 - floor) * told)
    return STEP ** (exponents - _exponents(np.mean(STEP**exponents)))


def _exponents(weights: Any) -> Any:
    return np.round(np.log(weights) / np.log(STEP))


def _told_by_forests(points: Any, column_of: Array, y: Array, random: Any) -> tuple[Floats, float]:
    """How fast the predictions of two quick forests change along each column.

    Also returns up to which share of the largest slope others may be chance.
    """
    # Few need it, and all would wait for it.
    from sklearn.ensemble import ExtraTreesRegressor

    # What a forest learns from chance, another one of other records does not.
    n_records = min(points.shape[0], 2 * RECORDS_PER_FOREST)
    rows = random.permutation(points.shape[0])[:n_records]
    targets = as_numbers(y, rows)
    total = np.sum((targets - targets.mean(axis=0)) ** 2)
    if total == 0.0:
        return np.zeros(int(column_of.max()) + 1), 1.0
    points = _with_small_indices(points[rows])
    halves = slice(n_records // 2), slice(n_records // 2, n_records)
    forests = [
        ExtraTreesRegressor(
            N_TREES,
            min_samples_leaf=MIN_RECORDS_PER_LEAF,
            max_features=min(points.shape[1], COORDINATES_PER_SPLIT),
            random_state=random,
        ).fit(points[half], targets[half])
        for half in halves
    ]
    unexplained = sum(
        np.sum((forest.predict(points[half]) - targets[half]) ** 2)
        for forest, half in zip(forests, reversed(halves), strict=True)
    )
    explained = np.clip(1.0 - unexplained / total, 1e-6, 1.0)
    # The error of the slope of a regression, as a share of the slope.
    chance = STANDARD_ERRORS * np.sqrt((1.0 - explained) / explained / n_records)
    told = slopes([forest.predict for forest in forests], points, column_of, random)
    return told, float(chance)


def _with_small_indices(points: Any) -> Any:
    """The points, if they are sparse with the indices that trees understand."""
    if not isinstance(points, np.ndarray):
        points.indices, points.indptr = (
            numbers.astype(np.int32) for numbers in (points.indices, points.indptr)
        )
    return points


def _importances(estimator: Estimator, points: Any, y: Array, random_state: RandomState) -> Array:
    """What a model finds each coordinate to tell, from 0."""
    model = own_copy("estimator", estimator, ("fit", "get_params"), "None or ")
    if model.get_params(deep=False).get("random_state", 0) is None:
        model.set_params(random_state=random_state)
    model.fit(points, y)
    if hasattr(model, "feature_importances_"):
        found = np.asarray(model.feature_importances_)
    elif hasattr(model, "coef_"):
        found = np.abs(np.atleast_2d(model.coef_)).sum(axis=0)
    else:
        raise TypeError(
            f"estimator={model!r} must have feature_importances_ or coef_ once it is fitted."
        )
    n_coordinates = points.shape[1]
    if found.shape != (n_coordinates,) or not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(
            f"estimator={model!r} has importances of shape {found.shape}: they must be "
            f"{n_coordinates} numbers, each at least 0."
        )
    return found
