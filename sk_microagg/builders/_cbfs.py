"""Centroid-based fixed-size microaggregation."""

from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import Builder, FixedSizeGroups, Growth


class CBFS(Builder):
    """Centroid-based fixed-size microaggregation (CBFS) [1]_: from the outside in.

    The record farthest from the centroid of the remaining records starts the next group, until
    fewer than k records remain. Each of those joins the group with the nearest centroid.

    Parameters
    ----------
    growth : {"nn", "nc"}, default="nn"
        How a group grows from its first record. "nn" (nearest neighbors) adds the k - 1 records
        nearest to the first one; "nc" (nearest to the centroid) adds, one at a time, the record
        nearest to the centroid of the group so far.

    See Also
    --------
    MDAV : Two groups at a time, at opposite ends.
    DBFS : Groups at both ends of the diameter.

    References
    ----------
    .. [1] M. Laszlo, S. Mukherjee (2005). Minimum spanning tree partitioning algorithm for
       microaggregation. IEEE Transactions on Knowledge and Data Engineering 17, 902–911.

    Examples
    --------
    >>> from sk_microagg.builders import CBFS
    >>> CBFS().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([1, 1, 0, 0, 1])
    """

    def __init__(self, growth: Growth = "nn") -> None:
        self.growth = growth

    def _build(self, X: Floats, k: int) -> Labels:
        groups = FixedSizeGroups(X, k, self.growth)
        grow_from_outside(groups)
        return groups.finish()


def grow_from_outside(groups: FixedSizeGroups, deadline: Deadline | None = None) -> None:
    """Form groups from the outside in while k records remain, and until the deadline is over."""
    pool = groups.pool
    while pool.size >= groups.k and not (deadline is not None and deadline.is_over()):
        groups.grow(pool.farthest(pool.centroid(), anchor="centroid"))
