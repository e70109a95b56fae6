"""Distances between some points and many records by products: quick, but rounded.

With many columns, boxes spare few distances. |x - y|² - w = |x|² + |y|² - w - 2 x · y, which takes
half the arithmetic of the differences, and vector instructions do several records at a time. Points
of categories are mostly 0, and take much less. Large terms cancel, so callers measure again where
rounding could matter. Single precision takes half the time, where it leaves few records in doubt.

Only the least key of each chunk of records is stored. Writing all keys to memory takes longer than
computing again the few that are needed.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, fabs
from libcpp.algorithm cimport nth_element, pop_heap, push_heap

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
# In single precision: a sum of as many products as columns, the square, and what is rounded before.
cdef double SINGLE_ROUNDING_PER_COLUMN = 2.0**-23

# In single precision the largest square is about 1; products below this may underflow. A point with
# a value above that may overflow.
cdef double SINGLE_TINY = 1e-37
cdef double SINGLE_HUGE = 1e15

# Single precision is used if it leaves no more records in doubt for some of them, on average.
cdef Py_ssize_t N_TRIED = 16
cdef double MOST_IN_DOUBT = 4.0

cdef extern from "points/_least_keys.h":
    enum:
        CHUNK "SKM_CHUNK"

    cdef cppclass skm_double_table(skm_key_table):
        skm_double_table(const double *, const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                         double) except +

    cdef cppclass skm_single_table(skm_key_table):
        skm_single_table(const double *, const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                         double) except +


@cython.final
cdef class KeyProducts:

    def __init__(self, const double[:, ::1] X, const double[::1] weights=None):
        cdef Py_ssize_t n_records = X.shape[0], n_columns = X.shape[1]
        cdef const double[:, ::1] records
        cdef const double[::1] squares
        self.n_chunks = (n_records + CHUNK - 1) // CHUNK
        # A batch of points does not take longer than signals may wait.
        self.n_together = PRODUCTS_BETWEEN_SIGNALS // (self.n_chunks * CHUNK * n_columns)
        self.n_together = min(max(self.n_together, FEWEST_POINTS), PRODUCT_POINTS)
        self.values.resize(n_columns)
        self.columns.resize(n_columns)
        self.own_squares.resize(self.n_together)
        self.least.resize(self.n_together * self.n_chunks)
        if weights is None:
            weights = np.zeros(n_records)
        with np.errstate(over="ignore", invalid="ignore"):
            # Not the mean: columns of categories are 0 for most records, and zeros are skipped.
            self.middle = np.median(X, axis=0)
            records = centered = np.asarray(X) - self.middle
            norms = np.einsum("ij,ij->i", centered, centered)
        self.are_finite = bool(np.isfinite(norms).all() and np.isfinite(weights).all())
        unit = _unit_for_singles(norms, np.asarray(weights)) if self.are_finite else 0.0
        self.rounding = SINGLE_ROUNDING_PER_COLUMN * (n_columns + 4)
        del self.table
        if unit > 0.0 and _leave_few_in_doubt(
            centered, norms, np.asarray(weights), self.rounding
        ):
            self.most = SINGLE_HUGE / unit
            squares = self._squares(norms, weights, n_columns * SINGLE_TINY / (unit * unit))
            self.table = <skm_key_table *>new skm_single_table(
                &records[0, 0], &squares[0], n_records, n_columns, self.n_together, unit
            )
        else:
            self.most = INFINITY
            self.rounding = max(PRODUCT_ROUNDING, PRODUCT_ROUNDING_PER_COLUMN * n_columns)
            squares = self._squares(norms, weights, TINY * TINY)
            self.table = <skm_key_table *>new skm_double_table(
                &records[0, 0], &squares[0], n_records, n_columns, self.n_together, 1.0
            )

    def __dealloc__(self):
        del self.table

    @staticmethod
    def if_faster(const double[:, ::1] X, const double[::1] weights=None, fewest=FEW_RECORDS + 1):
        """Products with these records, or None if a tree is faster, or if squares overflow."""
        cdef KeyProducts products
        if X.shape[1] < COLUMNS_FOR_PRODUCTS or not fewest <= X.shape[0] <= MANY_RECORDS:
            return None
        products = KeyProducts(X, weights)
        return products if products.are_finite else None

    cdef _squares(self, norms, weights, double tiny):
        """Squared norms less weights, less what may be rounding and what may underflow."""
        weights = np.asarray(weights)
        with np.errstate(over="ignore", invalid="ignore"):
            return (1.0 - self.rounding) * norms - tiny - weights - self.rounding * np.abs(weights)

    cdef void set_point(self, Py_ssize_t row, const double *point) noexcept nogil:
        """Set one of up to `n_together` points to multiply."""
        cdef Py_ssize_t j, n_used = 0
        cdef double value, square = 0.0
        cdef bint is_far = False
        for j in range(self.middle.shape[0]):
            value = point[j] - self.middle[j]
            if value != 0.0:
                self.values[n_used] = value
                self.columns[n_used] = <int>j
                n_used += 1
                square += value * value
                is_far |= fabs(value) > self.most
        # All keys of a point that is too far away are bounds, but say nothing.
        self.own_squares[row] = -INFINITY if is_far else (1.0 - self.rounding) * square
        self.table.set_point(row, &self.values[0], &self.columns[0], 0 if is_far else n_used)

    cdef Py_ssize_t multiply(self, Py_ssize_t n_points) noexcept nogil:
        """Find the least keys of points in each chunk of records.

        A key is a bound from below on the squared distance between a point and a record, less the
        record's weight. Returns the number of products, at most.
        """
        cdef Py_ssize_t row, chunk
        self.table.find_least(n_points, self.least.data())
        for row in range(n_points):
            for chunk in range(self.n_chunks):
                self.least[row * self.n_chunks + chunk] += self.own_squares[row]
        return n_points * self.n_chunks * CHUNK * self.middle.shape[0]

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

    cdef int nearest_about(self, Py_ssize_t row, Py_ssize_t m, vector[Hit] &hits) except -1 nogil:
        """About the `m` nearest records of a point, those with the least keys, in any order."""
        cdef const double *least = &self.least[row * self.n_chunks]
        cdef double keys[CHUNK]
        cdef double limit = INFINITY, worst = INFINITY
        cdef Py_ssize_t chunk, i
        if m < self.n_chunks:
            # As many chunks have a record below the limit.
            self.in_order.assign(least, least + self.n_chunks)
            nth_element(self.in_order.begin(), self.in_order.begin() + m - 1, self.in_order.end())
            limit = self.in_order[m - 1]
        hits.clear()
        for chunk in range(self.n_chunks):
            if least[chunk] <= limit:
                self._find_keys(row, chunk, keys)
                for i in range(CHUNK):
                    if keys[i] < worst:
                        worst = _keep_least(hits, m, Hit(keys[i], chunk * CHUNK + i))
        return 0

    cdef void _find_keys(self, Py_ssize_t row, Py_ssize_t chunk, double *keys) noexcept nogil:
        """The keys for one point and the records of one chunk.

        They may be rounded differently than the least of them was, which is harmless: both are
        bounds from below.
        """
        cdef Py_ssize_t i
        self.table.find_keys(row, chunk, keys)
        for i in range(CHUNK):
            keys[i] += self.own_squares[row]


cdef double _keep_least(vector[Hit] &heap, Py_ssize_t m, Hit hit) except? -1 nogil:
    """Add a hit to a heap of the `m` least ones; return the key that the next one must be below."""
    if <Py_ssize_t>heap.size() < m:
        heap.push_back(hit)
    else:
        pop_heap(heap.begin(), heap.end())
        heap[m - 1] = hit
    push_heap(heap.begin(), heap.end())
    return heap.front().first if <Py_ssize_t>heap.size() == m else INFINITY


cdef double _unit_for_singles(norms, weights):
    """A power of two that brings the largest square to about 1; 0 if that is out of range."""
    cdef double largest = max(norms.max(), np.abs(weights).max())
    cdef int exponent = np.frexp(largest)[1] // 2
    return 2.0**-exponent if largest > 0.0 and -400 < exponent < 400 else 0.0


cdef bint _leave_few_in_doubt(centered, norms, weights, double rounding) except -1:
    """Whether rounding hides the nearest of some records among few others."""
    n_in_doubt = 0
    tried = np.unique(np.linspace(0, len(centered) - 1, N_TRIED).astype(np.intp))
    # What is rounded here is far below what single precision rounds.
    products = np.einsum("ij,kj->ik", centered[tried], centered)
    for record, row in zip(tried, products):
        keys = norms + norms[record] - 2.0 * row - weights
        keys[record] = np.inf
        nearest = keys.min()
        keys -= 2.0 * rounding * (norms + norms[record] + np.abs(weights))
        n_in_doubt += np.count_nonzero(keys <= nearest)
    return n_in_doubt <= MOST_IN_DOUBT * len(tried)
