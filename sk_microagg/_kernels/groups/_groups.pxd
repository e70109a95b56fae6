"""The state of the kernels in this folder."""

from libc.stdint cimport int64_t, uint64_t
from libcpp.deque cimport deque
from libcpp.vector cimport vector

from ..common._common cimport BaseDescent, BasePartition
from ..common._distances cimport Hit, squared_distance
from ..common._interrupt cimport Watch
from ..points._points cimport CodedTree, KeyProducts, PointTree


cdef class Guard:
    cdef const int[::1] codes
    cdef bint joins_are_safe
    cdef Guard following

    cdef bint holds(self, const int *members, Py_ssize_t size) except -1 nogil
    cdef bint all_hold(self, const int *members, Py_ssize_t size) except -1 nogil
    cdef bint all_hold_after_joining(self, const int *members, Py_ssize_t size) except -1 nogil
    cdef bint all_see_twins(self, int one, int other) noexcept nogil


cdef class CountingGuard(Guard):
    # By code: its place in the two lists, and the question in which it was last seen.
    cdef vector[int] place_of
    cdef vector[int64_t] seen_in
    cdef int64_t n_questions
    cdef vector[int] present
    cdef vector[int] counts

    cdef int _count(self, const int *members, Py_ssize_t size) except -1 nogil
    cdef int _count_nodes(self, const int *members, Py_ssize_t size,
                          const int *node_of) except -1 nogil


cdef class DistinctGuard(CountingGuard):
    cdef Py_ssize_t least


cdef class EntropyGuard(CountingGuard):
    cdef double least


cdef class RecursiveGuard(CountingGuard):
    cdef Py_ssize_t l
    cdef double c


cdef class EqualGuard(CountingGuard):
    cdef const int64_t[::1] in_table
    cdef int64_t n_in_table
    cdef double most


cdef class OrderedGuard(Guard):
    # By code: how many records of the table have it or a lower one, and the sums of these numbers.
    cdef const int64_t[::1] up_to
    cdef const int64_t[::1] sum_before
    cdef Py_ssize_t n_codes
    cdef int64_t n_in_table
    cdef double most
    cdef vector[int] sorted_codes

    cdef int _sort_codes(self, const int *members, Py_ssize_t size) except -1 nogil
    cdef double _area(self, Py_ssize_t n_below, double size, Py_ssize_t start,
                      Py_ssize_t end) noexcept nogil


cdef class TreeGuard(CountingGuard):
    cdef const int[:, ::1] node_of
    cdef const int64_t[:, ::1] rises
    cdef const int64_t[:, ::1] in_table
    cdef int64_t n_in_table
    cdef int64_t height
    cdef double most


cdef class AmountGuard(CountingGuard):
    cdef const double[::1] amounts
    cdef const int[::1] units
    cdef bint has_units
    cdef vector[double] contributions

    cdef int _contribute(self, const int *members, Py_ssize_t size, bint once) except -1 nogil


cdef class LargestGuard(AmountGuard):
    cdef Py_ssize_t n_bounded
    cdef Py_ssize_t n_apart
    cdef double factor
    cdef vector[double] largest


cdef class SumGuard(AmountGuard):
    cdef double least


cdef class CallbackGuard(Guard):
    cdef object function


cdef class Guards:
    cdef Guard first
    cdef vector[int] changed

    cdef bint hold_without(self, const int *members, Py_ssize_t size, int record) except -1 nogil
    cdef bint hold_with(self, const int *members, Py_ssize_t size, int record) except -1 nogil
    cdef bint hold_swapped(self, const int *members, Py_ssize_t size, int leaving,
                           int entering) except -1 nogil


