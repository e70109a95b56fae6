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

    # The neighbors of the present record, which places in its row of `near` stand for: their
    # coordinates, column after column such that loops over neighbors are vectorized, and duals.
    cdef const int32_t *neighbors
    cdef vector[double] coordinates
    cdef vector[double] dual
    cdef vector[double] distance

    # The present set, as places, and its mean.
    cdef vector[int32_t] members
    cdef vector[double] mean

    cdef vector[double] cost
    cdef vector[double] pairs
    cdef vector[Ranked] ranked
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
        self.coordinates.resize(near.shape[1] * X.shape[1])
        self.dual.resize(near.shape[1])
        self.distance.resize(near.shape[1])
        self.members.resize(k)
        self.mean.resize(X.shape[1])
        self.cost.resize(near.shape[1])
        self.pairs.resize(k * near.shape[1])
        self.ranked.reserve(near.shape[1])
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
        cdef Py_ssize_t start, i
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
                self._gather(around[start], duals)
                self._improve(tolerance)
                if self._grow() < -tolerance:
                    self._note(tolerance)
                self._take_mean()
                self._improve(tolerance)
        members = np.empty((self.found.size() // self.k, self.k), dtype=np.int32)
        for i in range(<Py_ssize_t>self.found.size()):
            members[i // self.k, i % self.k] = self.found[i]
        return members.base

    cdef void _gather(self, Py_ssize_t record, const double[::1] duals) noexcept nogil:
        """Lay out the neighbors of a record, and let those nearest to it be the set around it."""
        cdef Py_ssize_t n_near = self.near.shape[1], place, i, j
        self.neighbors = &self.near[record, 0]
        for place in range(n_near):
            self.dual[place] = duals[self.neighbors[place]]
            for j in range(self.X.shape[1]):
                self.coordinates[j * n_near + place] = self.X[self.neighbors[place], j]
        for j in range(self.X.shape[1]):
            self.mean[j] = self.X[record, j]
        for i in range(self.k):
            self.members[i] = i

    cdef void _measure(self, const double *point, Py_ssize_t stride,
                       double *distance) noexcept nogil:
        """Squared distances from a point, whose coordinates are `stride` apart, to all places."""
        cdef Py_ssize_t n_near = self.near.shape[1], place, j
        cdef const double *column
        cdef double own, gap
        for place in range(n_near):
            distance[place] = 0.0
        for j in range(self.X.shape[1]):
            column = &self.coordinates[j * n_near]
            own = point[j * stride]
            for place in range(n_near):
                gap = column[place] - own
                distance[place] += gap * gap

    cdef double _grow(self) noexcept nogil:
        """Let a set grow from the record; return its SSE less its duals."""
        cdef Py_ssize_t n_near = self.near.shape[1], size, place, cheapest = 0
        cdef double *cost = self.cost.data()
        cdef double *distance = self.distance.data()
        cdef double total = 0.0, share = 1.0 / self.k
        for place in range(n_near):
            cost[place] = -self.dual[place]
        for size in range(self.k):
            total += cost[cheapest]
            self.members[size] = cheapest
            cost[cheapest] = INFINITY
            self._measure(&self.coordinates[cheapest], n_near, distance)
            for place in range(n_near):
                cost[place] += share * distance[place]
            cheapest = 0
            for place in range(n_near):
                if cost[place] < cost[cheapest]:
                    cheapest = place
        return total

    cdef void _improve(self, double tolerance) noexcept nogil:
        """Improve the set around the mean, and note it if it violates its dual constraint."""
        cdef double least = INFINITY, total
        cdef Py_ssize_t i, n_rounds = 0
        while n_rounds < MAX_ROUNDS:
            total = self._rank()
            if total >= least:
                break
            least = total
            for i in range(self.k):
                self.members[i] = self.ranked[i].second
            self._take_mean()
            n_rounds += 1
        if self._excess() > tolerance:
            self._note(tolerance)

    cdef double _rank(self) noexcept nogil:
        """Rank the k neighbors first that cost least around the mean; return what they cost.

        None of them costs more than all members of the present set do: few others are ranked.
        """
        cdef Py_ssize_t n_near = self.near.shape[1], place, i
        cdef double *cost = self.distance.data()
        cdef double most = -INFINITY, total = 0.0
        self._measure(self.mean.data(), 1, cost)
        for place in range(n_near):
            cost[place] -= self.dual[place]
        for i in range(self.k):
            most = max(most, cost[self.members[i]])
        self.ranked.clear()
        for place in range(n_near):
            if cost[place] <= most:
                self.ranked.push_back(Ranked(cost[place], place))
        nth_element(self.ranked.begin(), self.ranked.begin() + (self.k - 1), self.ranked.end())
        for i in range(self.k):
            total += self.ranked[i].first
        return total

    cdef void _take_mean(self) noexcept nogil:
        cdef Py_ssize_t n_near = self.near.shape[1], i, j
        for j in range(self.X.shape[1]):
            self.mean[j] = 0.0
            for i in range(self.k):
                self.mean[j] += self.coordinates[j * n_near + self.members[i]]
            self.mean[j] /= self.k

    cdef double _excess(self) noexcept nogil:
        """Sum of the duals of the members, less their SSE around the mean."""
        cdef Py_ssize_t n_near = self.near.shape[1], i, j
        cdef double total = 0.0, gap
        for i in range(self.k):
            total += self.dual[self.members[i]]
            for j in range(self.X.shape[1]):
                gap = self.coordinates[j * n_near + self.members[i]] - self.mean[j]
                total -= gap * gap
        return total

    cdef int _note(self, double tolerance) except -1 nogil:
        """Note the set, and better ones if cuts raise its reduced cost."""
        cdef Py_ssize_t n_exchanges = 0
        self._note_members()
        while n_exchanges < MAX_EXCHANGES and self._exchange():
            n_exchanges += 1
            self._take_mean()
            if self._excess() <= tolerance:
                break
            self._note_members()
        return 0

    cdef int _note_members(self) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.k):
            self.found.push_back(self.neighbors[self.members[i]])
        return 0

    cdef bint _exchange(self) except -1 nogil:
        """Exchange a member for a neighbor if that lowers the reduced cost of a set in cuts.

        Return whether a member was exchanged.
        """
        cdef Py_ssize_t n_near = self.near.shape[1], i, place, leaving = -1, entering = -1
        cdef double within = self._note_charges()
        cdef double least = -REQUIRED_GAIN * within, change
        cdef double *joining = self.cost.data()
        cdef const double *charge
        cdef const double *pairs
        if within == 0.0:
            return False
        self._note_costs_with_set()
        for i in range(self.k):
            charge = &self.charge[i * n_near]
            pairs = &self.pairs[i * n_near]
            for place in range(n_near):
                change = (
                    charge[place] + joining[place] - pairs[place]
                    - joining[self.members[i]] - within
                )
                if change < least and not self._is_in_set(place):
                    least, leaving, entering = change, i, place
        if leaving >= 0:
            self.members[leaving] = entering
        return leaving >= 0

    cdef void _note_costs_with_set(self) noexcept nogil:
        """Note in `pairs` what members (rows) and neighbors (columns) cost, and in `cost` the sums.

        These are less the duals of the neighbors.
        """
        cdef Py_ssize_t n_near = self.near.shape[1], i, place
        cdef double *cost = self.cost.data()
        cdef double *pairs
        cdef double share = 1.0 / self.k
        for place in range(n_near):
            cost[place] = -self.dual[place]
        for i in range(self.k):
            pairs = &self.pairs[i * n_near]
            self._measure(&self.coordinates[self.members[i]], n_near, pairs)
            for place in range(n_near):
                pairs[place] *= share
                cost[place] += pairs[place]

    cdef bint _is_in_set(self, int32_t place) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.k):
            if self.members[i] == place:
                return True
        return False

    cdef double _note_charges(self) except -1 nogil:
        """Sum of the duals of cuts that hold the set; note it for the sets one exchange away."""
        cdef Py_ssize_t n_near = self.near.shape[1], i, j, place, outside
        cdef double within = 0.0
        cdef int32_t cut
        self.charge.assign(self.k * n_near, 0.0)
        for place in range(n_near):
            self.place_of[self.neighbors[place]] = place
        self.touched.clear()
        for i in range(self.k):
            for cut in self.cuts_of[self.neighbors[self.members[i]]]:
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
            self.place_of[self.neighbors[place]] = -1
        return within
