"""Distances between some points and many records by products: quick, but rounded.

With many columns, boxes spare few distances. |x - y|² - w = |x|² + |y|² - w - 2 x · y, which takes
half the arithmetic of the differences, and vector instructions do several records at a time. Points
of categories are mostly 0, and take much less. Large terms cancel, so callers measure again where
rounding could matter.
"""

import numpy as np

cimport cython

cdef enum:
    CHUNK = 64
    # With fewer columns, or more records, a tree is faster.
    COLUMNS_FOR_PRODUCTS = 8
    MANY_RECORDS = 16384

# Share of the squared norms and weights behind a key that may be rounding.
cdef double PRODUCT_ROUNDING = 1e-12

cdef extern from *:
    """
    // Not BLAS, whose threads would compete with those that work on other blocks. Compiled for
    // several vector widths, of which the widest that the machine has is used; they may round
    // differently.
    #if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) \\
        && !defined(__SANITIZE_ADDRESS__)
    __attribute__((target_clones("avx512f", "avx2", "default")))
    #endif
    static void skm_lower_keys(const double *factors, const double *squares, const double *points,
                               const int *columns, const Py_ssize_t *n_used,
                               const double *own_squares, Py_ssize_t n_points, Py_ssize_t n_columns,
                               Py_ssize_t n_chunks, double *__restrict keys,
                               double *__restrict least) {
        // The factors of a chunk stay in the nearest cache while all points meet them.
        for (Py_ssize_t chunk = 0; chunk < n_chunks; ++chunk)
            for (Py_ssize_t row = 0; row < n_points; ++row) {
                const double *base = factors + chunk * n_columns * 64;
                const double *x = points + row * n_columns;
                const int *column = columns + row * n_columns;
                double *key = keys + (row * n_chunks + chunk) * 64;
                double low[8];
                for (int i = 0; i < 64; ++i) key[i] = squares[chunk * 64 + i] + own_squares[row];
                Py_ssize_t j = 0;
                // Without zeros, four columns at a time take a third of the time.
                if (n_used[row] == n_columns)
                    for (const double *f = base; j + 4 <= n_columns; j += 4, f += 4 * 64) {
                        const double x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3];
                        for (int i = 0; i < 64; ++i)
                            key[i] += (x0 * f[i] + x1 * f[64 + i])
                                      + (x2 * f[128 + i] + x3 * f[192 + i]);
                    }
                for (; j < n_used[row]; ++j) {
                    const double *f = base + column[j] * 64;
                    for (int i = 0; i < 64; ++i) key[i] += x[j] * f[i];
                }
                for (int lane = 0; lane < 8; ++lane) low[lane] = key[lane];
                for (int i = 8; i < 64; i += 8)
                    for (int lane = 0; lane < 8; ++lane)
                        low[lane] = key[i + lane] < low[lane] ? key[i + lane] : low[lane];
                for (int lane = 1; lane < 8; ++lane)
                    low[0] = low[lane] < low[0] ? low[lane] : low[0];
                least[row * n_chunks + chunk] = low[0];
            }
    }
    """
    void skm_lower_keys(const double *factors, const double *squares, const double *points,
                        const int *columns, const Py_ssize_t *n_used, const double *own_squares,
                        Py_ssize_t n_points, Py_ssize_t n_columns, Py_ssize_t n_chunks,
                        double *keys, double *least) noexcept nogil


@cython.final
cdef class KeyProducts:

    def __init__(self, const double[:, ::1] X, const double[::1] weights=None):
        cdef Py_ssize_t n_columns = X.shape[1]
        self.n_chunks = (X.shape[0] + CHUNK - 1) // CHUNK
        with np.errstate(over="ignore", invalid="ignore"):
            # Not the mean: columns of categories are 0 for most records, and zeros are skipped.
            middle = np.median(X, axis=0)
            centered = np.asarray(X) - middle
            squares = (1.0 - PRODUCT_ROUNDING) * np.einsum("ij,ij->i", centered, centered)
        if weights is not None:
            squares -= np.asarray(weights) + PRODUCT_ROUNDING * np.abs(weights)
        # The last chunk is filled up with records that are infinitely far away.
        factors = np.zeros((self.n_chunks * CHUNK, n_columns))
        factors[: len(centered)] = -2.0 * centered
        self.squares = np.full(self.n_chunks * CHUNK, np.inf)
        np.asarray(self.squares)[: len(squares)] = squares
        # Chunk by chunk, and column by column in each.
        chunks = factors.reshape(self.n_chunks, CHUNK, n_columns).transpose(0, 2, 1)
        self.factors = np.ascontiguousarray(chunks).ravel()
        self.middle = middle
        self.are_finite = bool(np.isfinite(squares).all())
        self.points.resize(PRODUCT_POINTS * n_columns)
        self.columns.resize(PRODUCT_POINTS * n_columns)
        self.n_used.resize(PRODUCT_POINTS)
        self.own_squares.resize(PRODUCT_POINTS)
        self.keys.resize(PRODUCT_POINTS * self.n_chunks * CHUNK)
        self.least.resize(PRODUCT_POINTS * self.n_chunks)

    @staticmethod
    def if_faster(const double[:, ::1] X, const double[::1] weights=None):
        """Products with these records, or None if a tree is faster, or if squares overflow."""
        cdef KeyProducts products
        if X.shape[1] < COLUMNS_FOR_PRODUCTS or not FEW_RECORDS < X.shape[0] <= MANY_RECORDS:
            return None
        products = KeyProducts(X, weights)
        return products if products.are_finite else None

    cdef void set_point(self, Py_ssize_t row, const double *point) noexcept nogil:
        """Set one of up to PRODUCT_POINTS points to multiply."""
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
        self.own_squares[row] *= 1.0 - PRODUCT_ROUNDING

    cdef void multiply(self, Py_ssize_t n_points) noexcept nogil:
        """Find bounds from below on the squared distances of points to all records, less weights.

        These are the `keys`; `least` has the least one of each chunk of records.
        """
        skm_lower_keys(
            &self.factors[0],
            &self.squares[0],
            self.points.data(),
            self.columns.data(),
            self.n_used.data(),
            self.own_squares.data(),
            n_points,
            self.middle.shape[0],
            self.n_chunks,
            self.keys.data(),
            self.least.data(),
        )

    cdef int below(self, Py_ssize_t row, double limit,
                   vector[Py_ssize_t] &records) except -1 nogil:
        """The records whose key for a point is at most a limit, in ascending order."""
        cdef const double *keys = &self.keys[row * self.n_chunks * CHUNK]
        cdef Py_ssize_t chunk, record
        records.clear()
        for chunk in range(self.n_chunks):
            if self.least[row * self.n_chunks + chunk] <= limit:
                for record in range(chunk * CHUNK, (chunk + 1) * CHUNK):
                    if keys[record] <= limit:
                        records.push_back(record)
        return 0

    cdef Py_ssize_t likely_nearest(self, Py_ssize_t row) noexcept nogil:
        """The record with the least key for a point."""
        cdef const double *keys = &self.keys[row * self.n_chunks * CHUNK]
        cdef const double *least = &self.least[row * self.n_chunks]
        cdef Py_ssize_t chunk, record, best = 0
        for chunk in range(1, self.n_chunks):
            if least[chunk] < least[best]:
                best = chunk
        record = best * CHUNK
        while keys[record] > least[best]:
            record += 1
        return record
