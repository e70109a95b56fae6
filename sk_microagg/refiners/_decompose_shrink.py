"""Iterative group decomposition."""

import numpy as np

from sk_microagg._kernels import Partition
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._decompose import MIN_GAIN_OF_SST, decompose, split_large_groups


class DecomposeShrink(Refiner):
    """Alternate between dissolving and shrinking groups until neither lowers the loss [1]_.

    See :class:`Decompose` for the first step. The second step shrinks each group of more than k
    records: of all moves of a record to the group with the nearest other centroid, the one with the
    largest gain is made, until the group has k records or no move gains. Groups that have grown to
    2k or more records are split.

    Parameters
    ----------
    max_iter : int or None, default=None
        Maximum number of iterations. An iteration is one round of both steps. None means no limit.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations performed.

    See Also
    --------
    Decompose : Dissolves groups only.
    LocalSearch : Swaps and shifts records instead.

    References
    ----------
    .. [1] L. Khomnotai, J.-L. Lin, Z.-Q. Peng, A. S. Santra (2018). Iterative group decomposition
       for refining microaggregation solutions. Symmetry 10(7), 262.

    Examples
    --------
    >>> from sk_microagg.refiners import DecomposeShrink
    >>> X = [[0.0], [1.0], [8.0], [9.0], [2.0], [7.0]]
    >>> DecomposeShrink().refine(X, [0, 0, 1, 1, 0, 0], k=2)
    array([1, 1, 0, 0, 1, 0])
    """

    is_random = False

    def __init__(self, max_iter: int | None = None) -> None:
        self.max_iter = max_iter

    def _refine(
        self, X: Floats, labels: Labels, k: int, random_state: np.random.RandomState
    ) -> Labels:
        max_iter = check_count("max_iter", self.max_iter, or_none=True)
        sse = Partition(X, labels, k).sse
        n_iter = 0
        while n_iter != max_iter:
            n_iter += 1
            before = sse
            labels = decompose_and_shrink(X, labels, k)
            sse = Partition(X, labels, k).sse
            if not sse < before:
                break
        self.n_iter_: int = n_iter
        return labels


def decompose_and_shrink(
    X: Floats, labels: Labels, k: int, deadline: Deadline | None = None
) -> Labels:
    """One round of both steps, cut short when the deadline is over; return the new labels."""
    return shrink(X, decompose(X, labels, k, deadline), k, deadline)


def shrink(X: Floats, labels: Labels, k: int, deadline: Deadline | None = None) -> Labels:
    """Move records out of groups of more than k, where that lowers the SSE."""
    partition = Partition(X, labels, k)
    min_gain = MIN_GAIN_OF_SST * total_sum_of_squares(X)
    for group in partition.groups():
        if deadline is not None and deadline.is_over():
            break
        while partition.size(group) > k:
            record, target, gain = partition.best_departure(group)
            if not gain > min_gain:
                break
            partition.move(record, target)
    return split_large_groups(X, partition.labels(), k, deadline)
