"""Arcs between groups: what it costs to send a record from one to the other.

The arc from group A to group B costs the least of |x - b|² - |x - a|² over the records x of A, with
the centroids a and b. A record may have a twin, an identical record in another group: an arc tells
apart the records that have one in B and those that have none.

Arcs to near groups are there from the start, others are added where they matter: where a group
would rather have a record than its own has, given the potentials of the groups.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libcpp.vector cimport vector

from ..points._boxes cimport AUTO, squared_distance
from ._partition cimport Partition
from ..points._tree cimport Tree

cdef enum:
    RECORDS_BETWEEN_SIGNALS = 4096

cdef double ROUNDING = 1e-13
cdef double NARROWED = 0.99


cdef class Arcs:

    def __init__(self, Partition partition, const Py_ssize_t[::1] twins):
        if not np.array_equal(partition.groups(), np.arange(partition.n_groups)):
            raise ValueError("The groups of the partition must be numbered from 0, none left out.")
        self.partition = partition
        self.twins = twins
        self.is_excused.assign(twins.shape[0], 0)
        self.dummy = partition.n_groups
        self.arcs.resize(partition.n_groups)
        self.potential = np.zeros(partition.n_groups + 1)
        self.checked_at = -1
        self.is_queued.assign(partition.n_groups + 1, 0)

    def add_near(self, Py_ssize_t m, *, n_records=None):
        """Add arcs from the group of each record to those of the `m` nearest centroids.

        Or only from those of the first `n_records`. Returns the number of pairs of groups with new
        arcs.
        """
        cdef Py_ssize_t record, n_added = 0
        cdef size_t i, j
        m = min(m, self.partition.n_groups)
        self._order_records(n_records)
        with nogil:
            for i in range(self.order.size()):
                check_signals(i)
                record = self.order[i]
                self.partition.index.nearest(&self.partition.X[record, 0], m, self.hits)
                for j in range(self.hits.size()):
                    n_added += self._add_arc(self.partition.group_of[record], self.hits[j].second)
        return n_added

    def add(self, const Py_ssize_t[::1] records, const Py_ssize_t[::1] groups):
        """Add an arc from the group of each record to a group that is given for it.

        Returns the number of pairs of groups with new arcs.
        """
        cdef Py_ssize_t i, n_added = 0
        for i in range(records.shape[0]):
            n_added += self._add_arc(self.partition.group_of[records[i]], groups[i])
        return n_added

    def add_missing(self):
        """Look at every record and all groups, and add an arc wherever the margin is not kept.

        Returns the number of pairs of groups with new arcs: with 0 the potentials hold for all
        groups.
        """
        cdef Tree tree = Tree(
            self.partition.centroids[: self.dummy],
            AUTO,
            reach=self.potential[: self.dummy],
            weighted=True,
        )
        cdef Py_ssize_t group, n_added = 0, n_new
        cdef size_t i
        self._order_records(None)
        if self.checked_at != self.partition.n_settled:
            self.checked_at = self.partition.n_settled
            self.checked.assign(self.dummy, INFINITY)
        with nogil:
            for i in range(self.order.size()):
                check_signals(i)
                group = self.partition.group_of[self.order[i]]
                # Potentials fall: those of others make weaker rivals of them, only its own matters.
                if self.potential[group] < self.checked[group]:
                    n_new = self._add_rivals(self.order[i], tree)
                    n_added += n_new
                    if n_new > 0:
                        self.has_rivals.push_back(group)
        for group in range(self.dummy):
            self.checked[group] = self.potential[group]
        for group in self.has_rivals:
            self.checked[group] = INFINITY
        self.has_rivals.clear()
        return n_added

    cdef int _order_records(self, n_records) except -1:
        """List all records, or the first `n_records`, so that each is near to the one before."""
        cdef Py_ssize_t end = self.partition.X.shape[0] if n_records is None else n_records
        cdef Py_ssize_t group, record
        cdef vector[Py_ssize_t] groups
        self.partition.settle_with_index()
        self.partition.index.in_order(groups)
        self.order.clear()
        for group in groups:
            for record in self.partition.members[group]:
                if record < end:
                    self.order.push_back(record)
        return 0

    cdef Py_ssize_t _add_rivals(self, Py_ssize_t record, Tree tree) except -1 nogil:
        """Add arcs to the groups that would rather have a record, with the margin on their side."""
        cdef Py_ssize_t own = self.partition.group_of[record], m = 2, n_added = 0
        cdef double limit = self.partition.own_distance[record] - self.potential[own]
        cdef bint met_rival = False
        cdef size_t i
        limit += NARROWED * self.margin
        self.hits.resize(m)
        # With fewer hits than were asked for, all rivals are known.
        while m < tree.size and not met_rival and <Py_ssize_t>self.hits.size() == m:
            m = min(2 * m, tree.size)
            tree.nearest_below(&self.partition.X[record, 0], m, limit, self.hits)
            for i in range(self.hits.size()):
                if self.hits[i].second != own and not self._has_twin(record, self.hits[i].second):
                    n_added += self._add_arc(own, self.hits[i].second)
                    met_rival = True
        return n_added

    cdef bint _add_arc(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Add arcs from A to B and back, if they are not there; whether they were not.

        With arcs both ways, the arcs from a group also tell which groups have arcs to it.
        """
        cdef Arc arc
        cdef size_t i
        if a == b:
            return False
        for i in range(self.arcs[a].size()):
            if self.arcs[a][i].target == b:
                return False
        arc.measured_at = -1
        arc.target = b
        self.arcs[a].push_back(arc)
        arc.target = a
        self.arcs[b].push_back(arc)
        self._enqueue(a)
        self._enqueue(b)
        return True

    cdef int _measure(self, Py_ssize_t a, Arc *arc) except -1 nogil:
        """Find the records that cost least on an arc, unless its groups are as they were then."""
        cdef Py_ssize_t record
        cdef double cost, distance
        cdef bint has_twin
        cdef size_t i
        if (
            arc.measured_at >= self.partition.version[a]
            and arc.measured_at >= self.partition.version[arc.target]
        ):
            return 0
        arc.measured_at = self.partition.n_settled
        arc.cost = arc.twin_cost = arc.wall = INFINITY
        arc.record = arc.twin = -1
        self.partition.distances(a, &self.partition.centroids[arc.target, 0], self.distances)
        for i in range(self.distances.size()):
            record = self.partition.members[a][i]
            distance = self.distances[i]
            cost = distance - self.partition.own_distance[record]
            has_twin = self._has_twin(record, arc.target)
            if not has_twin:
                arc.wall = min(arc.wall, cost)
            if has_twin or self.is_excused[record]:
                # No more than rounding: twins that go round in a ring cost nothing.
                cost += ROUNDING * (distance + self.partition.own_distance[record])
                if cost < arc.twin_cost:
                    arc.twin_cost = cost
                    arc.twin = record
            elif cost < arc.cost:
                arc.cost = cost
                arc.record = record
        return 0

    cdef double _distance(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        return squared_distance(
            &self.partition.X[record, 0],
            &self.partition.centroids[group, 0],
            self.partition.n_columns,
        )

    cdef bint _has_twin(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        cdef size_t i
        if self.twins[record] < 0:
            return False
        for i in range(self.partition.members[group].size()):
            if self.twins[self.partition.members[group][i]] == self.twins[record]:
                return True
        return False

    cdef int _enqueue(self, Py_ssize_t group) except -1 nogil:
        if not self.is_queued[group]:
            self.is_queued[group] = 1
            self.queue.push_back(group)
        return 0


cdef int check_signals(size_t n_records) except -1 nogil:
    """Let Ctrl-C through, every so many records."""
    if n_records % RECORDS_BETWEEN_SIGNALS == 0:
        with gil:
            PyErr_CheckSignals()
    return 0
