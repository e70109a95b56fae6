"""Guards that add up the amounts of the members of a group, such as sales or sampling weights."""

import numpy as np

cimport cython
from libcpp.vector cimport vector


cdef class AmountGuard(CountingGuard):
    """Base class of guards that know what each unit of a group contributes to it.

    Parameters
    ----------
    amounts : ndarray of shape (n_records,), float64
        Amount of each record, from 0.

    units : ndarray of shape (n_records,), int32, or None
        Number of the unit of each record, from 0. None if every record is a unit of its own.
    """

    def __init__(self, const double[::1] amounts, const int[::1] units):
        cdef object alike = np.asarray(amounts)[:, None]
        self.has_units = units is not None
        if self.has_units:
            alike = np.column_stack([alike, units])
        codes = np.unique(alike, axis=0, return_inverse=True)[1].ravel()
        CountingGuard.__init__(self, codes.astype(np.int32))
        self.amounts = amounts
        self.units = units
        if self.has_units:
            self.place_of.assign(np.max(units) + 1, 0)
            self.seen_in.assign(np.max(units) + 1, 0)

    cdef int _contribute(self, const int *members, Py_ssize_t size, bint once) except -1 nogil:
        """List what each unit contributes: all amounts, or the largest one if it counts once."""
        cdef Py_ssize_t i
        cdef int unit
        cdef double amount
        self.n_questions += 1
        self.contributions.clear()
        for i in range(size):
            amount = self.amounts[members[i]]
            if self.has_units:
                unit = self.units[members[i]]
                if self.seen_in[unit] == self.n_questions:
                    if not once:
                        self.contributions[self.place_of[unit]] += amount
                    elif amount > self.contributions[self.place_of[unit]]:
                        self.contributions[self.place_of[unit]] = amount
                    continue
                self.seen_in[unit] = self.n_questions
                self.place_of[unit] = <int>self.contributions.size()
            self.contributions.push_back(amount)
        return 0


@cython.final
cdef class LargestGuard(AmountGuard):
    """The largest contributions, times a factor, are at most what the others contribute.

    Parameters
    ----------
    amounts : ndarray of shape (n_records,), float64
        Amount of each record, from 0.

    units : ndarray of shape (n_records,), int32, or None
        Number of the unit of each record, from 0. None if every record is a unit of its own.

    n_bounded : int
        Number of largest contributions whose sum is bounded.

    n_apart : int
        Number of largest contributions that do not count as others, at least `n_bounded`.

    factor : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Guards, LargestGuard
    >>> guards = Guards([LargestGuard(np.array([9.0, 3.0, 4.0, 5.0]), None, 1, 1, 1.0)])
    >>> guards.hold([0, 1, 2]), guards.hold([0, 1, 2, 3])
    (False, True)
    """

    def __init__(self, const double[::1] amounts, const int[::1] units, Py_ssize_t n_bounded,
                 Py_ssize_t n_apart, double factor):
        AmountGuard.__init__(self, amounts, units)
        self.n_bounded = n_bounded
        self.n_apart = n_apart
        self.factor = factor

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef double others = 0.0, bounded = 0.0, amount, moved
        cdef size_t i, place
        self._contribute(members, size, False)
        self.largest.clear()
        for i in range(self.contributions.size()):
            amount = self.contributions[i]
            if <Py_ssize_t>self.largest.size() < self.n_apart:
                self.largest.push_back(amount)
            elif amount > self.largest.back():
                others += self.largest.back()
                self.largest[self.largest.size() - 1] = amount
            else:
                others += amount
                continue
            place = self.largest.size() - 1
            while place > 0 and self.largest[place - 1] < self.largest[place]:
                moved = self.largest[place - 1]
                self.largest[place - 1] = self.largest[place]
                self.largest[place] = moved
                place -= 1
        for i in range(min(self.largest.size(), <size_t>self.n_bounded)):
            bounded += self.largest[i]
        return self.factor * bounded <= others


@cython.final
cdef class SumGuard(AmountGuard):
    """Amounts that add up to at least `least`; the largest one of each unit counts.

    Parameters
    ----------
    amounts : ndarray of shape (n_records,), float64
        Amount of each record, from 0.

    units : ndarray of shape (n_records,), int32, or None
        Number of the unit of each record, from 0. None if every record is a unit of its own.

    least : float
        Smallest sum.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Guards, SumGuard
    >>> guards = Guards([SumGuard(np.array([9.0, 3.0, 4.0]), None, 10.0)])
    >>> guards.hold([1, 2]), guards.hold([0, 1])
    (False, True)
    """

    def __init__(self, const double[::1] amounts, const int[::1] units, double least):
        AmountGuard.__init__(self, amounts, units)
        self.least = least
        self.joins_are_safe = True

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil:
        cdef double total = 0.0
        cdef size_t i
        self._contribute(members, size, True)
        for i in range(self.contributions.size()):
            total += self.contributions[i]
        return total >= self.least
