"""How much columns tell of a target."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.multiclass import type_of_target

from sk_microagg._utils._seeds import check_seed
from sk_microagg._utils._slopes import slopes
from sk_microagg._utils._tables import is_null
from sk_microagg._utils._typing import Array, Estimator, Floats, RandomState
from sk_microagg._utils._validation import own_copy

# A column that tells nothing has this share of the largest weight.
FLOOR = 0.1

# Whole numbers with more different values are no classes.
MOST_CLASSES = 20

# All rarer classes count as one: trees hold a number per class in each node.
MOST_CLASSES_TOLD_APART = 50

# The quick forest.
N_TREES = 100
MIN_RECORDS_PER_LEAF = 5
MOST_RECORDS = 50_000
RECORDS_PER_TREE = 20_000
COORDINATES_PER_SPLIT = 50

# Weights are powers of this. Finer ones would depend on single records, so that guesses at one
# could be tested.
STEP = 2.0

# What a column tells may be chance up to so many standard errors. There, too, it would depend on
# single records.
STANDARD_ERRORS = 5.0


def check_target(y: Any, n_records: int, owner: str) -> Array:
    """Return a target as an array; raise an error that names y if there is none for the records.

    `owner` is what needs it, in messages.
    """
    if y is None:
        raise ValueError(f"{owner} needs y: it requires y to be passed, but the target y is None.")
    y = as_target(y)
    if _has_missing(y):
        raise ValueError(f"y contains NaN or None: {owner} needs the target of every record.")
    if y.shape[:1] != (n_records,):
        raise ValueError(
            f"y of shape {y.shape} must have a value per record of X, which has {n_records}."
        )
    return y


def _has_missing(y: Array) -> bool:
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    return y.dtype.kind == "O" and any(map(is_null, y.flat))


def as_target(y: Any) -> Array:
    """Return a target as an array, a single column of it as one of one dimension, dates as numbers.

    Dates are microseconds, or NaN.
    """
    y = np.asarray(y)
    if y.dtype.kind == "M":
        y = np.where(np.isnat(y), np.nan, y.astype("M8[us]").astype(np.float64))
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def target_weights(
    points: Any,
    column_of: Array,
    y: Array,
    floor: float = FLOOR,
    random_state: RandomState = 0,
    estimator: Estimator = None,
) -> Floats:
    """Weights of columns by what a forest finds them to tell of a target.

    Parameters
    ----------
    points : ndarray or sparse array of shape (n_records, n_coordinates)
        The records.

    column_of : ndarray of shape (n_coordinates,)
        The column that each coordinate belongs to, numbered from 0.

    y : ndarray of shape (n_records,) or (n_records, n_targets)
        The target: classes or numbers.

    floor : float, default=0.1
        The weight of a column that tells nothing, as a share of the largest weight.

    random_state : int, RandomState instance or None, default=0
        Seed of the forest, and of an estimator without one.

    estimator : estimator or None, default=None
        A model with `feature_importances_` or `coef_` in the place of the forest.

    Returns
    -------
    weights : ndarray of shape (n_columns,)
        The weight of each column, a power of 2; about 1 on average.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._utils._target_weights import target_weights
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> target_weights(X, np.array([0, 1]), X[:, 0] > 0)
    array([2.  , 0.25])
    """
    random = check_seed(random_state)
    if estimator is None:
        told, chance = _told_by_a_forest(points, column_of, y, random)
    else:
        told = np.bincount(column_of, _importances(estimator, points, y, random_state))
        chance = STANDARD_ERRORS / np.sqrt(points.shape[0])
    is_told = told > chance * told.max()
    if not is_told.any():
        return np.ones(len(told))
    told = np.where(is_told, told / told.max(), 0.0)
    # Only ratios matter: relative to the largest, columns that tell about the same stay equal. What
    # makes the mean about 1 follows from the ratios, and tells nothing more.
    exponents = _exponents(floor + (1.0 - floor) * told)
    return STEP ** (exponents - _exponents(np.mean(STEP**exponents)))


def _exponents(weights: Any) -> Any:
    return np.round(np.log(weights) / np.log(STEP))


def _told_by_a_forest(points: Any, column_of: Array, y: Array, random: Any) -> tuple[Floats, float]:
    """How fast the predictions of a quick forest change along each column.

    Also returns up to which share of the largest slope others may be chance.
    """
    # Few need it, and all would wait for it.
    from sklearn.ensemble import ExtraTreesRegressor

    n_records = min(points.shape[0], MOST_RECORDS)
    rows = random.permutation(points.shape[0])[:n_records]
    points, targets = points[rows], _as_numbers(y)[rows]
    if not np.ptp(targets, axis=0).any():
        return np.zeros(int(column_of.max()) + 1), 1.0
    forest = ExtraTreesRegressor(
        N_TREES,
        min_samples_leaf=MIN_RECORDS_PER_LEAF,
        max_features=min(points.shape[1], COORDINATES_PER_SPLIT),
        bootstrap=True,
        max_samples=min(n_records, RECORDS_PER_TREE),
        oob_score=partial(r2_score, multioutput="variance_weighted"),
        random_state=random,
    )
    with warnings.catch_warnings():
        # Of some of very few records, every tree knows the target.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        forest.fit(points, targets)
    explained = np.clip(forest.oob_score_, 1e-6, 1.0)
    # The error of the slope of a regression, as a share of the slope.
    chance = STANDARD_ERRORS * np.sqrt((1.0 - explained) / explained / n_records)
    return slopes(forest.predict, points, column_of, random), float(chance)


def _as_numbers(y: Array) -> Floats:
    """Targets as columns of numbers: standardized ones, or an indicator of each class."""
    if has_classes(y):
        return np.column_stack([_indicators(classes) for classes in y.reshape(len(y), -1).T])
    y = y.astype(np.float64)
    # Squares of large numbers overflow, those of small ones vanish.
    y = y / np.fmax(np.abs(y).max(axis=0), np.finfo(np.float64).tiny)
    spread = y.std(axis=0)
    return (y - y.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def _indicators(classes: Array) -> Floats:
    """An indicator of each class, but of all rare ones beyond the limit the same."""
    _, number, count = np.unique(classes, return_inverse=True, return_counts=True)
    rank = np.empty_like(count)
    rank[np.argsort(-count, kind="stable")] = np.arange(len(count))
    n_told_apart = min(len(count), MOST_CLASSES_TOLD_APART + 1)
    return np.eye(n_told_apart)[np.minimum(rank, MOST_CLASSES_TOLD_APART)[number]]


def _importances(estimator: Estimator, points: Any, y: Array, random_state: RandomState) -> Array:
    """What a model finds each coordinate to tell, from 0."""
    model = own_copy("estimator", estimator, ("fit", "get_params"), "None or ")
    if model.get_params(deep=False).get("random_state", 0) is None:
        model.set_params(random_state=random_state)
    model.fit(points, y)
    if hasattr(model, "feature_importances_"):
        return np.asarray(model.feature_importances_)
    if hasattr(model, "coef_"):
        return np.abs(np.atleast_2d(model.coef_)).sum(axis=0)
    raise TypeError(
        f"estimator={model!r} must have feature_importances_ or coef_ once it is fitted."
    )


def has_classes(y: Array) -> bool:
    """Whether a target consists of classes, not of numbers."""
    with np.errstate(invalid="ignore"):  # if numbers are too large for integers
        kind = type_of_target(y, input_name="y")
    return not (kind.startswith("continuous") or _are_counts(y))


def _are_counts(y: Array) -> bool:
    """Whether a target of whole numbers has too many different ones to be classes."""
    y = np.asarray(y)
    return y.dtype.kind in "iuf" and len(np.unique(y)) > max(MOST_CLASSES, np.sqrt(len(y)))
