"""The group that a record belongs to if the table has strata."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._model._cells import Cells
from sk_microagg._model._points import joined


@dataclass(frozen=True)
class StratifiedCells:
    """The cells of each stratum.

    Attributes
    ----------
    parts : tuple of Cells
        The cells of each stratum.
    """

    parts: tuple[Cells, ...]

    @property
    def n_blocks(self):
        """Number of blocks in all strata."""
        return sum(part.n_blocks for part in self.parts)

    @property
    def centroids(self):
        """Mean of each group, in the scaled space."""
        return joined([part.centroids for part in self.parts])

    def find(self, X, n_jobs, strata):
        """Return the group of each record, given the number of its stratum."""
        groups = np.empty(len(X), dtype=np.intp)
        start = 0
        for stratum, part in enumerate(self.parts):
            rows = np.flatnonzero(strata == stratum)
            if len(rows):
                groups[rows] = start + part.find(X[rows], n_jobs)
            start += len(part.weights)
        return groups
