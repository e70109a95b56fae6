"""Distances between a point and many records by products: quick, but rounded.

With many columns, boxes spare few distances. |x - y|² - w = |x|² + |y|² - w - 2 x · y, which takes
half the arithmetic of the differences, and vector instructions do several records at a time. Large
terms cancel, so callers measure again where rounding could matter.
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
    static void skm_lower_keys(const double *factors, const double *squares, const double *point,
                               double square, Py_ssize_t n_columns, Py_ssize_t n_chunks,
                               double *__restrict keys, double *__restrict least) {
        for (Py_ssize_t chunk = 0; chunk < n_chunks; ++chunk) {
            const double *f = factors + chunk * n_columns * 64;
            double *key = keys + chunk * 64;
            double low[8];
            for (int i = 0; i < 64; ++i) key[i] = squares[chunk * 64 + i] + square;
            Py_ssize_t j = 0;
            for (; j + 4 <= n_columns; j += 4, f += 4 * 64) {
                const double x0 = point[j], x1 = point[j + 1], x2 = point[j + 2], x3 = point[j + 3];
                for (int i = 0; i < 64; ++i)
                    key[i] += (x0 * f[i] + x1 * f[64 + i]) + (x2 * f[128 + i] + x3 * f[192 + i]);
            }
            for (; j < n_columns; ++j, f += 64)
                for (int i = 0; i < 64; ++i) key[i] += point[j] * f[i];
            for (int lane = 0; lane < 8; ++lane) low[lane] = key[lane];
            for (int i = 8; i < 64; i += 8)
                for (int lane = 0; lane < 8; ++lane)
                    low[lane] = key[i + lane] < low[lane] ? key[i + lane] : low[lane];
            for (int lane = 1; lane < 8; ++lane) low[0] = low[lane] < low[0] ? low[lane] : low[0];
            least[chunk] = low[0];
        }
    }
    """
    void skm_lower_keys(const double *factors, const double *squares, const double *point,
                        double square, Py_ssize_t n_columns, Py_ssize_t n_chunks, double *keys,
                        double *least) noexcept nogil


@cython.final
cdef class KeyProducts:

    def __init__(self, const double[:, ::1] X, const double[::1] weights=None):
        cdef Py_ssize_t n_columns = X.shape[1]
        self.n_chunks = (X.shape[0] + CHUNK - 1) // CHUNK
        with np.errstate(over="ignore", invalid="ignore"):
            middle = np.mean(X, axis=0)
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
        self.point.resize(n_columns)
        self.keys.resize(self.n_chunks * CHUNK)
        self.least.resize(self.n_chunks)

    @staticmethod
    def if_faster(const double[:, ::1] X, const double[::1] weights=None):
        """Products with these records, or None if a tree is faster, or if squares overflow."""
        cdef KeyProducts products
        if X.shape[1] < COLUMNS_FOR_PRODUCTS or not FEW_RECORDS < X.shape[0] <= MANY_RECORDS:
            return None
        products = KeyProducts(X, weights)
        return products if products.are_finite else None

    cdef void multiply(self, const double *point) noexcept nogil:
        """Find `keys`, bounds from below on the squared distances to all records, less weights.

        And `least`, the least key of each chunk of records.
        """
        cdef Py_ssize_t j
        cdef double square = 0.0
        for j in range(self.middle.shape[0]):
            self.point[j] = point[j] - self.middle[j]
            square += self.point[j] * self.point[j]
        skm_lower_keys(
            &self.factors[0],
            &self.squares[0],
            self.point.data(),
            (1.0 - PRODUCT_ROUNDING) * square,
            self.middle.shape[0],
            self.n_chunks,
            self.keys.data(),
            self.least.data(),
        )

    cdef int below(self, double limit, vector[Py_ssize_t] &records) except -1 nogil:
        """The records whose key is at most a limit, in ascending order."""
        cdef Py_ssize_t chunk, record
        records.clear()
        for chunk in range(self.n_chunks):
            if self.least[chunk] <= limit:
                for record in range(chunk * CHUNK, (chunk + 1) * CHUNK):
                    if self.keys[record] <= limit:
                        records.push_back(record)
        return 0

    cdef Py_ssize_t likely_nearest(self) noexcept nogil:
        """The record with the least key."""
        cdef Py_ssize_t chunk, record, best = 0
        for chunk in range(1, self.n_chunks):
            if self.least[chunk] < self.least[best]:
                best = chunk
        record = best * CHUNK
        while self.keys[record] > self.least[best]:
            record += 1
        return record
