"""What a proven bound says about the groups of a fitted estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._bound import Certificate
from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._points import squared_errors, with_values
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._estimator import check_has_cells, check_is_training_data
from sk_microagg._utils._statistics import group_means
from sk_microagg._utils._typing import Estimator, Floats, TableLike
from sk_microagg._utils._validation import check_number, check_records
from sk_microagg.metrics._loss import information_loss, loss_bound


def certify(estimator: Estimator, X: TableLike, time_limit: float, verbose: int = 0) -> Certificate:
    """Prove how far the loss of a fitted estimator is from the optimum, at most."""
    if isinstance(estimator, TableAggregator):
        return estimator.certificate(X, time_limit=time_limit, verbose=verbose)
    scaled = scaled_records(estimator, X)
    proof = loss_bound(
        scaled,
        estimator.k,
        time_limit=time_limit,
        verbose=verbose,
        return_trace=True,
        n_jobs=estimator.n_jobs,
    )
    return Certificate(information_loss(scaled, estimator.labels_), *proof, estimator.k)


def certificate_of(
    estimator: Estimator, X: TableLike, bound: float, trace: ArrayLike
) -> Certificate:
    """The certificate from what `loss_bound` returned; raise if that is for something else."""
    if isinstance(estimator, TableAggregator):
        estimator._fitted_points(X)
        loss = estimator.information_loss_
    else:
        loss = information_loss(scaled_records(estimator, X), estimator.labels_)
    bound = check_number("bound", bound, at_least=0, at_most=1)
    return Certificate(loss, bound, check_bound_trace(trace), estimator.k)


def check_can_be_certified(estimator: Estimator, claim: str) -> None:
    """Raise unless a bound can be proven for an estimator; `claim` says what has to be one."""
    if not isinstance(estimator, MicroAggregator | TableAggregator):
        raise TypeError(
            f"{claim} a fitted MicroAggregator or TableAggregator: a bound is proven for groups "
            "that are released as averages, in memory."
        )
    check_is_fitted(estimator)


def scaled_records(estimator: Estimator, X: TableLike) -> Floats:
    """The records as points that the loss of the estimator is about; raise if it has others."""
    check_has_cells(estimator)
    X = check_records(X, allow_missing=True)
    shape = len(estimator.labels_), estimator.n_features_in_
    if X.shape != shape:
        raise ValueError(
            f"X of shape {X.shape} must be what the estimator was fitted on, of shape {shape}."
        )
    space, labels = estimator._space, estimator.labels_
    stand_ins = space.stand_ins(space.missing(X), labels, *estimator._hidden)
    scaled = with_values(space.points(X), *stand_ins)
    check_is_training_data(estimator, *squared_errors(scaled, group_means(scaled, labels), labels))
    return scaled


def check_bound_trace(trace: ArrayLike) -> Floats:
    """Return the trace of a bound as an array, or raise an error that says what it must be."""
    trace = np.asarray(trace, dtype=np.float64)
    if trace.ndim != 2 or trace.shape[1] != 2:
        raise ValueError(
            f"bound_trace of shape {trace.shape} must have rows of two: seconds and bound, as "
            "sk_microagg.metrics.loss_bound returns them."
        )
    return trace
