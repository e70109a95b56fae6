"""Groups that grow one record at a time, always by the one that fits best."""

import numpy as np

from sk_microagg._kernels import RangePool


def random_seeds(pool, lo, hi, order):
    """The next record of a random order that is still there."""
    for record in order:
        if record in pool:
            yield record


def farthest_seeds(pool, lo, hi, order):
    """The record farthest from the last seed; at first from a random record."""
    last = order[0]
    while True:
        last = pool.farthest(lo[last], hi[last])
        yield last


def group_greedily(columns, lo, hi, k, random_state, *, distance="ncp", seeds=random_seeds):
    """Make groups of k records; the last ones, fewer than k, join the groups that fit best.

    Parameters
    ----------
    columns : Columns
        What generalised values lose.

    lo, hi : ndarray of shape (n_records, n_columns), int32
        The records, as leaf ranges.

    k : int
        Size of the groups.

    random_state : RandomState instance
        For the order of records: in it they become seeds, and the last ones join groups.

    distance : {"ncp", "entropy"}, default="ncp"
        What is to be least when a record joins a group.

    seeds : callable, default=random_seeds
        Finds the first record of each group.

    Returns
    -------
    labels : ndarray of shape (n_records,)
        Group of each record.
    """
    pool = RangePool(columns, lo, hi, distance=distance)
    order = random_state.permutation(len(lo))
    labels = np.full(len(lo), -1, dtype=np.intp)
    centre_lo, centre_hi = [], []
    seed = seeds(pool, lo, hi, order)
    while pool.size >= k:
        members = [next(seed)]
        low, high = lo[members[0]].copy(), hi[members[0]].copy()
        pool.remove(members[0])
        while len(members) < k:
            record = pool.nearest(low, high, len(members))
            pool.remove(record)
            members.append(record)
            np.minimum(low, lo[record], out=low)
            np.maximum(high, hi[record], out=high)
        labels[members] = len(centre_lo)
        centre_lo.append(low)
        centre_hi.append(high)

    centre_lo, centre_hi = np.array(centre_lo), np.array(centre_hi)
    sizes = np.full(len(centre_lo), k)
    for record in order[labels[order] < 0]:
        costs = columns.costs(
            centre_lo, centre_hi, sizes, lo[record], hi[record], by_entropy=distance == "entropy"
        )
        best = np.argmin(costs)
        labels[record] = best
        sizes[best] += 1
        centre_lo[best] = np.minimum(centre_lo[best], lo[record])
        centre_hi[best] = np.maximum(centre_hi[best], hi[record])
    return labels
