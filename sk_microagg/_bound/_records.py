"""Records as the proof uses them: scaled without rounding, each with its nearest neighbors."""

import numpy as np

from sk_microagg._kernels import Pool


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
    return np.ascontiguousarray(np.ldexp(X[:, span > 0], -exponent)), exponent


def near_records(X, m):
    """The `m` records nearest to each, itself first, and their squared distances."""
    near = Pool(X).around_each(m)
    distances = np.empty(near.shape)
    for place in range(m):
        gap = X[near[:, place]] - X
        distances[:, place] = np.einsum("ij,ij->i", gap, gap)
    return near, distances


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
