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
    """Prove that every partition of the records loses at least a certain share."""
    total = total_sum_of_squares(X)
    if k > 1 and len(X) >= 2 * k and total > 0:
        proof = prove(X, k, time_limit, max_iter, tol, verbose, n_jobs, on_rise)
        return proof.bound, proof.trace()
    # All records in one group, or each on its own.
    one_group = np.zeros(len(X), dtype=np.intp)
    sse = squared_error(X, group_means(X, one_group), one_group)
    bound = 0.0 if k == 1 else loss_share(sse, total)
    return bound, np.array([[0.0, bound]]) if bound > 0 else np.empty((0, 2))
