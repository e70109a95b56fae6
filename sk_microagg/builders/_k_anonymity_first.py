"""Groups of k whose members are replaced until the constraints hold."""

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import Builder, FixedSizeGroups
from sk_microagg.privacy import Rules

# Outside records are tried in batches, which grow while none of them helps, up to a number of
# values in all groups with a replaced member.
LEAST_BATCH = 8
MOST_VALUES = 1 << 16


class KAnonymityFirst(Builder):
    """Near records, some of them replaced until all constraints hold: k-anonymity first [1]_.

    Groups start at the records at which those of MDAV start: the record farthest from the centroid
    of the remaining records, then the record farthest from that one. A group consists of the k
    nearest records. While it violates a constraint, the next nearest record replaces the member
    whose replacement brings the group nearest to satisfying all constraints, if it brings it
    nearer at all. The last records, fewer than 2k, form one group. In the end, groups that violate
    a constraint are merged with the nearest ones, as with every builder. Without constraints, the
    groups are those of MDAV but for the last records.

    See Also
    --------
    TClosenessFirst : Groups that have the distribution of the table from the start.

    Notes
    -----
    Where groups of k rarely satisfy the constraints, or once the remaining records have few
    different sensitive values, all of them are tried in vain for group after group: the time then
    grows with the square of the number of records. It is meant for some thousand records. Merging
    the groups of MDAV often loses less.

    References
    ----------
    .. [1] J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez, S. Martínez (2015). t-closeness through
       microaggregation: strict privacy with enhanced utility preservation. IEEE Transactions on
       Knowledge and Data Engineering 27, 3098–3110.

    Examples
    --------
    >>> from sk_microagg.builders import KAnonymityFirst
    >>> KAnonymityFirst().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([1, 1, 0, 0, 1])
    """

    keeps_rules = True

    def _build(self, X: Floats, k: int, rules: Rules | None = None) -> Labels:
        groups = FixedSizeGroups(X, k)
        pool = groups.pool
        while pool.size >= 2 * k:
            first = pool.farthest(pool.centroid(), anchor="centroid")
            groups.take(group_around(pool, first, k, rules))
            if pool.size >= 2 * k:
                groups.take(group_around(pool, pool.farthest(X[first]), k, rules))
        groups.take(pool.nearest(pool.centroid(), pool.size))
        return groups.finish()


def group_around(pool: Pool, first: int, k: int, rules: Rules | None) -> Labels:
    """Return k records around the first one that satisfy the rules, or as nearly as found."""
    near = pool.around(first, k)
    if not rules:
        return near
    members = near.copy()
    shortfall = rules.shortfalls(np.zeros(k, dtype=np.intp), members)[0]
    n_tried, batch = k, LEAST_BATCH
    while shortfall and n_tried < pool.size:
        if n_tried == len(near):
            near = pool.around(first, min(2 * n_tried + LEAST_BATCH, pool.size))
        outside = near[n_tried : n_tried + max(min(batch, MOST_VALUES // k**2), 1)]
        shortfalls = after_replacements(members, outside, rules)
        helpful = np.flatnonzero(shortfalls.min(axis=1) < shortfall)
        if len(helpful) == 0:
            n_tried += len(outside)
            batch *= 2
            continue
        place = helpful[0]
        replaced = shortfalls[place].argmin()
        members[replaced] = outside[place]
        shortfall = shortfalls[place, replaced]
        n_tried += place + 1
        batch = max(batch // 2, LEAST_BATCH)
    return members


def after_replacements(members: Labels, outside: Labels, rules: Rules) -> Floats:
    """Return the shortfall if each outside record (row) replaced each member (column)."""
    k = len(members)
    groups = np.tile(members, (len(outside), k, 1))
    groups[:, np.arange(k), np.arange(k)] = outside[:, None]
    labels = np.repeat(np.arange(len(outside) * k), k)
    return rules.shortfalls(labels, groups.ravel()).reshape(len(outside), k)
