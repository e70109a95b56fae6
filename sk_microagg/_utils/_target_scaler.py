"""A scaler that weighs columns by what they tell of a target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._utils._base import BaseEstimator
from sk_microagg._utils._missing_coordinates import MissingCoordinates
from sk_microagg._utils._seeds import check_seed
from sk_microagg._utils._target_weights import FLOOR, target_weights
from sk_microagg._utils._targets import check_target
from sk_microagg._utils._typing import Array, Estimator, Floats, Output, RandomState, TableLike
from sk_microagg._utils._validation import (
    check_no_hidden_numbers,
    check_number,
    text_explained,
    without_mask,
)


class TargetScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize columns, and weigh them by how much they tell of a target.

    As the `scaler` of a :class:`MicroAggregator`, it makes groups similar in the columns that a
    model needs to predict the target, at the cost of those that it does not need.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A model with `feature_importances_` or `coef_`, which is fitted on the standardized columns,
        without missing values; None for two quick forests.

    floor : float, default=0.1
        The weight of a column that tells nothing, as a share of the largest weight: above 0, and 1
        at most, with which all columns weigh the same. Like all weights, it is rounded.

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

    if TYPE_CHECKING:  # what `fit` sets
        weights_: Floats
        mean_: Floats
        scale_: Floats
        n_features_in_: int
        feature_names_in_: Array

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
        self.weights_ = target_weights(
            np.concatenate(missing.parts(scaled), axis=1),
            np.concatenate([np.arange(X.shape[1]), missing.columns]),
            y,
            floor=floor,
            random_state=self.random_state,
            estimator=self.estimator,
        )
        self.mean_ = standard.mean_
        self.scale_ = standard.scale_ / np.sqrt(self.weights_)
        return self

    def transform(self, X: TableLike) -> Output:
        """Standardize the columns of records, and weigh them.

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
        check_no_hidden_numbers(without_mask(X))
        with text_explained(X):
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
