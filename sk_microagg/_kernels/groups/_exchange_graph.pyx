"""Who would rather be where: the graph of exchanges between groups, its cycles and potentials.

An arc from group A to group B costs the least of |x - b|² - |x - a|² over the records x of A, with
the centroids a and b. Sending one record along every arc of a cycle lowers the SSE by minus the
cost of the cycle, and by a little more, since the centroids follow. A dummy group turns paths into
cycles: it may send to any group that can spare a record, and take from any that has room.

If no cycle among the groups costs less than `margin` an arc, there are potentials w with
w_B <= w_A + cost(A, B) - margin. They are the weights of a power diagram in which every record lies
in the cell of its own group, by that margin.

A record may have a twin, an identical record in another group. The two trade places at no cost, so
no margin is asked of the one against the group of the other.

Potentials are found by label correction: a group whose potential fell is queued, and its arcs
pull down those of others. A cycle of negative cost shows as soon as a group pulls itself.
"""

import numpy as np

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libcpp.vector cimport vector

from ._arcs cimport NARROWED, ROUNDING, Arc, Arcs
from ..points._boxes cimport squared_distance

cdef enum:
    STEPS_BETWEEN_SIGNALS = 4096
    # Cycles are short as a rule. Longer ones are looked for now and then: in a table of one column
    # the way back leads through all groups.
    FAR = 64
    PULLS_BETWEEN_LONG_LOOKS = 1024

cdef double POTENTIAL_ROUNDING = 1e-15


