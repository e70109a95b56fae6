"""Sets of k records whose duals exceed their SSE, found by two quick heuristics.

Around each record a set grows by the neighbor that costs least, given those in it. From the record
and from the mean of that set, a set is also improved as in Lloyd's method: with c the mean, the set
becomes the k neighbors with the least |x - c|² - u(x), u the duals, and so on.

A cut with a dual of its own raises the reduced costs of the sets inside. Where a set is within such
cuts, one member is exchanged for the neighbor outside that makes the best set.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libcpp.algorithm cimport nth_element
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ..common._distances cimport squared_distance
from ..common._interrupt cimport Watch, is_over, watch_until

cdef enum:
    MAX_ROUNDS = 8
    MAX_ESCAPES = 3
    FINDER_WORK_BETWEEN_SIGNALS = 5_000_000


@cython.final
cdef class GroupFinder:
    """Look around each record for sets of k records whose duals exceed their SSE.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64
        The records.

    near : ndarray of shape (n_records, n_near), int32
        Records near to each, itself first; at least k.

    k : int
        Size of the sets.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import GroupFinder
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> near = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]], dtype=np.int32)
    >>> found = GroupFinder(X, near, 2).find(np.ones(3), 0.0)
    >>> np.unique(np.sort(found, axis=1), axis=0)
    array([[0, 1]], dtype=int32)
    """

    cdef const double[:, ::1] X
    cdef const int32_t[:, ::1] near
    cdef Py_ssize_t k
    cdef vector[double] mean
    cdef vector[double] cost
    cdef vector[Ranked] ranked
    cdef vector[int32_t] members
    cdef vector[int32_t] found

    # Cuts with a dual above 0: their members, and for each record the cuts that it is in.
    cdef const int32_t[::1] cut_start
    cdef const int32_t[::1] cut_member
    cdef vector[vector[int32_t]] cuts_of
    cdef vector[int32_t] n_shared
    cdef vector[unsigned char] is_inside

    def __init__(self, const double[:, ::1] X, const int32_t[:, ::1] near, Py_ssize_t k):
        if near.shape[1] < k:
            raise ValueError(f"{near.shape[1]} near records are too few for sets of {k}.")
        self.X = X
        self.near = near
        self.k = k
        self.mean.resize(X.shape[1])
        self.cost.resize(near.shape[1])
        self.ranked.resize(near.shape[1])
        self.members.resize(k)
        self.cuts_of.resize(X.shape[0])
        self.is_inside.assign(X.shape[0], 0)

    def set_cuts(self, const int32_t[::1] start, const int32_t[::1] member,
                 const double[::1] cut_duals):
        """Set the cuts: the members of cut c are those from `start[c]` to `start[c + 1]`."""
        cdef Py_ssize_t cut, i
        self.cut_start = start
        self.cut_member = member
        self.n_shared.assign(cut_duals.shape[0], 0)
        self.cuts_of.assign(self.X.shape[0], vector[int32_t]())
        for cut in range(cut_duals.shape[0]):
            if cut_duals[cut] > 0.0:
                for i in range(start[cut], start[cut + 1]):
                    self.cuts_of[member[i]].push_back(cut)

    def find(self, const double[::1] duals, double tolerance, *, deadline=None):
        """Sets whose duals sum to more than their SSE and a tolerance.

        Parameters
        ----------
        duals : ndarray of shape (n_records,)
            The duals.

        tolerance : float
            The tolerance.

        deadline : Deadline or None, default=None
            Stop early, with the sets found so far, when it is over.

        Returns
        -------
        members : ndarray of shape (n_found, k), int32
            The sets; one may occur many times.
        """
        cdef Py_ssize_t record, i
        cdef int32_t[:, ::1] members
        cdef Watch watch = watch_until(deadline, FINDER_WORK_BETWEEN_SIGNALS)
        cdef Py_ssize_t work = self.near.shape[1] * self.X.shape[1] * (self.k + 2 * MAX_ROUNDS)
        self.found.clear()
        with nogil:
            for record in range(self.X.shape[0]):
                if is_over(&watch, work):
                    break
                for i in range(self.X.shape[1]):
                    self.mean[i] = self.X[record, i]
                self._improve(record, duals, tolerance)
                if self._grow(record, duals) < -tolerance:
                    self._note(record, duals, tolerance)
                self._take_mean()
                self._improve(record, duals, tolerance)
        members = np.empty((self.found.size() // self.k, self.k), dtype=np.int32)
        for i in range(<Py_ssize_t>self.found.size()):
            members[i // self.k, i % self.k] = self.found[i]
        return members.base

    cdef double _grow(self, Py_ssize_t record, const double[::1] duals) noexcept nogil:
        """Let a set grow from a record; return its SSE less its duals."""
        cdef Py_ssize_t n_near = self.near.shape[1], size, place, cheapest = 0
        cdef const int32_t *near = &self.near[record, 0]
        cdef const double *joined
        cdef double total = 0.0
        for place in range(n_near):
            self.cost[place] = -duals[near[place]]
        for size in range(self.k):
            total += self.cost[cheapest]
            self.members[size] = near[cheapest]
            self.cost[cheapest] = INFINITY
            joined = &self.X[near[cheapest], 0]
            cheapest = 0
            for place in range(n_near):
                if self.cost[place] < INFINITY:
                    self.cost[place] += (
                        squared_distance(&self.X[near[place], 0], joined, self.X.shape[1]) / self.k
                    )
                if self.cost[place] < self.cost[cheapest]:
                    cheapest = place
        return total

    cdef void _improve(self, Py_ssize_t record, const double[::1] duals,
                       double tolerance) noexcept nogil:
        """Improve the set around the mean, and note it if it violates its dual constraint."""
        cdef Py_ssize_t n_near = self.near.shape[1], place, i, n_rounds = 0
        cdef const int32_t *near = &self.near[record, 0]
        cdef double least = INFINITY, total
        while n_rounds < MAX_ROUNDS:
            for place in range(n_near):
                self.ranked[place] = Ranked(
                    squared_distance(&self.X[near[place], 0], self.mean.data(), self.X.shape[1])
                    - duals[near[place]],
                    near[place],
                )
            nth_element(
                self.ranked.begin(), self.ranked.begin() + (self.k - 1), self.ranked.end()
            )
            total = 0.0
            for i in range(self.k):
                total += self.ranked[i].first
            if total >= least:
                break
            least = total
            for i in range(self.k):
                self.members[i] = self.ranked[i].second
            self._take_mean()
            n_rounds += 1
        if self._excess(duals) > tolerance:
            self._note(record, duals, tolerance)

    cdef void _take_mean(self) noexcept nogil:
        cdef Py_ssize_t i, j
        for j in range(self.X.shape[1]):
            self.mean[j] = 0.0
        for i in range(self.k):
            for j in range(self.X.shape[1]):
                self.mean[j] += self.X[self.members[i], j] / self.k

    cdef double _excess(self, const double[::1] duals) noexcept nogil:
        """Sum of the duals of the members, less their SSE around the mean."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.k):
            total += duals[self.members[i]] - squared_distance(
                &self.X[self.members[i], 0], self.mean.data(), self.X.shape[1]
            )
        return total

    cdef int _note(self, Py_ssize_t record, const double[::1] duals,
                   double tolerance) except -1 nogil:
        """Note the set, and sets like it outside of the cuts that it is in."""
        cdef Py_ssize_t i, n_escapes = 0
        for i in range(self.k):
            self.found.push_back(self.members[i])
        while n_escapes < MAX_ESCAPES and self._escape(record, duals):
            n_escapes += 1
            self._take_mean()
            if self._excess(duals) <= tolerance:
                break
            for i in range(self.k):
                self.found.push_back(self.members[i])
        return 0

    cdef bint _escape(self, Py_ssize_t record, const double[::1] duals) except -1 nogil:
        """Exchange a member for a neighbor outside of all cuts that hold the set, if there are any.

        Return whether a member was exchanged.
        """
        cdef const int32_t *near = &self.near[record, 0]
        cdef Py_ssize_t i, place, leaving = -1, entering = -1
        cdef double least = INFINITY, change, joining
        if not self._mark_inside(1):
            return False
        for i in range(self.k):
            self.cost[i] = self._cost_with_set(self.members[i], duals)
        for place in range(self.near.shape[1]):
            if not self.is_inside[near[place]]:
                joining = self._cost_with_set(near[place], duals)
                for i in range(self.k):
                    change = joining - self.cost[i] - squared_distance(
                        &self.X[near[place], 0], &self.X[self.members[i], 0], self.X.shape[1]
                    ) / self.k
                    if change < least:
                        least, leaving, entering = change, i, near[place]
        self._mark_inside(0)
        if leaving >= 0:
            self.members[leaving] = entering
        return leaving >= 0

    cdef double _cost_with_set(self, Py_ssize_t record, const double[::1] duals) noexcept nogil:
        """What a record costs in the set, pair by pair, less its dual."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.k):
            total += squared_distance(
                &self.X[record, 0], &self.X[self.members[i], 0], self.X.shape[1]
            )
        return total / self.k - duals[record]

    cdef bint _mark_inside(self, unsigned char mark) noexcept nogil:
        """Mark the members of all cuts that hold the set; whether there are any."""
        cdef Py_ssize_t i, j
        cdef int32_t cut
        cdef bint is_any = False
        for i in range(self.k):
            for cut in self.cuts_of[self.members[i]]:
                self.n_shared[cut] += 1
                if self.n_shared[cut] == self.k:
                    is_any = True
                    for j in range(self.cut_start[cut], self.cut_start[cut + 1]):
                        self.is_inside[self.cut_member[j]] = mark
        for i in range(self.k):
            for cut in self.cuts_of[self.members[i]]:
                self.n_shared[cut] = 0
        return is_any
