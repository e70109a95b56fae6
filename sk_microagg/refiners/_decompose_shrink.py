"""Iterative group decomposition."""

from sk_microagg._kernels import Partition
from sk_microagg._utils._statistics import total_sum_of_squares
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._decompose import LEAST_GAIN, decompose
from sk_microagg.refiners._split import split_large_groups


class DecomposeShrink(Refiner):
    """Decompose groups and shrink them, in turns, until neither lowers the loss [1]_.

    Shrinking takes the groups of more than k records. From each, the record whose move to the group
    with the nearest centroid gains most moves there, until the group has k records or no move
    gains. Groups that grew to 2k or more are split.

    Parameters
    ----------
    max_iter : int or None, default=None
        Largest number of rounds, each of both steps; None for as many as it takes.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.

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

    def __init__(self, max_iter=None):
        self.max_iter = max_iter

    def _refine(self, X, labels, k, random_state):
        max_iter = check_count("max_iter", self.max_iter, or_none=True)
        sse = Partition(X, labels, k).sse
        n_iter = 0
        while n_iter != max_iter:
            n_iter += 1
            before = sse
            labels = shrink(X, decompose(X, labels, k), k)
            sse = Partition(X, labels, k).sse
            if not sse < before:
                break
        self.n_iter_ = n_iter
        return labels


def shrink(X, labels, k):
    """Let groups of more than k records send some away, where that lowers the SSE."""
    partition = Partition(X, labels, k)
    least_gain = LEAST_GAIN * total_sum_of_squares(X)
    for group in partition.groups():
        while partition.size(group) > k:
            record, target, gain = partition.best_departure(group)
            if not gain > least_gain:
                break
            partition.move(record, target)
    return split_large_groups(X, partition.labels(), k)
