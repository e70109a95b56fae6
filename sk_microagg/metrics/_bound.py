"""How far a partition can be from the best one."""

from math import inf

import numpy as np

from sk_microagg._bound import prove
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._validation import (
    check_k,
    check_n_jobs,
    check_number,
    check_partition,
    check_records,
    check_verbose,
)
from sk_microagg.metrics._loss import information_loss


def loss_bound(X, k, *, time_limit=10.0, tol=0.0, verbose=0, return_trace=False, n_jobs=None):
    """A proven lower bound on the information loss of any partition into groups of at least k.

    No partition of `X` whose groups have at least `k` records loses less, whatever the method. The
    bound is a certificate, not an estimate: see :doc:`/bound`. It is usually within a few percent
    of the best loss that is known.

    The bound rises as long as it is given time. Rounding is taken into account: about a
    billionth of the bound is given away for it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records, as they are: the loss depends on the scale of the columns.

    k : int
        Smallest size of a group.

    time_limit : float, default=10.0
        Seconds after which to stop. It can be infinite if `tol` is above 0.

    tol : float, default=0.0
        When hardly any sets or cuts are found that are new, stop if the bound is within this share
        of what those known allow. With 0, stop only when the time is up or when the bound is as
        good as it can become.

    verbose : int, default=0
        With 1, print a line that updates.

    return_trace : bool, default=False
        Whether to return when the bound rose, too.

    n_jobs : int or None, default=None
        Number of threads that check the proof. The bound depends on it only by the clock.

    Returns
    -------
    bound : float
        The bound, from 0 to 1; 0 for k=1 or if all records are equal, and exact if only one group
        is possible, which is so below 2k records.

    trace : ndarray of shape (n_improvements, 2)
        Seconds since the start and the bound that was then proven, rising. Only if `return_trace`.

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
    """
    X = check_records(X)
    k = check_k(k, len(X))
    tol = check_number("tol", tol, at_least=0.0)
    time_limit = check_number("time_limit", time_limit, above=0.0)
    check_verbose(verbose)
    check_n_jobs(n_jobs)
    if time_limit == inf and tol == 0:
        raise ValueError("time_limit=inf needs a tol above 0, or there is no end.")
    if k == 1 or len(X) < 2 * k or total_sum_of_squares(X) == 0:
        in_one_group = np.zeros(len(X), dtype=np.intp)
        bound = 0.0 if k == 1 else information_loss(X, in_one_group)
        trace = np.array([[0.0, bound]]) if bound > 0 else np.empty((0, 2))
    else:
        proof = prove(X, k, time_limit, tol, verbose, n_jobs)
        bound, trace = proof.bound, proof.trace()
    return (bound, trace) if return_trace else bound


def optimality_gap(X, labels, k, *, time_limit=10.0, n_jobs=None):
    """How much more a partition loses than a proven lower bound, as a share of that bound.

    A gap of 0.02 says: no partition into groups of at least k can lose less than 1 / 1.02 of what
    this one loses. The partition may be better than that, even the best, since the bound may be
    too low.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records, as they are: the loss depends on the scale of the columns.

    labels : array-like of shape (n_samples,)
        Group of each record, integers; every group has at least `k` records.

    k : int
        Smallest size of a group.

    time_limit : float, default=10.0
        Seconds in which to look for a bound, see :func:`loss_bound`.

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
    bound = loss_bound(X, k, time_limit=time_limit, n_jobs=n_jobs)
    if bound == 0:
        return 0.0 if loss == 0 else inf
    return loss / bound - 1.0
