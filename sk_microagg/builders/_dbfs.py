"""Diameter-based fixed-size microaggregation."""

from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import Builder, FixedSizeGroups, Growth


class DBFS(Builder):
    """Diameter-based fixed-size microaggregation (DBFS) [1]_: groups at both ends of the diameter.

    The two remaining records most distant from each other start one group each, until fewer than
    2k records remain. If k or more remain, one end of their diameter starts the last group. Each
    leftover record joins the group with the nearest centroid.

    Parameters
    ----------
    growth : {"nn", "nc"}, default="nc"
        How a group grows from its first record. "nn" (nearest neighbors) adds the k - 1 records
        nearest to the first one; "nc" (nearest to the centroid) adds, one at a time, the record
        nearest to the centroid of the group so far.

    See Also
    --------
    CBFS : One group at a time, from the outside in.
    MDAV : The same without distances between all pairs.

    References
    ----------
    .. [1] M. Laszlo, S. Mukherjee (2005). Minimum spanning tree partitioning algorithm for
       microaggregation. IEEE Transactions on Knowledge and Data Engineering 17, 902–911.

    Examples
    --------
    >>> from sk_microagg.builders import DBFS
    >>> DBFS().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([0, 0, 1, 1, 0])
    """

    def __init__(self, growth: Growth = "nc") -> None:
        self.growth = growth

    def _build(self, X: Floats, k: int) -> Labels:
        groups = FixedSizeGroups(X, k, self.growth)
        pool = groups.pool
        while pool.size >= 2 * k:
            one_end, other_end = pool.diameter()
            groups.grow(one_end)
            # The first group may already hold the other end.
            groups.grow(other_end if other_end in pool else pool.farthest(X[one_end]))
        if pool.size >= k:
            groups.grow(pool.diameter()[0])
        return groups.finish()
