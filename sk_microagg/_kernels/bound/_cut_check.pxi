"""Dual constraints of larger sets within cuts: all subsets of each cut with more than k records.

The duals of a set S may sum to its SSE and the duals of all cuts that hold k or more of its
members. Subsets are built member by member. With P the members chosen so far, c their mean, and Q
those of the members still to be decided that join them,

    SSE(P + Q) >= SSE(P) + |P| / (|P| + |Q|) times the sum over Q of |x - c|²,

since the SSE of a union is SSE(P) + SSE(Q) + |P||Q| / (|P| + |Q|) |c - mean of Q|², and the sum over
Q is SSE(Q) + |Q| |c - mean of Q|². So each of them adds at most its dual less a part of |x - c|²,
and a branch ends where even all that is positive would not violate the constraint.
"""

import numpy as np

cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ..common._distances cimport squared_distance
from ..common._interrupt cimport Watch, check_now, watch_until

cdef enum:
    MAX_MEMBERS = 32


cdef struct Overlap:
    unsigned int members
    double dual


@cython.final
cdef class CutCheck:
    """Lower duals until no set of more than k records within a cut violates its constraint.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64
        The records.

    k : int
        Smallest size of a group.

    start : ndarray of shape (n_cuts + 1,), int32
        Where the members of each cut start.

    member : ndarray of shape (n_members,), int32
        The members, cut after cut; at most 32 per cut.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import CutCheck
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> start, member = np.array([0, 3], dtype=np.int32), np.arange(3, dtype=np.int32)
    >>> duals = np.array([1.0, 1.0, 1.5])
    >>> CutCheck(X, 2, start, member).lower(duals, np.array([0.5]))
    [array([0, 1, 2], dtype=int32)]
    >>> duals
    array([1. , 1. , 0.5])
    """

    cdef const double[:, ::1] X
    cdef Py_ssize_t k
    cdef const int32_t[::1] start
    cdef const int32_t[::1] member
    cdef vector[vector[int32_t]] cuts_of
    cdef vector[int32_t] n_shared

    # The present cut.
    cdef Py_ssize_t n_members
    cdef int32_t members[MAX_MEMBERS]
    cdef double distances[MAX_MEMBERS][MAX_MEMBERS]
    # At each depth, the squared distances from each member to those chosen, summed up.
    cdef double to_chosen[MAX_MEMBERS + 1][MAX_MEMBERS]
    cdef double own_dual
    cdef vector[Overlap] overlaps
    cdef double[::1] duals
    cdef vector[unsigned int] violating

    def __init__(self, const double[:, ::1] X, Py_ssize_t k, const int32_t[::1] start,
                 const int32_t[::1] member):
        cdef Py_ssize_t cut, i
        self.X = X
        self.k = k
        self.start = start
        self.member = member
        self.cuts_of.resize(X.shape[0])
        self.n_shared.assign(start.shape[0] - 1, 0)
        for cut in range(start.shape[0] - 1):
            if start[cut + 1] - start[cut] > MAX_MEMBERS:
                raise ValueError(f"Cut {cut} has more than {MAX_MEMBERS} members.")
            for i in range(start[cut], start[cut + 1]):
                self.cuts_of[member[i]].push_back(cut)

    def lower(self, double[::1] duals, const double[::1] cut_duals, *,
              deadline=None):
        """Lower duals of records in place where sets violate their constraints.

        Returns
        -------
        sets : list of ndarray or None
            The sets that violated their constraints when they were checked; None if
            the deadline was over before all cuts were checked.
        """
        cdef Py_ssize_t cut, i
        cdef unsigned int chosen
        cdef list found = []
        cdef Watch watch = watch_until(deadline, 1)
        self.duals = duals
        for cut in range(cut_duals.shape[0]):
            if check_now(&watch):
                return None
            if cut_duals[cut] <= 0.0:
                continue
            self.violating.clear()
            self.own_dual = cut_duals[cut]
            with nogil:
                self._prepare(cut, cut_duals)
                self._choose(0, 0, 0, 0.0, 0.0)
            for chosen in self.violating:
                found.append(
                    np.array(
                        [self.members[i] for i in range(self.n_members) if chosen >> i & 1],
                        dtype=np.int32,
                    )
                )
        return found

    cdef int _prepare(self, Py_ssize_t cut, const double[::1] cut_duals) except -1 nogil:
        """Lay out the members of a cut, their distances, and the cuts that share k or more."""
        cdef Py_ssize_t first = self.start[cut], i, j
        cdef int32_t other
        cdef Overlap shared
        self.n_members = self.start[cut + 1] - first
        for i in range(self.n_members):
            self.members[i] = self.member[first + i]
            self.to_chosen[0][i] = 0.0
            for j in range(i + 1):
                self.distances[i][j] = squared_distance(
                    &self.X[self.members[i], 0], &self.X[self.members[j], 0], self.X.shape[1]
                )
                self.distances[j][i] = self.distances[i][j]
        self.overlaps.clear()
        for i in range(self.n_members):
            for other in self.cuts_of[self.members[i]]:
                self.n_shared[other] += 1
                if self.n_shared[other] == self.k and other != cut and cut_duals[other] > 0.0:
                    shared = Overlap(0, cut_duals[other])
                    for j in range(self.start[other], self.start[other + 1]):
                        shared.members |= self._bit_of(self.member[j])
                    self.overlaps.push_back(shared)
        for i in range(self.n_members):
            for other in self.cuts_of[self.members[i]]:
                self.n_shared[other] = 0
        return 0

    cdef unsigned int _bit_of(self, int32_t record) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_members):
            if self.members[i] == record:
                return (<unsigned int>1) << i
        return 0

    cdef int _choose(self, Py_ssize_t place, Py_ssize_t size, unsigned int chosen, double dual_sum,
                     double pairs) except -1 nogil:
        """Check all sets of the `size` members chosen and any of those from `place` on.

        The duals of the chosen sum to `dual_sum`, the squared distances of their pairs to `pairs`.
        """
        cdef Py_ssize_t i, most = size + self.n_members - place
        cdef size_t n_violating
        cdef double per_member = pairs / size if size > 0 else 0.0
        cdef double rest = 0.0
        if most <= self.k:
            return 0
        for i in range(place, self.n_members):
            rest += max(
                self.duals[self.members[i]] - (self.to_chosen[place][i] - per_member) / most, 0.0
            )
        if dual_sum + rest - self.own_dual <= per_member:
            return 0
        if place == self.n_members:
            return self._check(size, chosen, pairs)
        for i in range(place + 1, self.n_members):
            self.to_chosen[place + 1][i] = self.to_chosen[place][i] + self.distances[place][i]
        n_violating = self.violating.size()
        self._choose(
            place + 1, size + 1, chosen | (<unsigned int>1) << place,
            dual_sum + self.duals[self.members[place]], pairs + self.to_chosen[place][place],
        )
        for i in range(place + 1, self.n_members):
            self.to_chosen[place + 1][i] = self.to_chosen[place][i]
        if self.violating.size() > n_violating:
            dual_sum = self._sum_of_duals(chosen)
        return self._choose(place + 1, size, chosen, dual_sum, pairs)

    cdef double _sum_of_duals(self, unsigned int chosen) noexcept nogil:
        """Sum of the duals of the chosen, which may have been lowered since they were chosen."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n_members):
            if chosen >> i & 1:
                total += self.duals[self.members[i]]
        return total

    cdef int _check(self, Py_ssize_t size, unsigned int chosen, double pairs) except -1 nogil:
        """Lower the highest dual in a set by the amount that violates its constraint."""
        cdef double excess = self._sum_of_duals(chosen) - pairs / size - self.own_dual
        cdef Py_ssize_t i, highest = -1
        cdef size_t j
        for j in range(self.overlaps.size()):
            if excess <= 0.0:
                return 0
            if n_bits(chosen & self.overlaps[j].members) >= self.k:
                excess -= self.overlaps[j].dual
        if excess <= 0.0:
            return 0
        for i in range(self.n_members):
            if chosen >> i & 1 and (
                highest < 0 or self.duals[self.members[i]] > self.duals[self.members[highest]]
            ):
                highest = i
        self.duals[self.members[highest]] -= excess
        self.violating.push_back(chosen)
        return 0


cdef inline Py_ssize_t n_bits(unsigned int bits) noexcept nogil:
    cdef Py_ssize_t n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n
