"""Local search: the best swap or shift between two groups, pair after pair, until none is left.

For groups A and B with centroids a and b, swapping x of A with y of B lowers the SSE by

    |x - a|² - |x - b|² + |y - b|² - |y - a|² + (1/|A| + 1/|B|) |x - y|²,

and shifting x from A to B by |A|/(|A| - 1) |x - a|² - |B|/(|B| + 1) |x - b|².

Most pairs are never compared. With radii r (the largest distance of a member to its centroid),
no swap helps unless r_A + r_B > |a - b|. No shift from A helps unless |x - b| < (k + 1)/k |x - a|
for some x, hence |a - b| < (2 + 1/k) r_A. A tree over the centroids that knows their radii finds
the groups for which one or the other holds.

In many columns that is nearly all of them. Most swaps and shifts that help are between groups that
hold neighbors of each other's records: with lists of neighbors only those are tried.
"""

cimport cython
from libc.math cimport sqrt
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._common cimport BaseDescent
from ..common._interrupt cimport is_over
from ..common._distances cimport SAFETY, TINY, Hit, by_record

# A gain below this share of two groups' SSE may be rounding.
cdef double MIN_RELATIVE_GAIN = 1e-12

# Centroids nearer than this share of the radii are taken for one; what a squared distance across
# the line through two that are farther apart may lose in rounding.
cdef double CLOSE = 1e-3
cdef double PLACE_ROUNDING = 1e-10


