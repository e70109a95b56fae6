"""The group that a record belongs to: its stratum, its block, then its power cell in the block."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.sparse import issparse

from sk_microagg._model._points import Points, joined, routing_of, with_coordinates_of, with_values
from sk_microagg._model._power import nearest_cells, weights_of_points
from sk_microagg._model._router import Router
from sk_microagg._utils._statistics import distinct_records
from sk_microagg._utils._typing import DataFrame, Floats, Labels
from sk_microagg._utils._validation import seeds_of_parts

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
        return cls(
            router,
            np.cumsum([0] + [len(groups.weights) for groups in blocks]),
            joined([groups.scaled_centroids for groups in blocks]),
            np.concatenate([groups.weights for groups in blocks]),
        )

    @property
    def n_blocks(self) -> int:
        return self.router.n_blocks

    def with_coordinates(
        self, groups: Labels, columns: Labels, values: Floats, X: Points, labels: Labels
    ) -> tuple["Cells", int]:
        """Change coordinates of some centroids, and find new weights where they change."""
        if not len(groups):
            return self, 0
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

    def n_hidden_rows(self, rows: DataFrame) -> int:
        """Number of rows of a release that `find` never leads to, as `n_hidden_rows` counts."""
        return sum(
            n_hidden_rows(self.centroids[start:end], rows[start:end])
            for start, end in pairwise(self.starts)
        )

    def find(self, X: Points, n_jobs: int | None = None) -> Labels:
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


def n_hidden_rows(centroids: Any, rows: DataFrame) -> int:
    """Number of rows of a release that no record finds: all but one of groups at one place.

    Several groups may have one centroid, but different weights, or categories that are too rare to
    have a coordinate.
    """
    is_sparse = issparse(centroids)
    places = _numbered_rows(centroids) if is_sparse else distinct_records(centroids)[1]
    is_shared = np.bincount(places)[places] > 1
    if not is_shared.any():
        return 0
    # Names may repeat if they are of different columns.
    shared = rows[is_shared].set_axis(range(rows.shape[1]), axis=1)
    different = shared.assign(place=places[is_shared]).drop_duplicates()
    return len(different) - len(np.unique(places[is_shared]))


def _numbered_rows(matrix: Any) -> Labels:
    """The number of each row of a sparse matrix, the same for equal rows."""
    compact = matrix.copy()
    compact.eliminate_zeros()
    compact.sort_indices()
    rows = [slice(*ends) for ends in pairwise(compact.indptr)]
    keys = [(compact.indices[row].tobytes(), compact.data[row].tobytes()) for row in rows]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.intp)


def _parts(rows, n_threads):
    """Divide the rows of a block among threads."""
    return np.array_split(rows, min(n_threads, -(-len(rows) // RECORDS_PER_THREAD)))


@dataclass(frozen=True)
class StratifiedCells:
    """The cells of each stratum."""

    parts: tuple[Cells, ...]

    @property
    def n_blocks(self) -> int:
        return sum(part.n_blocks for part in self.parts)

    @property
    def centroids(self) -> Any:
        """Mean of each group, in the scaled space."""
        return joined([part.centroids for part in self.parts])

    @property
    def weights(self) -> Floats:
        return np.concatenate([part.weights for part in self.parts])

    def _starts(self):
        """Number of the first group of each stratum, followed by the number of all groups."""
        return np.cumsum([0] + [len(part.weights) for part in self.parts])

    def with_coordinates(
        self, groups: Labels, columns: Labels, values: Floats, X: Points, labels: Labels
    ) -> tuple["StratifiedCells", int]:
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

    def n_hidden_rows(self, rows: DataFrame) -> int:
        """Number of rows of a release that `find` never leads to, stratum by stratum."""
        ends = pairwise(self._starts())
        return sum(
            part.n_hidden_rows(rows[start:end])
            for part, (start, end) in zip(self.parts, ends, strict=True)
        )

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
        return int(self.starts[-1])

    @property
    def starts(self):
        """Number of the first block of each stratum, followed by the total number of blocks."""
        return np.cumsum([0] + [part.n_blocks for part in self.parts])

    def route(self, X, strata):
        """Return the block of each record, given the number of its stratum."""
        blocks = np.empty(len(strata), dtype=np.intp)
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
