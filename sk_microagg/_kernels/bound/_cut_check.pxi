"""Dual constraints of larger sets within cuts: their subsets of more than k, fewer than 2k records.

The duals of a set S may sum to its SSE and the duals of all cuts that hold k or more of its
members. Subsets are built member by member. With P the members chosen so far, c their mean, and Q
those of the members still to be decided that join them,

    SSE(P + Q) >= SSE(P) + |P| / (|P| + |Q|) times the sum over Q of |x - c|²,

since the SSE of a union is SSE(P) + SSE(Q) + |P||Q| / (|P| + |Q|) |c - mean of Q|², and the sum over
Q is SSE(Q) + |Q| |c - mean of Q|². So each of them adds at most its dual less a part of |x - c|²,
and a branch ends where even all that is positive would not violate the constraint. It also ends if no
size of S admits a violation by a second bound: the SSE is the sum of the squared distances of all
pairs over |S|, and each member of Q has at least its nearest others in the cut as partners.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._distances cimport squared_distance
from ..common._interrupt cimport Watch, check_now, is_over, watch_until

cdef enum:
    MAX_MEMBERS = 32
    CUT_CHECK_WORK_BETWEEN_SIGNALS = 10_000


cdef struct Overlap:
    uint32_t members
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
    [array([0, 2, 1], dtype=int32)]
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
    cdef double dual[MAX_MEMBERS]
    # A set that loses this by one member does not violate its constraint: no loss need be larger.
    cdef double most_gain
    cdef double distances[MAX_MEMBERS][MAX_MEMBERS]
    # At each depth, the squared distances from each member to those chosen, summed up.
    cdef double to_chosen[MAX_MEMBERS + 1][MAX_MEMBERS]
    # Half the sums of the 0, 1, 2, ... smallest squared distances (row) from each member to others.
    cdef double spread[MAX_MEMBERS][MAX_MEMBERS]
    cdef double own_dual
    cdef vector[Overlap] overlaps
    cdef double[::1] duals
    cdef vector[Ranked] ranked
    cdef vector[uint32_t] violating
    cdef size_t n_lowered
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t node_limit
    cdef Watch watch

    # What each member costs in a bound, and the smallest of these.
    cdef double loss[MAX_MEMBERS + 1]
    cdef double smallest[MAX_MEMBERS]

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
              const Py_ssize_t[::1] cuts=None, Py_ssize_t node_limit=-1, deadline=None):
        """Lower duals of records in place where sets violate their constraints.

        Parameters
        ----------
        duals : ndarray of shape (n_records,)
            Duals of the records.

        cut_duals : ndarray of shape (n_cuts,)
            Duals of the cuts, none below 0.

        cuts : ndarray of shape (n_checked,), intp, or None, default=None
            The cuts to check; None for all.

        node_limit : int, default=-1
            Nodes of the search in one cut, after which duals are lowered by the bounds of the open
            ones; below 0 for no limit.

        deadline : Deadline or None, default=None
            When to give up.

        Returns
        -------
        sets : list of ndarray or None
            The sets that violated their constraints when they were checked; None if
            the deadline was over before all cuts were checked.
        """
        cdef Py_ssize_t cut, i
        cdef uint32_t chosen
        cdef list found = []
        self.watch = watch_until(deadline, CUT_CHECK_WORK_BETWEEN_SIGNALS)
        self.duals = duals
        for cut in range(cut_duals.shape[0]) if cuts is None else cuts:
            if check_now(&self.watch):
                return None
            if cut_duals[cut] <= 0.0:
                continue
            self.violating.clear()
            self.own_dual = cut_duals[cut]
            self.n_nodes = 0
            self.node_limit = node_limit
            with nogil:
                self._prepare(cut, cut_duals)
                self._choose(0, 0, 0, 0.0, 0.0)
            for chosen in self.violating:
                found.append(self._members_of(chosen))
        return None if self.watch.is_late else found

    def find(self, double[::1] duals, const double[::1] cut_duals, double tolerance, *,
             deadline=None):
        """Sets within cuts that violate their constraints by more than a tolerance, quickly.

        From each member of a cut a set grows by the member that costs least.

        Returns
        -------
        sets : list of ndarray
            The sets found until the deadline; a set may occur many times.
        """
        cdef Py_ssize_t cut, i
        cdef uint32_t chosen
        cdef list found = []
        cdef Watch watch = watch_until(deadline, 1)
        self.duals = duals
        for cut in range(cut_duals.shape[0]):
            if check_now(&watch):
                break
            if cut_duals[cut] <= 0.0:
                continue
            self.violating.clear()
            self.own_dual = cut_duals[cut]
            with nogil:
                self._prepare(cut, cut_duals)
                for i in range(self.n_members):
                    self._grow(i, tolerance)
            for chosen in self.violating:
                found.append(self._members_of(chosen))
        return found

    cdef _members_of(self, uint32_t chosen):
        cdef Py_ssize_t i
        members = [self.members[i] for i in range(self.n_members) if chosen >> i & 1]
        return np.array(members, dtype=np.int32)

    cdef int _grow(self, Py_ssize_t first, double tolerance) except -1 nogil:
        """Let a set grow from a member, and note the one that violates its constraint most."""
        cdef double *to_chosen = self.to_chosen[0]
        cdef uint32_t chosen = 0, best = 0
        cdef double pairs = 0.0, most = tolerance, least, cost, excess
        cdef Py_ssize_t size, i, joining = first
        for i in range(self.n_members):
            to_chosen[i] = 0.0
        for size in range(1, min(self.n_members, 2 * self.k - 1) + 1):
            pairs += to_chosen[joining]
            chosen |= (<uint32_t>1) << joining
            for i in range(self.n_members):
                to_chosen[i] += self.distances[joining][i]
            if size > self.k:
                excess = self._excess(size, chosen, pairs)
                if excess > most:
                    most, best = excess, chosen
            least = INFINITY
            for i in range(self.n_members):
                cost = to_chosen[i] / (size + 1) - self.dual[i]
                if cost < least and not chosen >> i & 1:
                    least, joining = cost, i
        if best:
            self.violating.push_back(best)
        return 0

    cdef int _prepare(self, Py_ssize_t cut, const double[::1] cut_duals) except -1 nogil:
        """Lay out the members of a cut, their distances, and the cuts that share k or more."""
        cdef Py_ssize_t i, j
        cdef int32_t other
        cdef Overlap shared
        self._arrange(cut)
        for i in range(self.n_members):
            self.to_chosen[0][i] = 0.0
            for j in range(i + 1):
                self.distances[i][j] = squared_distance(
                    &self.X[self.members[i], 0], &self.X[self.members[j], 0], self.X.shape[1]
                )
                self.distances[j][i] = self.distances[i][j]
        for i in range(self.n_members):
            # The distance to itself, 0, comes first.
            sum_of_smallest(self.distances[i], self.n_members, self.n_members, self.smallest)
            self.spread[0][i] = 0.0
            for j in range(1, self.n_members):
                self.spread[j][i] = self.spread[j - 1][i] + self.smallest[j] / 2.0
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

    cdef int _arrange(self, Py_ssize_t cut) except -1 nogil:
        """List the members of a cut, those far from its others first: they decide most."""
        cdef Py_ssize_t first = self.start[cut], i, j
        cdef double total
        self.n_members = self.start[cut + 1] - first
        self.ranked.clear()
        for i in range(self.n_members):
            total = 0.0
            for j in range(self.n_members):
                total += squared_distance(
                    &self.X[self.member[first + i], 0], &self.X[self.member[first + j], 0],
                    self.X.shape[1],
                )
            self.ranked.push_back(Ranked(-total, self.member[first + i]))
        sort(self.ranked.begin(), self.ranked.end())
        self.most_gain = 0.0
        for i in range(self.n_members):
            self.members[i] = self.ranked[i].second
            self.dual[i] = self.duals[self.members[i]]
            self.most_gain += max(self.dual[i], 0.0)
        return 0

    cdef uint32_t _bit_of(self, int32_t record) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_members):
            if self.members[i] == record:
                return (<uint32_t>1) << i
        return 0

    cdef int _choose(self, Py_ssize_t place, Py_ssize_t size, uint32_t chosen, double dual_sum,
                     double pairs) except -1 nogil:
        """Check all sets of the `size` members chosen and any of those from `place` on.

        The duals of the chosen sum to `dual_sum`, the squared distances of their pairs to `pairs`.
        """
        cdef Py_ssize_t i, most = min(size + self.n_members - place, 2 * self.k - 1)
        cdef size_t n_lowered
        cdef double per_member = pairs / size if size > 0 else 0.0
        cdef double excess = dual_sum - self.own_dual - per_member, total = 0.0, share = 1.0 / most
        if most <= self.k:
            return 0
        for i in range(place, self.n_members):
            self.loss[i] = min(
                (self.to_chosen[place][i] - per_member) * share - self.dual[i], 0.0
            )
            total += self.loss[i]
        # All of them are at least as good as the best ones, which take longer to find.
        if excess - total <= 0.0:
            return 0
        excess -= sum_without_largest(
            &self.loss[place], self.n_members - place, most - size, self.smallest
        )
        if excess <= 0.0:
            return 0
        if place == self.n_members or size == most:
            return self._check(size, chosen, pairs)
        if not self._spread_admits(place, size, most, dual_sum, pairs):
            return 0
        self.n_nodes += 1
        if is_over(&self.watch, 1):
            return 0
        if 0 <= self.node_limit < self.n_nodes and size > 0:
            return self._lower_highest(chosen, excess)
        for i in range(place + 1, self.n_members):
            self.to_chosen[place + 1][i] = self.to_chosen[place][i] + self.distances[place][i]
        n_lowered = self.n_lowered
        self._choose(
            place + 1, size + 1, chosen | (<uint32_t>1) << place,
            dual_sum + self.dual[place], pairs + self.to_chosen[place][place],
        )
        for i in range(place + 1, self.n_members):
            self.to_chosen[place + 1][i] = self.to_chosen[place][i]
        if self.n_lowered > n_lowered:
            dual_sum = self._sum_of_duals(chosen)
        return self._choose(place + 1, size, chosen, dual_sum, pairs)

    cdef bint _spread_admits(self, Py_ssize_t place, Py_ssize_t size, Py_ssize_t most,
                             double dual_sum, double pairs) noexcept nogil:
        """Whether a set of the chosen and some from `place` on may violate its constraint.

        Those that join are at least as far from each other as from their nearest in the cut.
        """
        cdef Py_ssize_t total_size, need, i, n_left = self.n_members - place
        cdef double excess, share, gains
        for total_size in range(max(size, self.k + 1), most + 1):
            need = total_size - size
            share = 1.0 / total_size
            excess = dual_sum - self.own_dual - pairs * share
            if need > 0:
                gains = 0.0
                for i in range(place, self.n_members):
                    self.loss[i] = min(
                        (self.to_chosen[place][i] + self.spread[need - 1][i]) * share
                        - self.dual[i],
                        self.most_gain,
                    )
                    gains -= min(self.loss[i], 0.0)
                # Most sizes are excluded even if all could join that make the excess larger.
                if excess + gains <= 0.0:
                    continue
                excess -= sum_without_largest(&self.loss[place], n_left, need, self.smallest)
            if excess > 0.0:
                return True
        return False

    cdef double _sum_of_duals(self, uint32_t chosen) noexcept nogil:
        """Sum of the duals of the chosen, which may have been lowered since they were chosen."""
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(self.n_members):
            if chosen >> i & 1:
                total += self.dual[i]
        return total

    cdef double _excess(self, Py_ssize_t size, uint32_t chosen, double pairs) noexcept nogil:
        """By how much a set violates its constraint; if it does not, any number up to 0."""
        cdef double excess = self._sum_of_duals(chosen) - pairs / size - self.own_dual
        cdef size_t j
        for j in range(self.overlaps.size()):
            if excess <= 0.0:
                return excess
            if n_bits(chosen & self.overlaps[j].members) >= self.k:
                excess -= self.overlaps[j].dual
        return excess

    cdef int _check(self, Py_ssize_t size, uint32_t chosen, double pairs) except -1 nogil:
        """Lower the highest dual in a set by the amount that violates its constraint."""
        cdef double excess = self._excess(size, chosen, pairs)
        if excess <= 0.0:
            return 0
        self.violating.push_back(chosen)
        return self._lower_highest(chosen, excess)

    cdef int _lower_highest(self, uint32_t chosen, double excess) except -1 nogil:
        """Lower the highest dual among the chosen."""
        cdef Py_ssize_t i, highest = -1
        for i in range(self.n_members):
            if chosen >> i & 1 and (highest < 0 or self.dual[i] > self.dual[highest]):
                highest = i
        self.dual[highest] -= excess
        self.duals[self.members[highest]] = self.dual[highest]
        self.n_lowered += 1
        return 0


cdef inline Py_ssize_t n_bits(uint32_t bits) noexcept nogil:
    cdef Py_ssize_t n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n
