"""The block and the group that a record belongs to if the table has strata."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._model._cells import Cells
from sk_microagg._model._points import Points, joined
from sk_microagg._model._router import Router
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg._utils._validation import seeds_of_parts


@dataclass(frozen=True)
class StratifiedCells:
    """The cells of each stratum."""

    parts: tuple[Cells, ...]

    @property
    def n_blocks(self) -> int:
        """Number of blocks in all strata."""
        return sum(part.n_blocks for part in self.parts)

    @property
    def centroids(self) -> Any:
        """Mean of each group, in the scaled space."""
        return joined([part.centroids for part in self.parts])

    @property
    def weights(self) -> Floats:
        """Power weight of each group."""
        return np.concatenate([part.weights for part in self.parts])

    def _starts(self):
        """Number of the first group of each stratum, followed by the number of all groups."""
        return np.cumsum([0] + [len(part.weights) for part in self.parts])

    def with_coordinates(
        self, groups: Labels, columns: Labels, values: Floats, X: Points, labels: Labels
    ) -> tuple["StratifiedCells", int]:
        """Change coordinates of some centroids: see `Cells.with_coordinates`."""
        starts, parts, n_moved = self._starts(), [], 0
        for part, start, end in zip(self.parts, starts[:-1], starts[1:], strict=True):
            own = (groups >= start) & (groups < end)
            rows = np.flatnonzero((labels >= start) & (labels < end))
            part, n_own = part.with_coordinates(
                groups[own] - start, columns[own], values[own], X[rows], labels[rows] - start
            )
            parts.append(part)
            n_moved += n_own
        return StratifiedCells(tuple(parts)), n_moved

    def find(self, X: Points, n_jobs: int | None, strata: Labels) -> Labels:
        """Return the group of each record, given the number of its stratum."""
        groups = np.empty(len(X), dtype=np.intp)
        starts = self._starts()
        for stratum, rows in rows_of_strata(strata):
            groups[rows] = starts[stratum] + self.parts[stratum].find(X[rows], n_jobs)
        return groups


@dataclass(frozen=True)
class StratifiedRouter:
    """The blocks of each stratum, numbered stratum by stratum. A table without strata has one."""

    parts: tuple[Router, ...]

    @property
    def n_blocks(self):
        """Number of blocks in all strata."""
        return int(self.starts[-1])

    @property
    def starts(self):
        """Number of the first block of each stratum, followed by the total number of blocks."""
        return np.cumsum([0] + [part.n_blocks for part in self.parts])

    def route(self, X, strata):
        """Return the block of each record, given the number of its stratum."""
        blocks = np.empty(len(X), dtype=np.intp)
        starts = self.starts
        for stratum, rows in rows_of_strata(strata):
            blocks[rows] = starts[stratum] + self.parts[stratum].route(X[rows])
        return blocks

    def n_near_cuts(self, X, rounding, strata):
        """Return the number of records whose block may change if columns change by `rounding`."""
        return sum(
            self.parts[stratum].n_near_cuts(X[rows], rounding)
            for stratum, rows in rows_of_strata(strata)
        )

    def without_small_blocks(self, sizes, smallest):
        """Merge blocks as `Router.without_small_blocks` does, within each stratum."""
        parts, new_blocks, n_blocks = [], [], 0
        for part, own_sizes in zip(self.parts, np.split(sizes, self.starts[1:-1]), strict=True):
            router, new_block = part.without_small_blocks(own_sizes, smallest)
            parts.append(router)
            new_blocks.append(n_blocks + new_block)
            n_blocks += router.n_blocks
        return StratifiedRouter(tuple(parts)), np.concatenate(new_blocks)

    def seeds(self, random_state):
        """Return a seed for each block, as if strata were tables of their own."""
        of_strata = seeds_of_parts(random_state, len(self.parts))
        return [
            seed
            for part, of_stratum in zip(self.parts, of_strata, strict=True)
            for seed in seeds_of_parts(of_stratum, part.n_blocks)
        ]


def rows_of_strata(strata):
    """Yield each stratum that occurs, by its number, with its records in ascending order."""
    order = np.argsort(strata, kind="stable")
    present, starts = np.unique(strata[order], return_index=True)
    ends = np.append(starts, len(order))[1:]
    for stratum, start, end in zip(present, starts, ends, strict=True):
        yield stratum, order[start:end]
