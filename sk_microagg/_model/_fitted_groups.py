"""The groups of a fitted model: what the release and `transform` need, without any record."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from scipy.sparse import issparse

from sk_microagg._kernels import Partition
from sk_microagg._model._points import joined
from sk_microagg._model._power import (
    FoundDiagrams,
    fall_among_twins,
    near_walls,
    nearest_cells,
    power_weights,
)
from sk_microagg._utils._coded_points import CodedPoints
from sk_microagg._utils._statistics import (
    group_means,
    group_sizes,
    known_means,
    squared_error,
    twins_of,
)
from sk_microagg._utils._tables import MISSING
from sk_microagg._utils._typing import Array, Floats, Labels

# Records to try first.
N_FEW = 1_000


@dataclass(frozen=True)
class FittedGroups:
    """Centroids, sizes and weights of groups."""

    centroids: np.ndarray
    scaled_centroids: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    sse: float
    n_moved: int
    n_iter: int

    @classmethod
    def from_labels(
        cls,
        records: Array,
        scaled: Floats,
        labels: Labels,
        n_iter: int,
        rounding: Floats,
        units: Array | None = None,
        found: FoundDiagrams | None = None,
    ) -> Self:
        """Compute the groups of a partition, with labels numbered from 0.

        `rounding` is how much the scaled columns may differ when records are scaled one by one,
        `units` are who the records belong to, and `found` is what exchanges know of the partition.
        """
        scaled_centroids = centroids = group_means(scaled, labels)
        if not isinstance(records, CodedPoints):
            centroids = known_means(records, labels, units).astype(records.dtype, copy=False)

        weights = np.zeros(centroids.shape[0])
        # Mostly a few records tell that the nearest centroid is not always that of the own group.
        few = np.arange(min(N_FEW, len(scaled)))
        n_moved = _n_moved(
            centroids, labels[:N_FEW], nearest_cells(scaled[few], scaled_centroids, weights)
        )
        if n_moved == 0:
            cells = nearest_cells(scaled, scaled_centroids, weights, labels)
            n_moved = _n_moved(centroids, labels, cells)
        if n_moved > 0:
            weights, n_moved = _better_weights(centroids, scaled, scaled_centroids, labels, found)
        n_moved += int(near_walls(scaled, scaled_centroids, weights, rounding).sum())
        return cls(
            centroids,
            scaled_centroids,
            group_sizes(labels),
            weights,
            Partition(scaled, labels, 1).sse
            if isinstance(scaled, CodedPoints)
            else squared_error(scaled, scaled_centroids, labels),
            n_moved,
            n_iter,
        )

    @classmethod
    def joined(cls, parts: list["FittedGroups"]) -> Self:
        return cls(*(_join([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def _better_weights(centroids, scaled, scaled_centroids, labels, found):
    """Return weights that are not all 0 if they help, and the number of records that they move."""
    twins = twins_of(scaled)
    power, cells = power_weights(scaled, labels, scaled_centroids, twins, found=found)
    n_strays = len(labels) if power is None else _n_strays(twins, labels, cells)
    if n_strays > 0:
        # Rounding can make weights useless if values differ by many orders of magnitude, and
        # identical records in different groups cannot all keep their group.
        zeros = np.zeros(centroids.shape[0])
        nearest = nearest_cells(scaled, scaled_centroids, zeros, labels)
        if power is None or n_strays > _n_strays(twins, labels, nearest):
            return zeros, _n_moved(centroids, labels, nearest)
    return power, _n_moved(centroids, labels, cells)


def _n_moved(centroids, labels, cells):
    """Return the number of records in the cell of a group with a different centroid."""
    moved = np.flatnonzero(cells != labels)
    found, own = centroids[cells[moved]], centroids[labels[moved]]
    if issparse(centroids):
        return int(np.count_nonzero((abs(found - own)).sum(axis=1)))
    both_missing = np.isnan(found) & np.isnan(own)
    return int(((found != own) & ~both_missing).any(axis=1).sum())


def _n_strays(twins, labels, cells):
    """Return the number of records in a cell of neither their own group nor that of a duplicate."""
    moved = np.flatnonzero(cells != labels)
    return int(np.sum(~fall_among_twins(moved, twins, labels, cells)))


def _join(values):
    return sum(values) if np.isscalar(values[0]) else joined(values)


def release_of(centroids: Array, labels: Labels) -> Array:
    release = centroids[labels]
    suppressed = labels < 0
    if suppressed.any():
        release[suppressed] = MISSING
    return release
