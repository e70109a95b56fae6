"""Cyclic exchanges of records among several groups."""

import numpy as np

from sk_microagg._kernels import Descent, ExchangeGraph, Partition
from sk_microagg._utils._statistics import group_means, twins_of
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._split import split_large_groups


class Exchange(Refiner):
    """Exchange records along cycles of groups until the partition is a power diagram.

    It starts with swaps and shifts between pairs of groups, as in :class:`LocalSearch`, but in a
    fixed order, so that nothing is random. Exchanges among more groups follow: each group sends a
    record to the next one, and the last group sends one to the first or keeps the additional
    record. When no such exchange lowers the loss, every group has a weight such that each record
    minimizes the squared distance minus the weight at its own group. This is what makes
    :meth:`MicroAggregator.transform` exact.

    Groups that consist of copies of the same record are merged in the end; only they may have 2k
    or more records.

    Parameters
    ----------
    max_iter : int or None, default=None
        Maximum number of iterations. An iteration is one round of cyclic exchanges. None means no
        limit; with a limit, the result may not be a power diagram.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations performed.

    See Also
    --------
    LocalSearch : Swaps and shifts only.
    IteratedLocalSearch : Lower loss for more time.

    Notes
    -----
    The groups are the nodes of a graph. The cost of the arc from A to B is the minimum of
    ``|x - b|² - |x - a|²`` over the records x of A, where a and b are the centroids. An exchange
    along a cycle of negative cost lowers the sum of squared errors by more than the cost of the
    cycle. If there is no such cycle, the weights are potentials of this graph.

    Examples
    --------
    >>> from sk_microagg.refiners import Exchange
    >>> X = [[0.0], [1.0], [8.0], [9.0], [2.0], [7.0]]
    >>> Exchange().refine(X, [0, 1, 1, 0, 0, 1], k=3)
    array([0, 0, 1, 1, 0, 1])
    """

    def __init__(self, max_iter=None):
        self.max_iter = max_iter

    def _refine(self, X, labels, k, random_state):
        max_iter = check_count("max_iter", self.max_iter, or_none=True)
        partition = Partition(X, split_large_groups(X, labels, k), k)
        descent = Descent(partition)
        descent.run(partition.groups())
        graph = ExchangeGraph(partition, twins_of(X))
        graph.add_near()
        # Cycles with a cost of up to the mean squared distance between record and centroid are
        # worth trying: moving the centroids may outweigh it.
        graph.start(partition.sse / len(X), with_paths=True)
        n_iter = 0
        while n_iter != max_iter:
            n_iter += 1
            changed = graph.cancel()
            if changed:
                descent.run(changed)
            elif graph.add_missing() == 0:
                break
        labels = _merge_equal_groups(X, partition.labels())
        self.n_iter_ = n_iter
        return labels


def _merge_equal_groups(X, labels):
    """Merge groups with equal centroids; the order of the groups is kept."""
    _, first, merged = np.unique(
        group_means(X, labels), axis=0, return_index=True, return_inverse=True
    )
    return np.argsort(np.argsort(first))[merged.ravel()][labels]