cdef class Partition(BasePartition):
    cdef const double[:, ::1] X
    cdef Py_ssize_t n_columns

    # Brought up to date by `update`.
    cdef double[:, ::1] centroids
    cdef double[::1] radius
    cdef vector[double] own_distance
    cdef vector[double] measured
    cdef PointTree index

    # The codes of records, one per slot; by group and slot, the squared norm of the centroid in the
    # coordinates of codes; and how many records of the group at hand have each code.
    cdef const int[:, ::1] codes
    cdef const double[::1] squares
    cdef Py_ssize_t n_codes
    cdef vector[double] norms
    cdef vector[int] counts

    cdef vector[Hit] hits
    cdef vector[Hit] nearby
    cdef vector[char] is_taken

    cdef int update_with_index(self) except -1
    cdef double apart(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double records_apart(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil
    cdef double to_group(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil
    cdef int distances(self, Py_ssize_t group, Py_ssize_t target,
                       vector[double] &distances) except -1 nogil
    cdef CodedTree coded_tree(self, weights)

    cdef int _distances_to(self, Py_ssize_t group, const double *point,
                           vector[double] &distances) except -1 nogil
    cdef void _count(self, Py_ssize_t group, int step) noexcept nogil
    cdef void _measure_norms(self, Py_ssize_t group) noexcept nogil
    cdef int _add_codes(self, Py_ssize_t group, Py_ssize_t target,
                        vector[double] &distances) except -1 nogil
    cdef Hit _nearest_other(self, const double *point, Py_ssize_t group,
                            Py_ssize_t full) except * nogil
    cdef Hit _nearest_excess(self, const double *point) except * nogil
    cdef int _nearer_excess(self, Py_ssize_t group, const double *point,
                              Hit *best) except -1 nogil
    cdef int _excess(self, Py_ssize_t group, vector[Hit] &records) except -1 nogil


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
    cdef const int[:, ::1] neighbors
    cdef vector[Py_ssize_t] visited

    # The number of the list that last held each group.
    cdef vector[Py_ssize_t] listed
    cdef Py_ssize_t n_lists

    cdef vector[Hit] candidates
    cdef vector[double] to_b
    cdef vector[double] to_a
    cdef vector[Place] places
    cdef vector[size_t] may_swap

    # What no move may violate, the largest size of a group, and the members of the pair at hand.
    cdef Guards guards
    cdef Py_ssize_t full
    cdef vector[int] of_a
    cdef vector[int] of_b

    cdef int _find_candidates(self, Py_ssize_t a) except -1 nogil
    cdef int _list_near_groups(self, Py_ssize_t a) except -1 nogil
    cdef bint _improve_pair(self, Py_ssize_t a, Py_ssize_t b, double apart2) except -1 nogil
    cdef int _find_best(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil
    cdef bint _some_may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                             double least) except -1 nogil
    cdef int _apply(self, Swap swap, Py_ssize_t target) except -1 nogil
    cdef int _best_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil
    cdef bint _guards_let_swap(self, int x, int y) except -1 nogil
    cdef int _best_shift(self, Py_ssize_t a, Py_ssize_t b, const vector[double] &to_b,
                         const vector[int] &of_a, const vector[int] &of_b,
                         Swap *best) except -1 nogil
    cdef bint _may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil
    cdef bint _may_shift(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil


cdef extern from *:
    """
    #if defined(__GNUC__)
    #define SKM_PREFETCH(place) __builtin_prefetch(place)
    #else
    #define SKM_PREFETCH(place) ((void)(place))
    #endif
    """
    void prefetch "SKM_PREFETCH"(const void *place) noexcept nogil


cdef inline void fetch_row(const double *row, Py_ssize_t n_columns) noexcept nogil:
    """Send for numbers from memory, which comes in lines of 8."""
    cdef Py_ssize_t j = 0
    while j < n_columns:
        prefetch(row + j)
        j += 8
    prefetch(row + n_columns - 1)


cdef class RunningPartition:
    cdef const double[:, ::1] X
    cdef readonly Py_ssize_t n_records
    cdef readonly Py_ssize_t n_groups
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t k
    cdef Py_ssize_t full

    cdef vector[int] group_of
    cdef vector[int] place_of
    cdef vector[int] size
    cdef vector[int] members
    cdef vector[double] centroids
    cdef vector[int] free_slots

    # Reciprocals of sizes.
    cdef vector[double] share_of

    # Codes of records, one per slot, their squares, and by group the sum of squares times squared
    # counts.
    cdef const int[:, ::1] codes
    cdef const double[::1] squares
    cdef Py_ssize_t n_codes
    cdef vector[double] norms

    # How many records of a group have each of the values, unless there are very many.
    cdef vector[short] counts
    cdef Py_ssize_t n_values

    cdef double measure_group(self, int group) noexcept nogil
    cdef double _measure_codes(self, int group) noexcept nogil
    cdef double _distance_of_codes(self, int record, int group) noexcept nogil
    cdef double _swap_of_codes(self, int one, int other, double weight) noexcept nogil
    cdef void _count_codes(self, int record, int group, int change) noexcept nogil
    cdef void _exchange_codes(self, int group, int leaving, int entering) noexcept nogil

    cdef inline int count(self, int group, Py_ssize_t slot, int code) noexcept nogil:
        """How many records of a group have a code."""
        cdef const int *members = &self.members[group * self.full]
        cdef int i, n_found = 0
        if self.n_values > 0:
            return self.counts[group * self.n_values + code]
        for i in range(self.size[group]):
            n_found += self.codes[members[i], slot] == code
        return n_found

    cdef inline const int *members_of(self, int group) noexcept nogil:
        return &self.members[group * self.full]

    cdef inline int last_member(self, int group) noexcept nogil:
        return self.members[group * self.full + self.size[group] - 1]

    cdef inline int another_member(self, int record, Py_ssize_t drawn) noexcept nogil:
        """Another record of the same group, given a random number below 2**16."""
        cdef int group = self.group_of[record]
        cdef Py_ssize_t place = (drawn * (self.size[group] - 1)) >> 16
        return self.members[group * self.full + place + (place >= self.place_of[record])]

    cdef inline void fetch_record(self, int record) noexcept nogil:
        """Send for what is known of a record."""
        prefetch(&self.group_of[record])
        prefetch(&self.place_of[record])

    cdef inline void fetch_group(self, int group) noexcept nogil:
        """Send for what is known of a group."""
        prefetch(&self.size[group])
        prefetch(&self.members[group * self.full])
        fetch_row(&self.centroids[group * self.n_columns], self.n_columns)

    cdef inline void fetch_values(self, int record) noexcept nogil:
        """Send for the values of a record."""
        fetch_row(&self.X[record, 0], self.n_columns)

    cdef inline double _distance(self, int record, int group) noexcept nogil:
        """Squared distance of a record to a centroid."""
        cdef double distance = squared_distance(
            &self.X[record, 0], &self.centroids[group * self.n_columns], self.n_columns
        )
        return distance if self.n_codes == 0 else distance + self._distance_of_codes(record, group)

    cdef inline double cost_to_join(self, int record, int group) noexcept nogil:
        """By how much the SSE rises when a record joins a group."""
        return (1.0 - self.share_of[self.size[group] + 1]) * self._distance(record, group)

    cdef inline double cost_to_shift(self, int record, int group) noexcept nogil:
        """By how much the SSE rises, or falls if below 0, when a record moves to another group."""
        cdef int source = self.group_of[record]
        cdef double cost = 0.0
        if self.size[group] > 0:
            cost = self.cost_to_join(record, group)
        if self.size[source] > 1:
            cost -= (1.0 + self.share_of[self.size[source] - 1]) * self._distance(record, source)
        return cost

    cdef inline double cost_to_swap(self, int one, int other) noexcept nogil:
        """By how much the SSE rises when two records of different groups change places."""
        cdef int a = self.group_of[one], b = self.group_of[other]
        cdef const double *x = &self.X[one, 0]
        cdef const double *y = &self.X[other, 0]
        cdef const double *from_a = &self.centroids[a * self.n_columns]
        cdef const double *from_b = &self.centroids[b * self.n_columns]
        cdef double along = 0.0, along1 = 0.0, squared = 0.0, squared1 = 0.0, gap, gap1
        cdef double weight = self.share_of[self.size[a]] + self.share_of[self.size[b]]
        cdef Py_ssize_t j = 0
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
        along = -2.0 * (along + along1) - weight * (squared + squared1)
        return along if self.n_codes == 0 else along + self._swap_of_codes(one, other, weight)

    cdef inline int shift(self, int record, int group) except -1 nogil:
        """Move a record to another group, or to the last free slot."""
        cdef int source = self.group_of[record]
        cdef Py_ssize_t j
        cdef double *centroid = &self.centroids[source * self.n_columns]
        cdef double share
        if self.n_codes > 0:
            self._exchange_codes(source, record, -1)
            self._exchange_codes(group, -1, record)
        self._leave(record)
        if self.size[source] == 0:
            self.free_slots.push_back(source)
            self.n_groups -= 1
        else:
            share = self.share_of[self.size[source]]
            for j in range(self.n_columns):
                centroid[j] -= share * (self.X[record, j] - centroid[j])
        if self.size[group] == 0:
            self.free_slots.pop_back()
            self.n_groups += 1
        self._join(record, group)
        centroid = &self.centroids[group * self.n_columns]
        if self.size[group] == 1:  # What was in its slot may have been far away.
            for j in range(self.n_columns):
                centroid[j] = self.X[record, j]
        else:
            share = self.share_of[self.size[group]]
            for j in range(self.n_columns):
                centroid[j] += share * (self.X[record, j] - centroid[j])
        return 0

    cdef inline void swap(self, int one, int other) noexcept nogil:
        """Let two records of different groups change places."""
        cdef int a = self.group_of[one], b = self.group_of[other], place = self.place_of[one]
        cdef double *from_a = &self.centroids[a * self.n_columns]
        cdef double *from_b = &self.centroids[b * self.n_columns]
        cdef double share_a = self.share_of[self.size[a]], share_b = self.share_of[self.size[b]]
        cdef double gap
        cdef Py_ssize_t j
        if self.n_codes > 0:
            self._exchange_codes(a, one, other)
            self._exchange_codes(b, other, one)
        self.members[a * self.full + place] = other
        self.members[b * self.full + self.place_of[other]] = one
        self.place_of[one] = self.place_of[other]
        self.place_of[other] = place
        self.group_of[one] = b
        self.group_of[other] = a
        for j in range(self.n_columns):
            gap = self.X[other, j] - self.X[one, j]
            from_a[j] += share_a * gap
            from_b[j] -= share_b * gap

    cdef inline void _leave(self, int record) noexcept nogil:
        cdef int group = self.group_of[record], last
        self.size[group] -= 1
        last = self.members[group * self.full + self.size[group]]
        self.members[group * self.full + self.place_of[record]] = last
        self.place_of[last] = self.place_of[record]

    cdef inline void _join(self, int record, int group) noexcept nogil:
        self.members[group * self.full + self.size[group]] = record
        self.group_of[record] = group
        self.place_of[record] = self.size[group]
        self.size[group] += 1


cdef class Annealer:
    cdef RunningPartition partition
    cdef const int[:, ::1] neighbors
    cdef const int[::1] by_scale
    cdef uint64_t random
    cdef uint64_t other_random
    cdef uint64_t *further
    cdef bint looks_ahead
    cdef Guards guards

    cdef double temperature
    cdef Py_ssize_t first_for_jumps
    cdef Py_ssize_t below_group
    cdef Py_ssize_t below_jump

    cdef vector[int] carried
    cdef vector[int] carried_from

    cdef double _chance_of_group(self) noexcept nogil
    cdef Py_ssize_t _step_ahead(self, const int *records, Py_ssize_t n_left) except -1 nogil
    cdef int _neighbor(self, int record, uint64_t drawn) noexcept nogil
    cdef int _step(self, int record, uint64_t drawn) except -1 nogil
    cdef bint _accepts(self, double rise) noexcept nogil
    cdef bint _may_shift(self, int record, int target) except -1 nogil
    cdef bint _can_spare(self, int record) except -1 nogil
    cdef bint _may_swap(self, int one, int other) except -1 nogil
    cdef bint _holds(self, int group) except -1 nogil
    cdef bint _all_carried_hold(self) except -1 nogil
    cdef int _create(self, int record) except -1 nogil
    cdef int _dissolve(self, int group) except -1 nogil
    cdef int _cheapest_other(self, int record, double *cost) noexcept nogil
    cdef int _carry(self, int record, int group) except -1 nogil
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
    cdef bint has_exempt

    # By group, and the groups that got an arc since the caller last cleared the list.
    cdef vector[vector[Arc]] leaving
    cdef vector[Py_ssize_t] extended

    # The state of the partition when `add_missing` last ran, and the potentials that it saw.
    cdef Py_ssize_t checked_at
    cdef vector[double] checked

    cdef vector[Hit] hits
    cdef vector[Py_ssize_t] order
    cdef vector[Py_ssize_t] has_rivals
    cdef vector[Py_ssize_t] likely
    cdef vector[double] distances

    cdef Py_ssize_t add_near(self, Py_ssize_t m, Py_ssize_t n_records, deadline) except -2
    cdef Py_ssize_t _search_near(self, Py_ssize_t m, Py_ssize_t n_records, deadline) except -2
    cdef Py_ssize_t _search_near_coded(self, Py_ssize_t m, Py_ssize_t n_records,
                                       deadline) except -2
    cdef Py_ssize_t _multiply_for_near(self, KeyProducts products, Py_ssize_t m,
                                       Py_ssize_t n_records, deadline) except -2
    cdef int _find_near(self, KeyProducts products, Py_ssize_t row, Py_ssize_t record,
                        Py_ssize_t m) except -1 nogil
    cdef Py_ssize_t _add_hits(self, Py_ssize_t record) except -1 nogil
    cdef Py_ssize_t add_missing(self, const double[::1] potential, double margin,
                                deadline) except -2
    cdef bint _is_copy(self, Py_ssize_t record) noexcept nogil
    cdef void forget_checks(self) noexcept nogil
    cdef bint add(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef Arc *find(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef int measure(self, Py_ssize_t a, Arc *arc) except -1 nogil
    cdef int exempt(self, Py_ssize_t record) except -1 nogil
    cdef double rounding(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil

    cdef int _order_records(self, Py_ssize_t n_records) except -1
    cdef Py_ssize_t _search_rivals(self, const double[::1] potential, double margin,
                                   deadline) except -2
    cdef Py_ssize_t _search_coded_rivals(self, const double[::1] potential, double margin,
                                         deadline) except -2
    cdef Py_ssize_t _multiply_for_rivals(self, KeyProducts products, const double[::1] potential,
                                         double margin, deadline) except -2
    cdef Py_ssize_t _add_rivals_in_row(self, KeyProducts products, Py_ssize_t row,
                                       Py_ssize_t record, const double[::1] potential,
                                       double margin, Watch *watch) except -1 nogil
    cdef bint _add_if_rival(self, Py_ssize_t record, Py_ssize_t group, const double[::1] potential,
                            double limit) except -1 nogil
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
