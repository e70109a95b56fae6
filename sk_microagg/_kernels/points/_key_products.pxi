"""Distances between some points and many records by products: quick, but rounded.

With many columns, boxes spare few distances. |x - y|² - w = |x|² + |y|² - w - 2 x · y, which takes
half the arithmetic of the differences, and vector instructions do several records at a time. Points
of categories are mostly 0, and take much less. Large terms cancel, so callers measure again where
rounding could matter.

Only the least key of each chunk of records is stored. Writing all keys to memory takes longer than
computing again the few that are needed.
"""

import numpy as np

cimport cython

from ..common._distances cimport TINY

cdef enum:
    # With fewer columns, or more records, a tree is faster.
    COLUMNS_FOR_PRODUCTS = 8
    MANY_RECORDS = 16384
    # Products that take as long as one column of an exact distance.
    PRODUCTS_PER_DIFFERENCE = 16
    # With fewer points at a time, they would not share what is loaded.
    FEWEST_POINTS = 8

# Share of the squared norms and weights behind a key that may be rounding, in all and per column.
cdef double PRODUCT_ROUNDING = 1e-12
cdef double PRODUCT_ROUNDING_PER_COLUMN = 1e-15

cdef extern from "points/_least_keys.h":
    enum:
        PANEL "SKM_PANEL"
        CHUNK "SKM_CHUNK"

    cdef struct skm_products:
        const double *factors
        const double *squares
        const double *points
        const int *columns
        const Py_ssize_t *n_used
        const double *own_squares
        Py_ssize_t n_points
        Py_ssize_t n_columns
        Py_ssize_t n_chunks

    void skm_least_keys(const skm_products &of, double *least) noexcept nogil


