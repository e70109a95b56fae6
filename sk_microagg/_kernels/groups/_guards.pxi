"""Guards: whether a group satisfies the constraints beyond its size.

A guard looks at the members of a group and at one code per record, such as the number of its
sensitive value. It keeps nothing about groups: moves are undone, and groups come and go, without
telling it. It is asked only about moves that have passed the test of their cost.
"""

import numpy as np

cimport cython
from libc.math cimport log
from libc.stdint cimport int64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

# Constraints are checked again before a release: rounding must not let a group pass here and fail
# there. Distances are quotients of integers, and the same here and there as long as these are exact;
# beyond that, guards are a little stricter.
cdef double EXACT = 9007199254740992.0
cdef double ROUNDING_OF_DISTANCES = 1e-12
cdef double ROUNDING_OF_ENTROPIES = 1e-10


cdef inline bint is_quotient_at_most(double total, double divisor, double most) noexcept nogil:
    if divisor < EXACT:
        return total / divisor <= most
    return total <= most * (1.0 - ROUNDING_OF_DISTANCES) * divisor


cdef class Guard:
    """Base class: one constraint on the codes of the records of a group.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0.
    """

    def __init__(self, const int[::1] codes):
        self.codes = codes
        self.joins_are_safe = False

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        """Whether a group of these members satisfies the constraint."""
        return True

    cdef bint all_hold(self, const int *members, Py_ssize_t size) except -1 nogil:
        return self.holds(members, size) and (
            self.following is None or self.following.all_hold(members, size)
        )

    cdef bint all_hold_after_joining(self, const int *members, Py_ssize_t size) except -1 nogil:
        """The same for a group that satisfied all constraints before some records joined it."""
        return (self.joins_are_safe or self.holds(members, size)) and (
            self.following is None or self.following.all_hold_after_joining(members, size)
        )

    cdef bint all_see_twins(self, int one, int other) noexcept nogil:
        """Whether two records may change places in any group without a question."""
        return self.codes[one] == self.codes[other] and (
            self.following is None or self.following.all_see_twins(one, other)
        )


cdef class CountingGuard(Guard):
    """Base class of guards that count how many members have each code."""

    def __init__(self, const int[::1] codes):
        Guard.__init__(self, codes)
        self.place_of.assign(np.max(codes) + 1, 0)
        self.seen_in.assign(np.max(codes) + 1, 0)
        self.n_questions = 0

    cdef int _count(self, const int *members, Py_ssize_t size) except -1 nogil:
        """List the codes of the members, and how many have each."""
        return self._count_nodes(members, size, NULL)

    cdef int _count_nodes(self, const int *members, Py_ssize_t size,
                          const int *node_of) except -1 nogil:
        """The same for the nodes above the codes; NULL stands for the codes themselves."""
        cdef Py_ssize_t i
        cdef int code
        self.n_questions += 1
        self.present.clear()
        self.counts.clear()
        for i in range(size):
            code = self.codes[members[i]]
            if node_of != NULL:
                code = node_of[code]
            if self.seen_in[code] != self.n_questions:
                self.seen_in[code] = self.n_questions
                self.place_of[code] = <int>self.counts.size()
                self.present.push_back(code)
                self.counts.push_back(0)
            self.counts[self.place_of[code]] += 1
        return 0


@cython.final
cdef class DistinctGuard(CountingGuard):
    """At least `least` different codes.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0.

    least : int
        Smallest number of different codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import DistinctGuard, Guards
    >>> guards = Guards([DistinctGuard(np.array([0, 0, 1, 2], dtype=np.int32), 3)])
    >>> guards.hold([0, 1, 2]), guards.hold([1, 2, 3])
    (False, True)
    """

    def __init__(self, const int[::1] codes, Py_ssize_t least):
        CountingGuard.__init__(self, codes)
        self.least = least
        self.joins_are_safe = True

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef Py_ssize_t i, n_distinct = 0
        cdef int code
        if size < self.least:
            return False
        self.n_questions += 1
        for i in range(size):
            code = self.codes[members[i]]
            if self.seen_in[code] != self.n_questions:
                self.seen_in[code] = self.n_questions
                n_distinct += 1
                if n_distinct >= self.least:
                    return True
        return n_distinct >= self.least


