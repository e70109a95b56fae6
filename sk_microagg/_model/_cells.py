"""The group that a record belongs to: its block, then its power cell within the block."""

from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._model._points import (
    joined,
    routing_of,
    with_coordinates_of,
    with_values,
)
from sk_microagg._model._power import nearest_cells
from sk_microagg._model._router import Router

# Records of a block that are worth a thread of their own.
RECORDS_PER_THREAD = 10_000


@dataclass(frozen=True)
class Cells:
    """The power diagram of the groups of each block.

    Attributes
    ----------
    router : Router
        Assigns records to blocks.

    starts : ndarray of shape (n_blocks + 1,)
        Index of the first group of each block, followed by the total number of groups.

    centroids : ndarray or csr_array of shape (n_groups, n_features)
        Mean of each group, in the scaled space.

    weights : ndarray of shape (n_groups,)
        Power weight of each group: a record lies in the cell of the group that minimizes the
        squared distance to the centroid minus the weight.
    """

    router: Router
    starts: np.ndarray
    centroids: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, blocks, router):
        """Return the cells of the groups of all blocks."""
        return cls(
            router,
            np.cumsum([0] + [len(groups.weights) for groups in blocks]),
            joined([groups.scaled_centroids for groups in blocks]),
            np.concatenate([groups.weights for groups in blocks]),
        )

    @property
    def n_blocks(self):
        """Number of blocks."""
        return self.router.n_blocks

    def with_coordinates(self, groups, columns, values):
        """Return cells of which some centroids have other coordinates."""
        return replace(self, centroids=with_values(self.centroids, groups, columns, values))

    def find(self, X, n_jobs=None):
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
