"""Annealing: random single moves. The more a move raises the SSE and the lower the temperature, the
less likely it is to be accepted (Metropolis).

At each temperature only some records matter: where neighbors are much nearer than it, everything is
shuffled; where they are much farther away, everything is frozen. The caller says which records moves are
to begin with. They are visited in order, not drawn: if each is near to the one before, most of what
a step needs is in the cache.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport uint64_t

from ..common._interrupt cimport Watch, is_over, new_watch
from ..common._random cimport next_random, random_below, random_share

cdef enum:
    ANNEALING_STEPS_BETWEEN_SIGNALS = 1 << 20
    # A step draws one number, of which it uses these bits: 16 for the neighbor, 1 to choose between
    # a shift and a swap, 16 for the other record of a swap, 24 for the kind of step.
    NEIGHBOR_BITS = 0xffff
    SHIFT_BIT = 16
    OTHER_BIT = 17
    KIND_BIT = 40
    # Steps that are drawn at once when looking ahead.
    STEPS_AHEAD = 32

# That a step creates or dissolves a group; rarer for k above 10, since these steps cost more.
cdef double CHANCE_OF_GROUP = 0.03
cdef double K_OF_FULL_CHANCE = 10.0

# A move that raises the SSE by more than this many temperatures is never accepted.
cdef double HOPELESS = 20.0


def records_to_visit(const double[::1] scales, double lowest, double highest, *,
                     Py_ssize_t first_other, Py_ssize_t step):
    """Records with a scale in a range, and a few of the others.

    Parameters
    ----------
    scales : ndarray of shape (n_records,)
        The scale of each record.

    lowest, highest : float
        The range, both ends included.

    first_other, step : int
        The first record that is among them whatever its scale, and how many records later the next
        one follows.

    Returns
    -------
    records : ndarray of shape (n_visited,), int32
        The records, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import records_to_visit
    >>> records_to_visit(np.array([9.0, 2.0, 3.0, 8.0, 4.0, 7.0]), 2.0, 4.0, first_other=0, step=3)
    array([0, 1, 2, 3, 4], dtype=int32)
    """
    cdef Py_ssize_t record = 0, other = first_other, n_visited = 0
    cdef int[::1] records = np.empty(scales.shape[0], dtype=np.int32)
    if first_other < 0 or step < 1:
        raise ValueError(f"first_other={first_other} and step={step} must be at least 0 and 1.")
    step = min(step, scales.shape[0])
    with nogil:
        while record < scales.shape[0]:
            if record == other:
                records[n_visited] = <int>record
                n_visited += 1
                record += 1
                other += step
            while record < min(other, scales.shape[0]):
                # Written in any case, and kept if it counts: no branch to predict.
                records[n_visited] = <int>record
                n_visited += (lowest <= scales[record]) & (scales[record] <= highest)
                record += 1
    return records.base[:n_visited].copy()


@cython.final
cdef class Annealer:
    """Move, swap, create and dissolve at random at one temperature after the other.

    Parameters
    ----------
    partition : RunningPartition
        The partition to work on. Its groups keep to their limits of size.

    neighbors : ndarray of shape (n_records, n_neighbors), int32
        For each record others that are near to it, nearest first: these are drawn most often.

    by_scale : ndarray of shape (n_records,), int32
        The records in ascending order of their scale, the squared distance to their nearest
        neighbors.

    seed : int
        Seed of all random draws.

    guards : Guards or None, default=None
        Constraints that no move may violate. No other search may use the same object meanwhile.

    looks_ahead : bool, default=False
        Whether some steps are drawn at once, to fetch what they need from memory: faster for large
        tables. Draws that follow from a step then come from a generator of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Annealer, RunningPartition
    >>> X = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> partition = RunningPartition(X, np.array([0, 0, 1, 1]), k=2)
    >>> neighbors = np.array([[2, 3], [3, 2], [0, 3], [1, 2]], dtype=np.int32)
    >>> records = np.arange(4, dtype=np.int32)
    >>> annealer = Annealer(partition, neighbors, records, seed=0)
    >>> annealer.run(records, 25, temperature=0.01, first_for_jumps=0, chance_of_jump=0.0)
    >>> partition.measure()
    1.0
    """

    def __init__(self, RunningPartition partition, const int[:, ::1] neighbors,
                 const int[::1] by_scale, *, uint64_t seed, Guards guards=None,
                 bint looks_ahead=False):
        if partition.k < 2:
            raise ValueError(f"k={partition.k} must be at least 2: single records have no partner.")
        if (
            neighbors.shape[0] != partition.n_records
            or neighbors.shape[1] == 0
            or by_scale.shape[0] != partition.n_records
        ):
            raise ValueError(
                f"neighbors of shape {(neighbors.shape[0], neighbors.shape[1])} and "
                f"{by_scale.shape[0]} records by scale: each of the {partition.n_records} records "
                "needs a row and a place."
            )
        self.partition = partition
        self.neighbors = neighbors
        self.by_scale = by_scale
        self.random = seed
        self.looks_ahead = looks_ahead
        # Steps ahead are drawn before it is known how many further draws the steps before take.
        self.other_random = next_random(&self.random) if looks_ahead else 0
        self.further = &self.other_random if looks_ahead else &self.random
        self.guards = guards

    def run(self, const int[::1] records, Py_ssize_t n_passes=1, *, double temperature,
            Py_ssize_t first_for_jumps, double chance_of_jump):
        """Do a step from each of some records at one temperature.

        Parameters
        ----------
        records : ndarray of shape (n_steps,), int32
            The records, in the order in which they are visited.

        n_passes : int, default=1
            How often they are visited.

        temperature : float
            The rise of the SSE that is accepted with probability 1/e.

        first_for_jumps : int
            Long jumps lead to the record at this position in the order of scales, or to one after
            it.

        chance_of_jump : float
            Probability of a long jump: that the partner of a record is no neighbor.
        """
        cdef Watch watch = new_watch(ANNEALING_STEPS_BETWEEN_SIGNALS)
        cdef Py_ssize_t i, each
        if not 0 <= first_for_jumps < self.partition.n_records:
            raise ValueError(
                f"first_for_jumps={first_for_jumps} must be from 0 to "
                f"{self.partition.n_records - 1}."
            )
        self.temperature = temperature
        self.first_for_jumps = first_for_jumps
        self.below_group = <Py_ssize_t>(self._chance_of_group() * (1 << 24))
        self.below_jump = self.below_group + <Py_ssize_t>(chance_of_jump * (1 << 24))
        cdef const int *visited = &records[0] if records.shape[0] > 0 else NULL
        with nogil:
            for each in range(n_passes):
                i = 0
                while i < records.shape[0]:
                    i += self._step_ahead(visited + i, records.shape[0] - i)
                is_over(&watch, records.shape[0])

    cdef Py_ssize_t _step_ahead(self, const int *records, Py_ssize_t n_left) except -1 nogil:
        """Do one step or, looking ahead, some; return how many.

        What they will probably need is sent for from memory, all at once.
        """
        cdef uint64_t drawn[STEPS_AHEAD]
        cdef int partners[STEPS_AHEAD]
        cdef Py_ssize_t i, n_steps = min(STEPS_AHEAD, n_left)
        if not self.looks_ahead:
            self._step(records[0], next_random(&self.random))
            return 1
        for i in range(n_steps):
            drawn[i] = next_random(&self.random)
            partners[i] = self._neighbor(records[i], drawn[i])
            self.partition.fetch_record(partners[i])
            self.partition.fetch_record(records[i])
        for i in range(n_steps):
            self.partition.fetch_group(self.partition.group_of[partners[i]])
            self.partition.fetch_group(self.partition.group_of[records[i]])
        for i in range(n_steps):
            self.partition.fetch_values(records[i])
            self.partition.fetch_values(self.partition.another_member(
                partners[i], drawn[i] >> OTHER_BIT & 0xffff
            ))
        for i in range(n_steps):
            self._step(records[i], drawn[i])
        return n_steps

    cdef inline int _neighbor(self, int record, uint64_t drawn) noexcept nogil:
        # The square of a random share: near neighbors are drawn more often than others.
        cdef uint64_t rank = (drawn & NEIGHBOR_BITS) * (drawn & NEIGHBOR_BITS) >> 16
        return self.neighbors[record, (rank * self.neighbors.shape[1]) >> 16]

    cdef double _chance_of_group(self) noexcept nogil:
        # With fewer neighbors than a group needs, dissolved groups could not be replaced.
        if self.neighbors.shape[1] < self.partition.k:
            return 0.0
        return CHANCE_OF_GROUP * min(1.0, K_OF_FULL_CHANCE / self.partition.k)

    cdef int _step(self, int record, uint64_t drawn) except -1 nogil:
        cdef int source = self.partition.group_of[record], partner, target
        cdef Py_ssize_t kind = drawn >> KIND_BIT
        if kind < self.below_group:
            return self._create(record) if kind & 1 else self._dissolve(source)
        if kind < self.below_jump:
            partner = self.by_scale[self.first_for_jumps + random_below(
                self.further, self.partition.n_records - self.first_for_jumps
            )]
        else:
            partner = self._neighbor(record, drawn)
        target = self.partition.group_of[partner]
        if target == source:
            return 0
        if (
            self.partition.size[source] > self.partition.k
            and self.partition.size[target] < self.partition.full
            and drawn >> SHIFT_BIT & 1
        ):
            if self._accepts(self.partition.cost_to_shift(record, target)) and (
                self.guards is None or self._may_shift(record, target)
            ):
                self.partition.shift(record, target)
            return 0
        partner = self.partition.another_member(partner, drawn >> OTHER_BIT & 0xffff)
        if self._accepts(self.partition.cost_to_swap(record, partner)) and (
            self.guards is None or self._may_swap(record, partner)
        ):
            self.partition.swap(record, partner)
        return 0

    cdef inline bint _accepts(self, double rise) noexcept nogil:
        return rise <= 0.0 or (
            rise < HOPELESS * self.temperature
            and random_share(self.further) < exp(-rise / self.temperature)
        )

    # Questions to the guards

    cdef bint _may_shift(self, int record, int target) except -1 nogil:
        return self._can_spare(record) and self.guards.hold_with(
            self.partition.members_of(target), self.partition.size[target], record
        )

    cdef bint _can_spare(self, int record) except -1 nogil:
        cdef int source = self.partition.group_of[record]
        return self.guards is None or self.guards.hold_without(
            self.partition.members_of(source), self.partition.size[source], record
        )

    cdef bint _may_swap(self, int one, int other) except -1 nogil:
        cdef int a = self.partition.group_of[one], b = self.partition.group_of[other]
        return self.guards.first.all_see_twins(one, other) or (
            self.guards.hold_swapped(
                self.partition.members_of(a), self.partition.size[a], one, other
            )
            and self.guards.hold_swapped(
                self.partition.members_of(b), self.partition.size[b], other, one
            )
        )

    cdef bint _holds(self, int group) except -1 nogil:
        return self.guards is None or self.guards.first.all_hold(
            self.partition.members_of(group), self.partition.size[group]
        )

    # Creating and dissolving groups: records are carried one by one, and back if it costs too much.

    cdef int _create(self, int record) except -1 nogil:
        """Make a group of a record and its nearest neighbors, from groups that can spare them."""
        cdef Py_ssize_t k = self.partition.k, i = 0
        cdef int source = self.partition.group_of[record], group, neighbor
        cdef double rise
        cdef bint is_whole = False
        if (
            self.partition.n_records - self.partition.n_groups * k < k
            or self.partition.size[source] <= k
            or not self._can_spare(record)
        ):
            return 0
        group = self.partition.free_slots.back()
        rise = self.partition.cost_to_shift(record, group)
        self._carry(record, group)
        while i < self.neighbors.shape[1] and not is_whole:
            neighbor = self.neighbors[record, i]
            source = self.partition.group_of[neighbor]
            # One in eight is skipped, so that the same record can start different groups.
            if (
                source != group
                and self.partition.size[source] > k
                and next_random(self.further) & 7
                and self._can_spare(neighbor)
            ):
                rise += self.partition.cost_to_shift(neighbor, group)
                self._carry(neighbor, group)
                if self.partition.size[group] >= k:
                    is_whole = self._holds(group)
                    if self.partition.size[group] == self.partition.full:
                        break
            i += 1
        if not is_whole or not self._accepts(rise):
            return self._undo()
        self.carried.clear()
        self.carried_from.clear()
        return 0

    cdef int _dissolve(self, int group) except -1 nogil:
        """Move each record of a group to the group of a neighbor where it costs least."""
        cdef int record, target
        cdef double rise = -self.partition.measure_group(group), cost = 0.0
        # Drawn in advance, since the rise only grows: most attempts end after one record.
        cdef double most = -self.temperature * log(1.0 - random_share(self.further))
        while self.partition.size[group] > 0:
            record = self.partition.last_member(group)
            target = self._cheapest_other(record, &cost)
            rise += cost
            if target < 0 or rise > most:
                return self._undo()
            self._carry(record, target)
        if self.guards is not None and not self._all_carried_hold():
            return self._undo()
        self.carried.clear()
        self.carried_from.clear()
        return 0

    cdef bint _all_carried_hold(self) except -1 nogil:
        cdef size_t i
        for i in range(self.carried.size()):
            if not self._holds(self.partition.group_of[self.carried[i]]):
                return False
        return True

    cdef int _cheapest_other(self, int record, double *cost) noexcept nogil:
        """The group of a neighbor, other than the record's own and not full, or -1 for none."""
        cdef Py_ssize_t i
        cdef int group, best = -1
        cdef double candidate
        cost[0] = INFINITY
        for i in range(self.neighbors.shape[1]):
            group = self.partition.group_of[self.neighbors[record, i]]
            if (
                group == best
                or group == self.partition.group_of[record]
                or self.partition.size[group] >= self.partition.full
            ):
                continue
            candidate = self.partition.cost_to_join(record, group)
            if candidate < cost[0]:
                best, cost[0] = group, candidate
        return best

    cdef int _carry(self, int record, int group) except -1 nogil:
        self.carried.push_back(record)
        self.carried_from.push_back(self.partition.group_of[record])
        return self.partition.shift(record, group)

    cdef int _undo(self) except -1 nogil:
        while not self.carried.empty():
            self.partition.shift(self.carried.back(), self.carried_from.back())
            self.carried.pop_back()
            self.carried_from.pop_back()
        return 0
