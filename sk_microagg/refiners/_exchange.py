"""Cyclic exchange: records that go round several groups at once."""

import numpy as np

from sk_microagg._kernels import Descent, ExchangeGraph, Partition
from sk_microagg._utils._statistics import group_means, twins_of
from sk_microagg._utils._validation import check_count
from sk_microagg.refiners._base import Refiner
from sk_microagg.refiners._split import split_large_groups

# Arcs of the exchange graph that are there from the start: to so many groups nearest to a record.
N_NEAR = 8


class Exchange(Refiner):
    """Exchange records round cycles of groups until the partition is a power diagram.

    First swaps and shifts between pairs of groups, as in :class:`LocalSearch` but in the order of
    the groups, so that it leaves nothing to chance. Then exchanges among more groups: each sends a
    record to the next, and the last to the first, or it keeps one more than it had. When no such
    exchange is left, every group has a weight such that each record has the least squared distance
    less weight at its own group. This is what makes :meth:`MicroAggregator.transform` exact.

    Groups that consist of the same record again and again are merged in the end; only they may
    have 2k or more records.

    Parameters
    ----------
    max_iter : int or None, default=None
        Largest number of rounds of exchanges; None for as many as it takes, without which the
        partition may not be a power diagram.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.

    See Also
    --------
    LocalSearch : Swaps and shifts alone.
    IteratedLocalSearch : Lower loss for more time.

    Notes
    -----
    The groups are nodes of a graph. The arc from A to B costs the least of ``|x - b|² - |x - a|²``
    over the records x of A, with the centroids a and b. A cycle of negative cost lowers the sum of
    squared errors by more than that. Without one, the weights are potentials of this graph.

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
        graph.add_near(N_NEAR)
        # Cycles that cost up to the mean squared distance of a record to its centroid are worth a
        # try: the centroids follow, which may make up for it.
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
    """Make one group of those whose centroids are the same; others keep their order."""
    _, first, merged = np.unique(
        group_means(X, labels), axis=0, return_index=True, return_inverse=True
    )
    return np.argsort(np.argsort(first))[merged.ravel()][labels]
