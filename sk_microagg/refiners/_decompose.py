"""Group decomposition: the second phase of TFRP."""

from typing import TYPE_CHECKING

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._split import split_large_groups

# A gain below this share of the total sum of squares (SST) may be rounding error.
MIN_GAIN_OF_SST = 1e-12


class Decompose(Refiner):
    """Dissolve groups, one at a time, where that lowers the loss [1]_.

    Groups are visited in decreasing order of their sum of squared errors. Each is dissolved: its
    records move to the groups with the nearest centroids, which are updated. If the total error
    does not fall, the group is restored. Finally, groups of 2k or more records are split.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations performed, always 1.

    See Also
    --------
    DecomposeShrink : Shrinks groups as well, in turns.

    References
    ----------
    .. [1] C.-C. Chang, Y.-C. Li, W.-H. Huang (2007). TFRP: An efficient microaggregation algorithm
       for statistical disclosure control. Journal of Systems and Software 80, 1866–1878.

    Examples
    --------
    >>> from sk_microagg.refiners import Decompose
    >>> X = [[0.0], [1.0], [8.0], [9.0], [2.0], [7.0]]
    >>> Decompose().refine(X, [0, 0, 1, 1, 2, 2], k=2)
    array([0, 0, 1, 1, 0, 1])
    """

    if TYPE_CHECKING:  # what `refine` sets
        n_iter_: int

    is_random = False

    def _refine(
        self, X: Floats, labels: Labels, k: int, random_state: np.random.RandomState
    ) -> Labels:
        labels = decompose(X, labels, k)
        self.n_iter_ = 1
        return labels


def decompose(X: Floats, labels: Labels, k: int, deadline: Deadline | None = None) -> Labels:
    """Dissolve each group once, if that lowers the SSE and the deadline is not over by then."""
    partition = Partition(X, labels, k)
    min_gain = MIN_GAIN_OF_SST * total_sum_of_squares(X)
    sse = np.array([partition.cost_of(group) for group in partition.groups()])
    for group in np.argsort(-sse, kind="stable"):
        if deadline is not None and deadline.is_over():
            break
        if partition.size(group) >= 2 * k:
            continue
        before = partition.sse
        partition.mark()
        partition.dissolve(group, full=4 * k - 1)
        if not before - partition.sse > min_gain:
            partition.rollback()
    return split_large_groups(X, partition.labels(), k, deadline)
