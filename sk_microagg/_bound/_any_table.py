"""The bound for any table, also for those where there is nothing to search."""

from collections.abc import Callable

import numpy as np

from sk_microagg._bound._scheme import prove
from sk_microagg._utils._statistics import (
    group_means,
    loss_share,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg._utils._typing import Floats


def bound_of(
    X: Floats,
    k: int,
    time_limit: float,
    max_iter: int = -1,
    tol: float = 0.0,
    verbose: int = 0,
    n_jobs: int | None = None,
    on_rise: Callable[[float, float], None] | None = None,
) -> tuple[float, Floats]:
    """Prove that every partition of the records loses at least a certain share.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns)
        The records, already validated.

    k : int
        Smallest size of a group.

    time_limit : float
        Seconds after which to stop.

    max_iter : int, default=-1
        Number of iterations after which to stop; -1 for no limit.

    tol : float, default=0.0
        When to stop before that: see `loss_bound`.

    verbose : int, default=0
        If 1, print a progress line that updates.

    n_jobs : int or None, default=None
        Number of threads that check the proof.

    on_rise : callable or None, default=None
        Is called with the seconds and the bound whenever that rises.

    Returns
    -------
    bound : float
        The bound, from 0 to 1.

    trace : ndarray of shape (n_improvements, 2)
        Seconds since the start and the bound that was then proven.
    """
    total = total_sum_of_squares(X)
    if k > 1 and len(X) >= 2 * k and total > 0:
        proof = prove(X, k, time_limit, max_iter, tol, verbose, n_jobs, on_rise)
        return proof.bound, proof.trace()
    # All records in one group, or each on its own.
    one_group = np.zeros(len(X), dtype=np.intp)
    sse = squared_error(X, group_means(X, one_group), one_group)
    bound = 0.0 if k == 1 else loss_share(sse, total)
    return bound, np.array([[0.0, bound]]) if bound > 0 else np.empty((0, 2))