@cython.final
cdef class KeyProducts:

    def __init__(self, const double[:, ::1] X, const double[::1] weights=None):
        cdef Py_ssize_t n_columns = X.shape[1]
        self.n_chunks = (X.shape[0] + CHUNK - 1) // CHUNK
        self.rounding = max(PRODUCT_ROUNDING, PRODUCT_ROUNDING_PER_COLUMN * n_columns)
        # A batch of points does not take longer than signals may wait.
        self.n_together = PRODUCTS_BETWEEN_SIGNALS // (self.n_chunks * CHUNK * n_columns)
        self.n_together = min(max(self.n_together, FEWEST_POINTS), PRODUCT_POINTS)
        with np.errstate(over="ignore", invalid="ignore"):
            # Not the mean: columns of categories are 0 for most records, and zeros are skipped.
            middle = np.median(X, axis=0)
            centered = np.asarray(X) - middle
            squares = (1.0 - self.rounding) * np.einsum("ij,ij->i", centered, centered)
        squares -= TINY * TINY  # Products may underflow.
        if weights is not None:
            squares -= np.asarray(weights) + self.rounding * np.abs(weights)
        # The last chunk is filled up with NaN, which is below no limit, not even an infinite one.
        factors = np.zeros((self.n_chunks * CHUNK, n_columns))
        factors[: len(centered)] = -2.0 * centered
        self.squares = np.full(self.n_chunks * CHUNK, np.nan)
        np.asarray(self.squares)[: len(squares)] = squares
        # Panel by panel, and column by column in each.
        panels = factors.reshape(-1, PANEL, n_columns).transpose(0, 2, 1)
        self.factors = np.ascontiguousarray(panels).ravel()
        self.middle = middle
        self.are_finite = bool(np.isfinite(squares).all())
        self.points.resize(self.n_together * n_columns)
        self.columns.resize(self.n_together * n_columns)
        self.n_used.resize(self.n_together)
        self.own_squares.resize(self.n_together)
        self.least.resize(self.n_together * self.n_chunks)

    @staticmethod
    def if_faster(const double[:, ::1] X, const double[::1] weights=None):
        """Products with these records, or None if a tree is faster, or if squares overflow."""
        cdef KeyProducts products
        if X.shape[1] < COLUMNS_FOR_PRODUCTS or not FEW_RECORDS < X.shape[0] <= MANY_RECORDS:
            return None
        products = KeyProducts(X, weights)
        return products if products.are_finite else None

    cdef void set_point(self, Py_ssize_t row, const double *point) noexcept nogil:
        """Set one of up to `n_together` points to multiply."""
        cdef Py_ssize_t j, n_used = 0, n_columns = self.middle.shape[0]
        cdef double *centered = &self.points[row * n_columns]
        cdef int *columns = &self.columns[row * n_columns]
        cdef double value
        self.own_squares[row] = 0.0
        for j in range(n_columns):
            value = point[j] - self.middle[j]
            if value != 0.0:
                centered[n_used] = value
                columns[n_used] = <int>j
                n_used += 1
                self.own_squares[row] += value * value
        self.n_used[row] = n_used
        self.own_squares[row] *= 1.0 - self.rounding

    cdef Py_ssize_t multiply(self, Py_ssize_t n_points) noexcept nogil:
        """Find the least keys of points in each chunk of records.

        A key is a bound from below on the squared distance between a point and a record, less the
        record's weight. Returns the number of products, at most.
        """
        cdef skm_products products
        products.factors = &self.factors[0]
        products.squares = &self.squares[0]
        products.points = self.points.data()
        products.columns = self.columns.data()
        products.n_used = self.n_used.data()
        products.own_squares = self.own_squares.data()
        products.n_points = n_points
        products.n_columns = self.middle.shape[0]
        products.n_chunks = self.n_chunks
        skm_least_keys(products, self.least.data())
        return n_points * self.squares.shape[0] * self.middle.shape[0]

    cdef Py_ssize_t below(self, Py_ssize_t row, double limit,
                          vector[Py_ssize_t] &records) except -1 nogil:
        """The records whose key for a point is at most a limit, in ascending order.

        Returns the number of products that take as long as measuring these records.
        """
        cdef double keys[CHUNK]
        cdef Py_ssize_t chunk, i
        records.clear()
        for chunk in range(self.n_chunks):
            if self.least[row * self.n_chunks + chunk] <= limit:
                self._find_keys(row, chunk, keys)
                for i in range(CHUNK):
                    if keys[i] <= limit:
                        records.push_back(chunk * CHUNK + i)
        return <Py_ssize_t>records.size() * self.middle.shape[0] * PRODUCTS_PER_DIFFERENCE

    cdef Py_ssize_t likely_nearest(self, Py_ssize_t row) noexcept nogil:
        """The record with the least key for a point."""
        cdef const double *least = &self.least[row * self.n_chunks]
        cdef double keys[CHUNK]
        cdef Py_ssize_t chunk, i, best_chunk = 0, best = 0
        for chunk in range(1, self.n_chunks):
            if least[chunk] < least[best_chunk]:
                best_chunk = chunk
        self._find_keys(row, best_chunk, keys)
        for i in range(1, CHUNK):
            if keys[i] < keys[best]:
                best = i
        return best_chunk * CHUNK + best

    cdef void _find_keys(self, Py_ssize_t row, Py_ssize_t chunk, double *keys) noexcept nogil:
        """The keys for one point and the records of one chunk.

        They may be rounded differently than the least of them was, which is harmless: both are
        bounds from below.
        """
        cdef Py_ssize_t i, j, panel, n_columns = self.middle.shape[0]
        cdef const double *factors = &self.factors[chunk * CHUNK * n_columns]
        cdef const double *point = &self.points[row * n_columns]
        cdef const int *columns = &self.columns[row * n_columns]
        cdef const double *of_column
        cdef double value
        for i in range(CHUNK):
            keys[i] = self.squares[chunk * CHUNK + i] + self.own_squares[row]
        for panel in range(CHUNK // PANEL):
            for j in range(self.n_used[row]):
                value = point[j]
                of_column = factors + (panel * n_columns + columns[j]) * PANEL
                for i in range(PANEL):
                    keys[panel * PANEL + i] += value * of_column[i]
