"""Points with many coordinates, of which each record has few: categories of many values.

In blocks, coordinates of columns with many values become codes, and the others are dense. For
builders and refiners that do not take codes, all are dense, without coordinates that none of the
records has. If there are very many, a coordinate that a single record of a block has is left out as
well: it adds the same to the loss of any group that this record may be in, up to the size of the
group. What remains are fewer coordinates than half of the records.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from sk_microagg._utils._coded_points import CodedPoints
from sk_microagg._utils._statistics import squared_error, total_sum_of_squares
from sk_microagg._utils._typing import Floats, Labels

# Blocks with more coordinates, or more of them in all records together, are cut, unless they have
# fewer than twice as many records as this.
MAX_COORDINATES = 512
MAX_CELLS = 4_000_000
MIN_RECORDS = 1_000


@dataclass(frozen=True)
class SparsePoints:
    """Points of which most coordinates are 0.

    Coordinates of codes have a slot, of which a record has one at most, and a squared value, which
    is the same for all records that have it. The slot of others is -1.
    """

    matrix: csr_array
    routing: csr_array
    slots: np.ndarray | None = None
    squares: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Any) -> "SparsePoints":
        return replace(self, matrix=self.matrix[rows], routing=self.routing[rows])

    @property
    def has_codes(self) -> bool:
        return self.slots is not None and self.slots.max(initial=-1) >= 0

    def coded(self) -> CodedPoints:
        assert self.slots is not None
        assert self.squares is not None
        return CodedPoints.from_columns(self.matrix, self.slots, self.squares)


# Records as points: dense, or sparse.
Points: TypeAlias = Floats | SparsePoints


def routing_of(points: Points) -> Any:
    """Columns by which records are divided into blocks; those of sparse points are sparse, too."""
    return points.routing if isinstance(points, SparsePoints) else points


def has_few_coordinates(points: SparsePoints, rows: Labels, takes_codes: bool = False) -> bool:
    """Whether some records can be one block, as far as their coordinates matter."""
    used = _used(points.matrix[rows])
    if takes_codes and points.slots is not None:
        used = used[points.slots[used] < 0]
    return are_few_coordinates(len(rows), len(used))


def n_dense_coordinates(points: Points, takes_codes: bool) -> int:
    """Number of coordinates that records have in a block, each code counted as one of these."""
    if not (takes_codes and isinstance(points, SparsePoints) and points.has_codes):
        return points.shape[1]
    assert points.slots is not None
    return int(np.count_nonzero(points.slots < 0) + points.slots.max() + 1)


def are_few_coordinates(n_records: float, n_coordinates: int) -> bool:
    """Whether this many records with this many coordinates can be one block."""
    is_narrow = n_coordinates <= MAX_COORDINATES and n_records * n_coordinates <= MAX_CELLS
    return n_records < 2 * MIN_RECORDS or is_narrow


def dense(points: Points, takes_codes: bool = False) -> tuple[Any, Labels | None]:
    """Points of a block, and which of all coordinates they have; None for all."""
    if not isinstance(points, SparsePoints):
        return points, None
    if takes_codes and points.has_codes:
        return points.coded(), None
    used = _used(points.matrix)
    block = points.matrix[:, used].toarray() if len(used) else np.zeros((len(points), 1))
    return np.ascontiguousarray(block), used


def _used(matrix: csr_array) -> Labels:
    """Coordinates that some records have; if there are very many, at least two records."""
    n_records = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return np.flatnonzero(n_records > (matrix.shape[1] > MAX_COORDINATES))


def among_all(centroids: Floats, coordinates: Labels | None, n_coordinates: int) -> Any:
    """Centroids of a block with all coordinates, given which ones they have."""
    if coordinates is None:
        return centroids
    block = csr_array(centroids[:, : len(coordinates)])
    return csr_array(
        (block.data, coordinates[block.indices], block.indptr),
        shape=(len(centroids), n_coordinates),
    )


def joined(parts: list[Any]) -> Any:
    """Rows of several arrays, dense or sparse."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def with_values(points: Any, rows: Labels, columns: Labels, values: Floats) -> Any:
    """Points or centroids with other values at some places."""
    if not len(rows):
        return points
    if isinstance(points, SparsePoints):
        return replace(points, matrix=with_values(points.matrix, rows, columns, values))
    changed = points.tolil() if issparse(points) else points.copy()
    changed[rows, columns] = values
    return csr_array(changed) if issparse(points) else changed


def with_coordinates_of(centroids: Any, points: Any) -> tuple[Any, Any]:
    """Centroids and points, with codes or as arrays with coordinates that some centroids have.

    In all other coordinates, a point is equally far from all of the centroids.
    """
    if not issparse(centroids):
        return centroids, points
    if points.has_codes:
        return centroids, points.coded()
    used = np.unique(centroids.indices)
    if not len(used):
        return np.zeros((centroids.shape[0], 1)), np.zeros((len(points), 1))
    return centroids[:, used].toarray(), points.matrix[:, used].toarray()


def squared_errors(points: Points, centroids: Any, labels: Labels) -> tuple[float, float]:
    """Sum of squared distances between points and centroids, and to the mean of all points."""
    if not isinstance(points, SparsePoints):
        return squared_error(points, centroids, labels), total_sum_of_squares(points)
    apart = points.matrix - centroids[labels]
    total = points.matrix.power(2).sum() - len(points) * np.sum(points.matrix.mean(axis=0) ** 2)
    return float(apart.power(2).sum()), float(total)


def most_of(points: Points) -> tuple[Floats, float]:
    """The coordinates with the largest variance, as an array, and their share of all variance.

    What groups lose in some coordinates, they lose at least in all of them.
    """
    if not isinstance(points, SparsePoints):
        return points, 1.0
    if points.shape[1] <= MAX_COORDINATES:
        return points.matrix.toarray(), 1.0
    mean = points.matrix.mean(axis=0)
    variance = points.matrix.power(2).mean(axis=0) - mean**2
    largest = np.argsort(-variance, kind="stable")[:MAX_COORDINATES]
    share = float(variance[largest].sum() / variance.sum())
    # A little less, for rounding.
    return points.matrix[:, largest].toarray(), share * (1.0 - 1e-9)
