"""Weights that make a partition the power diagram of its centroids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sk_microagg._kernels import ExchangeGraph, Partition, Pool, center_weights
from sk_microagg._utils._coded_points import CodedPoints, nearest_each
from sk_microagg._utils._statistics import group_sizes, twins_of
from sk_microagg._utils._typing import Array

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

# If this share of the groups have new walls at most, their weights may move on their own.
MAX_MOVED = 0.01

# With fewer records, looking for the walls between cells anew takes no time to speak of.
RECORDS_TO_KEEP_GRAPH = 5_000

# Squares of smaller numbers have fewer digits, or none.
SMALLEST_GAP = 1e-146


class FoundDiagrams:
    """The graph of the last exchange, which knows the walls between cells, while a block is fitted.

    It holds records, and must not outlive the fit: neither refiners nor models keep it.
    """

    _of_block: ContextVar[FoundDiagrams | None] = ContextVar("found_diagrams", default=None)

    def __init__(self) -> None:
        self._last: Any = None

    @classmethod
    @contextmanager
    def kept(cls) -> Iterator[FoundDiagrams]:
        """Keep what exchanges find in this thread."""
        found = cls()
        token = cls._of_block.set(found)
        try:
            yield found
        finally:
            cls._of_block.reset(token)

    @classmethod
    def note(cls, graph: ExchangeGraph, X: Any, labels: Array, order: Array | None) -> None:
        """Note that a partition is a power diagram, with records of the table in that order."""
        found = cls._of_block.get()
        if found is not None and isinstance(X, np.ndarray) and len(X) >= RECORDS_TO_KEEP_GRAPH:
            found._last = graph, X, labels, np.arange(len(X)) if order is None else order

    def take(self, X: Any, labels: Array, twins: Array) -> tuple[ExchangeGraph, Array] | None:
        """Return a graph of this very partition and the order of its records, if there is one.

        Without a margin of all records, its potentials may lie on walls, and are no start. They are
        found anew, with the arcs that are known, also where groups of copies have been merged.
        """
        last, self._last = self._last, None
        if last is None or len(last[1]) != len(X):
            return None
        graph, own_X, own_labels, order = last
        merged = np.empty(own_labels.max() + 1, dtype=np.intp)
        merged[own_labels] = labels[order]
        if not (
            np.array_equal(merged[own_labels], labels[order]) and np.array_equal(X[order], own_X)
        ):
            return None
        is_same = np.array_equal(merged, np.arange(labels.max() + 1))
        if is_same and not graph.has_exempt and graph.margin > 0:
            return graph, order
        starts, targets, _ = graph.walls()
        sources = np.repeat(merged, np.diff(starts))
        graph = _new_graph(X, labels, twins)
        graph.add(np.unique(labels, return_index=True)[1][sources], merged[targets])
        graph.start()
        return (graph, np.arange(len(X))) if graph.find_potentials() else None


def nearest_cells(X, centroids, weights, likely=None):
    """Return the cell of a power diagram that each record lies in.

    `likely` are cells to look at first, if there is one column.
    """
    if centroids.shape[1] == 1:
        cells = cells_on_a_line(X[:, 0], centroids[:, 0], weights, likely)
        if cells is not None:
            return cells
    return nearest_each(centroids, X, weights)


def near_walls(X, centroids, weights, rounding):
    """Return which records may change their cell if their columns change by `rounding`."""
    # Moving a record by r changes the difference of its power distances to the centroids a and b by
    # 2 r · (a - b).
    max_change = 2.0 * float(rounding @ np.ptp(centroids, axis=0)) if rounding.any() else 0.0
    if max_change == 0.0 or len(centroids) == 1:
        return np.zeros(len(X), dtype=bool)
    pool = Pool(centroids, weights=weights)
    nearest = np.array([pool.nearest(x, 2) for x in X])
    distances = ((X[:, None] - centroids[nearest]) ** 2).sum(axis=2) - weights[nearest]
    return distances[:, 1] - distances[:, 0] <= max_change


def power_weights(
    X: Any,
    labels: Array,
    centroids: Any,
    twins: Array,
    has_other_points: bool = False,
    found: FoundDiagrams | None = None,
) -> tuple[Array | None, Array | None]:
    """Compute weights with which every record lies in the power cell of its own group.

    Weights are near the center of what the records allow, and have as few digits as possible: none
    is tight to a single record, which could otherwise be computed from it. Identical records in
    different groups all lie in one of their cells, and do not affect the wall between these. What
    an exchange has `found` saves the search for near groups.
    """
    if X.shape[1] == 1:
        weights = weights_on_a_line(X[:, 0], labels, centroids[:, 0])
        return weights, None if weights is None else nearest_cells(X, centroids, weights, labels)
    if found is not None and (last := found.take(X, labels, twins)) is not None:
        graph, order = last
        weights, own_cells = _centered_and_exact(
            graph, X[order], labels[order], centroids, twins[order]
        )
        if weights is None:
            return None, None
        cells = np.empty_like(labels)
        cells[order] = own_cells
        return weights, cells
    graph = _new_graph(X, labels, twins, centroids if has_other_points else None)
    for n_records in (min(N_TO_TRY, len(X)), len(X)):
        graph.add_near(n_records=n_records)
        graph.start()
        if not graph.find_potentials():
            return None, None
    return _centered_and_exact(graph, X, labels, centroids, twins)


def _new_graph(X, labels, twins, points=None):
    """A graph without arcs, of groups with their means or other points."""
    partition = Partition(X, labels, int(group_sizes(labels).min()))
    if points is not None:
        partition.place_centroids(X.numbers_of(points) if isinstance(X, CodedPoints) else points)
    return ExchangeGraph(partition, twins)


def _centered_and_exact(graph, X, labels, centroids, twins):
    """Return weights in the middle of what all records allow, given potentials, and the cells."""
    weights = _centered(graph.walls(), graph.weights())
    number = np.where(twins < 0, np.arange(len(twins)) + twins.max() + 1, twins)
    _, first, point_of = np.unique(number, return_index=True, return_inverse=True)
    points = X[first]
    cells = nearest_cells(points, centroids, weights)
    while True:
        found = cells[point_of]
        elsewhere = np.flatnonzero(found != labels)
        # Initially there are arcs to near groups only; groups farther away may matter, too.
        if not graph.add(elsewhere, found[elsewhere]):
            return weights, found
        before = weights
        weights = _moved(graph.walls(), before, np.union1d(labels[elsewhere], found[elsewhere]))
        if weights is None:
            if not graph.find_potentials():
                return None, None
            weights = _centered(graph.walls(), graph.weights())
        cells = _cells_after_change(points, centroids, weights, before, cells)


def _cells_after_change(X, centroids, weights, weights_before, cells_before):
    """Return the cells of all records after some weights have changed.

    A record leaves its cell only if the weight of that cell fell, or that of another one rose.
    """
    has_risen = weights > weights_before
    has_fallen = weights < weights_before
    if isinstance(X, CodedPoints) or np.mean(has_risen | has_fallen) > MAX_CHANGED:
        return nearest_cells(X, centroids, weights)
    in_doubt = has_fallen[cells_before]
    if has_risen.any():
        risen = np.flatnonzero(has_risen)
        rivals = risen
        if len(risen) > 1:
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
    n_groups = points.shape[0]
    is_block = labels.min() == 0 and len(np.unique(labels)) == labels.max() + 1 == n_groups
    weights = cells = None
    if is_block and X.shape[1] > 1:
        weights, cells = power_weights(X, labels, points, twins_of(X), has_other_points=True)
    if weights is None:
        weights = np.zeros(n_groups)
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


def _moved(walls, weights, groups):
    """Move the weights of a few groups to what walls allow; None if others must move, too."""
    if len(groups) > MAX_MOVED * len(weights):
        return None
    starts, targets, most = walls
    sources = np.repeat(np.arange(len(weights), dtype=np.int32), np.diff(starts))
    is_one = np.isin(np.arange(len(weights)), groups)
    own, others = is_one[sources], is_one[targets]
    shape = (len(weights), len(weights))
    leaving = csr_array((most[own], (sources[own], targets[own])), shape=shape)
    entering = csr_array((most[others], (targets[others], sources[others])), shape=shape)
    moved = center_weights(
        leaving.indptr, leaving.indices, leaving.data, entering.data, weights, 0, groups
    )
    is_allowed = moved[targets] - moved[sources] < most
    return moved - moved.max() if is_allowed.all() else None


def fall_among_twins(records, twins, labels, cells):
    """Return which of some records lie in the cell of a group that holds an identical record."""
    is_concerned = np.zeros(twins.max() + 2, dtype=bool)  # The last one is for unique records.
    is_concerned[twins[records]] = True
    is_concerned[-1] = False
    holders = np.flatnonzero(is_concerned[twins])
    n_groups = labels.max() + 1
    places = twins * n_groups
    return np.isin((places + cells)[records], (places + labels)[holders])


def cells_on_a_line(
    values: Array, centroids: Array, weights: Array, likely: Array | None = None
) -> Array | None:
    """Return the cell of a power diagram of one column that each value lies in."""
    order = np.argsort(centroids, kind="stable")
    centroids, weights = centroids[order], weights[order]
    gaps = np.diff(centroids)
    if (gaps < SMALLEST_GAP).any():
        return None
    walls = centroids[:-1] + gaps / 2.0 - np.diff(weights) / (2.0 * gaps)
    if (walls[1:] <= walls[:-1]).any():
        return None
    place = _place_between(walls, values, None if likely is None else _inverse(order)[likely])
    cells, least = order[place], (values - centroids[place]) ** 2 - weights[place]
    # Next to a wall, a distance that is rounded may be less, or equal, on the other side.
    for step in (-1, 1):
        others = np.clip(place + step, 0, len(order) - 1)
        distances = (values - centroids[others]) ** 2 - weights[others]
        others = order[others]
        is_nearer = (distances < least) | ((distances == least) & (others < cells))
        cells, least = np.where(is_nearer, others, cells), np.minimum(distances, least)
    return cells


def _place_between(walls, values, likely):
    """Return the number of walls below each value; those in `likely` are tried first."""
    if likely is None:
        return np.searchsorted(walls, values)
    bounds = np.r_[-np.inf, walls, np.inf]
    is_elsewhere = (values <= bounds[likely]) | (values > bounds[likely + 1])
    likely[is_elsewhere] = np.searchsorted(walls, values[is_elsewhere])
    return likely


def _inverse(order):
    """Return the place of each number in an order of all of them."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def weights_on_a_line(values: Array, labels: Array, centroids: Array) -> Array | None:
    """Compute power weights that put every record of one column into the cell of its own group."""
    order = np.argsort(centroids, kind="stable")
    place_of_record = _inverse(order)[labels]
    starts = np.cumsum(np.bincount(place_of_record))
    starts, n_values = np.r_[0, starts[:-1]], starts[-1]
    ascending = np.sort(values)
    lowest, highest = ascending[starts], ascending[np.append(starts[1:], n_values) - 1]
    # If groups do not overlap, each has the values at its place of the order.
    is_outside = (values < lowest[place_of_record]) | (values > highest[place_of_record])
    centroids = centroids[order]
    if is_outside.any() or (centroids[1:] <= centroids[:-1]).any():
        return None
    before, after = _around_walls(ascending, starts, n_values, centroids)
    a, b = centroids[:-1], centroids[1:]
    # |x - b|² - |x - a|² of the last record before a wall, and minus that of the first after it.
    most_above = (b - a) * ((b - before) + (a - before))
    most_below = (b - a) * ((after - a) + (after - b))
    centered = np.r_[0.0, np.cumsum((most_above - most_below) / 2.0)]
    weights = np.empty_like(centroids)
    weights[order] = _shortened(most_above, most_below, centered)
    return weights - weights.max()


