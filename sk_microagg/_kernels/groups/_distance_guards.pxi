"""Guards that compare the codes of a group with those of the whole table.

Constraints are checked again before a release: rounding must not let a group pass here and fail
there. Distances are quotients of integers, and the same here and there as long as these are exact;
beyond that, guards are a little stricter.
"""

import numpy as np

cimport cython
from libc.stdint cimport int64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

cdef double EXACT = 9007199254740992.0
cdef double ROUNDING_OF_DISTANCES = 1e-12


cdef inline bint is_quotient_at_most(double total, double divisor, double most) noexcept nogil:
    if divisor < EXACT:
        return total / divisor <= most
    return total <= most * (1.0 - ROUNDING_OF_DISTANCES) * divisor


@cython.final
cdef class EqualGuard(CountingGuard):
    """Shares of the codes near those in the table, if all codes are equally far apart.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0.

    counts : ndarray of shape (n_codes,), int64
        How many records of the whole table have each code.

    most : float
        Largest sum of the differences between shares, where those of the group are larger.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import EqualGuard, Guards
    >>> codes = np.array([0, 0, 1, 1], dtype=np.int32)
    >>> guards = Guards([EqualGuard(codes, np.bincount(codes), 0.2)])
    >>> guards.hold([0, 1]), guards.hold([0, 1, 2])
    (False, True)
    """

    def __init__(self, const int[::1] codes, const int64_t[::1] counts, double most):
        CountingGuard.__init__(self, codes)
        self.in_table = counts
        self.n_in_table = np.sum(counts)
        self.most = most

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef int64_t total = 0, more
        cdef size_t i
        self._count(members, size)
        for i in range(self.present.size()):
            more = self.counts[i] * self.n_in_table - size * self.in_table[self.present[i]]
            if more > 0:
                total += more
        return is_quotient_at_most(total, <double>size * self.n_in_table, self.most)


@cython.final
cdef class OrderedGuard(Guard):
    """Codes distributed as in the table, by the earth mover's distance over their order.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0, in the order of the values.

    counts : ndarray of shape (n_codes,), int64
        How many records of the whole table have each code.

    most : float
        Largest distance, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import OrderedGuard, Guards
    >>> codes = np.array([0, 1, 2, 3], dtype=np.int32)
    >>> guards = Guards([OrderedGuard(codes, np.bincount(codes), 0.2)])
    >>> guards.hold([0, 1]), guards.hold([0, 3])
    (False, True)
    """

    def __init__(self, const int[::1] codes, const int64_t[::1] counts, double most):
        Guard.__init__(self, codes)
        self.up_to = np.cumsum(counts)
        self.sum_before = np.concatenate([[0], np.cumsum(self.up_to)])
        self.n_codes = counts.shape[0]
        self.n_in_table = np.sum(counts)
        self.most = most

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef double divisor = <double>size * self.n_in_table * (self.n_codes - 1)
        cdef double hopeless = (1.0 + ROUNDING_OF_DISTANCES) * self.most * divisor
        cdef double total = 0.0
        cdef Py_ssize_t i, start = 0, end
        self._sort_codes(members, size)
        for i in range(size + 1):
            end = self.sorted_codes[i] if i < size else self.n_codes
            if end > start:
                total += self._area(i, size, start, end)
                start = end
                if total > hopeless:
                    return False
        return self.n_codes == 1 or is_quotient_at_most(total, divisor, self.most)

    cdef int _sort_codes(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef Py_ssize_t i, j
        cdef int code
        self.sorted_codes.resize(size)
        for i in range(size):
            self.sorted_codes[i] = self.codes[members[i]]
        if size > 32:
            sort(self.sorted_codes.begin(), self.sorted_codes.end())
            return 0
        for i in range(1, size):
            code = self.sorted_codes[i]
            j = i
            while j > 0 and self.sorted_codes[j - 1] > code:
                self.sorted_codes[j] = self.sorted_codes[j - 1]
                j -= 1
            self.sorted_codes[j] = code
        return 0

    cdef double _area(self, Py_ssize_t n_below, double size, Py_ssize_t start,
                      Py_ssize_t end) noexcept nogil:
        """Sum of |n_below / size - share of the table| over the codes from start to end.

        It is multiplied by size and by the number of records of the table: an integer, so that
        there is no rounding unless it is very large.
        """
        cdef double level = <double>n_below * self.n_in_table
        cdef Py_ssize_t low = start, high = end, middle
        # The share of the table rises, and crosses that of the group once.
        while low < high:
            middle = (low + high) // 2
            if size * self.up_to[middle] < level:
                low = middle + 1
            else:
                high = middle
        return (
            level * (2 * low - start - end)
            + size * (self.sum_before[start] + self.sum_before[end] - 2 * self.sum_before[low])
        )


@cython.final
cdef class TreeGuard(CountingGuard):
    """Codes distributed as in the table, by the earth mover's distance in a tree above them.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0.

    node_of : ndarray of shape (n_levels, n_codes), int32
        The node above each code at each level of the tree, numbered from 0 within the level.

    rises : ndarray of shape (n_levels, n_nodes), int64
        By how much the parent of each node is higher.

    in_table : ndarray of shape (n_levels, n_nodes), int64
        How many records of the whole table are below each node.

    n_in_table : int
        Number of records of the whole table.

    height : int
        Height of the tree.

    most : float
        Largest distance, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Guards, TreeGuard
    >>> codes = np.array([0, 0, 1, 2], dtype=np.int32)
    >>> node_of = np.array([[0, 0, 1], [0, 1, 2]], dtype=np.int32)
    >>> rises = np.ones((2, 3), dtype=np.int64)
    >>> in_table = np.array([[3, 1, 0], [2, 1, 1]])
    >>> guards = Guards([TreeGuard(codes, node_of, rises, in_table, 4, 2, 0.3)])
    >>> guards.hold([0, 2]), guards.hold([2, 3])
    (True, False)
    """

    def __init__(self, const int[::1] codes, const int[:, ::1] node_of,
                 const int64_t[:, ::1] rises, const int64_t[:, ::1] in_table,
                 int64_t n_in_table, int64_t height, double most):
        CountingGuard.__init__(self, codes)
        self.place_of.assign(in_table.shape[1], 0)
        self.seen_in.assign(in_table.shape[1], 0)
        self.node_of = node_of
        self.rises = rises
        self.in_table = in_table
        self.n_in_table = n_in_table
        self.height = height
        self.most = most

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef double total = 0.0
        cdef int64_t more
        cdef Py_ssize_t level
        cdef size_t i
        for level in range(self.node_of.shape[0]):
            self._count_nodes(members, size, &self.node_of[level, 0])
            for i in range(self.present.size()):
                more = self.counts[i] * self.n_in_table
                more -= size * self.in_table[level, self.present[i]]
                if more > 0:
                    total += <double>self.rises[level, self.present[i]] * more
        return is_quotient_at_most(
            total, <double>self.height * size * self.n_in_table, self.most
        )
