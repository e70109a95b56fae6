"""Annealing: random single moves. The more a move raises the SSE and the lower the temperature, the
less likely it is to be accepted (Metropolis).

At each temperature only some records matter: where neighbors are much nearer than it, all is
shuffled; where they are much farther away, all is frozen. The caller says which records are
active, and most steps begin with one of those.
"""

cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport uint64_t

from ..common._interrupt cimport Watch, is_over, new_watch
from ..common._random cimport next_random, random_below, random_share

cdef enum:
    ANNEALING_STEPS_BETWEEN_SIGNALS = 1 << 20

cdef double CHANCE_OF_ACTIVE = 0.9
cdef double CHANCE_OF_GROUP = 0.01

# A move that raises the SSE by more than this many temperatures is never accepted.
cdef double HOPELESS = 20.0


@cython.final
cdef class Annealer:
    """Move, swap, create and dissolve at random at one temperature after the other.

    Parameters
    ----------
    partition : Partition
        The partition to work on, with groups of `k` to 2k - 1 records. They stay so.

    neighbors : ndarray of shape (n_records, n_neighbors), int32
        For each record the others that are near to it, nearest first.

    by_scale : ndarray of shape (n_records,), intp
        The records in ascending order of their scale, the squared distance to their nearest
        neighbors.

    seed : int
        Seed of all random draws.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Annealer, Partition
    >>> X = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> partition = Partition(X, np.array([0, 0, 1, 1]), k=2)
    >>> neighbors = np.array([[2, 3], [3, 2], [0, 3], [1, 2]], dtype=np.int32)
    >>> annealer = Annealer(partition, neighbors, np.arange(4), seed=0)
    >>> annealer.run(100, temperature=0.01, first_active=0, n_active=4, chance_of_jump=0.0)
    >>> partition.sse
    1.0
    """

    def __init__(self, Partition partition, const int[:, ::1] neighbors,
                 const Py_ssize_t[::1] by_scale, *, uint64_t seed):
        if partition.k < 2:
            raise ValueError(f"k={partition.k} must be at least 2: single records have no partner.")
        self.partition = partition
        self.neighbors = neighbors
        self.by_scale = by_scale
        self.random = seed
        self.full = 2 * partition.k - 1

    def run(self, Py_ssize_t n_steps, *, double temperature, Py_ssize_t first_active,
            Py_ssize_t n_active, double chance_of_jump):
        """Do some steps at one temperature.

        Parameters
        ----------
        n_steps : int
            The number of steps.

        temperature : float
            The rise of the SSE that is accepted with probability 1/e.

        first_active : int
            Position of the first active record in the order of scales. Long jumps lead to it or to
            one after it.

        n_active : int
            Number of active records.

        chance_of_jump : float
            Probability of a long jump: that the partner of a record is no neighbor.
        """
        cdef Watch watch = new_watch(ANNEALING_STEPS_BETWEEN_SIGNALS)
        cdef Py_ssize_t step
        self.temperature = temperature
        self.first_active = first_active
        self.n_active = n_active
        self.chance_of_jump = chance_of_jump
        with nogil:
            for step in range(n_steps):
                self._step()
                is_over(&watch, 1)

    cdef int _step(self) except -1 nogil:
        cdef Py_ssize_t record = self._draw_record()
        cdef Py_ssize_t source = self.partition.group_of[record]
        cdef Py_ssize_t partner, target
        if random_share(&self.random) < CHANCE_OF_GROUP:
            if next_random(&self.random) & 1:
                return self._create(record)
            return self._dissolve(source)
        partner = self._draw_partner(record)
        target = self.partition.group_of[partner]
        if target == source:
            return 0
        if (
            <Py_ssize_t>self.partition.members[source].size() > self.partition.k
            and <Py_ssize_t>self.partition.members[target].size() < self.full
            and next_random(&self.random) & 1
        ):
            if self._accepts(self.partition.cost_to_shift(record, target)):
                self.partition.carry(record, target)
            return 0
        partner = self._draw_other(partner)
        if self._accepts(self.partition.cost_to_swap(record, partner)):
            self.partition.carry_both(record, partner)
        return 0

    # Draws

    cdef inline Py_ssize_t _draw_record(self) noexcept nogil:
        if random_share(&self.random) < CHANCE_OF_ACTIVE:
            return self.by_scale[self.first_active + random_below(&self.random, self.n_active)]
        return random_below(&self.random, self.partition.n_records)

    cdef inline Py_ssize_t _draw_partner(self, Py_ssize_t record) noexcept nogil:
        cdef Py_ssize_t n_beyond = self.partition.n_records - self.first_active
        if random_share(&self.random) < self.chance_of_jump:
            return self.by_scale[self.first_active + random_below(&self.random, n_beyond)]
        return self.neighbors[record, random_below(&self.random, self.neighbors.shape[1])]

    cdef inline Py_ssize_t _draw_other(self, Py_ssize_t record) noexcept nogil:
        """Another record of the same group."""
        cdef Py_ssize_t group = self.partition.group_of[record]
        cdef Py_ssize_t n_others = self.partition.members[group].size() - 1
        cdef Py_ssize_t place = random_below(&self.random, n_others)
        # Members ascend: those from the record on are one place further.
        return self.partition.members[group][
            place + (self.partition.members[group][place] >= record)
        ]

    cdef inline bint _accepts(self, double rise) noexcept nogil:
        return rise <= 0.0 or (
            rise < HOPELESS * self.temperature
            and random_share(&self.random) < exp(-rise / self.temperature)
        )

    # Creating and dissolving groups: records are carried one by one, and back if it costs too much.

    cdef int _create(self, Py_ssize_t record) except -1 nogil:
        """Make a group of a record and its nearest neighbors, from groups that can spare them."""
        cdef Py_ssize_t k = self.partition.k, n_groups = self.partition.n_groups
        cdef Py_ssize_t source = self.partition.group_of[record], i = 0, neighbor, group
        cdef double rise
        if (
            self.partition.n_records - n_groups * k < k
            or <Py_ssize_t>self.partition.members[source].size() <= k
        ):
            return 0
        group = self.partition.free_slot()
        rise = self.partition.cost_to_shift(record, group)
        self._carry(record, group)
        while i < self.neighbors.shape[1] and <Py_ssize_t>self.carried.size() < k:
            neighbor = self.neighbors[record, i]
            source = self.partition.group_of[neighbor]
            # One in eight is skipped, so that the same record can start different groups.
            if (
                source != group
                and <Py_ssize_t>self.partition.members[source].size() > k
                and next_random(&self.random) & 7
            ):
                rise += self.partition.cost_to_shift(neighbor, group)
                self._carry(neighbor, group)
            i += 1
        if <Py_ssize_t>self.carried.size() < k or not self._accepts(rise):
            return self._undo()
        self.carried.clear()
        self.carried_from.clear()
        return 0

    cdef int _dissolve(self, Py_ssize_t group) except -1 nogil:
        """Move each record of a group to the group of a neighbor where it costs least."""
        cdef Py_ssize_t target
        cdef double rise = -self.partition.measure(group), cost = 0.0
        # Drawn in advance, since the rise only grows: most attempts end after one record.
        cdef double most = -self.temperature * log(1.0 - random_share(&self.random))
        while not self.partition.members[group].empty():
            target = self._cheapest_other(self.partition.members[group].back(), &cost)
            rise += cost
            if target < 0 or rise > most:
                return self._undo()
            self._carry(self.partition.members[group].back(), target)
        self.carried.clear()
        self.carried_from.clear()
        return 0

    cdef Py_ssize_t _cheapest_other(self, Py_ssize_t record, double *cost) noexcept nogil:
        """The group of a neighbor, other than the record's own and not full, or -1 for none."""
        cdef Py_ssize_t i, group, best = -1
        cdef double candidate
        cost[0] = INFINITY
        for i in range(self.neighbors.shape[1]):
            group = self.partition.group_of[self.neighbors[record, i]]
            if (
                group == self.partition.group_of[record]
                or <Py_ssize_t>self.partition.members[group].size() >= self.full
            ):
                continue
            candidate = self.partition.cost_to_join(record, group)
            if candidate < cost[0]:
                best, cost[0] = group, candidate
        return best

    cdef int _carry(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        self.carried.push_back(record)
        self.carried_from.push_back(self.partition.group_of[record])
        return self.partition.carry(record, group)

    cdef int _undo(self) except -1 nogil:
        while not self.carried.empty():
            self.partition.carry(self.carried.back(), self.carried_from.back())
            self.carried.pop_back()
            self.carried_from.pop_back()
        return 0