@cython.final
cdef class EntropyGuard(CountingGuard):
    """An entropy of the codes of at least the logarithm of `least`.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0.

    least : float
        Effective number of different codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import EntropyGuard, Guards
    >>> guards = Guards([EntropyGuard(np.array([0, 0, 1, 1], dtype=np.int32), 2)])
    >>> guards.hold([0, 1, 2]), guards.hold([0, 1, 2, 3])
    (False, True)
    """

    def __init__(self, const int[::1] codes, double least):
        CountingGuard.__init__(self, codes)
        self.least = log(least) - ROUNDING_OF_ENTROPIES

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef double total = 0.0
        cdef size_t i
        self._count(members, size)
        for i in range(self.counts.size()):
            total += self.counts[i] * log(<double>self.counts[i])
        return log(<double>size) - total / size >= self.least


@cython.final
cdef class RecursiveGuard(CountingGuard):
    """The most frequent code is less frequent than c times all but the l - 1 most frequent ones.

    Parameters
    ----------
    codes : ndarray of shape (n_records,), int32
        Code of each record, from 0.

    l : int
        Number of different codes that matter.

    c : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import RecursiveGuard, Guards
    >>> codes = np.array([0, 0, 1, 2], dtype=np.int32)
    >>> guards = Guards([RecursiveGuard(codes, l=2, c=1.5)])
    >>> guards.hold([0, 1, 2]), guards.hold([0, 1, 2, 3])
    (False, True)
    """

    def __init__(self, const int[::1] codes, Py_ssize_t l, double c):
        CountingGuard.__init__(self, codes)
        self.l = l
        self.c = c

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef Py_ssize_t i, n_rare = 0, n_codes
        self._count(members, size)
        n_codes = <Py_ssize_t>self.counts.size()
        sort(self.counts.begin(), self.counts.end())
        for i in range(n_codes - self.l + 1):
            n_rare += self.counts[i]
        return self.counts.back() < self.c * n_rare


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


@cython.final
cdef class CallbackGuard(Guard):
    """A constraint written in Python.

    Parameters
    ----------
    n_records : int
        Number of records.

    function : callable
        Receives the members of a group as an ndarray; returns whether they satisfy the constraint.

    Examples
    --------
    >>> from sk_microagg._kernels import CallbackGuard, Guards
    >>> guards = Guards([CallbackGuard(4, lambda members: members.sum() > 3)])
    >>> guards.hold([0, 1]), guards.hold([1, 3])
    (False, True)
    """

    def __init__(self, Py_ssize_t n_records, function):
        # All codes differ: no record can take the place of another without a question.
        Guard.__init__(self, np.arange(n_records, dtype=np.int32))
        self.function = function

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        with gil:
            return self.function(np.array(<const int[:size]>members, dtype=np.intp))


@cython.final
cdef class Guards:
    """All constraints of a table.

    Parameters
    ----------
    guards : list of Guard
        One guard per constraint. They must not be part of other lists.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import DistinctGuard, Guards
    >>> guards = Guards([DistinctGuard(np.array([0, 0, 1, 2], dtype=np.int32), 2)])
    >>> guards.hold([0, 1]), guards.hold([1, 2])
    (False, True)
    """

    def __init__(self, guards):
        cdef Guard guard, following = None
        for guard in reversed(guards):
            guard.following = following
            following = guard
        self.first = following

    def hold(self, members):
        """Whether a group of these records satisfies all constraints.

        Parameters
        ----------
        members : array-like of int
            The records.

        Returns
        -------
        all_hold : bool
            Whether it does.
        """
        cdef int[::1] own = np.asarray(members, dtype=np.int32)
        return bool(self.first.all_hold(&own[0], own.shape[0]))

    cdef bint hold_without(self, const int *members, Py_ssize_t size, int record) except -1 nogil:
        """Whether a group satisfies all constraints after a record has left it."""
        cdef Py_ssize_t i
        self.changed.clear()
        for i in range(size):
            if members[i] != record:
                self.changed.push_back(members[i])
        return self.first.all_hold(self.changed.data(), self.changed.size())

    cdef bint hold_with(self, const int *members, Py_ssize_t size, int record) except -1 nogil:
        """Whether a group satisfies all constraints after a record has joined it."""
        self.changed.assign(members, members + size)
        self.changed.push_back(record)
        return self.first.all_hold_after_joining(self.changed.data(), self.changed.size())

    cdef bint hold_swapped(self, const int *members, Py_ssize_t size, int leaving,
                           int entering) except -1 nogil:
        """Whether a group satisfies all constraints after one record has replaced another."""
        cdef Py_ssize_t i
        self.changed.clear()
        for i in range(size):
            self.changed.push_back(entering if members[i] == leaving else members[i])
        return self.first.all_hold(self.changed.data(), self.changed.size())
