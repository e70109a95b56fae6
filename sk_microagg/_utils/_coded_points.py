"""Points with codes: coordinates that most records do not have are not stored.

A category of many values has a coordinate per value, of which each record has one. Its number is a
code. Distances need one comparison per column then, not one term per value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from sk_microagg._kernels import CodedPool, CodedTree, Pool
from sk_microagg._utils._typing import Codes, Floats, Labels

# Dense points get codes if they have at least so many records, and so many columns for each slot.
MANY_RECORDS = 5_000
COLUMNS_PER_SLOT = 8


@dataclass(frozen=True)
class CodedPoints:
    """Columns of numbers, and a code per slot: see `CodedTree`.

    The last code stands for no coordinate, and its square is 0. `places` are the coordinates that
    the columns of numbers are, among those that codes stand for.
    """

    numbers: Floats
    codes: Codes
    squares: Floats
    places: Labels = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def from_columns(cls, matrix: csr_array, slots: Labels, squares: Floats) -> CodedPoints:
        """Points of which most values are 0, given slot and square of each column that is a code.

        The slot of other columns is -1.
        """
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        slot = slots[matrix.indices]
        codes = np.full((matrix.shape[0], slots.max() + 1), len(slots), dtype=np.int32)
        codes[rows[slot >= 0], slot[slot >= 0]] = matrix.indices[slot >= 0]
        places = np.flatnonzero(slots < 0)
        numbers = matrix[:, places].toarray() if len(places) else np.zeros((len(codes), 1))
        return cls(np.ascontiguousarray(numbers), codes, np.append(squares, 0.0), places)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers), len(self.squares) - 1

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> Any:
        """Some records; of a single one, the point that pools take."""
        if np.ndim(rows):
            return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])
        shares = np.zeros(len(self.squares))
        shares[self.codes[rows]] = 1.0
        return np.concatenate([self.numbers[rows], shares])

    def rows(self) -> Floats:
        """An array whose rows are equal where records are."""
        return np.concatenate([self.numbers, self.codes], axis=1)

    def squared_distances(self, others: Labels) -> Floats:
        """Squared distance of each record to another one."""
        gaps = self.numbers - self.numbers[others]
        squares = self.squares[self.codes] + self.squares[self.codes[others]]
        squares[self.codes == self.codes[others]] = 0.0
        return np.einsum("ij,ij->i", gaps, gaps) + squares.sum(axis=1)

    def means(self, numbers: Floats, labels: Labels) -> csr_array:
        """Means of groups in all coordinates, given those of the columns of numbers."""
        sizes, shape = np.bincount(labels), (len(numbers), self.shape[1])
        groups, codes = np.repeat(labels, self.codes.shape[1]), self.codes.ravel()
        has_code = self.squares[codes] > 0
        at = groups[has_code], codes[has_code]
        means = coo_array((np.ones(len(at[0])), at), shape).tocsr()
        means.data /= np.repeat(sizes, np.diff(means.indptr))
        means.data *= np.sqrt(self.squares)[means.indices]
        n_columns = len(self.places)
        at = np.repeat(np.arange(len(sizes)), n_columns), np.tile(self.places, len(sizes))
        return csr_array(means + coo_array((numbers[:, :n_columns].ravel(), at), shape))

    def numbers_of(self, centroids: Any) -> Floats:
        """The columns of numbers of centroids in all coordinates."""
        if not len(self.places):
            return np.zeros((centroids.shape[0], 1))
        return np.ascontiguousarray(centroids[:, self.places].toarray())

    def told_apart(self, centroids: csr_array) -> Floats:
        """An array whose rows are equal where centroids are."""
        # Sums of different shares, weighted at random, differ.
        at_random = np.random.RandomState(0).uniform(size=self.shape[1]) * (self.squares[:-1] > 0)
        return np.column_stack([self.numbers_of(centroids), centroids @ at_random])

    def tree(self, centroids: Any = None, weights: Floats | None = None) -> CodedTree:
        """A tree of centroids in all coordinates, or of the records themselves."""
        if centroids is None:
            codes, n_slots = self.codes.ravel(), self.codes.shape[1]
            centers, shares = np.repeat(np.arange(len(self)), n_slots), np.ones(len(codes))
            numbers, norms = self.numbers, self.squares[self.codes].sum(axis=1)
        else:
            listed = centroids.tocoo()
            is_code = self.squares[listed.col] > 0
            codes, centers = listed.col[is_code], listed.row[is_code]
            shares = listed.data[is_code] / np.sqrt(self.squares[codes])
            numbers = self.numbers_of(centroids)
            norms = np.bincount(centers, self.squares[codes] * shares**2, len(numbers))
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(self.squares) + 1))
        return CodedTree(
            numbers,
            norms,
            self.squares,
            starts.astype(np.int32),
            centers[order].astype(np.int32),
            shares[order],
            weights,
        )


def if_few_codes(X: Any) -> CodedPoints | None:
    """The same points with codes, if these are much fewer than the columns; None otherwise.

    A column is a code if all of its values but 0 are the same. Codes share a slot if no record has
    two of them, as those of a category do. Nothing is gained where there are few records.
    """
    most = X.shape[1] // COLUMNS_PER_SLOT
    if isinstance(X, CodedPoints) or len(X) < MANY_RECORDS or np.count_nonzero(X) > most * len(X):
        return None
    matrix = csc_array(X)
    squares, is_code = np.zeros(X.shape[1]), np.ones(X.shape[1], dtype=bool)
    is_used = np.diff(matrix.indptr) > 0
    low, high = (
        extreme.reduceat(matrix.data, matrix.indptr[:-1][is_used])
        for extreme in (np.minimum, np.maximum)
    )
    squares[is_used], is_code[is_used] = high**2, low == high
    squares[~is_code] = 0.0
    slots, taken = np.full(X.shape[1], -1), np.zeros((most, len(X)), dtype=bool)
    for column in np.flatnonzero(is_code):
        rows = matrix.indices[matrix.indptr[column] : matrix.indptr[column + 1]]
        free = np.flatnonzero(~taken[:, rows].any(axis=1))
        if not len(free):
            return None
        slots[column] = free[0]
        taken[free[0], rows] = True
    if slots.max() + 1 + np.count_nonzero(~is_code) > most:
        return None
    return CodedPoints.from_columns(matrix.tocsr(), slots, squares)


def pool_of(X: Floats | CodedPoints) -> Any:
    """A pool of records with or without codes."""
    return CodedPool(X) if isinstance(X, CodedPoints) else Pool(X)


def pool_for_groups(X: Floats | CodedPoints) -> Any:
    """A pool that is asked for what is near to its records and far from them."""
    pool = pool_of(X)
    if (coded := if_few_codes(X)) is not None:
        pool._use_codes(coded)
    return pool


def nearest_each(centroids: Any, X: Floats | CodedPoints, weights: Floats | None = None) -> Labels:
    """The nearest centroid of each record, or the power cell that it lies in."""
    if isinstance(X, CodedPoints):
        return X.tree(centroids, weights).nearest_each(X.numbers, X.codes)
    return Pool(centroids, weights=weights).nearest_each(np.ascontiguousarray(X))
