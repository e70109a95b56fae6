"""The weights with which a partition is a power diagram of its own centroids."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sk_microagg._kernels import ExchangeGraph, Partition, Pool, center_weights
from sk_microagg._utils._statistics import group_sizes

# Arcs of the exchange graph that are there from the start: to so many groups nearest to a record.
N_NEAR = 8

# Rounds in which all weights move toward the middle of what records allow: with more, an intruder
# who looks for records near the walls between groups finds no fewer.
N_ROUNDS = 5

# Records to look at first: most partitions that are no power diagram show it in these.
N_TO_TRY = 2_000


def nearest_cells(X, centroids, weights):
    """The cell of a power diagram that each record is in."""
    return Pool(centroids, weights=weights).nearest_each(np.ascontiguousarray(X))


def near_walls(X, centroids, weights, rounding):
    """Which records may be in another cell if each column of theirs is off by some rounding."""
    # Records that are off by a vector r change the difference of two power distances by
    # 2 r · (a - b), with the centroids a and b.
    most = 2.0 * float(rounding @ np.ptp(centroids, axis=0))
    if most == 0.0 or len(centroids) == 1:
        return np.zeros(len(X), dtype=bool)
    pool = Pool(centroids, weights=weights)
    nearest = np.array([pool.nearest(x, 2) for x in X])
    distances = ((X[:, None] - centroids[nearest]) ** 2).sum(axis=2) - weights[nearest]
    return distances[:, 1] - distances[:, 0] <= most


def power_weights(X, labels, centroids, twins):
    """Weight of each group, with which every record lies in the power cell of its own group.

    Weights stand in the middle of what the records allow, and have as few digits as possible: none
    is tight to a single record, which could be computed from it. Identical records in different
    groups lie in one of their cells, and have no say in where the wall between these is.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    centroids : ndarray of shape (n_groups, n_features)
        Means of the groups.

    twins : ndarray of shape (n_samples,)
        A number that identical records share, or -1 for a record that is like no other.

    Returns
    -------
    weights : ndarray of shape (n_groups,) or None
        The weights, the largest 0; None if there are none with which the partition is a power
        diagram.

    cells : ndarray of shape (n_samples,) or None
        The cell that each record is in.
    """
    graph = ExchangeGraph(Partition(X, labels, int(group_sizes(labels).min())), twins)
    for n_records in (min(N_TO_TRY, len(X)), len(X)):
        graph.add_near(N_NEAR, n_records=n_records)
        graph.start()
        if not graph.find_potentials():
            return None, None
    while True:
        weights = _centered(graph.walls(), graph.weights())
        cells = nearest_cells(X, centroids, weights)
        elsewhere = np.flatnonzero(cells != labels)
        # Arcs lead to near groups at first: some farther away may matter, too.
        if not graph.add(elsewhere, cells[elsewhere]):
            return weights, cells
        if not graph.find_potentials():
            return None, None


def _centered(walls, weights):
    """Weights in the middle of what the walls allow, where those that are given are tight."""
    starts, targets, most = walls
    leaving = csr_array((most, targets, starts), shape=(len(weights), len(weights)))
    # Groups that are near each other get numbers near each other.
    order = reverse_cuthill_mckee(leaving, symmetric_mode=True)
    leaving = leaving[order][:, order]
    leaving.sort_indices()  # in the same order as those of its transpose
    entering = leaving.T.tocsr()
    centered = np.empty_like(weights)
    centered[order] = center_weights(
        leaving.indptr, leaving.indices, leaving.data, entering.data, weights[order], N_ROUNDS
    )
    return centered - centered.max()


def falls_among_twins(twins, labels, cells):
    """Whether the cell that each record is in is that of a group that holds one like it."""
    n_groups = labels.max() + 1
    return np.isin(twins * n_groups + cells, (twins * n_groups + labels)[twins >= 0])
