"""The near records of each record, and how far away they are."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sk_microagg._kernels import Guards
from sk_microagg._utils._coded_points import CodedPoints, if_few_codes, pool_of
from sk_microagg._utils._deadline import Deadline, is_interrupted
from sk_microagg._utils._statistics import distinct_records, mean_squared_errors
from sk_microagg._utils._typing import Codes, Floats, Labels
from sk_microagg.privacy import Rules

# Neighbors of each record: this many times k, but not fewer or more than these.
NEIGHBORS_PER_K = 2
MIN_NEIGHBORS = 15
MAX_NEIGHBORS = 64

# At most this share of a record's neighbors are its duplicates.
MAX_SHARE_OF_TWINS = 0.4

# Under rules, the scale of a record is at least this share of the mean squared distance to the
# centroid in its group.
SCALE_PER_ERROR = 0.6


@dataclass(eq=False)
class Neighborhoods:
    """Near neighbors of each record, and its scale: how far away they are.

    Searches go through the records in an order in which each is near to the one before: what they
    need is then in the cache. `X`, `neighbors` and `scales` are in that order.
    """

    X: Floats
    k: int
    order: Labels
    neighbors: Codes
    scales: Floats
    rules: Rules | None = None

    def __post_init__(self) -> None:
        self.by_scale = np.argsort(self.scales, kind="stable").astype(np.int32)
        self.sorted_scales = self.scales[self.by_scale]

    @classmethod
    def find(
        cls,
        X: Floats,
        k: int,
        deadline: Deadline | None = None,
        rules: Rules | None = None,
        min_neighbors: int = MIN_NEIGHBORS,
    ) -> Self:
        """Find neighbors and scales of all records of a table; only roughly after the deadline."""
        order, neighbors, scales = _neighbors_and_scales(X, k, deadline, min_neighbors)
        if order is None:
            return cls(X, k, np.arange(len(X)), neighbors, scales, rules)
        place = np.empty(len(X), dtype=np.int32)
        place[order] = np.arange(len(X))
        return cls(
            X[order],
            k,
            order,
            np.ascontiguousarray(place[neighbors[order]]),
            scales[order],
            rules.subset(order) if rules else None,
        )

    def among(self, records: Labels, deadline: Deadline | None = None) -> "Neighborhoods":
        """Restrict to some records of the table, given by their indices; they keep their scales."""
        place = np.empty(len(self.X), dtype=np.intp)
        place[self.order] = np.arange(len(self.X))
        X = self.X[place[records]]
        rules = self.rules.subset(place[records]) if self.rules else None
        part = Neighborhoods.find(X, self.k, deadline, rules)
        scales = self.scales[place[records]][part.order]
        return Neighborhoods(part.X, self.k, part.order, part.neighbors, scales, part.rules)

    def with_scales_of(self, labels: Labels) -> "Neighborhoods":
        """Raise the scale of each record to what its group suggests; labels as `sorted_labels`.

        Rules may keep near records apart. Their groups are then larger than the distances to
        neighbors tell, and so is what a move costs.
        """
        errors = mean_squared_errors(self.X, labels)
        scales = np.maximum(self.scales, SCALE_PER_ERROR * errors[labels])
        return replace(self, scales=scales)

    def new_guards(self) -> Guards | None:
        """Return guards of the rules for one search; None without rules."""
        return self.rules.guards() if self.rules else None

    def sorted_labels(self, labels: Labels) -> Labels:
        """Return the labels of a table's records in the order of the search."""
        return np.ascontiguousarray(labels[self.order])

    def labels_of_table(self, labels: Labels) -> Labels:
        """Return labels in the order of the search in that of the table."""
        of_table = np.empty_like(labels)
        of_table[self.order] = labels
        return of_table

    @cached_property
    def points(self) -> Floats | CodedPoints:
        """The records, with codes instead of columns where these are few."""
        return if_few_codes(self.X) or self.X

    @property
    def are_frozen(self) -> bool:
        """Whether all records are equal, so that there is nothing to do."""
        return self.sorted_scales[-1] == 0


def _neighbors_and_scales(
    X: Floats, k: int, deadline: Deadline | None, min_neighbors: int
) -> tuple[Labels | None, Codes, Floats]:
    """Return the order of the search, and neighbors and scales of the records in any order.

    After Ctrl-C no search follows, and it has to end soon: the order is None then, and all scales
    are 1.
    """
    first, point_of, counts = distinct_records(X)
    n_neighbors = min(max(NEIGHBORS_PER_K * k, min_neighbors), MAX_NEIGHBORS, len(X) - 1)
    if len(first) == 1:
        neighbors = np.zeros((len(X), n_neighbors), dtype=np.int32)
        return np.arange(len(X)), neighbors, np.zeros(len(X))
    if len(first) == len(X):
        first = point_of = np.arange(len(X))
    points = X[first]
    pool = pool_of(points)
    near = pool.near_each(min(n_neighbors, len(points) - 1), deadline=deadline)
    neighbors = near
    if len(points) < len(X):
        neighbors = _with_twins(near, point_of, counts, n_neighbors)
    if is_interrupted():
        return None, neighbors, np.ones(len(X))
    scales = _mean_squared_distances(points, near[:, : max(k - 1, 2)])
    order = np.argsort(np.argsort(pool.in_order())[point_of], kind="stable")
    return order, neighbors, scales[point_of]


def _mean_squared_distances(points: Floats, near: Codes) -> Floats:
    total = np.zeros(len(points))
    for others in near.T:
        if isinstance(points, CodedPoints):
            total += points.squared_distances(others)
            continue
        gaps = points - points[others]
        total += np.einsum("ij,ij->i", gaps, gaps)
    scales = total / near.shape[1]
    # Squares may underflow.
    return np.maximum(scales, scales[scales > 0].min()) if scales.any() else scales


def _with_twins(near: Codes, point_of: Labels, counts: Labels, n_neighbors: int) -> Codes:
    """Return neighbors of records, given those of the points that they lie on.

    First come some of the other records on the same point, then one on each of the near points, and
    more of these if there are few points.
    """
    records = np.argsort(point_of, kind="stable").astype(np.int32)
    starts = np.cumsum(counts) - counts
    number = np.empty(len(point_of), dtype=np.intp)  # among the records on the same point
    number[records] = np.arange(len(point_of)) - np.repeat(starts, counts)
    n_twins = np.minimum(counts - 1, int(MAX_SHARE_OF_TWINS * n_neighbors))[point_of]
    neighbors = np.empty((len(point_of), n_neighbors), dtype=np.int32)
    for column in range(n_neighbors):
        is_twin = column < n_twins
        rank = np.maximum(column - n_twins, 0)
        point = np.where(is_twin, point_of, near[point_of, rank % near.shape[1]])
        step = np.where(is_twin, column + 1, rank // near.shape[1])
        neighbors[:, column] = records[starts[point] + (number + step) % counts[point]]
    return neighbors
