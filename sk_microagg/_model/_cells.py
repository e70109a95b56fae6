"""Which group a record falls in: its block, and the power cell there."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sk_microagg._model._power import nearest_cells
from sk_microagg._model._router import Router

# So many rows of a block are looked up by one thread.
FEW_ROWS = 10_000


@dataclass(frozen=True)
class Cells:
    """A power diagram of the groups of each block.

    Attributes
    ----------
    router : Router
        Sends a record to its block.

    starts : ndarray of shape (n_blocks + 1,)
        Number of the first group of each block, and the number of all groups at the end.

    centroids : ndarray of shape (n_groups, n_features)
        Mean of each group, in the space in which records are compared.

    weights : ndarray of shape (n_groups,)
        A record is in the cell of the group for which the squared distance to its centroid, less
        its weight, is least.
    """

    router: Router
    starts: np.ndarray
    centroids: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, blocks, router):
        """Cells of the groups of all blocks."""
        return cls(
            router,
            np.cumsum([0] + [len(groups.weights) for groups in blocks]),
            np.concatenate([groups.scaled_centroids for groups in blocks]),
            np.concatenate([groups.weights for groups in blocks]),
        )

    def find(self, X, n_jobs=None):
        """Group of each record."""
        groups = np.empty(len(X), dtype=np.intp)

        def find_some(block, rows):
            cells = slice(self.starts[block], self.starts[block + 1])
            found = nearest_cells(X[rows], self.centroids[cells], self.weights[cells])
            groups[rows] = found + self.starts[block]

        n_threads = effective_n_jobs(n_jobs)
        Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(find_some)(block, part)
            for block, rows in self.router.rows_of_blocks(X)
            for part in _parts(rows, n_threads)
        )
        return groups


def _parts(rows, n_threads):
    """Rows of a block as arrays, one for a thread."""
    return np.array_split(rows, min(n_threads, -(-len(rows) // FEW_ROWS)))
