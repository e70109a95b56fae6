"""The state of the kernels in this folder."""

from libc.stdint cimport uint64_t
from libcpp.deque cimport deque
from libcpp.vector cimport vector

from ..common._common cimport BaseDescent, BasePartition
from ..common._distances cimport Hit
from ..common._interrupt cimport Watch
from ..points._points cimport PointTree


cdef class Partition(BasePartition):
    cdef const double[:, ::1] X
    cdef Py_ssize_t n_columns

    # Brought up to date by `update`.
    cdef double[:, ::1] centroids
    cdef double[::1] radius
    cdef vector[double] own_distance
    cdef vector[double] measured
    cdef PointTree index

    cdef vector[Hit] hits
    cdef vector[Hit] nearby
    cdef vector[char] is_taken

    cdef int update_with_index(self) except -1
    cdef int distances(self, Py_ssize_t group, const double *point,
                       vector[double] &distances) except -1 nogil

    cdef Hit _nearest_other(self, const double *point, Py_ssize_t group,
                            Py_ssize_t full) except * nogil
    cdef Hit _nearest_excess(self, const double *point) except * nogil
    cdef int _nearer_excess(self, Py_ssize_t group, const double *point,
                              Hit *best) except -1 nogil
    cdef int _excess(self, Py_ssize_t group, vector[Hit] &records) except -1 nogil

    # Moves by the million, inlined. `carry` updates the centroids as running means, at the cost of
    # one row; everything else about the groups waits for `update`.

    cdef inline double _apart(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """Squared distance of a record to a centroid."""
        cdef const double *x = &self.X[record, 0]
        cdef const double *centroid = &self.centroids[group, 0]
        cdef double total = 0.0, total1 = 0.0, gap, gap1
        cdef Py_ssize_t j = 0
        while j + 2 <= self.n_columns:
            gap = x[j] - centroid[j]
            gap1 = x[j + 1] - centroid[j + 1]
            total += gap * gap
            total1 += gap1 * gap1
            j += 2
        if j < self.n_columns:
            gap = x[j] - centroid[j]
            total += gap * gap
        return total + total1

    cdef inline void _pull(self, Py_ssize_t group, Py_ssize_t record, double share) noexcept nogil:
        """Move a centroid by a share of its distance to a record."""
        cdef Py_ssize_t j
        if share == 1.0:  # A new group: what was in its slot may have been far away.
            for j in range(self.n_columns):
                self.centroids[group, j] = self.X[record, j]
            return
        for j in range(self.n_columns):
            self.centroids[group, j] += share * (self.X[record, j] - self.centroids[group, j])

    cdef inline double cost_to_join(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """By how much the SSE rises when a record joins a group."""
        cdef double size = self.members[group].size()
        return size / (size + 1.0) * self._apart(record, group)

    cdef inline double cost_to_shift(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """By how much the SSE rises, or falls if below 0, when a record moves to another group."""
        cdef Py_ssize_t source = self.group_of[record]
        cdef double size = self.members[source].size()
        cdef double cost = self.cost_to_join(record, group)
        if size > 1.0:
            cost -= size / (size - 1.0) * self._apart(record, source)
        return cost

    cdef inline double cost_to_swap(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        """By how much the SSE rises when two records of different groups change places."""
        cdef Py_ssize_t j = 0, a = self.group_of[one], b = self.group_of[other]
        cdef const double *x = &self.X[one, 0]
        cdef const double *y = &self.X[other, 0]
        cdef const double *from_a = &self.centroids[a, 0]
        cdef const double *from_b = &self.centroids[b, 0]
        cdef double along = 0.0, along1 = 0.0, squared = 0.0, squared1 = 0.0, gap, gap1
        cdef double weight = 1.0 / self.members[a].size() + 1.0 / self.members[b].size()
        # Two sums at a time: none waits for another.
        while j + 2 <= self.n_columns:
            gap = y[j] - x[j]
            gap1 = y[j + 1] - x[j + 1]
            along += gap * (from_a[j] - from_b[j])
            along1 += gap1 * (from_a[j + 1] - from_b[j + 1])
            squared += gap * gap
            squared1 += gap1 * gap1
            j += 2
        if j < self.n_columns:
            gap = y[j] - x[j]
            along += gap * (from_a[j] - from_b[j])
            squared += gap * gap
        return -2.0 * (along + along1) - weight * (squared + squared1)

    cdef inline int carry(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Move a record to another group, or to a free slot, and let their centroids follow."""
        cdef Py_ssize_t source = self.group_of[record]
        self.shift(record, group)
        if not self.members[source].empty():
            self._pull(source, record, -1.0 / self.members[source].size())
        self._pull(group, record, 1.0 / self.members[group].size())
        return 0

    cdef inline int carry_both(self, Py_ssize_t one, Py_ssize_t other) except -1 nogil:
        """Let two records of different groups change places, and their centroids follow."""
        cdef Py_ssize_t j, a = self.group_of[one], b = self.group_of[other]
        cdef double gap
        self.shift(one, b)
        self.shift(other, a)
        for j in range(self.n_columns):
            gap = self.X[other, j] - self.X[one, j]
            self.centroids[a, j] += gap / self.members[a].size()
            self.centroids[b, j] -= gap / self.members[b].size()
        return 0


# A record that moves to the other group of a pair, in exchange for a partner unless that is -1.
cdef struct Swap:
    double gain
    Py_ssize_t record
    Py_ssize_t partner


cdef struct Place:
    double along
    double across
    double gain


cdef class Descent(BaseDescent):
    cdef Partition partition
    cdef vector[Py_ssize_t] visited
    cdef vector[Hit] candidates
    cdef vector[double] to_b
    cdef vector[double] to_a
    cdef vector[Place] places
    cdef vector[size_t] may_swap

    cdef int _find_candidates(self, Py_ssize_t a) except -1 nogil
    cdef bint _improve_pair(self, Py_ssize_t a, Py_ssize_t b, double apart2) except -1 nogil
    cdef int _find_best(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil
    cdef bint _some_may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                             double least) except -1 nogil
    cdef int _apply(self, Swap swap, Py_ssize_t target) except -1 nogil
    cdef int _best_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil
    cdef void _best_shift(self, Py_ssize_t a, Py_ssize_t b, const vector[double] &to_b,
                          Swap *best) noexcept nogil
    cdef bint _may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil
    cdef bint _may_shift(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil


cdef class Annealer:
    cdef Partition partition
    cdef const int[:, ::1] neighbors
    cdef const Py_ssize_t[::1] by_scale
    cdef uint64_t random
    cdef Py_ssize_t full

    cdef double temperature
    cdef Py_ssize_t first_active
    cdef Py_ssize_t n_active
    cdef double chance_of_jump

    cdef vector[Py_ssize_t] carried
    cdef vector[Py_ssize_t] carried_from

    cdef int _step(self) except -1 nogil
    cdef Py_ssize_t _draw_record(self) noexcept nogil
    cdef Py_ssize_t _draw_partner(self, Py_ssize_t record) noexcept nogil
    cdef Py_ssize_t _draw_other(self, Py_ssize_t record) noexcept nogil
    cdef bint _accepts(self, double rise) noexcept nogil
    cdef int _create(self, Py_ssize_t record) except -1 nogil
    cdef int _dissolve(self, Py_ssize_t group) except -1 nogil
    cdef Py_ssize_t _cheapest_other(self, Py_ssize_t record, double *cost) noexcept nogil
    cdef int _carry(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int _undo(self) except -1 nogil


# An arc from one group to another. Of the records that it may send, `record` costs least among
# those that need a margin, and `twin` among those that need none: they have a twin in the other
# group, or are exempt. The wall is the least cost of a record without a twin there.
cdef struct Arc:
    Py_ssize_t target
    Py_ssize_t record
    double cost
    Py_ssize_t twin
    double twin_cost
    double wall
    Py_ssize_t measured_at


cdef class Arcs:
    cdef Partition partition
    cdef Py_ssize_t n_groups
    cdef const Py_ssize_t[::1] twins
    cdef vector[char] is_exempt

    # By group, and the groups that got an arc since the caller last cleared the list.
    cdef vector[vector[Arc]] leaving
    cdef vector[Py_ssize_t] extended

    # The state of the partition when `add_missing` last ran, and the potentials that it saw.
    cdef Py_ssize_t checked_at
    cdef vector[double] checked

    cdef vector[Hit] hits
    cdef vector[Py_ssize_t] order
    cdef vector[Py_ssize_t] has_rivals
    cdef vector[double] distances

    cdef Py_ssize_t add_near(self, Py_ssize_t m, Py_ssize_t n_records) except -1
    cdef Py_ssize_t add_missing(self, const double[::1] potential, double margin) except -1
    cdef void forget_checks(self) noexcept nogil
    cdef bint add(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef Arc *find(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef int measure(self, Py_ssize_t a, Arc *arc) except -1 nogil
    cdef int exempt(self, Py_ssize_t record) except -1 nogil
    cdef double rounding(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil

    cdef int _order_records(self, Py_ssize_t n_records) except -1
    cdef Py_ssize_t _add_rivals(self, Py_ssize_t record, PointTree tree,
                                double limit) except -1 nogil
    cdef bint _has_twin(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil
    cdef double _wall(self, Py_ssize_t group, Arc *arc) except? -1 nogil


# One arc of a cycle, the record that it sends, and what that costs. Arcs of the dummy group send no
# record.
cdef struct Step:
    Py_ssize_t source
    Py_ssize_t target
    Py_ssize_t record
    double cost
    double rounding
    bint has_margin


cdef class ExchangeGraph:
    cdef Partition partition
    cdef Arcs arcs
    cdef double[::1] potential
    cdef readonly double margin

    # A group with a number beyond all others. Cycles through it are paths among the others.
    cdef Py_ssize_t dummy
    cdef bint with_paths

    # Groups whose arcs may pull potentials down, and the group that last pulled each down.
    cdef deque[Py_ssize_t] queue
    cdef vector[char] is_queued
    cdef vector[Py_ssize_t] previous
    cdef Py_ssize_t known_at
    cdef Watch watch
    cdef Py_ssize_t n_pulls
    cdef vector[Step] cycle

    cdef int _enqueue_extended(self) except -1
    cdef int _check_started(self) except -1
    cdef double _widest_for_pairs(self) except -1 nogil
    cdef bint _find_cycle(self) except -1 nogil
    cdef bint _pull_others(self, Py_ssize_t a) except -1 nogil
    cdef bint _pull(self, Py_ssize_t a, Py_ssize_t b, double cost) except -1 nogil
    cdef double _reduced_cost(self, const Arc *arc) noexcept nogil
    cdef bint _has_room(self, Py_ssize_t group) noexcept nogil
    cdef bint _trace_cycle(self, Py_ssize_t last) except -1 nogil
    cdef Step _step(self, Py_ssize_t a, Py_ssize_t b) except * nogil
    cdef bint _cancel_cycle(self) except -1 nogil
    cdef double _sse_on_cycle(self) noexcept nogil
    cdef bint _narrow(self) noexcept nogil
    cdef bint _is_rounding(self) noexcept nogil
    cdef bint _exempt_from_margin(self) except -1 nogil
    cdef int _enqueue(self, Py_ssize_t group) except -1 nogil
    cdef int _enqueue_around(self, Py_ssize_t group) except -1 nogil
