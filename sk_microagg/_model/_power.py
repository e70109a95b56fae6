"""Weights that make a partition the power diagram of its centroids."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sk_microagg._kernels import ExchangeGraph, Partition, Pool, center_weights
from sk_microagg._model._line import cells_on_a_line, weights_on_a_line
from sk_microagg._utils._statistics import group_sizes, twins_of

# Rounds in which all weights move toward the center of what the records allow. More rounds do not
# protect better against an intruder who looks for records near the walls between cells.
N_ROUNDS = 5

# Records to try first: most partitions that are not power diagrams are recognized by these.
N_TO_TRY = 2_000

# If more than this share of the weights has changed, all records are looked at again.
MAX_CHANGED = 0.25

# Share of a squared distance and a weight that may be rounding, in all and per column.
ROUNDING = 1e-12
ROUNDING_PER_COLUMN = 1e-15


def nearest_cells(X, centroids, weights, likely=None):
    """Return the cell of a power diagram that each record lies in.

    `likely` are cells to look at first, if there is one column.
    """
    if centroids.shape[1] == 1:
        cells = cells_on_a_line(X[:, 0], centroids[:, 0], weights, likely)
        if cells is not None:
            return cells
    return Pool(centroids, weights=weights).nearest_each(np.ascontiguousarray(X))


def near_walls(X, centroids, weights, rounding):
    """Return which records may change their cell if their columns change by `rounding`."""
    # Moving a record by r changes the difference of its power distances to the centroids a and b by
    # 2 r · (a - b).
    max_change = 2.0 * float(rounding @ np.ptp(centroids, axis=0))
    if max_change == 0.0 or len(centroids) == 1:
        return np.zeros(len(X), dtype=bool)
    pool = Pool(centroids, weights=weights)
    nearest = np.array([pool.nearest(x, 2) for x in X])
    distances = ((X[:, None] - centroids[nearest]) ** 2).sum(axis=2) - weights[nearest]
    return distances[:, 1] - distances[:, 0] <= max_change


def power_weights(X, labels, centroids, twins, has_other_points=False):
    """Compute weights with which every record lies in the power cell of its own group.

    Weights are near the center of what the records allow, and have as few digits as possible: none
    is tight to a single record, which could otherwise be computed from it. Identical records in
    different groups all lie in one of their cells, and do not affect the wall between these.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    labels : ndarray of shape (n_samples,)
        Group of each record, numbered from 0.

    centroids : ndarray of shape (n_groups, n_features)
        Means of the groups, or other points for some of them.

    twins : ndarray of shape (n_samples,)
        A number shared by identical records, or -1 for a unique record.

    has_other_points : bool, default=False
        Whether some centroids are not the means.

    Returns
    -------
    weights : ndarray of shape (n_groups,) or None
        The weights, the largest of them 0; None if the partition is not a power diagram.

    cells : ndarray of shape (n_samples,) or None
        The cell that each record lies in.
    """
    if X.shape[1] == 1:
        weights = weights_on_a_line(X[:, 0], labels, centroids[:, 0])
        return weights, None if weights is None else nearest_cells(X, centroids, weights, labels)
    partition = Partition(X, labels, int(group_sizes(labels).min()))
    if has_other_points:
        partition.place_centroids(centroids)
    graph = ExchangeGraph(partition, twins)
    for n_records in (min(N_TO_TRY, len(X)), len(X)):
        graph.add_near(n_records=n_records)
        graph.start()
        if not graph.find_potentials():
            return None, None
    weights = _centered(graph.walls(), graph.weights())
    cells = nearest_cells(X, centroids, weights)
    while True:
        elsewhere = np.flatnonzero(cells != labels)
        # Initially there are arcs to near groups only; groups farther away may matter, too.
        if not graph.add(elsewhere, cells[elsewhere]):
            return weights, cells
        if not graph.find_potentials():
            return None, None
        before, weights = weights, _centered(graph.walls(), graph.weights())
        cells = _cells_after_change(X, centroids, weights, before, cells)


def _cells_after_change(X, centroids, weights, weights_before, cells_before):
    """Return the cells of all records after some weights have changed.

    A record leaves its cell only if the weight of that cell fell, or that of another one rose.
    """
    has_risen = weights > weights_before
    has_fallen = weights < weights_before
    if np.mean(has_risen | has_fallen) > MAX_CHANGED:
        return nearest_cells(X, centroids, weights)
    in_doubt = has_fallen[cells_before]
    if has_risen.any():
        risen = np.flatnonzero(has_risen)
        rivals = risen[nearest_cells(X, centroids[risen], weights[risen])]
        own, own_rounding = _power_distances(X, centroids, weights, cells_before)
        of_rivals, rounding = _power_distances(X, centroids, weights, rivals)
        in_doubt |= ~(of_rivals - rounding > own + own_rounding)
    cells = cells_before.copy()
    if in_doubt.any():
        cells[in_doubt] = nearest_cells(X[in_doubt], centroids, weights)
    return cells


def _power_distances(X, centroids, weights, cells):
    """Return the power distance of each record to a cell, and how much of it may be rounding."""
    gaps = X - centroids[cells]
    squares = np.einsum("ij,ij->i", gaps, gaps)
    rounding = max(ROUNDING, ROUNDING_PER_COLUMN * X.shape[1])
    return squares - weights[cells], rounding * (squares + np.abs(weights[cells]))


def weights_of_points(X, labels, points):
    """Return weights for points that are not the means of all groups, and the cells of records.

    All weights are 0 if there are none with which every record lies in the cell of its own group.
    """
    is_block = labels.min() == 0 and len(np.unique(labels)) == labels.max() + 1 == len(points)
    weights = cells = None
    if is_block and X.shape[1] > 1:
        weights, cells = power_weights(X, labels, points, twins_of(X), has_other_points=True)
    if weights is None:
        weights = np.zeros(len(points))
        cells = nearest_cells(X, points, weights)
    return weights, cells


def _centered(walls, weights):
    """Move tight weights to the center of what the walls allow."""
    starts, targets, most = walls
    leaving = csr_array((most, targets, starts), shape=(len(weights), len(weights)))
    # Neighboring groups get similar numbers.
    order = reverse_cuthill_mckee(leaving, symmetric_mode=True)
    leaving = leaving[order][:, order]
    leaving.sort_indices()  # so that they match those of the transpose
    entering = leaving.T.tocsr()
    centered = np.empty_like(weights)
    centered[order] = center_weights(
        leaving.indptr, leaving.indices, leaving.data, entering.data, weights[order], N_ROUNDS
    )
    return centered - centered.max()


def fall_among_twins(records, twins, labels, cells):
    """Return which of some records lie in the cell of a group that holds an identical record."""
    is_concerned = np.zeros(twins.max() + 2, dtype=bool)  # The last one is for unique records.
    is_concerned[twins[records]] = True
    is_concerned[-1] = False
    holders = np.flatnonzero(is_concerned[twins])
    n_groups = labels.max() + 1
    places = twins * n_groups
    return np.isin((places + cells)[records], (places + labels)[holders])
