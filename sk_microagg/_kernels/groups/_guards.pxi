"""Guards: whether a group satisfies the constraints beyond its size.

A guard looks at the members of a group and at one code per record, such as the number of its
sensitive value. It keeps nothing about groups: moves are undone, and groups come and go, without
telling it. It is asked only about moves that have passed the test of their cost.
"""

import numpy as np

cimport cython
from libcpp.vector cimport vector


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