@cython.final
cdef class ExchangeGraph(Arcs):
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
        The margin that the potentials have.

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
    >>> graph.keep()
    True
    >>> graph.weights().round(2)
    array([-5.78,  0.  ])
    """

    def start(self, margin=None, *, bint with_paths=False):
        """Forget all potentials, and ask for a margin.

        By default the one that every two groups have between them, but for twins. With paths,
        cycles may lead through the dummy group.
        """
        cdef double widest
        self.with_paths = with_paths
        self.margin = 0.0
        if margin is None:
            with nogil:
                widest = self._widest_for_pairs()
            margin = widest
        self.margin = margin
        self.checked.assign(self.dummy, INFINITY)
        self.previous.assign(self.dummy + 1, -1)
        for group in range(self.dummy + 1):
            self.potential[group] = 0.0
            self._enqueue(group)
        self.known_at = self.partition.n_settled

    def cancel(self):
        """Send records round every cycle that costs less than the margin, if that lowers the SSE.

        The margin narrows where it does not. Returns the groups on the cycles.
        """
        cdef vector[Py_ssize_t] changed
        cdef Py_ssize_t group
        cdef size_t i
        self._check_started()
        for group in range(self.dummy):
            if self.partition.version[group] > self.known_at:
                self._enqueue_around(group)
        with nogil:
            while self._find_cycle():
                if self._cancel_cycle():
                    for i in range(self.cycle.size()):
                        changed.push_back(self.cycle[i].target)
                elif not self._narrow() and not self._excuse():
                    break
        self.known_at = self.partition.n_settled
        return sorted(set(changed) - {self.dummy})

    def keep(self):
        """Find potentials, narrowing the margin to nearly the widest that has any.

        Returns False if none has.
        """
        cdef bint exist = True
        self._check_started()
        with nogil:
            while exist and self._find_cycle():
                exist = self._narrow() or (self._is_rounding() and self._excuse())
        return exist

    def weights(self):
        """Potential of each group, the largest 0."""
        weights = np.array(self.potential[: self.dummy])
        return weights - weights.max()

    def walls(self):
        """What records allow the weights of groups between which there are arcs.

        No wall is made by a record that has a twin on the other side. A group that has no other
        records has the wall that its centroid would make.

        Returns
        -------
        starts : ndarray of shape (n_groups + 1,), int32
            Where the walls of each group begin.

        targets : ndarray of shape (n_walls,), int32
            The group on the other side.

        walls : ndarray of shape (n_walls,)
            The most that the weight of the other group may be above that of this one.
        """
        cdef Py_ssize_t group, n_walls = 0
        cdef size_t i
        n_arcs = [self.arcs[group].size() for group in range(self.dummy)]
        starts = np.cumsum([0, *n_arcs], dtype=np.int32)
        cdef int[::1] targets = np.empty(starts[self.dummy], dtype=np.int32)
        cdef double[::1] walls = np.empty(starts[self.dummy])
        with nogil:
            for group in range(self.dummy):
                for i in range(self.arcs[group].size()):
                    targets[n_walls] = <int>self.arcs[group][i].target
                    walls[n_walls] = self._wall(group, &self.arcs[group][i])
                    n_walls += 1
        return starts, np.asarray(targets), np.asarray(walls)

    cdef double _wall(self, Py_ssize_t group, Arc *arc) except? -1 nogil:
        self._measure(group, arc)
        if arc.wall < INFINITY:
            return arc.wall
        return squared_distance(
            &self.partition.centroids[group, 0],
            &self.partition.centroids[arc.target, 0],
            self.partition.n_columns,
        )

    cdef int _check_started(self) except -1:
        if self.previous.empty():
            raise ValueError("start comes first: it says which margin is asked for.")
        return 0

    cdef double _widest_for_pairs(self) except -1 nogil:
        """The margin that every two groups have between them, but for twins; 0 if none is asked."""
        cdef double widest = INFINITY, cost
        cdef Py_ssize_t a
        cdef size_t i
        cdef Step there, back
        for a in range(self.dummy):
            for i in range(self.arcs[a].size()):
                if self.arcs[a][i].target > a:
                    there = self._step(a, self.arcs[a][i].target)
                    back = self._step(self.arcs[a][i].target, a)
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
            self.n_steps += 1
            if self.n_steps % STEPS_BETWEEN_SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()  # Ctrl-C
            if self._pull_others(group):
                self._enqueue(group)
                return True
        return False

    cdef bint _pull_others(self, Py_ssize_t a) except -1 nogil:
        """Correct potentials along the arcs from a group; whether that closed a cycle."""
        cdef size_t i
        if a == self.dummy:
            for i in range(self.partition.larger.size()):
                if self._pull(a, self.partition.larger[i], 0.0):
                    return True
            return False
        for i in range(self.arcs[a].size()):
            self._measure(a, &self.arcs[a][i])
            if self._pull(a, self.arcs[a][i].target, self._price(self.arcs[a][i])):
                return True
        return self.with_paths and self._has_room(a) and self._pull(a, self.dummy, 0.0)

    cdef bint _pull(self, Py_ssize_t a, Py_ssize_t b, double price) except -1 nogil:
        cdef double pulled = self.potential[a] + price
        cdef Py_ssize_t group = a, n_back = 0, farthest = FAR
        if not pulled < self.potential[b] - POTENTIAL_ROUNDING * fabs(pulled):
            return False
        self.potential[b] = pulled
        self.previous[b] = a
        self._enqueue(b)
        self.n_pulls += 1
        if self.n_pulls % PULLS_BETWEEN_LONG_LOOKS == 0:
            farthest = self.dummy + 1
        while group >= 0 and group != b and n_back < farthest:
            group = self.previous[group]
            n_back += 1
        # Who is still on the way back after as many steps as there are groups goes round a cycle.
        return (group == b or (group >= 0 and n_back > self.dummy)) and self._trace_cycle(group)

    cdef double _price(self, Arc arc) noexcept nogil:
        return min(arc.cost - self.margin, arc.twin_cost)

    cdef bint _has_room(self, Py_ssize_t group) noexcept nogil:
        return <Py_ssize_t>self.partition.members[group].size() < 2 * self.partition.k - 1

    cdef bint _trace_cycle(self, Py_ssize_t last) except -1 nogil:
        """Write down the cycle that leads back to a group; whether its cost is negative indeed.

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
        cdef size_t i = 0
        if a == self.dummy or b == self.dummy:
            if self.partition.place_in_larger[b] >= 0 if a == self.dummy else self._has_room(a):
                step.cost = 0.0
            return step
        while self.arcs[a][i].target != b:
            i += 1
        arc = &self.arcs[a][i]
        self._measure(a, arc)
        step.has_margin = arc.cost - self.margin <= arc.twin_cost
        step.record = arc.record if step.has_margin else arc.twin
        step.cost = arc.cost if step.has_margin else arc.twin_cost
        step.rounding = ROUNDING * (
            self._distance(step.record, b) + self.partition.own_distance[step.record]
        )
        return step

    # What to do about a cycle

    cdef bint _cancel_cycle(self) except -1 nogil:
        """Send records round the cycle if that lowers the SSE; whether it does."""
        cdef double before = self._sse_on_cycle()
        cdef size_t i
        for i in range(self.cycle.size()):
            if self.cycle[i].record >= 0:
                self.partition.shift(self.cycle[i].record, self.cycle[i].target)
        self.partition.settle()
        if self._sse_on_cycle() < before:
            for i in range(self.cycle.size()):
                if self.cycle[i].target != self.dummy:
                    self._enqueue_around(self.cycle[i].target)
            return True
        for i in range(self.cycle.size()):
            if self.cycle[i].record >= 0:
                self.partition.shift(self.cycle[i].record, self.cycle[i].source)
        self.partition.settle()
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
        # The narrower margin may round to the same one, where numbers are so small that they have few
        # digits.
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

    cdef bint _excuse(self) except -1 nogil:
        """Ask no margin of the records on the cycle, as if they were twins; False if none is asked.
        """
        cdef bint was_asked = False
        cdef Py_ssize_t group
        cdef size_t i, j
        for i in range(self.cycle.size()):
            if self.cycle[i].has_margin:
                was_asked = True
                group = self.cycle[i].source
                self.is_excused[self.cycle[i].record] = True
                for j in range(self.arcs[group].size()):
                    self.arcs[group][j].measured_at = -1
                self._enqueue(group)
        return was_asked

    cdef int _enqueue_around(self, Py_ssize_t group) except -1 nogil:
        """Queue a group that has changed, and those with arcs to it.

        Its potential may have been pulled down for reasons that are gone: others will pull again.
        """
        cdef size_t i
        self.potential[group] = 0.0
        self.previous[group] = -1
        self._enqueue(group)
        for i in range(self.arcs[group].size()):
            self._enqueue(self.arcs[group][i].target)
        return self._enqueue(self.dummy)
