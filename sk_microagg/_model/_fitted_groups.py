"""FittedGroups as a fitted model knows them: what a release and `transform` need, and no record."""

from dataclasses import dataclass, fields

import numpy as np

from sk_microagg._model._power import (
    falls_among_twins,
    near_walls,
    nearest_cells,
    power_weights,
)
from sk_microagg._utils._statistics import group_means, group_sizes, squared_error, twins_of


@dataclass(frozen=True)
class FittedGroups:
    """Centroids of groups and what else there is to know of them.

    Attributes
    ----------
    centroids, scaled_centroids : ndarray of shape (n_groups, n_features)
        Means of the groups, in the units and the float type of the records, and in the space in
        which these are compared.

    sizes : ndarray of shape (n_groups,)
        Number of records in each group.

    weights : ndarray of shape (n_groups,)
        Power weights; all 0 if there are none with which every record is in its own cell.

    sse : float
        Sum of squared distances to the scaled centroids.

    n_moved : int
        Number of records that fall in the cell of a group with another centroid than their own's,
        or may do so where the scaler rounds otherwise.

    n_iter : int
        Iterations that the refiner reports.
    """

    centroids: np.ndarray
    scaled_centroids: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    sse: float
    n_moved: int
    n_iter: int

    @classmethod
    def of(cls, records, scaled, labels, n_iter, rounding):
        """Describe the groups of a partition, with labels numbered from 0.

        `rounding` is how far the scaled columns may be off when records come one by one.
        """
        centroids = group_means(records, labels).astype(records.dtype, copy=False)
        scaled_centroids = group_means(scaled, labels)

        weights = np.zeros(len(centroids))
        cells = nearest_cells(scaled, scaled_centroids, weights)
        if n_moved := _n_moved(centroids, labels, cells):
            twins = twins_of(scaled)
            power, power_cells = power_weights(scaled, labels, scaled_centroids, twins)
            # Rounding can spoil weights where values differ by many orders of magnitude. Identical
            # records in different groups cannot all stay where they are.
            if power is not None and _n_strays(twins, labels, power_cells) <= _n_strays(
                twins, labels, cells
            ):
                weights, n_moved = power, _n_moved(centroids, labels, power_cells)
        n_moved += int(near_walls(scaled, scaled_centroids, weights, rounding).sum())
        return cls(
            centroids,
            scaled_centroids,
            group_sizes(labels),
            weights,
            squared_error(scaled, scaled_centroids, labels),
            n_moved,
            n_iter,
        )

    @classmethod
    def joined(cls, parts):
        """All groups of several blocks, in their order."""
        return cls(*(_join([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def _n_moved(centroids, labels, cells):
    """Number of records whose cell has another centroid than their own group's."""
    moved = np.flatnonzero(cells != labels)
    return int((centroids[cells[moved]] != centroids[labels[moved]]).any(axis=1).sum())


def _n_strays(twins, labels, cells):
    """Number of records whose cell is neither that of their group nor that of an identical one."""
    return int(np.sum((cells != labels) & ~falls_among_twins(twins, labels, cells)))


def _join(values):
    return np.concatenate(values) if isinstance(values[0], np.ndarray) else sum(values)
