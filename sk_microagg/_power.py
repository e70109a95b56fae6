"""The weights with which a partition is a power diagram of its own centroids."""

import numpy as np

from sk_microagg._groups import group_means, group_sizes
from sk_microagg._kernels import ExchangeGraph, Partition

# Arcs of the exchange graph that are there from the start: to so many groups nearest to a record.
N_NEAR = 8

# Records to look at first: most partitions that are no power diagram show it in these.
N_TO_TRY = 2_000


def power_weights(X, labels):
    """Weight of each group, with which every record lies in the power cell of its own group.

    Weights with nearly the widest margin: for every record, the squared distance to its own
    centroid less its weight is lower than for any other by at least so much. No margin is kept
    between groups that share identical records: those lie in one of their cells.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    Returns
    -------
    weights : ndarray of shape (n_groups,) or None
        The weights, the largest 0; None if there are none with which the partition is a power
        diagram.
    """
    graph = ExchangeGraph(Partition(X, labels, int(group_sizes(labels).min())), twins_of(X))
    for n_records in (min(N_TO_TRY, len(X)), len(X)):
        graph.add_near(N_NEAR, n_records=n_records)
        graph.start()
        if not graph.keep():
            return None
    while graph.add_missing():
        if not graph.keep():
            return None
    return graph.weights()


def twins_of(X):
    """A number that identical records share, or -1 for a record that is like no other."""
    # Adding 0 makes one zero of the two.
    rows = np.ascontiguousarray(X + 0.0).view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel()
    _, number, count = np.unique(rows, return_inverse=True, return_counts=True)
    return np.where(count[number] > 1, number, -1)


def merge_equal_groups(X, labels):
    """Make one group of those whose centroids are the same; others keep their order."""
    _, first, merged = np.unique(
        group_means(X, labels), axis=0, return_index=True, return_inverse=True
    )
    return np.argsort(np.argsort(first))[merged.ravel()][labels]
