"""Records as the proof uses them: scaled without rounding, each with its nearest neighbors."""

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg._utils._deadline import NEVER

# When a deadline is asked: work is the records that queries look at, at worst.
WORK_PER_BLOCK = 1_000_000
WORK_PER_NEIGHBOR = 64

# Measured, and generous.
SECONDS_PER_VALUE = 1e-7


def scaled(X):
    """X without its constant columns, times a power of two that makes the widest range near 1.

    Nothing is subtracted: that would round, and records that lie close together would lose digits.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns)
        The records; with no column if all are equal.

    exponent : int
        The scaled records are the given ones divided by two to this power.
    """
    span = X.max(axis=0) - X.min(axis=0)
    if not span.any():
        return X[:, :0], 0
    exponent = int(np.frexp(span.max())[1])
    if not span.all():
        X = np.ascontiguousarray(X[:, span > 0])
    return np.ldexp(X, -exponent), exponent


def near_records(X, m, deadline=NEVER):
    """The `m` records nearest to each, itself first, and their squared distances.

    If the deadline comes first, these are of the first records only.
    """
    near, distances = [np.empty((0, m), dtype=np.intp)], [np.empty((0, m))]
    if deadline.seconds_left() > tree_seconds(X):
        pool = Pool(X)
        block = max(WORK_PER_BLOCK // (len(X) + WORK_PER_NEIGHBOR * m), 1)
        for first in range(0, len(X), block):
            if deadline.is_over():
                break
            some = range(first, min(first + block, len(X)))
            near.append(np.array([pool.around(record, m) for record in some]))
            gaps = X[near[-1]] - X[some][:, None]
            distances.append(np.einsum("ijk,ijk->ij", gaps, gaps))
    return np.concatenate(near), np.concatenate(distances)


def tree_seconds(X):
    """About the seconds that a tree of records takes, which has no deadline of its own."""
    return SECONDS_PER_VALUE * X.size


def sum_of_nearest(distances, n):
    """A lower bound on the sum of the n smallest squared distances of each record to others.

    Parameters are as those of `sums_of_nearest`, of which it is the last sum.
    """
    known = distances[:, 1 : n + 1]
    return known.sum(axis=1) + (n - known.shape[1]) * distances[:, -1]


def sums_of_nearest(distances, n_sums):
    """Lower bounds on the sums of the t smallest squared distances of each record, t < `n_sums`.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, m)
        Squared distances to the nearest records in ascending order, the first to the record itself.

    n_sums : int
        Number of sums. From `m` on, each further record counts as far away as the last one known.

    Returns
    -------
    sums : ndarray of shape (n_samples, n_sums)
        The sums; the first one is empty, 0.
    """
    columns = np.minimum(np.arange(n_sums), distances.shape[1] - 1)
    return np.cumsum(distances[:, columns], axis=1)
