"""Cuts that the use of columns violates, found by growing sets of records.

At most p groups of a partition hold k or more of fewer than (p + 1) k records. A fractional
partition may use more columns within these records. To find such sets, each column in turn is
extended record by record: by the one that brings the columns which are used most nearest to being
within the set.
"""

import numpy as np

cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..common._interrupt cimport Watch, is_over, watch_until

cdef enum:
    CUT_FINDER_WORK_BETWEEN_SIGNALS = 1_000_000

# The worth of a column falls by this factor with each record that is missing.
cdef double DECAY = 0.5


@cython.final
cdef class CutFinder:
    """Grow sets of records that hold more columns than they can hold groups.

    Parameters
    ----------
    start : ndarray of shape (n_columns + 1,), int32
        Where the members of each column start.

    member : ndarray of shape (n_members,), int32
        The members, column after column.

    use : ndarray of shape (n_columns,)
        How much of each column is used.

    n_records : int
        Number of records.

    k : int
        Smallest size of a group: a column is within a set that holds k or more of its members.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import CutFinder
    >>> start, member = np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 0, 2])
    >>> finder = CutFinder(start.astype(np.int32), member.astype(np.int32), np.full(3, 0.5), 4, 2)
    >>> finder.grow(np.array([0]), 3, 0.1)
    [array([0, 1, 2], dtype=int32)]
    """

    cdef const int32_t[::1] start
    cdef const int32_t[::1] member
    cdef const double[::1] use
    cdef Py_ssize_t k
    cdef vector[vector[int32_t]] columns_of
    cdef vector[double] worth

    # The present set: its members in the order in which they joined, the use of columns within.
    cdef vector[int32_t] grown
    cdef double inside
    cdef vector[unsigned char] is_member
    # Members that columns lack, records in columns that are touched, and what they would add.
    cdef vector[int32_t] n_missing
    cdef vector[int32_t] touched
    cdef vector[double] gain

    def __init__(self, const int32_t[::1] start, const int32_t[::1] member,
                 const double[::1] use, Py_ssize_t n_records, Py_ssize_t k):
        cdef Py_ssize_t column, i
        self.start = start
        self.member = member
        self.use = use
        self.k = k
        self.columns_of.resize(n_records)
        for column in range(use.shape[0]):
            for i in range(start[column], start[column + 1]):
                self.columns_of[member[i]].push_back(column)
        self.worth.assign(k + 1, 1.0)
        for i in range(k):
            self.worth[i + 1] = DECAY * self.worth[i]
        self.is_member.assign(n_records, 0)
        self.n_missing.assign(use.shape[0], k)
        self.gain.assign(n_records, 0.0)

    def grow(self, const Py_ssize_t[::1] columns, Py_ssize_t max_members, double min_excess, *,
             deadline=None):
        """Sets grown from columns that are violated by more than a least amount as cuts.

        Parameters
        ----------
        columns : ndarray of shape (n_starts,), intp
            The columns from which to start.

        max_members : int
            Size at which to stop.

        min_excess : float
            The least amount: the use of columns within, less the number of groups that fit.

        deadline : Deadline or None, default=None
            Stop early, with the sets found so far, when it is over.

        Returns
        -------
        sets : list of ndarray
            From each column the most violated set for each number of groups that fit.
        """
        cdef Py_ssize_t i, size, n_fit, best_size
        cdef double best
        cdef list found = []
        cdef vector[double] excess
        cdef Watch watch = watch_until(deadline, CUT_FINDER_WORK_BETWEEN_SIGNALS)
        for i in range(columns.shape[0]):
            excess.clear()
            with nogil:
                self._start_from(columns[i])
                excess.push_back(self.inside - 1.0)
                while <Py_ssize_t>self.grown.size() < max_members and self._extend():
                    excess.push_back(self.inside - self.grown.size() // self.k)
            members = np.array(self.grown, dtype=np.int32)
            for n_fit in range(1, max_members // self.k + 1):
                best, best_size = min_excess, 0
                for size in range(
                    n_fit * self.k, min((n_fit + 1) * self.k, self.k + excess.size())
                ):
                    if excess[size - self.k] > best:
                        best, best_size = excess[size - self.k], size
                if best_size > self.k:
                    found.append(members[:best_size])
            if is_over(&watch, self._forget()):
                break
        return found

    cdef int _start_from(self, Py_ssize_t column) except -1 nogil:
        cdef Py_ssize_t i
        self.grown.clear()
        self.inside = 0.0
        for i in range(self.start[column], self.start[column] + self.k):
            self._join(self.member[i])
        return 0

    cdef bint _extend(self) except -1 nogil:
        """Let the record join that adds most; return whether there was one."""
        cdef Py_ssize_t best = -1
        cdef int32_t record
        for record in self.touched:
            if not self.is_member[record] and (
                best < 0 or self.gain[record] > self.gain[best]
            ):
                best = record
        if best >= 0:
            self._join(best)
        return best >= 0

    cdef int _join(self, Py_ssize_t record) except -1 nogil:
        """Add a record to the set, and update what others would add."""
        cdef int32_t column, other
        cdef Py_ssize_t i, missing
        cdef double before, after
        self.grown.push_back(record)
        self.is_member[record] = 1
        for column in self.columns_of[record]:
            missing = self.n_missing[column]
            if missing == 0:
                continue
            self.n_missing[column] = missing - 1
            before = self._step(missing) if missing < self.k else 0.0
            after = self._step(missing - 1)
            if missing == 1:
                self.inside += self.use[column]
            for i in range(self.start[column], self.start[column + 1]):
                other = self.member[i]
                if self.gain[other] == 0.0:
                    self.touched.push_back(other)
                self.gain[other] += self.use[column] * (after - before)
        return 0

    cdef double _step(self, Py_ssize_t missing) noexcept nogil:
        """By how much the worth of a column rises if one more of its missing records joins."""
        return self.worth[missing - 1] - self.worth[missing] if missing > 0 else 0.0

    cdef Py_ssize_t _forget(self) noexcept nogil:
        """Reset what was noted of the present set; return about the operations it took."""
        cdef Py_ssize_t work = self.grown.size() * self.touched.size()
        cdef int32_t record, column
        for record in self.grown:
            self.is_member[record] = 0
            work += self.columns_of[record].size() * self.k
            for column in self.columns_of[record]:
                self.n_missing[column] = self.k
        for record in self.touched:
            self.gain[record] = 0.0
        self.touched.clear()
        return work
