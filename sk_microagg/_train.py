"""Fit a model on the release of a table, and predict on original rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_microagg._microaggregator import FLOATS, MicroAggregator
from sk_microagg._utils._estimator import (
    BaseEstimator,
    GroupsReprMixin,
    ReleaseOnlyMixin,
    all_or_nothing,
    has_cells,
    strip,
)
from sk_microagg._utils._sklearn_compat import available_if
from sk_microagg._utils._tables import is_frame
from sk_microagg._utils._typing import Array, Estimator, TableLike
from sk_microagg._utils._validation import cells_explained, own_copy, without_mask

# What records may have besides their values: these go to the anonymizer, all else to the estimator.
ROLES = ("sensitive", "unit", "strata")
ROUNDING = 1e-6  # of means, relative to the values
FORWARDED = """{summary}

Parameters
----------
X : array-like or DataFrame of shape (n_samples, n_features)
    The rows.

**params : dict
    Metadata for the estimator.

Returns
-------
{returns}
"""
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score")


def _estimator_has(method: str) -> Callable[[Any], bool]:
    """Whether the estimator has a method; the fitted one decides if there is one."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


def _forwarded(name: str, summary: str, returns: str) -> Callable[..., Array]:
    """A method of the model that takes original rows, if the estimator has it."""

    def method(self: Any, X: TableLike, **params: Any) -> Array:
        return self._call(name, X, params)

    method.__name__, method.__qualname__ = name, f"TrainOnRelease.{name}"
    method.__doc__ = FORWARDED.format(summary=summary, returns=returns)
    return available_if(_estimator_has(name))(method)


