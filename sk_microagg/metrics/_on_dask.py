"""Metrics of tables on Dask: the workers count classes of equal rows and merge the counts.

Rows and values are compared by hashes of 64 bits. Among a billion different rows, two share a hash
with a probability of about 1 in 40, which does harm only if one of these two occurs too rarely.
"""

from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import dask
import numpy as np
import pandas as pd

from sk_microagg._utils._typing import Floats

# The hashes are divided into ranges, each of which is merged by one task. The number of partitions
# per range bounds the memory that a task needs.
PARTITIONS_PER_RANGE = 8


def anonymity_level_on_dask(release: Any) -> int:
    """Smallest number of times that any row of a Dask DataFrame occurs in it."""
    sizes = _merge_partitions(_smallest_size, release.to_delayed())
    sizes = [size for size in sizes if size is not None]
    if not sizes:
        raise ValueError("release has 0 sample(s): at least 1 is needed.")
    return min(sizes)


def homogeneity_on_dask(release: Any, sensitive: Any) -> Floats:
    """Shares of the records in classes that share one value, and in those with one known value."""
    parts, others = release.to_delayed(), sensitive.to_delayed()
    if len(parts) != len(others):
        raise ValueError(
            f"sensitive with {len(others)} partitions must have those of release, {len(parts)}."
        )
    counts = _merge_partitions(_count_homogeneous, parts, others)
    homogeneous, n_records = map(sum, zip(*counts, strict=True))
    if n_records == 0:
        raise ValueError("release has 0 sample(s): at least 1 is needed.")
    shares: Any = np.reshape(homogeneous / n_records, (2, -1)).T
    return shares[0] if sensitive.ndim == 1 else shares


def unchanged_uniqueness_on_dask(release: Any, unchanged: Any) -> tuple[float, float, float]:
    """Shares that are unique by unchanged columns, and with released ones; expected matches."""
    parts, others = release.to_delayed(), unchanged.to_delayed()
    if len(parts) != len(others):
        raise ValueError(
            f"unchanged with {len(others)} partitions must have those of the release, {len(parts)}."
        )
    both = _side_by_side(parts, others)
    counts = [_merge_partitions(_count_unique, tables) for tables in (others, both)]
    (unique, _, n_rows), (with_release, n_classes, _) = (
        map(sum, zip(*each, strict=True)) for each in counts
    )
    if n_rows == 0:
        raise ValueError("unchanged has 0 sample(s): at least 1 is needed.")
    return unique / n_rows, with_release / n_rows, n_classes / n_rows


def _side_by_side(*tables):
    """Parts with the columns of several tables."""
    join = dask.delayed(_joined, pure=False)
    return [join(*parts) for parts in zip(*tables, strict=True)]


def _joined(*parts):
    return pd.concat([part.reset_index(drop=True) for part in parts], axis=1)


def _count_unique(classes):
    """Number of classes of a single row, of all classes, and of rows."""
    sizes = _Classes.merged(classes).sizes
    return int(np.sum(sizes == 1)), len(sizes), int(sizes.sum())


def _merge_partitions(reduce, *tables):
    """Apply a function to the classes in each range of hashes, merged from all partitions."""
    n_ranges = -(-len(tables[0]) // PARTITIONS_PER_RANGE)
    count = dask.delayed(_classes_by_range, pure=False, nout=n_ranges)
    reduce = dask.delayed(reduce, pure=False)
    counts = [count(n_ranges, *parts) for parts in zip(*tables, strict=True)]
    return dask.compute(*(reduce([part[i] for part in counts]) for i in range(n_ranges)))


@dataclass(frozen=True)
class _Classes:
    """Classes of equal rows, in the order of their hashes.

    A class shares one value in a sensitive column if the smallest and the largest hash of its
    values are equal. Each column is there twice: the second time, missing values have the largest
    hash among the smallest ones and the smallest among the largest ones, so that they do not count.
    """

    hashes: np.ndarray
    sizes: np.ndarray
    smallest: np.ndarray  # shape (n_classes, n_columns), as `largest`
    largest: np.ndarray

    def _arrays(self):
        return self.hashes, self.sizes, self.smallest, self.largest

    @classmethod
    def merged(cls, classes):
        """One class per hash, from several sets of them."""
        arrays = zip(*(one._arrays() for one in classes), strict=True)
        hashes, sizes, smallest, largest = map(np.concatenate, arrays)
        order = np.argsort(hashes)
        hashes = hashes[order]
        starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]][: len(hashes)])
        if not len(starts):
            return cls(hashes, sizes, smallest, largest)
        return cls(
            hashes[starts],
            np.add.reduceat(sizes[order], starts),
            np.minimum.reduceat(smallest[order], starts),
            np.maximum.reduceat(largest[order], starts),
        )

    def split(self, edges):
        starts = np.searchsorted(self.hashes, edges)
        arrays = (np.split(array, starts) for array in self._arrays())
        return [_Classes(*part) for part in zip(*arrays, strict=True)]


def _classes_by_range(n_ranges, release, sensitive=None):
    """Classes of one partition, in each range of hashes."""
    hashes = _hashes(release)
    smallest = largest = np.empty((len(release), 0), dtype=np.uint64)
    if sensitive is not None:
        if len(release) != len(sensitive):
            raise ValueError("sensitive must have the rows of release, partition by partition.")
        columns = sensitive.to_frame() if sensitive.ndim == 1 else sensitive
        missing = columns.isna().to_numpy()
        columns = [columns.iloc[:, [j]] for j in range(columns.shape[1])]
        values = np.column_stack([smallest, *map(_hashes, columns)])
        ends = np.iinfo(np.uint64).max, np.uint64(0)
        smallest, largest = (np.hstack([values, np.where(missing, e, values)]) for e in ends)
    rows = _Classes(hashes, np.ones(len(hashes), dtype=np.int64), smallest, largest)
    edges = [(i << 64) // n_ranges for i in range(1, n_ranges)]
    return _Classes.merged([rows]).split(np.array(edges, dtype=np.uint64))


def _smallest_size(classes):
    sizes = _Classes.merged(classes).sizes
    return int(sizes.min()) if len(sizes) else None


def _count_homogeneous(classes):
    """Number of records in classes that share one value, by column, and of all records."""
    classes = _Classes.merged(classes)
    return classes.sizes @ (classes.smallest == classes.largest), classes.sizes.sum()


def _hashes(frame):
    return pd.util.hash_pandas_object(frame.apply(_distinguishable), index=False).to_numpy()


def _distinguishable(column):
    """A column with different hashes for different values: of objects, 1 and "1" share one."""
    return column.map(_as_text).astype(object) if column.dtype == object else column


def _as_text(cell):
    if isinstance(cell, Real):
        # 1, 1.0 and True are equal; large integers keep all their digits.
        return f"number {int(cell) if isfinite(cell) and cell == int(cell) else float(cell)}"
    return f"{type(cell).__name__} {cell}"
