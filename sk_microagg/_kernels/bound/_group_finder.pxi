"""Sets of k records whose duals exceed their SSE, found by two quick heuristics.

Around each record a set grows by the neighbor that costs least, given those in it. From the record
and from the mean of that set, a set is also improved as in Lloyd's method: with c the mean, the set
becomes the k neighbors with the least |x - c|² - u(x), u the duals, and so on.
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
                    self._note()
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
            self._note()

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

    cdef int _note(self) except -1 nogil:
        cdef Py_ssize_t i
        for i in range(self.k):
            self.found.push_back(self.members[i])
        return 0
