"""Guards that count how many members of a group have each code."""

import numpy as np

cimport cython
from libc.math cimport log
from libc.stdint cimport int64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

# Constraints are checked again before a release: rounding must not let a group pass here and fail
# there.
cdef double ROUNDING_OF_ENTROPIES = 1e-10


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
