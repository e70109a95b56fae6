"""Plain scans for the records nearest to a record, and farthest from it, by codes instead of columns.

Records of categories have one coordinate per value, of which most are 0. A table says what each code
adds to a squared distance, so that a record takes a look-up per slot: see `CodedTree` for codes.
Sums of other terms are rounded otherwise than those over all columns; callers measure again.
"""

import numpy as np

cimport cython
from libc.stdint cimport uint16_t
from libcpp.vector cimport vector

from ..common._distances cimport TINY, squared_distance

# Share of the largest possible key that may be rounding.
cdef double SCAN_ROUNDING = 1e-12


@cython.final
cdef class CodedScan:

    def __init__(self, points):
        self.numbers = points.numbers
        self.codes = points.codes
        self.squares = points.squares
        self.size = self.codes.shape[0]
        self.n_slots = self.codes.shape[1]
        if self.squares.shape[0] > 1 << 16:
            raise ValueError(f"{self.squares.shape[0]} codes are too many for a scan.")
        squares = np.asarray(self.squares)[np.asarray(self.codes)].sum(axis=1)
        largest = np.abs(self.numbers).max(axis=0)
        self.slack = SCAN_ROUNDING * (4.0 * (largest @ largest) + 2.0 * squares.max()) + TINY
        self.own_codes = np.asarray(self.codes, dtype=np.uint16).reshape(-1)
        self.own_numbers = np.array(self.numbers).reshape(-1)
        self.record_at = np.arange(self.size, dtype=np.intp)
        self.place_of = np.arange(self.size, dtype=np.intp)
        self.measured = -1
        self.keys.resize(self.size)
        self.table.resize(self.squares.shape[0])

    cdef void remove(self, Py_ssize_t record) noexcept nogil:
        """Leave a record out from now on: the last one takes its place."""
        cdef Py_ssize_t place = self.place_of[record], last, j, n_numbers = self.numbers.shape[1]
        self.size -= 1
        last = self.record_at[self.size]
        self.record_at[place] = last
        self.place_of[last] = place
        self.keys[place] = self.keys[self.size]
        for j in range(self.n_slots):
            self.own_codes[place * self.n_slots + j] = self.own_codes[self.size * self.n_slots + j]
        for j in range(n_numbers):
            self.own_numbers[place * n_numbers + j] = self.numbers[last, j]

    cdef int nearest(self, Py_ssize_t record, Py_ssize_t m,
                     vector[Py_ssize_t] &records) except -1 nogil:
        """Records among which the `m` nearest to a record are."""
        cdef double worst = INFINITY
        cdef Py_ssize_t i, place
        self._measure(record)
        # The least keys so far, in order.
        self.least.assign(m, INFINITY)
        for i in range(self.size):
            if self.keys[i] < worst:
                place = m - 1
                while place > 0 and self.least[place - 1] > self.keys[i]:
                    self.least[place] = self.least[place - 1]
                    place -= 1
                self.least[place] = self.keys[i]
                worst = self.least[m - 1]
        worst += 2.0 * self.slack
        records.clear()
        for i in range(self.size):
            if self.keys[i] <= worst:
                records.push_back(self.record_at[i])
        return 0

    cdef int farthest(self, Py_ssize_t record, vector[Py_ssize_t] &records) except -1 nogil:
        """Records among which the farthest from a record is."""
        cdef double most = -INFINITY
        cdef Py_ssize_t i
        self._measure(record)
        for i in range(self.size):
            most = max(most, self.keys[i])
        most -= 2.0 * self.slack
        records.clear()
        for i in range(self.size):
            if self.keys[i] >= most:
                records.push_back(self.record_at[i])
        return 0

    cdef void _measure(self, Py_ssize_t record) noexcept nogil:
        """Find the keys of all records, squared distances but for a constant, if not known yet."""
        cdef const double *numbers = &self.numbers[record, 0]
        cdef const double *table = self.table.data()
        cdef const uint16_t *codes = &self.own_codes[0]
        cdef Py_ssize_t n_slots = self.n_slots, n_numbers = self.numbers.shape[1], i, slot
        cdef int code
        cdef double key
        if record == self.measured:
            return
        self.measured = record
        for i in range(self.squares.shape[0]):
            self.table[i] = self.squares[i]
        for slot in range(n_slots):
            code = self.codes[record, slot]
            self.table[code] = -self.squares[code]
        for i in range(self.size):
            key = squared_distance(&self.own_numbers[i * n_numbers], numbers, n_numbers)
            for slot in range(n_slots):
                key += table[codes[slot]]
            self.keys[i] = key
            codes += n_slots