@cython.final
cdef class Descent(BaseDescent):
    """Lower the SSE of a partition by swaps and shifts between pairs of groups.

    Parameters
    ----------
    partition : Partition
        The partition to work on. No group shrinks below its `k` or, unless there are guards, grows
        beyond 2k - 1.

    seed : int, default=None
        Seed of the order in which groups are visited after the first sweep; with None always in
        the order of their numbers.

    neighbors : ndarray of shape (n_records, n_neighbors), int32, default=None
        For each record others that are near to it. If given, only pairs of groups that hold a
        record and one of its neighbors are tried.

    guards : Guards or None, default=None
        Constraints that no move may violate. No other search may use the same object meanwhile.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Descent, Partition
    >>> X = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> partition = Partition(X, np.array([0, 0, 1, 1]), k=2)
    >>> Descent(partition).run(partition.groups())
    1
    >>> partition.labels()
    array([1, 0, 1, 0])
    """

    def __init__(self, Partition partition, *, seed=None, const int[:, ::1] neighbors=None,
                 Guards guards=None):
        BaseDescent.__init__(self, seed)
        if neighbors is not None and neighbors.shape[0] != partition.n_records:
            raise ValueError(
                f"neighbors of {neighbors.shape[0]} records, but there are {partition.n_records}."
            )
        self.partition = partition
        self.neighbors = neighbors
        self.guards = guards
        self.full = 2 * partition.k - 1 if guards is None else partition.n_records
        self.visited.assign(partition.n_slots, 0)
        self.listed.assign(partition.n_slots, 0)
        self.n_lists = 0

    cdef int prepare(self) except -1:
        if self.neighbors is not None:
            return self.partition.update()
        return self.partition.update_with_index()

    cdef int visit(self, Py_ssize_t a, vector[Py_ssize_t] &changed) except -1 nogil:
        """Improve the pairs of a group with all others, in their order."""
        cdef Py_ssize_t b
        cdef size_t i = 0
        self._find_candidates(a)
        while i < self.candidates.size() and not is_over(&self.watch, 1):
            b = self.candidates[i].second
            # If the other group was visited in this sweep, the pair was tried then. Not so with
            # neighbors: a record need not be among the neighbors of its own neighbors.
            if (
                b == a
                or (self.neighbors is None and self.visited[b] == self.n_sweeps)
                or not self._improve_pair(a, b, self.candidates[i].first)
            ):
                i += 1
                continue
            changed.push_back(a)
            changed.push_back(b)
            self._find_candidates(a)
            i = 0
            while i < self.candidates.size() and self.candidates[i].second <= b:
                i += 1
        self.visited[a] = self.n_sweeps
        return 0

    cdef int _find_candidates(self, Py_ssize_t a) except -1 nogil:
        cdef double n_radii = 2.0 + 1.0 / self.partition.k
        cdef size_t i
        if self.neighbors is not None:
            self._list_near_groups(a)
        else:
            self.partition.index.within(
                &self.partition.centroids[a, 0],
                n_radii * self.partition.radius[a],
                n_radii,
                self.candidates,
            )
            if self.partition.n_codes > 0:
                # Without codes, centroids are nearer: these are all candidates, and others.
                for i in range(self.candidates.size()):
                    self.candidates[i].first = self.partition.apart(a, self.candidates[i].second)
        is_over(&self.watch, self.candidates.size())
        sort(self.candidates.begin(), self.candidates.end(), &by_record)
        return 0

    cdef int _list_near_groups(self, Py_ssize_t a) except -1 nogil:
        """List the groups of the neighbors of a group's records, and the distances to them."""
        cdef Py_ssize_t record, group, i
        self.n_lists += 1
        self.candidates.clear()
        for record in self.partition.members[a]:
            for i in range(self.neighbors.shape[1]):
                group = self.partition.group_of[self.neighbors[record, i]]
                if self.listed[group] == self.n_lists:
                    continue
                self.listed[group] = self.n_lists
                self.candidates.push_back(Hit(self.partition.apart(a, group), group))
        return 0

    cdef bint _improve_pair(self, Py_ssize_t a, Py_ssize_t b, double apart2) except -1 nogil:
        """Apply the best swap or shift between two groups until none is left; whether one was.

        Their centroids are `apart2` apart, squared.
        """
        cdef Swap best
        cdef double before
        cdef bint improved = False
        cdef Py_ssize_t work = self.partition.members[a].size() * self.partition.members[b].size()
        while not is_over(&self.watch, work):
            before = self.partition.group_cost[a] + self.partition.group_cost[b]
            best = Swap(MIN_RELATIVE_GAIN * before, -1, -1)
            self._find_best(a, b, sqrt(apart2), &best)
            if best.record < 0:
                break
            self._apply(best, b if self.partition.group_of[best.record] == a else a)
            if self.partition.group_cost[a] + self.partition.group_cost[b] >= before:
                # The gain was rounding: undo it.
                self._apply(best, a if self.partition.group_of[best.record] == b else b)
                break
            self.n_moves += 1
            improved = True
            apart2 = self.partition.apart(a, b)
        return improved

    cdef int _find_best(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil:
        """Find the swap or shift between two groups that gains most, if one gains enough."""
        cdef bint may_swap = self._may_swap(a, b, apart)
        cdef bint may_shift_to_b = self._may_shift(a, b, apart)
        cdef bint may_shift_to_a = self._may_shift(b, a, apart)
        if self.guards is not None:
            self.of_a.assign(self.partition.members[a].begin(), self.partition.members[a].end())
            self.of_b.assign(self.partition.members[b].begin(), self.partition.members[b].end())
        if may_swap or may_shift_to_b:
            self.partition.distances(a, b, self.to_b)
            may_swap = may_swap and self._some_may_swap(a, b, apart, best.gain)
        if may_swap or may_shift_to_a:
            self.partition.distances(b, a, self.to_a)
        if may_swap:
            self._best_swap(a, b, apart, best)
        if may_shift_to_b:
            self._best_shift(a, b, self.to_b, self.of_a, self.of_b, best)
        if may_shift_to_a:
            self._best_shift(b, a, self.to_a, self.of_b, self.of_a, best)
        return 0

    cdef int _apply(self, Swap swap, Py_ssize_t target) except -1 nogil:
        cdef Py_ssize_t source = self.partition.group_of[swap.record]
        self.partition.shift(swap.record, target)
        if swap.partner >= 0:
            self.partition.shift(swap.partner, source)
        return self.partition.update()

    cdef bint _some_may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                             double least) except -1 nogil:
        """Find the members of A for which some swap with a point in the ball of B gains enough.

        With d = b - a, z = b - x and y = b + v, the gain of swapping x and y is
        -2 dz + w z² + 2 (w z - d) v + w v², at most -2 dz + w z² + 2 |w z - d| r_B + w r_B².
        """
        cdef const vector[Py_ssize_t] *from_a = &self.partition.members[a]
        cdef double weight = 1.0 / from_a.size() + 1.0 / self.partition.members[b].size()
        cdef double radius = self.partition.radius[b]
        cdef double to_b, along, pull2, missing
        cdef size_t i
        self.may_swap.clear()
        for i in range(from_a.size()):
            to_b = self.to_b[i]
            along = (apart * apart + to_b - self.partition.own_distance[from_a[0][i]]) / 2.0
            pull2 = weight * (weight * to_b - 2.0 * along) + apart * apart
            missing = least + 2.0 * along - weight * (to_b + radius * radius)
            missing -= PLACE_ROUNDING * (to_b + apart * apart + radius * radius) + TINY * TINY
            if missing < 0.0 or 2.0 * sqrt(max(pull2, 0.0)) * radius * SAFETY > missing:
                self.may_swap.push_back(i)
        return not self.may_swap.empty()

    cdef int _best_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil:
        """Take the best swap for `best`, if it gains more.

        The gain has an upper bound that does not need the columns: split x - y along the line
        through the centroids and across it. Along it, the difference is known; across it, it is at
        most the sum of the two records' own distances from that line.
        """
        cdef const vector[Py_ssize_t] *from_a = &self.partition.members[a]
        cdef const vector[Py_ssize_t] *from_b = &self.partition.members[b]
        cdef double weight = 1.0 / from_a.size() + 1.0 / from_b.size()
        cdef double along, across, gain
        cdef Place place
        cdef Py_ssize_t x, y
        cdef size_t i, j
        if apart < CLOSE * (self.partition.radius[a] + self.partition.radius[b]):
            apart = 0.0  # The line would be rounding.
        self.places.resize(from_b.size())
        for j in range(from_b.size()):
            self.places[j] = place_of(
                self.to_a[j], self.partition.own_distance[from_b[0][j]], apart
            )
            self.places[j].gain = self.partition.own_distance[from_b[0][j]] - self.to_a[j]
        for i in self.may_swap:
            x = from_a[0][i]
            place = place_of(self.partition.own_distance[x], self.to_b[i], apart)
            place.gain = self.partition.own_distance[x] - self.to_b[i]
            for j in range(from_b.size()):
                along = self.places[j].along - place.along
                across = self.places[j].across + place.across
                gain = place.gain + self.places[j].gain
                if gain + weight * (along * along + across * across) * SAFETY <= best.gain:
                    continue
                y = from_b[0][j]
                gain += weight * self.partition.records_apart(x, y)
                if gain > best.gain and (
                    self.guards is None or self._guards_let_swap(<int>x, <int>y)
                ):
                    best[0] = Swap(gain, x, y)
        return 0

    cdef bint _guards_let_swap(self, int x, int y) except -1 nogil:
        """Whether the guards let x of A and y of B change places."""
        return self.guards.first.all_see_twins(x, y) or (
            self.guards.hold_swapped(self.of_a.data(), self.of_a.size(), x, y)
            and self.guards.hold_swapped(self.of_b.data(), self.of_b.size(), y, x)
        )

    cdef int _best_shift(self, Py_ssize_t a, Py_ssize_t b, const vector[double] &to_b,
                         const vector[int] &of_a, const vector[int] &of_b,
                         Swap *best) except -1 nogil:
        """Take the best shift from A to B for `best`, if it gains more."""
        cdef const vector[Py_ssize_t] *from_a = &self.partition.members[a]
        cdef double size_a = from_a.size(), size_b = self.partition.members[b].size(), gain
        cdef size_t i
        for i in range(from_a.size()):
            gain = (
                size_a / (size_a - 1.0) * self.partition.own_distance[from_a[0][i]]
                - size_b / (size_b + 1.0) * to_b[i]
            )
            if gain > best.gain and (
                self.guards is None
                or self.guards.hold_without(of_a.data(), of_a.size(), <int>from_a[0][i])
                and self.guards.hold_with(of_b.data(), of_b.size(), <int>from_a[0][i])
            ):
                best[0] = Swap(gain, from_a[0][i], -1)
        return 0

    cdef bint _may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil:
        return (self.partition.radius[a] + self.partition.radius[b]) * SAFETY + TINY > apart

    cdef bint _may_shift(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil:
        cdef double radius = self.partition.radius[a]
        cdef double size_a = self.partition.members[a].size()
        cdef double size_b = self.partition.members[b].size()
        cdef double beyond = apart - radius
        if size_a <= self.partition.k or size_b >= self.full:
            return False
        return beyond <= 0.0 or (
            size_a / (size_a - 1.0) * radius * radius * SAFETY + TINY
            > size_b / (size_b + 1.0) * beyond * beyond
        )

cdef inline Place place_of(double to_a, double to_b, double apart) noexcept nogil:
    """Where a record lies seen from A: how far along the line to B, and how far across from it.

    Given its squared distances to both centroids, and the distance between these. The distance
    across has a margin for rounding.
    """
    cdef Place place
    place.along = (to_a + apart * apart - to_b) / (2.0 * apart) if apart > 0.0 else 0.0
    place.across = sqrt(
        max(to_a - place.along * place.along, 0.0) + PLACE_ROUNDING * (to_a + to_b + apart * apart)
    )
    return place
