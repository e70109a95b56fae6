"""Two fixed reference points."""

from itertools import cycle
from typing import Literal

import numpy as np

from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_option
from sk_microagg.builders._base import Builder, FixedSizeGroups, Growth


class TFRP(Builder):
    """Two fixed reference points (TFRP) [1]_: groups farthest from two corners of the data.

    Two reference points, a low and a high corner, are chosen once. The record farthest from one of
    them, in turn, starts the next group, until fewer than k records remain. Each of those joins the
    group with the nearest centroid. This is phase I of the published method;
    :class:`~sk_microagg.refiners.Decompose` is phase II.

    Parameters
    ----------
    growth : {"nn", "nc"}, default="nn"
        How a group grows from its first record. "nn" (nearest neighbors) adds the k - 1 records
        nearest to the first one; "nc" (nearest to the centroid) adds, one at a time, the record
        nearest to the centroid of the group so far.

    reference : {"attribute", "global"}, default="attribute"
        The reference points. "attribute": the minimum and the maximum of each column, the high
        corner first [2]_. "global": the minimum and the maximum of the whole table in every column,
        the low corner first [1]_.

    See Also
    --------
    MDAV : Groups far from the centroid of the remaining records.
    sk_microagg.refiners.Decompose : The second phase of the published method.

    References
    ----------
    .. [1] C.-C. Chang, Y.-C. Li, W.-H. Huang (2007). TFRP: an efficient microaggregation
       algorithm for statistical disclosure control. Journal of Systems and Software 80, 1866–1878.
    .. [2] L. Khomnotai, J.-L. Lin, Z.-Q. Peng, A. S. Santra (2018). Iterative group decomposition
       for refining microaggregation solutions. Symmetry 10(7), 262.

    Examples
    --------
    >>> from sk_microagg.builders import TFRP
    >>> TFRP().build([[0.0], [1.0], [9.0], [11.0], [4.0]], k=2)
    array([0, 0, 1, 1, 0])
    """

    def __init__(
        self, growth: Growth = "nn", reference: Literal["attribute", "global"] = "attribute"
    ) -> None:
        self.growth = growth
        self.reference = reference

    def _build(self, X: Floats, k: int) -> Labels:
        check_option("reference", self.reference, ("attribute", "global"))
        if self.reference == "attribute":
            corners = {"high": X.max(axis=0), "low": X.min(axis=0)}
        else:
            n_features = X.shape[1]
            corners = {"low": np.full(n_features, X.min()), "high": np.full(n_features, X.max())}
        groups = FixedSizeGroups(X, k, self.growth)
        pool = groups.pool
        turns = cycle(corners.items())
        while pool.size >= k:
            name, corner = next(turns)
            groups.grow(pool.farthest(corner, anchor=name))
        return groups.finish()