class TrainOnRelease(GroupsReprMixin, MetaEstimatorMixin, BaseEstimator):
    """Fit a model on the release of the training data, and predict on original rows.

    In a Pipeline, an anonymizer also replaces the rows to be predicted by those of groups. That is
    needed only if nobody may see the original rows. Otherwise, a model that was trained on the
    release predicts better on these.

    Parameters
    ----------
    estimator : classifier or regressor
        The model. It may be a Pipeline, for example of an encoder of categories and a classifier.

    anonymizer : MicroAggregator, TableAggregator or None, default=None
        Releases the training data by `fit_transform(X, y)`, with the rows of `X` and in its columns
        and units; None for `MicroAggregator()`. If the release has other columns, the anonymizer
        needs a method `format(X)`, which returns the original rows in the columns of the release,
        as :class:`TableAggregator` has.

    Attributes
    ----------
    anonymizer_ : object
        The fitted anonymizer, without the `labels_` of the training data.

    estimator_ : object
        The model, fitted on the release.

    classes_ : ndarray of shape (n_classes,)
        The classes, if the model is a classifier.

    n_features_in_ : int
        Number of columns of `X`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of `X`, if they are all strings.

    See Also
    --------
    MicroAggregator : Anonymizes numbers.
    TableAggregator : Anonymizes tables with columns of any kind.

    Notes
    -----
    The release is not kept, and neither are the training data, nor who is in which group: whatever
    rows the model remembers, at least `k` people share them. This does not hold for `y`, which is
    not anonymized: a model learns from the original target of each person, and a nearest neighbors
    classifier even keeps it. Nor does it hold for columns that the anonymizer leaves as they are,
    such as those that are not among the `quasi_identifiers` of a :class:`TableAggregator`. Where
    all people of a group have the same target, an intruder learns it for each of them: see
    :class:`~sk_microagg.privacy.LDiversity`.

    Missing values are allowed if both allow them: for example, if the estimator is a Pipeline that
    starts with an imputer.

    Metadata are routed as scikit-learn does it, if `enable_metadata_routing` is set: those of `fit`
    to `fit_transform` of the anonymizer and `fit` of the estimator, those of other methods to that
    of the estimator. A MicroAggregator then has to request `strata` both for `fit` and for
    `transform`. Without routing, `sensitive`, `unit` and `strata` are passed to the anonymizer, and
    all others, such as `sample_weight`, to the estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_microagg import MicroAggregator, TrainOnRelease
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TrainOnRelease(RidgeCV(), MicroAggregator(k=5))
    >>> print(f"{cross_val_score(model, X, y).mean():.3f}")
    0.483
    >>> print(f"{cross_val_score(RidgeCV(), X, y).mean():.3f}")  # on the original data
    0.480
    """

    def __init__(self, estimator: Estimator, anonymizer: Estimator = None) -> None:
        self.estimator = estimator
        self.anonymizer = anonymizer

    def fit(self, X: TableLike, y: TableLike, **params: Any) -> Self:
        """Anonymize the training data, and fit the model on the release.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The training data.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target. It is passed to the anonymizer as well, which may use it to weight columns.

        **params : dict
            Metadata, such as `sensitive` for the anonymizer, or `sample_weight` for the estimator.

        Returns
        -------
        self : TrainOnRelease
            The fitted model.
        """
        estimator = own_copy("estimator", self.estimator, ("fit",), "")
        anonymizer = self._make_anonymizer()
        routed = self._route("fit", params)
        release = anonymizer.fit_transform(X, y, **routed.anonymizer.fit_transform)
        columns = None
        is_like_x = not hasattr(anonymizer, "format")
        if is_like_x:
            columns = _columns_by_name(release, X, anonymizer)
            _check_units(release, X, columns, anonymizer)
            release = np.asarray(release) if columns is None else release
        estimator.fit(release, y, **routed.estimator.fit)
        if is_like_x and columns is None:
            _check_takes_missing(estimator, X)

        _strip(anonymizer)

        with all_or_nothing(self):
            validate_data(self, X, skip_check_array=True)
            self.anonymizer_: Estimator = anonymizer
            self.estimator_: Estimator = estimator
            self._columns = columns
            if hasattr(estimator, "classes_"):
                self.classes_: Array = estimator.classes_
            elif hasattr(self, "classes_"):  # of an earlier fit
                del self.classes_
        return self

    predict = _forwarded(
        "predict",
        "Predict the target of original rows.",
        "y : ndarray of shape (n_samples,) or (n_samples, n_outputs)\n    The predictions.",
    )
    predict_proba = _forwarded(
        "predict_proba",
        "Predict the probability of each class for original rows.",
        "probabilities : ndarray of shape (n_samples, n_classes)\n"
        "    The probabilities, in the order of `classes_`.",
    )
    predict_log_proba = _forwarded(
        "predict_log_proba",
        "Predict the logarithm of the probability of each class for original rows.",
        "log_probabilities : ndarray of shape (n_samples, n_classes)\n"
        "    The logarithms, in the order of `classes_`.",
    )
    decision_function = _forwarded(
        "decision_function",
        "Return the decision function of the model for original rows.",
        "decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)\n    The values.",
    )

    @available_if(_estimator_has("score"))
    def score(self, X: TableLike, y: TableLike, **params: Any) -> float:
        """Return the score of the model on original rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their target.

        **params : dict
            Metadata for the estimator, such as `sample_weight`.

        Returns
        -------
        score : float
            That of the estimator: accuracy or R², usually.
        """
        return self._call("score", X, params, y)

    def _call(self, method: str, X: TableLike, params: dict[str, Any], *others: Any) -> Any:
        check_is_fitted(self)
        routed = self._route(method, params)
        rows = self._as_released(X)
        return getattr(self.estimator_, method)(rows, *others, **routed.estimator[method])

    def _as_released(self, X: Any) -> Any:
        """Original rows, in the columns and the container of the release."""
        if hasattr(self.anonymizer_, "format"):
            return self.anonymizer_.format(X)
        if self._columns is not None:
            if not is_frame(X):
                raise TypeError(
                    f"X of type {type(X).__name__} must be a DataFrame with the columns "
                    f"{self._columns}, as in fit."
                )
            validate_data(self, X, skip_check_array=True, reset=False)
            return X[self._columns]
        rows = without_mask(X)
        with cells_explained(rows):
            return validate_data(
                self, rows, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False
            )

    def _grouped(self) -> Any:
        return getattr(self, "anonymizer_", None)

    def _make_anonymizer(self) -> Estimator:
        if self.anonymizer is None:
            return MicroAggregator()
        return own_copy("anonymizer", self.anonymizer, ("fit_transform",), "None or ")

    def _route(self, method: str, params: dict[str, Any]) -> Any:
        """Which parameters each of both gets."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params)
        roles = {name: params[name] for name in ROLES if name in params and method == "fit"}
        others = {name: value for name, value in params.items() if name not in roles}
        return Bunch(anonymizer=Bunch(fit_transform=roles), estimator=Bunch(**{method: others}))

    def get_metadata_routing(self) -> Any:
        """Return how metadata are routed.

        Returns
        -------
        routing : MetadataRouter
            The routing: `fit` to `fit_transform` of the anonymizer and `fit` of the estimator.
        """
        of_estimator = MethodMapping().add(caller="fit", callee="fit")
        for method in METHODS:
            of_estimator.add(caller=method, callee=method)
        router = MetadataRouter(owner=type(self).__name__)
        router.add(
            anonymizer=self._make_anonymizer(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit_transform"),
        )
        return router.add(estimator=self.estimator, method_mapping=of_estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.estimator_type = of_estimator.estimator_type
        tags.classifier_tags = of_estimator.classifier_tags
        tags.regressor_tags = of_estimator.regressor_tags
        tags.target_tags = of_estimator.target_tags
        of_anonymizer = get_tags(self._make_anonymizer()).input_tags
        tags.input_tags.categorical = of_anonymizer.categorical
        tags.input_tags.string = of_anonymizer.string and of_estimator.input_tags.string
        tags.input_tags.allow_nan = of_anonymizer.allow_nan and of_estimator.input_tags.allow_nan
        return tags


def _strip(anonymizer: Estimator) -> None:
    """Remove all but the release and what formats new rows: a model is shipped with it.

    The group of each record is removed from any anonymizer: the release would follow, row by row.
    """
    parts = anonymizer.get_params().values() if hasattr(anonymizer, "get_params") else ()
    for part in (anonymizer, *parts):
        getattr(part, "__dict__", {}).pop("labels_", None)
        if isinstance(part, ReleaseOnlyMixin) and has_cells(part):
            strip(part, keep=["_encoder"])
            if hasattr(part, "_encoder"):
                part._encoder = part._encoder.without_space()


def _columns_by_name(release: Any, X: Any, anonymizer: Estimator) -> list[Any] | None:
    """Names of the columns of a release, if those of X; None for arrays; an error for others."""
    if is_frame(release) and is_frame(X) and {*release.columns} == {*X.columns}:
        return list(release.columns)
    names = [[f"x{number}" for number in range(release.shape[1])]]  # of columns without names
    names += [list(X.columns)] if is_frame(X) else []
    if is_frame(release):
        released = list(release.columns)
    else:
        released = list(getattr(anonymizer, "get_feature_names_out", lambda: names[-1])())
    if released not in names:
        raise ValueError(
            f"anonymizer={anonymizer!r} returned other columns than those of X, or in another "
            "order: it needs a method `format` that returns the original rows in the same columns, "
            "as that of TableAggregator does."
        )
    return None


def _check_units(release: Any, X: Any, columns: list[Any] | None, anonymizer: Estimator) -> None:
    """Raise an error if numbers are released outside the range of X: their units are others."""
    same = X if columns is None else X[columns]
    released, values = (np.asarray(without_mask(table)) for table in (release, same))
    if not all(numbers.dtype.kind in "iuf" for numbers in (released, values)):
        return
    (low, high), (lowest, highest) = (
        (np.fmin.reduce(numbers), np.fmax.reduce(numbers)) for numbers in (released, values)
    )
    slack = ROUNDING * np.fmax(np.abs(lowest), np.abs(highest)) + _steps(anonymizer, len(low))
    if np.any((low < lowest - slack) | (high > highest + slack)):
        raise ValueError(
            f"anonymizer={anonymizer!r} returned numbers outside the range of those of X: it must "
            "return them in the units of X, as the model predicts on original rows. Put a "
            "scaler into the estimator, as in make_pipeline(StandardScaler(), LinearSVC())."
        )


def _steps(anonymizer: Estimator, n_columns: int) -> Any:
    """By how much released means of columns may be off since they are rounded."""
    roundings = getattr(anonymizer, "rounding_", {}).values()
    steps = [0.0 if one.decimals is None else 10.0**-one.decimals for one in roundings]
    return np.array(steps) if len(steps) == n_columns else np.zeros(n_columns)


def _check_takes_missing(estimator: Estimator, X: Any) -> None:
    """Let an estimator raise its error if only predictions would meet missing values of X."""
    values = np.asarray(without_mask(X))
    if values.dtype.kind == "f" and np.isnan(values).any():
        estimator.predict(values[np.isnan(values).any(axis=1)][:1])
