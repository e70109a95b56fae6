"""The best division of a path through the records into runs.

Let f(i) be the least sum of squared errors of any division of the first i records of the path into
runs of k to 2k - 1 records. A longer run is never needed: dividing it costs nothing. Then

    f(i) = min f(j) + SSE(j, i)  over i - 2k < j <= i - k,

with the squared error SSE(j, i) of the run of records j to i - 1 (S. L. Hansen, S. Mukherjee 2003).

Squared errors. A run of k or more records has an anchor among them: the first record from j on
whose number is a multiple of k. With the sums of y = x - anchor over the run,

    SSE(j, i) = Σ|y|² - |Σy|² / (i - j),

and both sums have one part that depends only on j, from the anchor back, and another that depends
only on i, from the anchor on. No sum reaches beyond the run, and the anchor is one of its records,
so that Σ|y|² is at most 2 (i - j) SSE(j, i): few digits are lost, however far the records are from
0 or from other runs.

Large k. If the path is a sorted column, f(j) + SSE(j, i) is a Monge matrix: the best start of the
last run does not move back as i grows. The starts of k successive runs are all known, so the best
start for the middle one divides those for the others: O(log k) comparisons per record instead of k.
"""

import numpy as np

from libc.math cimport INFINITY, frexp, ldexp
from libcpp.vector cimport vector

from ..common._interrupt cimport Watch, is_over, new_watch

cdef enum:
    COMPARISONS_BETWEEN_SIGNALS = 1_000_000
    # With a smaller k it is faster to compare all starts.
    SMALLEST_K_TO_DIVIDE = 12
    LARGEST_EXPONENT = 1000


def optimal_runs(const double[:, ::1] X, Py_ssize_t k):
    """Divide a path through the records into runs of k to 2k - 1 with the least squared error.

    Among several best divisions, it takes the one with the longest last run, then the longest run
    before it, and so on.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns)
        The records, in the order of the path.

    k : int
        Minimum length of a run, from 1 to n_records.

    Returns
    -------
    starts : ndarray of shape (n_runs,), intp
        Where the runs start, in ascending order; the first is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import optimal_runs
    >>> optimal_runs(np.array([[0.0], [1.0], [4.0], [9.0], [11.0]]), 2)
    array([0, 3])
    """
    if not 1 <= k <= X.shape[0]:
        raise ValueError(f"k={k} must be from 1 to the number of records, {X.shape[0]}.")
    cdef RunDivision division = RunDivision(X, k)
    division.solve()
    starts = []
    end = X.shape[0]
    while end > 0:
        end = division.start[end]
        starts.append(end)
    return np.array(starts[::-1], dtype=np.intp)