def _around_walls(values, starts, n_values, centroids):
    """Return the values next to each wall on both sides, leaving out identical records.

    If all other records of a group are identical to some after its other wall, its centroid takes
    their place: both walls then keep to their side of it.
    """
    last, first = values[starts[1:] - 1], values[starts[1:]]
    ends = np.append(starts[1:], n_values)
    is_split = np.r_[False, last == first, False]  # the wall before each group, and a last one
    walls = np.flatnonzero(is_split) - 1
    split = last[walls]

    # The groups before and after these walls.
    left, right = walls, walls + 1
    place = np.searchsorted(values, split, side="left") - 1
    has_own = (place >= starts[left]) & ~(is_split[left] & (values[place] == values[starts[left]]))
    last[walls] = np.where(has_own, values[place], centroids[left])

    place = np.searchsorted(values, split, side="right")
    is_inside = place < ends[right]
    place = np.where(is_inside, place, 0)
    highest = values[ends[right] - 1]
    has_own = is_inside & ~(is_split[right + 1] & (values[place] == highest))
    first[walls] = np.where(has_own, values[place], centroids[right])
    return last, first


def _shortened(most_above, most_below, weights):
    """Return centered weights with as few digits as possible."""
    n_groups = len(weights)
    # By groups, from each to the one before it and to the one after it, if there is one.
    starts = np.clip(2 * np.arange(n_groups + 1) - 1, 0, 2 * (n_groups - 1)).astype(np.int32)
    number = np.arange(n_groups, dtype=np.int32)
    targets = np.stack([number[1:], number[:-1]], axis=1).ravel()
    leaving = np.stack([most_above, most_below], axis=1).ravel()
    entering = np.stack([most_below, most_above], axis=1).ravel()
    return center_weights(starts, targets, leaving, entering, weights, 0)
