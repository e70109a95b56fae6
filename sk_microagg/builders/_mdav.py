"""Maximum distance to average vector."""

from typing import Any, Literal

from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._typing import Floats
from sk_microagg._utils._validation import check_option
from sk_microagg.builders._base import Builder, FixedSizeGroups, Growth


class MDAV(Builder):
    """Maximum distance to average vector (MDAV) [1]_: pairs of groups at opposite ends.

    The record farthest from the centroid of the remaining records starts a group, then the record
    farthest from that record starts another, until fewer than 2k records remain.

    Parameters
    ----------
    growth : {"nn", "nc"}, default="nn"
        How a group grows from its first record. "nn" (nearest neighbors) adds the k - 1 records
        nearest to the first one; "nc" (nearest to the centroid) adds, one at a time, the record
        nearest to the centroid of the group so far.

    ending : {"fixed", "classic"}, default="fixed"
        How the last records are handled. "fixed": if k or more remain, they form one more group of
        k; each leftover record joins the group with the nearest centroid. "classic", as first
        published: pairs of groups are formed while 3k records remain; the last records form two
        groups, or one if they are fewer than 2k.

    See Also
    --------
    CBFS : One group at a time, from the outside in.
    TFRP : Groups farthest from two fixed reference points.

    References
    ----------
    .. [1] J. Domingo-Ferrer, V. Torra (2005). Ordinal, continuous and heterogeneous k-anonymity
       through microaggregation. Data Mining and Knowledge Discovery 11, 195–212.

    Examples
    --------
    >>> from sk_microagg.builders import MDAV
    >>> MDAV().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([1, 1, 0, 0, 1])
    """

    takes_codes = True

    def __init__(
        self, growth: Growth = "nn", ending: Literal["fixed", "classic"] = "fixed"
    ) -> None:
        self.growth = growth
        self.ending = ending

    def _build(self, X: Floats, k: int, deadline: Deadline | None = None) -> Any:
        """Return the labels; None if the deadline is over before the end."""
        check_option("ending", self.ending, ("fixed", "classic"))
        groups = FixedSizeGroups(X, k, self.growth)
        pool = groups.pool
        least = 2 * k if self.ending == "fixed" else 3 * k
        groups.grow_opposite(least, deadline)
        if pool.size >= least:
            return None
        if pool.size >= least - k:
            groups.grow(pool.farthest(pool.centroid(), anchor="centroid"))
        if self.ending == "classic" and pool.size:
            groups.take(pool.nearest(pool.centroid(), pool.size))
        return groups.finish()
