"""The graph of exchanges between groups: its cycles of negative cost, and its potentials.

An arc from group A to group B costs the least of |x - b|² - |x - a|² over the records x of A, with
the centroids a and b (see `Arcs`). Sending one record along every arc of a cycle lowers the SSE by
minus the cost of the cycle, and by a little more, since the centroids follow. A dummy group turns
paths into cycles: it may send to any group that can spare a record, and take from any with room.

If no cycle among the groups costs less than `margin` per arc, there are potentials w with
w_B <= w_A + cost(A, B) - margin. They are the weights of a power diagram in which every record lies
in the cell of its own group, by that margin.

A record may have a twin, an identical record in another group. The two trade places at no cost, so
no margin is asked of the one against the group of the other.

Potentials are found by label correction: a group whose potential fell is queued, and its arcs
pull down those of others. A cycle of negative cost shows as soon as a group pulls itself.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, fabs
from libcpp.vector cimport vector

from ..common._interrupt cimport is_over, new_watch, watch_until

cdef enum:
    SEARCH_STEPS_BETWEEN_SIGNALS = 4096
    # Most cycles are short. Longer ones are looked for only now and then: in a table of one column
    # a path back leads through all groups.
    SHORT_CYCLE = 64
    PULLS_BETWEEN_LONG_TRACES = 1024

cdef double POTENTIAL_ROUNDING = 1e-15

# A margin that proves too wide is narrowed to this share of what is allowed: margins are nearly the
# widest, and rounding never asks for another round.
cdef double NARROWED = 0.99


@cython.final
cdef class ExchangeGraph:
    """Exchanges of records between the groups of a partition.

    Parameters
    ----------
    partition : Partition
        The partition, with groups numbered from 0 and none left out.

    twins : ndarray of shape (n_records,), intp
        A number that identical records share, or -1 for a record that is like no other.

    Attributes
    ----------
    margin : float
        The margin of the potentials.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import ExchangeGraph, Partition
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [9.0]])
    >>> partition = Partition(X, np.array([0, 0, 0, 1, 1, 1]), k=3)
    >>> graph = ExchangeGraph(partition, np.full(6, -1))
    >>> graph.add_near(2)
    1
    >>> graph.start()
    >>> graph.find_potentials()
    True
    >>> graph.weights().round(2)
    array([-5.78,  0.  ])
    """

    def __init__(self, Partition partition, const Py_ssize_t[::1] twins):
        self.arcs = Arcs(partition, twins)
        self.partition = partition
        self.dummy = partition.n_groups
        self.potential = np.zeros(partition.n_groups + 1)
        self.is_queued.assign(partition.n_groups + 1, 0)

    # Arcs

    def add_near(self, Py_ssize_t m=8, *, n_records=None, deadline=None):
        """Add arcs from the group of each record to those of about the `m` nearest centroids.

        With `n_records`, only from the groups of the first records. Returns the number of pairs of
        groups with new arcs, or -1 if the deadline came first.
        """
        n_added = self.arcs.add_near(
            m, self.partition.n_records if n_records is None else n_records, deadline
        )
        self._enqueue_extended()
        return n_added

    def add(self, const Py_ssize_t[::1] records, const Py_ssize_t[::1] groups):
        """Add an arc from the group of each record to a group that is given for it.

        Returns the number of pairs of groups with new arcs.
        """
        cdef Py_ssize_t i, n_added = 0
        for i in range(records.shape[0]):
            n_added += self.arcs.add(self.partition.group_of[records[i]], groups[i])
        self._enqueue_extended()
        return n_added

    def add_missing(self, *, deadline=None):
        """Compare all records with all groups, and add an arc wherever the margin is not kept.

        Returns the number of pairs of groups with new arcs, or -1 if the deadline came first: with
        0 the potentials hold for all groups.
        """
        n_added = self.arcs.add_missing(
            self.potential[: self.dummy], NARROWED * self.margin, deadline
        )
        self._enqueue_extended()
        return n_added

    cdef int _enqueue_extended(self) except -1:
        cdef Py_ssize_t group
        for group in self.arcs.extended:
            self._enqueue(group)
        self.arcs.extended.clear()
        return 0

    @property
    def has_exempt(self):
        """Whether a margin is not asked of all records: it would be 0 for some."""
        return self.arcs.has_exempt

    def walls(self):
        """What records allow the weights of groups between which there are arcs.

        A record with a twin on the other side makes no wall. Where all records of a group have one,
        the wall is the one that its centroid would make.

        Returns
        -------
        starts : ndarray of shape (n_groups + 1,), int32
            Where the walls of each group begin.

        targets : ndarray of shape (n_walls,), int32
            The group on the other side.

        walls : ndarray of shape (n_walls,)
            The most that the weight of the other group may be above that of this one.
        """
        return self.arcs.walls()

    # Potentials

    def start(self, margin=None, *, bint with_paths=False):
        """Reset all potentials, and ask for a margin.

        By default it is the widest that every two groups have between them, twins excepted. With
        paths, cycles may lead through the dummy group.
        """
        cdef double widest
        self.with_paths = with_paths
        self.margin = 0.0
        if margin is None:
            with nogil:
                widest = self._widest_for_pairs()
            margin = widest
        self.margin = margin
        self.arcs.forget_checks()
        self.previous.assign(self.dummy + 1, -1)
        for group in range(self.dummy + 1):
            self.potential[group] = 0.0
            self._enqueue(group)
        self.known_at = self.partition.n_updates

    def cancel(self, *, deadline=None):
        """Send records round every cycle that costs less than the margin, if that lowers the SSE.

        The margin narrows where it does not. Returns the groups on the cycles, all of them unless
        the deadline came first.
        """
        cdef vector[Py_ssize_t] changed
        cdef Py_ssize_t group
        cdef size_t i
        self._check_started()
        for group in range(self.dummy):
            if self.partition.version[group] > self.known_at:
                self._enqueue_around(group)
        self.watch = watch_until(deadline, SEARCH_STEPS_BETWEEN_SIGNALS)
        with nogil:
            while self._find_cycle():
                if self._cancel_cycle():
                    for i in range(self.cycle.size()):
                        changed.push_back(self.cycle[i].target)
                elif not self._narrow() and not self._exempt_from_margin():
                    break
        self.known_at = self.partition.n_updates
        return sorted(set(changed) - {self.dummy})

    def find_potentials(self):
        """Find potentials, and narrow the margin to nearly the widest for which there are any.

        Returns False if there are none for any margin.
        """
        cdef bint exist = True
        self._check_started()
        self.watch = new_watch(SEARCH_STEPS_BETWEEN_SIGNALS)
        with nogil:
            while exist and self._find_cycle():
                exist = self._narrow() or (
                    self._is_rounding() and self._exempt_from_margin()
                )
        return exist

    def weights(self):
        """Potential of each group, the largest 0."""
        weights = np.array(self.potential[: self.dummy])
        return weights - weights.max()

    cdef int _check_started(self) except -1:
        if self.previous.empty():
            raise ValueError("start comes first: it says which margin is asked for.")
        return 0

    cdef double _widest_for_pairs(self) except -1 nogil:
        """The widest margin that every two groups have between them; 0 if none is asked for."""
        cdef double widest = INFINITY, cost
        cdef Py_ssize_t a, target
        cdef size_t i
        cdef Step there, back
        for a in range(self.dummy):
            for i in range(self.arcs.leaving[a].size()):
                target = self.arcs.leaving[a][i].target
                if target > a:
                    there = self._step(a, target)
                    back = self._step(target, a)
                    cost = there.cost + back.cost
                    if (
                        there.has_margin
                        and back.has_margin
                        and cost > there.rounding + back.rounding
                    ):
                        widest = min(widest, cost / 2.0)
        return widest if widest < INFINITY else 0.0

    # Label correction

    cdef bint _find_cycle(self) except -1 nogil:
        """Correct potentials until they hold, or a cycle of negative cost is found."""
        cdef Py_ssize_t group
        while not self.queue.empty():
            group = self.queue.front()
            self.queue.pop_front()
            self.is_queued[group] = 0
            if is_over(&self.watch, 1):
                self._enqueue(group)
                return False
            if self._pull_others(group):
                self._enqueue(group)
                return True
        return False

    cdef bint _pull_others(self, Py_ssize_t a) except -1 nogil:
        """Correct potentials along the arcs from a group; whether that closed a cycle."""
        cdef Arc *arc
        cdef size_t i
        if a == self.dummy:
            for i in range(self.partition.larger.size()):
                if self._pull(a, self.partition.larger[i], 0.0):
                    return True
            return False
        for i in range(self.arcs.leaving[a].size()):
            arc = &self.arcs.leaving[a][i]
            self.arcs.measure(a, arc)
            if self._pull(a, arc.target, self._reduced_cost(arc)):
                return True
        return self.with_paths and self._has_room(a) and self._pull(a, self.dummy, 0.0)

    cdef bint _pull(self, Py_ssize_t a, Py_ssize_t b, double cost) except -1 nogil:
        """Lower the potential of B to that of A plus a cost; whether that closed a cycle."""
        cdef double pulled = self.potential[a] + cost
        cdef Py_ssize_t group = a, n_back = 0, farthest = SHORT_CYCLE
        if not pulled < self.potential[b] - POTENTIAL_ROUNDING * fabs(pulled):
            return False
        self.potential[b] = pulled
        self.previous[b] = a
        self._enqueue(b)
        self.n_pulls += 1
        if self.n_pulls % PULLS_BETWEEN_LONG_TRACES == 0:
            farthest = self.dummy + 1
        while group >= 0 and group != b and n_back < farthest:
            group = self.previous[group]
            n_back += 1
        # A trace back that is longer than there are groups goes round a cycle.
        return (group == b or (group >= 0 and n_back > self.dummy)) and self._trace_cycle(group)

    cdef double _reduced_cost(self, const Arc *arc) noexcept nogil:
        return min(arc.cost - self.margin, arc.twin_cost)

    cdef bint _has_room(self, Py_ssize_t group) noexcept nogil:
        return <Py_ssize_t>self.partition.members[group].size() < 2 * self.partition.k - 1

    cdef bint _trace_cycle(self, Py_ssize_t last) except -1 nogil:
        """List the steps of the cycle that leads back to a group; whether its cost is negative.

        Groups may have changed since they pulled each other.
        """
        cdef Py_ssize_t group = last, target = last
        cdef double total = 0.0
        self.cycle.clear()
        while True:
            group = self.previous[target]
            self.cycle.push_back(self._step(group, target))
            total += self.cycle.back().cost - self.margin * self.cycle.back().has_margin
            target = group
            if group == last:
                break
        self.previous[last] = -1
        return total < 0.0

    cdef Step _step(self, Py_ssize_t a, Py_ssize_t b) except * nogil:
        """The record to send from A to B at this margin, and what that costs."""
        cdef Step step = Step(a, b, -1, INFINITY, 0.0, False)
        cdef Arc *arc
        if a == self.dummy or b == self.dummy:
            if self.partition.place_in_larger[b] >= 0 if a == self.dummy else self._has_room(a):
                step.cost = 0.0
            return step
        arc = self.arcs.find(a, b)
        self.arcs.measure(a, arc)
        step.has_margin = arc.cost - self.margin <= arc.twin_cost
        step.record = arc.record if step.has_margin else arc.twin
        step.cost = arc.cost if step.has_margin else arc.twin_cost
        step.rounding = self.arcs.rounding(step.record, b)
        return step

    # What to do about a cycle

    cdef bint _cancel_cycle(self) except -1 nogil:
        """Send records round the cycle if that lowers the SSE; whether it does."""
        cdef double before = self._sse_on_cycle()
        cdef size_t i
        for i in range(self.cycle.size()):
            if self.cycle[i].record >= 0:
                self.partition.shift(self.cycle[i].record, self.cycle[i].target)
        self.partition.update()
        if self._sse_on_cycle() < before:
            for i in range(self.cycle.size()):
                if self.cycle[i].target != self.dummy:
                    self._enqueue_around(self.cycle[i].target)
            return True
        for i in range(self.cycle.size()):
            if self.cycle[i].record >= 0:
                self.partition.shift(self.cycle[i].record, self.cycle[i].source)
        self.partition.update()
        return False

    cdef double _sse_on_cycle(self) noexcept nogil:
        cdef double total = 0.0
        cdef size_t i
        for i in range(self.cycle.size()):
            if self.cycle[i].target != self.dummy:
                total += self.partition.group_cost[self.cycle[i].target]
        return total

    cdef bint _narrow(self) noexcept nogil:
        """Narrow the margin to what the cycle allows; False if that is none."""
        cdef double cost = 0.0, rounding = 0.0
        cdef Py_ssize_t n_margins = 0
        cdef size_t i
        for i in range(self.cycle.size()):
            cost += self.cycle[i].cost
            rounding += self.cycle[i].rounding
            n_margins += self.cycle[i].has_margin
        # Denormal numbers have few digits: the narrower margin may round to the same one.
        if cost <= rounding or NARROWED * cost / n_margins >= self.margin:
            return False
        self.margin = NARROWED * cost / n_margins
        return True

    cdef bint _is_rounding(self) noexcept nogil:
        """Whether the cycle may cost nothing."""
        cdef double excess = 0.0
        cdef size_t i
        for i in range(self.cycle.size()):
            excess += self.cycle[i].cost + self.cycle[i].rounding
        return excess >= 0.0

    cdef bint _exempt_from_margin(self) except -1 nogil:
        """Ask no margin of the records on the cycle; False if none was asked of any."""
        cdef bint was_asked = False
        cdef size_t i
        for i in range(self.cycle.size()):
            if self.cycle[i].has_margin:
                was_asked = True
                self.arcs.exempt(self.cycle[i].record)
                self._enqueue(self.cycle[i].source)
        return was_asked

    # Queue

    cdef int _enqueue(self, Py_ssize_t group) except -1 nogil:
        if not self.is_queued[group]:
            self.is_queued[group] = 1
            self.queue.push_back(group)
        return 0

    cdef int _enqueue_around(self, Py_ssize_t group) except -1 nogil:
        """Queue a group that has changed, and those with arcs to it.

        What pulled its potential down may be gone, so others are to pull it again.
        """
        cdef size_t i
        self.potential[group] = 0.0
        self.previous[group] = -1
        self._enqueue(group)
        for i in range(self.arcs.leaving[group].size()):
            self._enqueue(self.arcs.leaving[group][i].target)
        return self._enqueue(self.dummy)