cdef class RunDivision:
    """The best start of the last run for each number of records, block by block of k numbers."""

    cdef const double[:, ::1] X
    cdef Py_ssize_t n_records
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t k
    cdef bint is_sorted_column
    cdef double unit
    cdef Watch watch

    # For each number of records: the least error, and the start of the last run. Errors are
    # relative to that of a number in the last block: early runs with a large error do not cost
    # later ones any digits.
    cdef vector[double] error
    cdef vector[Py_ssize_t] start
    cdef vector[double] inverse

    # The block of numbers, and the anchors of runs that end there.
    cdef Py_ssize_t near
    cdef Py_ssize_t far

    # Sums from each start to its anchor, and, for each end in the block, from both anchors on.
    cdef vector[double] sums_before
    cdef vector[double] squares_before
    cdef vector[double] sums_from_near
    cdef vector[double] squares_from_near
    cdef vector[double] sums_from_far
    cdef vector[double] squares_from_far

    def __init__(self, const double[:, ::1] X, Py_ssize_t k):
        cdef Py_ssize_t i
        self.X = X
        self.n_records = X.shape[0]
        self.n_columns = X.shape[1]
        self.k = k
        self.is_sorted_column = self._find_if_sorted_column()
        self.unit = self._find_unit()
        self.watch = new_watch(COMPARISONS_BETWEEN_SIGNALS)
        self.error.assign(self.n_records + 1, INFINITY)
        self.error[0] = 0.0
        self.start.assign(self.n_records + 1, 0)
        for i in range(2 * k):
            self.inverse.push_back(1.0 / max(i, 1))
        self.squares_before.assign(self.n_records, 0.0)
        self.sums_before.assign(self.n_records * self.n_columns, 0.0)
        self.squares_from_near.assign(k, 0.0)
        self.sums_from_near.assign(k * self.n_columns, 0.0)
        self.squares_from_far.assign(k, 0.0)
        self.sums_from_far.assign(k * self.n_columns, 0.0)

    cdef bint _find_if_sorted_column(self) noexcept nogil:
        cdef Py_ssize_t i
        if self.n_columns != 1:
            return False
        for i in range(1, self.n_records):
            if self.X[i, 0] < self.X[i - 1, 0]:
                return False
        return True

    cdef double _find_unit(self) noexcept nogil:
        """A power of two that makes the widest column about 1 wide, so that no square vanishes."""
        cdef double low, high, widest = 0.0
        cdef int exponent
        cdef Py_ssize_t i, column
        for column in range(self.n_columns):
            low = high = self.X[0, column]
            for i in range(1, self.n_records):
                low = min(low, self.X[i, column])
                high = max(high, self.X[i, column])
            widest = max(widest, high - low)
        frexp(widest, &exponent)
        return ldexp(1.0, min(-exponent, LARGEST_EXPONENT))

    cdef int solve(self) except -1:
        """Find the best start of the last run for all numbers of records that matter."""
        cdef Py_ssize_t last, last_block = self.n_records // self.k * self.k
        with nogil:
            while self.near < last_block:
                self.far = self.near
                self.near += self.k
                if self.near < self.n_records:
                    self._add_up_before()
                self._add_up_from(self.near, self.squares_from_near, self.sums_from_near)
                self._add_up_from(self.far, self.squares_from_far, self.sums_from_far)
                self._rebase()
                if self.near < last_block:
                    # After the last of these numbers there is no room for another run.
                    last = min(self.near + self.k - 1, self.n_records - self.k)
                    self._find_starts(self.near, last)
            self._scan(self.n_records, 0, self.n_records)
        return 0

    cdef int _find_starts(self, Py_ssize_t first, Py_ssize_t last) except -1 nogil:
        """Find the best starts for a range of numbers of records."""
        cdef Py_ssize_t i
        if self.is_sorted_column and self.k >= SMALLEST_K_TO_DIVIDE:
            self._divide(first, last, 0, self.n_records)
        else:
            for i in range(first, last + 1):
                self._scan(i, 0, self.n_records)
        return 0

    cdef int _divide(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t low, Py_ssize_t high
    ) except -1 nogil:
        """Find the best starts for a range of numbers, given that they are from `low` to `high`."""
        cdef Py_ssize_t middle
        while first <= last:
            middle = (first + last) // 2
            self._scan(middle, low, high)
            self._divide(first, middle - 1, low, self.start[middle])
            first = middle + 1
            low = self.start[middle]
        return 0

    cdef int _scan(self, Py_ssize_t end, Py_ssize_t low, Py_ssize_t high) except -1 nogil:
        """Find the best start from `low` to `high` of a run, and the error with it."""
        cdef Py_ssize_t row = end - self.near
        cdef Py_ssize_t best = -1
        cdef double least = INFINITY
        low = max(low, end - 2 * self.k + 1, 0)
        high = min(high, end - self.k)
        is_over(&self.watch, high - low + 1)
        self._compare(
            end, low, min(high, self.far), self.squares_from_far[row],
            &self.sums_from_far[row * self.n_columns], &best, &least,
        )
        self._compare(
            end, max(low, self.far + 1), high, self.squares_from_near[row],
            &self.sums_from_near[row * self.n_columns], &best, &least,
        )
        self.start[end] = best
        self.error[end] = least
        return 0

    cdef void _compare(
        self, Py_ssize_t end, Py_ssize_t low, Py_ssize_t high,
        double squares, const double *sums, Py_ssize_t *best, double *least,
    ) noexcept nogil:
        """Compare starts with the same anchor; the first of equals is best."""
        cdef Py_ssize_t j, column
        cdef double total, length, error
        cdef const double *before
        for j in range(low, high + 1):
            length = 0.0
            before = self.sums_before.data() + j * self.n_columns
            for column in range(self.n_columns):
                total = before[column] + sums[column]
                length += total * total
            # Rounding must not make it negative.
            error = self.squares_before[j] + squares - length * self.inverse[end - j]
            error = self.error[j] + max(error, 0.0)
            if error < least[0]:
                least[0] = error
                best[0] = j

    cdef void _add_up_before(self) noexcept nogil:
        """Add up from the near anchor back, for all starts that have it."""
        cdef Py_ssize_t j, column, anchor = self.near
        cdef double gap, squares = 0.0
        cdef double *sums
        for j in range(anchor - 1, max(anchor - self.k, -1), -1):
            sums = &self.sums_before[j * self.n_columns]
            for column in range(self.n_columns):
                gap = self.unit * (self.X[j, column] - self.X[anchor, column])
                squares += gap * gap
                sums[column] = gap + (sums[column + self.n_columns] if j < anchor - 1 else 0.0)
            self.squares_before[j] = squares

    cdef void _add_up_from(
        self, Py_ssize_t anchor, vector[double] &squares, vector[double] &sums
    ) noexcept nogil:
        """Add up from an anchor on, for all ends in the block."""
        cdef Py_ssize_t i, column, row = 0
        cdef double gap
        squares[0] = 0.0
        for column in range(self.n_columns):
            sums[column] = 0.0
        for i in range(anchor, min(self.near + self.k - 1, self.n_records)):
            if i >= self.near:  # Up to here, all is in the sums of the first end.
                row += 1
                squares[row] = squares[row - 1]
                for column in range(self.n_columns):
                    sums[row * self.n_columns + column] = sums[(row - 1) * self.n_columns + column]
            for column in range(self.n_columns):
                gap = self.unit * (self.X[i, column] - self.X[anchor, column])
                squares[row] += gap * gap
                sums[row * self.n_columns + column] += gap

    cdef void _rebase(self) noexcept nogil:
        """Make errors relative to the least that still matters."""
        cdef Py_ssize_t j, first = max(self.near - 2 * self.k + 1, 0)
        cdef double least = INFINITY
        for j in range(first, self.near):
            least = min(least, self.error[j])
        for j in range(first, self.near):
            self.error[j] -= least
