"""A scaler that weights columns by how well they predict a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._utils._estimator import BaseEstimator
from sk_microagg._utils._statistics import MissingCoordinates
from sk_microagg._utils._targets import as_numbers, check_target
from sk_microagg._utils._typing import (
    Array,
    Estimator,
    Floats,
    Labels,
    Output,
    RandomState,
    TableLike,
)
from sk_microagg._utils._validation import (
    cells_explained,
    check_no_hidden_numbers,
    check_number,
    check_seed,
    own_copy,
    without_mask,
)

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

# Fewest and most records that are looked at, and exchanges of values in each column.
RECORDS = 200, 2_000
EXCHANGES = 100, 2_000

# Exchanges in all columns, as long as each has the fewest.
IN_ALL_COLUMNS = 50_000

# Coordinates in memory at a time.
MOST_NUMBERS = 20_000_000

# A record gets the values of the nearest of some others, since records of a group differ little.
N_PARTNERS = 20


def target_weights(
    points: Any,
    column_of: Array,
    y: Array,
    floor: float = FLOOR,
    random_state: RandomState = 0,
    estimator: Estimator = None,
) -> Floats:
    """Weights of columns by how well they predict a target, according to two forests."""
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
    """Slopes of two quick forests along each column, and which share may be chance."""
    # Few need it, and all would wait for it.
    from sklearn.ensemble import ExtraTreesRegressor

    # What a forest learns from chance, another one of other records does not.
    n_records = min(points.shape[0], 2 * RECORDS_PER_FOREST)
    rows = random.permutation(points.shape[0])[:n_records]
    targets = as_numbers(y, rows)
    total = np.sum((targets - targets.mean(axis=0)) ** 2)
    if total == 0.0:
        return np.zeros(int(column_of.max()) + 1), 1.0
    points = with_small_indices(points[rows])
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


def with_small_indices(points: Any) -> Any:
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


class TargetScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize columns, and weight them by how well they predict a target.

    As the `scaler` of a :class:`MicroAggregator`, it makes groups similar in the columns that a
    model needs to predict the target, at the cost of those that it does not need.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A model with `feature_importances_` or `coef_`, which is fitted on the standardized columns,
        without missing values; None for two quick forests.

    floor : float, default=0.1
        The weight of a column that predicts nothing, as a share of the largest weight: above 0 and
        at most 1, which gives all columns the same weight. Like all weights, it is rounded.

    random_state : int, RandomState instance or None, default=0
        Seed of the quick forests, and of an `estimator` without one. The same seed gives the same
        weights: if one table were released twice, with different weights, the groups of both could
        be intersected.

    Attributes
    ----------
    weights_ : ndarray of shape (`n_features_in_`,)
        The weight of each column, which is its variance after scaling: a power of 2. About 1 on
        average.

    mean_ : ndarray of shape (`n_features_in_`,)
        Mean of each column.

    scale_ : ndarray of shape (`n_features_in_`,)
        What each column is divided by: its standard deviation, over the root of its weight.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of `X`, if they are all strings.

    See Also
    --------
    MicroAggregator : Has it as `scaler="target"`.
    TableAggregator : Has the same weights as `column_weights="target"`.

    Notes
    -----
    A weight is ``floor + (1 - floor) * told``, divided by about the mean of all weights. `told` is
    how much a column tells, as a share of the column that tells most. It is measured by predictions
    of two forests, each fitted on half of the records: records take what records near them in a
    column have there, and how fast the predictions of both change with the distance is what the
    column tells. Members of a group are near to each other in all columns, so it matters how the
    target differs between near records, not between far ones. With an `estimator`, columns tell its
    importances, or the absolute values of its coefficients. Missing values stay missing; that they
    are missing is part of what a column tells.

    Weights are computed from the records and their targets. Somebody who knows all records but one
    could compute the weights that each guess at the last one gives, and compare. Weights are
    therefore powers of 2, and no column tells less than what chance could hide, which is five
    standard errors: ``sqrt((1 - r2) / r2 / n_samples)`` of what the best column tells, if a forest
    explains the share `r2` of the target's variance among the other half of the records, or
    ``1 / sqrt(n_samples)`` of it with an `estimator`. Most guesses then have the same weights. The
    fewer the records, the less weights differ; of a few dozen, all are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import TargetScaler
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> scaler = TargetScaler().fit(X, X[:, 1] > 0)
    >>> scaler.weights_[1] > 3 * scaler.weights_[[0, 2]]
    array([ True,  True])
    """

    def __init__(
        self, estimator: Estimator = None, floor: float = FLOOR, random_state: RandomState = 0
    ) -> None:
        self.estimator = estimator
        self.floor = floor
        self.random_state = random_state

    def fit(self, X: TableLike, y: TableLike) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records; values may be missing.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The target: classes or numbers. Several count the same.

        Returns
        -------
        self : TargetScaler
            The fitted scaler.
        """
        floor = check_number("floor", self.floor, above=0.0, at_most=1.0)
        check_seed(self.random_state)
        X = self._check(X, reset=True)
        y = check_target(y, len(X), "TargetScaler (scaler='target')")
        standard = StandardScaler()
        scaled = standard.fit_transform(X)
        missing = MissingCoordinates(scaled, is_standardized=True)
        self.weights_: Floats = target_weights(
            np.concatenate(missing.parts(scaled), axis=1),
            np.concatenate([np.arange(X.shape[1]), missing.columns]),
            y,
            floor=floor,
            random_state=self.random_state,
            estimator=self.estimator,
        )
        self.mean_: Floats = standard.mean_
        self.scale_: Floats = standard.scale_ / np.sqrt(self.weights_)
        return self

    def transform(self, X: TableLike) -> Output:
        """Standardize the columns of records, and weight them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The records.

        Returns
        -------
        scaled : ndarray of shape (n_samples, n_features)
            The scaled records.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return ((X - self.mean_) / self.scale_).astype(X.dtype, copy=False)

    def _check(self, X: TableLike, reset: bool) -> Array:
        floats = (np.float64, np.float32)
        X = without_mask(X)
        check_no_hidden_numbers(X)
        with cells_explained(X):
            return validate_data(self, X, dtype=floats, ensure_all_finite="allow-nan", reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def has_target_scaler(scaler: Any) -> bool:
    """Whether a scaler is a TargetScaler, or has one as a step."""
    steps: Iterable[Any] = getattr(scaler, "get_params", dict)().values()
    return any(isinstance(step, TargetScaler) for step in (scaler, *steps))


def slopes(
    models: Sequence[Callable[[Floats], Floats]], points: Any, column_of: Array, random: Any
) -> Floats:
    """Return how fast the predictions of two models change along each column.

    Records take what records near them in one column have there. The slope of the column is the
    root of the sum of squared changes of predictions, over that of squared distances. A squared
    change is the product of the changes of both models: where they learned from different records,
    what they took chance for is different, and cancels out.
    """
    n_columns, n_coordinates = int(column_of.max()) + 1, points.shape[1]
    fitting = MOST_NUMBERS // n_coordinates
    chosen = points[random.permutation(points.shape[0])[: np.clip(fitting, *RECORDS)]]
    chosen = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    n_exchanges = int(np.clip(min(fitting, IN_ALL_COLUMNS // n_columns), *EXCHANGES))
    records = random.randint(len(chosen), size=(n_columns, n_exchanges))
    n_batches = -(-n_columns * n_exchanges // max(fitting, n_exchanges))

    before = [model(chosen).reshape(len(chosen), -1) for model in models]
    found = np.zeros(n_columns)
    # A prediction takes long, however few points there are.
    for columns in np.array_split(np.arange(n_columns), n_batches):
        exchanged = chosen[records[columns]]
        distances = np.empty(len(columns))
        for place, column in enumerate(columns):
            own = np.flatnonzero(column_of == column)
            partners, distances[place] = _near(chosen[:, own], records[column], random)
            exchanged[place][:, own] = chosen[np.ix_(partners, own)]
        one, other = (
            model(exchanged.reshape(-1, n_coordinates)).reshape(len(columns), n_exchanges, -1)
            - of_model[records[columns]]
            for model, of_model in zip(models, before, strict=True)
        )
        changes = np.fmax(np.sum(one * other, axis=(1, 2)), 0.0)
        found[columns] = np.sqrt(changes / np.where(distances > 0.0, distances, 1.0))
    return found


def _near(values: Floats, records: Labels, random: Any) -> tuple[Labels, float]:
    """A partner near to each record but different, or itself, and the sum of squared distances."""
    nearest, least = records.copy(), np.full(len(records), np.inf)
    for partners in random.randint(len(values), size=(N_PARTNERS, len(records))):
        squares = np.sum((values[partners] - values[records]) ** 2, axis=1)
        is_nearer = (squares > 0.0) & (squares < least)
        nearest[is_nearer], least[is_nearer] = partners[is_nearer], squares[is_nearer]
    return nearest, float(np.sum(least, where=np.isfinite(least)))
