"""Information loss of a partition, a proven bound on it, and what the bound says about groups."""

from __future__ import annotations

from math import inf
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sk_microagg._bound import Certificate, bound_of
from sk_microagg._microaggregator import MicroAggregator
from sk_microagg._model._points import squared_errors, with_values
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._estimator import check_has_cells, check_is_training_data
from sk_microagg._utils._statistics import (
    group_means,
    loss_share,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg._utils._typing import Estimator, Floats, TableLike
from sk_microagg._utils._validation import (
    check_count,
    check_k,
    check_n_jobs,
    check_number,
    check_partition,
    check_ranges,
    check_records,
    check_verbose,
)


def sse(X: TableLike, labels: ArrayLike) -> float:
    """Sum of squared distances from each record to the centroid of its group.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    labels : array-like of shape (n_samples,)
        Group of each record.

    Returns
    -------
    sse : float
        The sum of squared errors; 0 if every record equals its group's centroid.

    Examples
    --------
    >>> from sk_microagg.metrics import sse
    >>> sse([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    4.0
    """
    X = check_records(X)
    labels = column_or_1d(labels)
    check_consistent_length(X, labels)
    _, labels = np.unique(labels, return_inverse=True)
    return squared_error(X, group_means(X, labels), labels)


def information_loss(X: TableLike, labels: ArrayLike) -> float:
    """Share of the total sum of squares that is lost when records are replaced by centroids.

    The loss depends on the scale of the columns; it is usually measured on standardized ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    labels : array-like of shape (n_samples,)
        Group of each record.

    Returns
    -------
    loss : float
        SSE / SST, from 0 (nothing lost) to 1 (as with all records in one group); 0 if all records
        are equal.

    Examples
    --------
    >>> from sk_microagg.metrics import information_loss
    >>> round(information_loss([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 4)
    0.0385
    """
    X = check_records(X)
    check_ranges(X)
    return loss_share(sse(X, labels), total_sum_of_squares(X))


@overload
def loss_bound(
    X: TableLike,
    k: int,
    *,
    time_limit: float = ...,
    max_iter: int | None = ...,
    tol: float = ...,
    verbose: int = ...,
    return_trace: Literal[False] = ...,
    n_jobs: int | None = ...,
) -> float: ...


@overload
def loss_bound(
    X: TableLike,
    k: int,
    *,
    time_limit: float = ...,
    max_iter: int | None = ...,
    tol: float = ...,
    verbose: int = ...,
    return_trace: Literal[True],
    n_jobs: int | None = ...,
) -> tuple[float, Floats]: ...


def loss_bound(
    X: TableLike,
    k: int,
    *,
    time_limit: float = 10.0,
    max_iter: int | None = None,
    tol: float = 0.0,
    verbose: int = 0,
    return_trace: bool = False,
    n_jobs: int | None = None,
) -> float | tuple[float, Floats]:
    """A proven lower bound on the information loss of any partition into groups of at least k.

    No partition of `X` whose groups have at least `k` records loses less, whatever the method. The
    bound is a certificate, not an estimate: see :doc:`/bound`. It is usually within a few percent
    of the best loss that is known.

    The longer the search, the higher the bound. At the time limit it ends with what was proven
    until then, which is 0 at worst. So does the first Ctrl-C, with a warning; a second one raises
    KeyboardInterrupt. Rounding is taken into account: the bound is lowered by about a billionth of
    itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records, as they are: the loss depends on the scale of the columns.

    k : int
        Smallest size of a group.

    time_limit : float, default=10.0
        Seconds after which to stop. It can be infinite if `max_iter` is given or `tol` is above 0;
        then the bound depends neither on the clock nor on `n_jobs`.

    max_iter : int or None, default=None
        Number of iterations after which to stop, at least 1; with None there is no such limit. An
        iteration improves the dual variables on the columns and cuts that are known, repairs them
        so that they prove a bound, and adds the columns and cuts that they violate. The first
        bound, from the distances to the nearest records, is proven before the first iteration.
        Where `time_limit` is finite, a repair that is given up for lack of time counts too.

    tol : float, default=0.0
        When hardly any new columns or cuts are found, stop if the bound is within this share of
        what the known ones allow. With 0, stop only when time or iterations are used up, or when
        this method can raise the bound no further.

    verbose : int, default=0
        If 1, print a progress line that updates.

    return_trace : bool, default=False
        Whether to return, in addition, when the bound rose.

    n_jobs : int or None, default=None
        Number of threads that check the proof. It affects the bound only through the time limit.

    Returns
    -------
    bound : float
        The bound, from 0 to 1: 0 for k=1 or if all records are equal, and exact if only one group
        is possible, that is, for fewer than 2k records.

    trace : ndarray of shape (n_improvements, 2)
        Seconds since the start and the bound proven by then, rising. Only if `return_trace`.

    See Also
    --------
    optimality_gap : How much more than the bound a partition loses.
    information_loss : What a partition loses.

    Examples
    --------
    >>> from sk_microagg.metrics import loss_bound
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> round(loss_bound(X, 2, time_limit=1), 4)
    0.0385

    With a number of iterations instead of seconds, the result can be reproduced:

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> for max_iter in (1, 4, 16):
    ...     print(f"{loss_bound(X, 3, time_limit=np.inf, max_iter=max_iter):.1%}")
    8.2%
    8.4%
    8.8%
    """
    X = check_records(X)
    k = check_k(k, len(X))
    tol = check_number("tol", tol, at_least=0.0)
    time_limit = check_number("time_limit", time_limit, above=0.0)
    max_iter = check_count("max_iter", max_iter, or_none=True)
    check_verbose(verbose)
    check_n_jobs(n_jobs)
    if time_limit == inf and tol == 0 and max_iter < 0:
        raise ValueError(
            "time_limit=inf needs a tol above 0 or a max_iter: without either, the search has no "
            "limit."
        )
    bound, trace = bound_of(X, k, time_limit, max_iter, tol, verbose, n_jobs)
    return (bound, trace) if return_trace else bound


def optimality_gap(
    X: TableLike,
    labels: ArrayLike,
    k: int,
    *,
    time_limit: float = 10.0,
    max_iter: int | None = None,
    n_jobs: int | None = None,
) -> float:
    """How much more a partition loses than a proven lower bound, as a share of that bound.

    A gap of 0.02 says that no partition into groups of at least k loses less than 1 / 1.02 of what
    this one loses. The partition may be closer to the optimum than that, or optimal, since the
    bound may be too low.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records, as they are: the loss depends on the scale of the columns.

    labels : array-like of shape (n_samples,)
        Group of each record, integers; every group has at least `k` records.

    k : int
        Smallest size of a group.

    time_limit : float, default=10.0
        Seconds that the search for a bound may take, see :func:`loss_bound`.

    max_iter : int or None, default=None
        Number of iterations of that search, see :func:`loss_bound`.

    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    gap : float
        Loss / bound - 1; 0 if both are 0, and infinite if only the bound is 0.

    See Also
    --------
    loss_bound : The bound.

    Examples
    --------
    >>> from sk_microagg.metrics import optimality_gap
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> round(optimality_gap(X, [0, 0, 1, 1], k=2, time_limit=1), 4)
    0.0
    """
    X = check_records(X)
    k = check_k(k, len(X))
    labels = check_partition(labels, k, len(X), "labels")
    loss = information_loss(X, labels)
    bound = loss_bound(X, k, time_limit=time_limit, max_iter=max_iter, n_jobs=n_jobs)
    if bound == 0:
        return 0.0 if loss == 0 else inf
    return loss / bound - 1.0


def certify(estimator: Estimator, X: TableLike, time_limit: float, verbose: int = 0) -> Certificate:
    """Prove how far the loss of a fitted estimator is from the optimum, at most."""
    if isinstance(estimator, TableAggregator):
        return estimator.certificate(X, time_limit=time_limit, verbose=verbose)
    scaled, n_single = scaled_records(estimator, X)
    proof = loss_bound(
        scaled,
        estimator.k,
        time_limit=time_limit,
        verbose=verbose,
        return_trace=True,
        n_jobs=estimator.n_jobs,
    )
    loss = information_loss(scaled, estimator.labels_)
    return Certificate(loss, *proof, estimator.k, n_single)


def certificate_of(
    estimator: Estimator, X: TableLike, bound: float, trace: ArrayLike
) -> Certificate:
    """The certificate from what `loss_bound` returned; raise if that is for something else."""
    if isinstance(estimator, TableAggregator):
        loss, n_single = estimator.information_loss_, estimator._fitted_points(X)[1]
    else:
        scaled, n_single = scaled_records(estimator, X)
        loss = information_loss(scaled, estimator.labels_)
    bound = check_number("bound", bound, at_least=0, at_most=1)
    return Certificate(loss, bound, check_bound_trace(trace), estimator.k, n_single)


def check_can_be_certified(estimator: Estimator, claim: str) -> None:
    """Raise unless a bound can be proven for an estimator; `claim` says what has to be one."""
    if not isinstance(estimator, MicroAggregator | TableAggregator):
        raise TypeError(
            f"{claim} a fitted MicroAggregator or TableAggregator: a bound is proven for groups "
            "that are released as averages, in memory."
        )
    check_is_fitted(estimator)


def scaled_records(estimator: Estimator, X: TableLike) -> tuple[Floats, int]:
    """The records as points that the loss is about, and how many cells depend on the groups.

    Raise an error if the estimator was fitted on others.
    """
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
    return scaled, len(stand_ins[0])


def check_bound_trace(trace: ArrayLike) -> Floats:
    """Return the trace of a bound as an array, or raise an error that says what it must be."""
    trace = np.asarray(trace, dtype=np.float64)
    if trace.ndim != 2 or trace.shape[1] != 2:
        raise ValueError(
            f"bound_trace of shape {trace.shape} must have rows of two: seconds and bound, as "
            "sk_microagg.metrics.loss_bound returns them."
        )
    return trace
