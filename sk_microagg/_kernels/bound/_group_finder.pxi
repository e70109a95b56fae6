"""Sets of k records whose duals exceed their SSE, found by two quick heuristics.

Around each record a set grows by the neighbor that costs least, given those in it. From the record
and from the mean of that set, a set is also improved as in Lloyd's method: with c the mean, the set
becomes the k neighbors with the least |x - c|² - u(x), u the duals, and so on.

A cut with a dual of its own raises the reduced costs of the sets inside. Where a set is within such
cuts, members are exchanged for neighbors, one at a time, while that lowers the reduced cost.
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
    MAX_EXCHANGES = 6
    FINDER_WORK_BETWEEN_SIGNALS = 5_000_000

# Of the duals of the cuts that hold a set, the least part that an exchange must gain.
cdef double REQUIRED_GAIN = 1e-3


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
    cdef const double[::1] cut_dual
    cdef vector[int32_t] n_shared
    cdef vector[int32_t] outside_of
    cdef vector[int32_t] touched
    cdef vector[int32_t] place_of
    # What cuts add to the set in which a member (row) is exchanged for a neighbor (column).
    cdef vector[double] charge

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
        self.place_of.assign(X.shape[0], -1)

    def set_cuts(self, const int32_t[::1] start, const int32_t[::1] member,
                 const double[::1] cut_duals):
        """Set the cuts: the members of cut c are those from `start[c]` to `start[c + 1]`."""
        cdef Py_ssize_t cut, i
        self.cut_start = start
        self.cut_member = member
        self.cut_dual = cut_duals
        self.n_shared.assign(cut_duals.shape[0], 0)
        self.outside_of.assign(cut_duals.shape[0], 0)
        self.cuts_of.assign(self.X.shape[0], vector[int32_t]())
        for cut in range(cut_duals.shape[0]):
            if cut_duals[cut] > 0.0:
                for i in range(start[cut], start[cut + 1]):
                    self.cuts_of[member[i]].push_back(cut)

    def find(self, const double[::1] duals, double tolerance, *,
             const Py_ssize_t[::1] around=None, deadline=None):
        """Sets whose duals sum to more than their SSE and a tolerance.

        Parameters
        ----------
        duals : ndarray of shape (n_records,)
            The duals.

        tolerance : float
            The tolerance.

        around : ndarray of shape (n_starts,), intp, or None, default=None
            The records around which to search; None for all.

        deadline : Deadline or None, default=None
            Stop early, with the sets found so far, when it is over.

        Returns
        -------
        members : ndarray of shape (n_found, k), int32
            The sets; one may occur many times.
        """
        cdef Py_ssize_t record, start, i
        cdef int32_t[:, ::1] members
        cdef Watch watch = watch_until(deadline, FINDER_WORK_BETWEEN_SIGNALS)
        cdef Py_ssize_t work = self.near.shape[1] * self.X.shape[1] * (self.k + 2 * MAX_ROUNDS)
        self.found.clear()
        if around is None:
            around = np.arange(self.X.shape[0])
        with nogil:
            for start in range(around.shape[0]):
                if is_over(&watch, work):
                    break
                record = around[start]
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
        """Note the set, and better ones if cuts raise its reduced cost."""
        cdef Py_ssize_t i, n_exchanges = 0
        for i in range(self.k):
            self.found.push_back(self.members[i])
        while n_exchanges < MAX_EXCHANGES and self._exchange(record, duals):
            n_exchanges += 1
            self._take_mean()
            if self._excess(duals) <= tolerance:
                break
            for i in range(self.k):
                self.found.push_back(self.members[i])
        return 0

    cdef bint _exchange(self, Py_ssize_t record, const double[::1] duals) except -1 nogil:
        """Exchange a member for a neighbor if that lowers the reduced cost of a set in cuts.

        Return whether a member was exchanged.
        """
        cdef const int32_t *near = &self.near[record, 0]
        cdef Py_ssize_t n_near = self.near.shape[1], i, place, leaving = -1, entering = -1
        cdef double within = self._note_charges(record)
        cdef double least = -REQUIRED_GAIN * within, change, joining
        if within == 0.0:
            return False
        for i in range(self.k):
            self.cost[i] = self._cost_with_set(self.members[i], duals)
        for place in range(n_near):
            joining = self._cost_with_set(near[place], duals) - within
            for i in range(self.k):
                change = self.charge[i * n_near + place] + joining - self.cost[i]
                change -= squared_distance(
                    &self.X[near[place], 0], &self.X[self.members[i], 0], self.X.shape[1]
                ) / self.k
                if change < least and not self._is_in_set(near[place]):
                    least, leaving, entering = change, i, near[place]
        if leaving >= 0:
            self.members[leaving] = entering
        return leaving >= 0

    cdef bint _is_in_set(self, int32_t record) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.k):
            if self.members[i] == record:
                return True
        return False

    cdef double _cost_with_set(self, Py_ssize_t record, const double[::1] duals) noexcept nogil:
        """What a record costs in the set, pair by pair, less its dual."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.k):
            total += squared_distance(
                &self.X[record, 0], &self.X[self.members[i], 0], self.X.shape[1]
            )
        return total / self.k - duals[record]

    cdef double _note_charges(self, Py_ssize_t record) except -1 nogil:
        """Sum of the duals of cuts that hold the set; note it for the sets one exchange away."""
        cdef const int32_t *near = &self.near[record, 0]
        cdef Py_ssize_t n_near = self.near.shape[1], i, j, place, outside
        cdef double within = 0.0
        cdef int32_t cut
        self.charge.assign(self.k * n_near, 0.0)
        for place in range(n_near):
            self.place_of[near[place]] = place
        self.touched.clear()
        for i in range(self.k):
            for cut in self.cuts_of[self.members[i]]:
                if self.n_shared[cut] == 0:
                    self.touched.push_back(cut)
                    self.outside_of[cut] = 0
                self.n_shared[cut] += 1
                self.outside_of[cut] += i
        for cut in self.touched:
            # The places of all members sum to k (k - 1) / 2: what is missing is the one outside.
            outside = -1
            if self.n_shared[cut] == self.k:
                within += self.cut_dual[cut]
            elif self.n_shared[cut] == self.k - 1:
                outside = self.k * (self.k - 1) // 2 - self.outside_of[cut]
            if self.n_shared[cut] >= self.k - 1:
                for j in range(self.cut_start[cut], self.cut_start[cut + 1]):
                    place = self.place_of[self.cut_member[j]]
                    if place >= 0:
                        for i in range(max(outside, 0), outside + 1 if outside >= 0 else self.k):
                            self.charge[i * n_near + place] += self.cut_dual[cut]
            self.n_shared[cut] = 0
        for place in range(n_near):
            self.place_of[near[place]] = -1
        return within
