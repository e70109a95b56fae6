"""The group that a record belongs to: its block, then its power cell within the block."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._model._points import (
    Points,
    joined,
    routing_of,
    with_coordinates_of,
    with_values,
)
from sk_microagg._model._power import nearest_cells, weights_of_points
from sk_microagg._model._router import Router
from sk_microagg._utils._typing import Floats, Labels

# Records of a block that are worth a thread of their own.
RECORDS_PER_THREAD = 10_000


@dataclass(frozen=True)
class Cells:
    """The power diagram of the groups of each block."""

    router: Router
    starts: np.ndarray
    centroids: np.ndarray
    weights: np.ndarray

    @classmethod
    def from_blocks(cls, blocks: list[Any], router: Router) -> Self:
        """Return the cells of the groups of all blocks."""
        return cls(
            router,
            np.cumsum([0] + [len(groups.weights) for groups in blocks]),
            joined([groups.scaled_centroids for groups in blocks]),
            np.concatenate([groups.weights for groups in blocks]),
        )

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.router.n_blocks

    def with_coordinates(
        self, groups: Labels, columns: Labels, values: Floats, X: Points, labels: Labels
    ) -> tuple["Cells", int]:
        """Change coordinates of some centroids, and find new weights where they change."""
        centroids = with_values(self.centroids, groups, columns, values)
        weights, n_moved = self.weights.copy(), 0
        changed = np.unique(np.searchsorted(self.starts, groups, side="right") - 1)
        for block, rows in self.router.rows_of_blocks(routing_of(X)):
            if block in changed:
                cells = slice(self.starts[block], self.starts[block + 1])
                own_centroids, points = with_coordinates_of(centroids[cells], X[rows])
                own_labels = labels[rows] - self.starts[block]
                weights[cells], found = weights_of_points(points, own_labels, own_centroids)
                n_moved += int(np.sum(found != own_labels))
        return replace(self, centroids=centroids, weights=weights), n_moved

    def find(self, X: Points, n_jobs: int | None = None) -> Labels:
        """Return the group of each record."""
        groups = np.empty(len(X), dtype=np.intp)

        def find_some(block, rows):
            cells = slice(self.starts[block], self.starts[block + 1])
            centroids, points = with_coordinates_of(self.centroids[cells], X[rows])
            found = nearest_cells(points, centroids, self.weights[cells])
            groups[rows] = found + self.starts[block]

        n_threads = effective_n_jobs(n_jobs)
        Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(find_some)(block, part)
            for block, rows in self.router.rows_of_blocks(routing_of(X))
            for part in _parts(rows, n_threads)
        )
        return groups


def _parts(rows, n_threads):
    """Divide the rows of a block among threads."""
    return np.array_split(rows, min(n_threads, -(-len(rows) // RECORDS_PER_THREAD)))
