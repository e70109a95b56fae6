"""Arcs between groups: which pairs of groups have them, and the cost of sending a record along one.

The arc from group A to group B costs the least of |x - b|² - |x - a|² over the records x of A, with
the centroids a and b. It is measured when it is needed, and again after one of the groups has
changed. A record may have a twin, an identical record in another group: an arc keeps the records
that have one in B apart from those that have none.

Arcs to near groups are added first, others where they matter: where a record is nearer to another
group than to its own, given the potentials of the groups.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ..common._interrupt cimport Watch, is_over, watch_until
from ..points._points cimport (
    AUTO,
    PRODUCT_POINTS,
    PRODUCTS_BETWEEN_SIGNALS,
    CodedTree,
    KeyProducts,
    PointTree,
)

cdef enum:
    RECORDS_BETWEEN_SIGNALS = 4096

# Share of the distances behind a cost that may be rounding.
cdef double DISTANCE_ROUNDING = 1e-13


@cython.final
cdef class Arcs:

    def __init__(self, Partition partition, const Py_ssize_t[::1] twins):
        if not np.array_equal(partition.groups(), np.arange(partition.n_groups)):
            raise ValueError("The groups of the partition must be numbered from 0, none left out.")
        self.partition = partition
        self.n_groups = partition.n_groups
        self.twins = twins
        self.is_exempt.assign(twins.shape[0], 0)
        self.has_exempt = False
        self.leaving.resize(self.n_groups)
        self.checked_at = -1

    # Which arcs there are

    cdef bint add(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Add arcs from A to B and back; False if they exist already.

        With arcs both ways, the arcs from a group also show which groups have arcs to it.
        """
        cdef Arc arc
        if a == b or self.find(a, b) is not NULL:
            return False
        arc.measured_at = -1
        arc.target = b
        self.leaving[a].push_back(arc)
        arc.target = a
        self.leaving[b].push_back(arc)
        self.extended.push_back(a)
        self.extended.push_back(b)
        return True

    cdef Arc *find(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """The arc from A to B, or NULL."""
        cdef size_t i
        for i in range(self.leaving[a].size()):
            if self.leaving[a][i].target == b:
                return &self.leaving[a][i]
        return NULL

    cdef Py_ssize_t add_near(self, Py_ssize_t m, Py_ssize_t n_records, deadline) except -2:
        """Add arcs from the group of each of the first `n_records` to about the `m` nearest groups.

        Returns the number of pairs of groups with new arcs; -1 if the deadline came first.
        """
        self.partition.update()
        m = min(m, self.n_groups)
        n_records = min(n_records, self.partition.n_records)
        if m < 1:
            return 0
        if self.partition.n_codes > 0:
            return self._search_near_coded(m, n_records, deadline)
        products = KeyProducts.if_faster(self.partition.centroids[: self.n_groups])
        if products is None:
            return self._search_near(m, n_records, deadline)
        return self._multiply_for_near(products, m, n_records, deadline)

    cdef Py_ssize_t _search_near(self, Py_ssize_t m, Py_ssize_t n_records, deadline) except -2:
        """Add arcs to near groups, found in a tree of the centroids."""
        cdef Watch watch = watch_until(deadline, RECORDS_BETWEEN_SIGNALS)
        cdef Py_ssize_t n_added = 0
        cdef size_t i
        self._order_records(n_records)
        with nogil:
            for i in range(self.order.size()):
                if is_over(&watch, 1):
                    break
                self.partition.index.nearest_about(
                    &self.partition.X[self.order[i], 0], m, self.hits
                )
                n_added += self._add_hits(self.order[i])
        return -1 if watch.is_late else n_added

    cdef Py_ssize_t _search_near_coded(self, Py_ssize_t m, Py_ssize_t n_records,
                                       deadline) except -2:
        """Add arcs to the nearest groups of records with codes."""
        cdef CodedTree tree = self.partition.coded_tree(None)
        cdef Watch watch = watch_until(deadline, RECORDS_BETWEEN_SIGNALS)
        cdef Py_ssize_t record, n_added = 0
        with nogil:
            for record in range(n_records):
                if self._is_copy(record):
                    continue
                if is_over(&watch, 1):
                    break
                tree.nearest(
                    &self.partition.X[record, 0],
                    &self.partition.codes[record, 0],
                    self.partition.n_codes,
                    m,
                    self.hits,
                )
                n_added += self._add_hits(record)
        return -1 if watch.is_late else n_added

    cdef Py_ssize_t _multiply_for_near(self, KeyProducts products, Py_ssize_t m,
                                       Py_ssize_t n_records, deadline) except -2:
        """Add arcs to near groups, found by matrix products."""
        cdef Watch watch = watch_until(deadline, PRODUCTS_BETWEEN_SIGNALS)
        cdef Py_ssize_t record = 0, n_rows, row, n_added = 0
        cdef Py_ssize_t rows[PRODUCT_POINTS]
        with nogil:
            while record < n_records:
                n_rows = 0
                while record < n_records and n_rows < products.n_together:
                    if not self._is_copy(record):
                        products.set_point(n_rows, &self.partition.X[record, 0])
                        rows[n_rows] = record
                        n_rows += 1
                    record += 1
                if is_over(&watch, products.multiply(n_rows)):
                    break
                for row in range(n_rows):
                    self._find_near(products, row, rows[row], m)
                    n_added += self._add_hits(rows[row])
        return -1 if watch.is_late else n_added

    cdef int _find_near(self, KeyProducts products, Py_ssize_t row, Py_ssize_t record,
                        Py_ssize_t m) except -1 nogil:
        """Find the `m` nearest groups of a record; ties go to the lowest number.

        Products are rounded differently on different machines, which must not change the arcs. The
        farthest of `m` groups that are about the nearest bounds how far the nearest may be.
        """
        cdef double limit = -INFINITY
        cdef size_t i
        products.nearest_about(row, m, self.hits)
        for i in range(self.hits.size()):
            limit = max(limit, self.partition.to_group(record, self.hits[i].second))
        products.below(row, limit, self.likely)
        self.hits.clear()
        for i in range(self.likely.size()):
            self.hits.push_back(Hit(self.partition.to_group(record, self.likely[i]), self.likely[i]))
        sort(self.hits.begin(), self.hits.end())
        self.hits.resize(min(m, <Py_ssize_t>self.hits.size()))
        return 0

    cdef Py_ssize_t _add_hits(self, Py_ssize_t record) except -1 nogil:
        """Add arcs from the group of a record to those that were found for it."""
        cdef Py_ssize_t n_added = 0
        cdef size_t i
        for i in range(self.hits.size()):
            n_added += self.add(self.partition.group_of[record], self.hits[i].second)
        return n_added

    cdef Py_ssize_t add_missing(self, const double[::1] potential, double margin,
                                deadline) except -2:
        """Add an arc wherever a record is nearer to another group, given potentials and a margin.

        All records are compared with all groups, except where that was done before. Returns the
        number of pairs of groups with new arcs, or -1 if the deadline came first: with 0 the
        potentials hold for all groups.
        """
        cdef Py_ssize_t group, n_added
        self.partition.update()
        if self.checked_at != self.partition.n_updates:
            self.checked_at = self.partition.n_updates
            self.forget_checks()
        if self.partition.n_codes > 0:
            n_added = self._search_coded_rivals(potential, margin, deadline)
        else:
            products = KeyProducts.if_faster(self.partition.centroids[: self.n_groups], potential)
            if products is None:
                n_added = self._search_rivals(potential, margin, deadline)
            else:
                n_added = self._multiply_for_rivals(products, potential, margin, deadline)
        if n_added < 0:
            return -1
        for group in range(self.n_groups):
            self.checked[group] = potential[group]
        for group in self.has_rivals:
            self.checked[group] = INFINITY
        self.has_rivals.clear()
        return n_added

    cdef Py_ssize_t _search_rivals(self, const double[::1] potential, double margin,
                                   deadline) except -2:
        """Add arcs to all rivals of records, found in a tree of the centroids."""
        cdef PointTree tree = PointTree(
            self.partition.centroids[: self.n_groups], AUTO, weights=potential
        )
        cdef Watch watch = watch_until(deadline, RECORDS_BETWEEN_SIGNALS)
        cdef Py_ssize_t group, record, n_added = 0, n_new
        cdef double limit
        cdef size_t i
        self._order_records(self.partition.n_records)
        with nogil:
            for i in range(self.order.size()):
                if is_over(&watch, 1):
                    break
                record = self.order[i]
                group = self.partition.group_of[record]
                # Potentials only fall: other groups became weaker rivals, only its own matters.
                if potential[group] < self.checked[group]:
                    limit = self.partition.own_distance[record] - potential[group]
                    n_new = self._add_rivals(record, tree, limit + margin)
                    n_added += n_new
                    if n_new > 0:
                        self.has_rivals.push_back(group)
        return -1 if watch.is_late else n_added

    cdef Py_ssize_t _search_coded_rivals(self, const double[::1] potential, double margin,
                                         deadline) except -2:
        """Add arcs to all rivals of records with codes."""
        cdef CodedTree tree = self.partition.coded_tree(np.array(potential[: self.n_groups]))
        cdef Watch watch = watch_until(deadline, RECORDS_BETWEEN_SIGNALS)
        cdef Py_ssize_t record, own, n_added = 0
        cdef double limit
        cdef size_t i
        with nogil:
            for record in range(self.partition.n_records):
                own = self.partition.group_of[record]
                # Potentials only fall: other groups became weaker rivals, only its own matters.
                if potential[own] >= self.checked[own] or self._is_copy(record):
                    continue
                if is_over(&watch, 1):
                    break
                limit = self.partition.own_distance[record] - potential[own] + margin
                tree.below(
                    &self.partition.X[record, 0],
                    &self.partition.codes[record, 0],
                    self.partition.n_codes,
                    limit,
                    self.hits,
                )
                for i in range(self.hits.size()):
                    n_added += self._add_if_rival(record, self.hits[i].second, potential, limit)
        return -1 if watch.is_late else n_added

    cdef Py_ssize_t _multiply_for_rivals(self, KeyProducts products, const double[::1] potential,
                                         double margin, deadline) except -2:
        """Add arcs to all rivals of records, found by matrix products."""
        cdef Watch watch = watch_until(deadline, PRODUCTS_BETWEEN_SIGNALS)
        cdef Py_ssize_t record = 0, own, n_rows, row, n_added = 0
        cdef Py_ssize_t rows[PRODUCT_POINTS]
        with nogil:
            while record < self.partition.n_records:
                n_rows = 0
                while record < self.partition.n_records and n_rows < products.n_together:
                    own = self.partition.group_of[record]
                    # Potentials only fall: other groups became weaker rivals, only its own matters.
                    if potential[own] < self.checked[own] and not self._is_copy(record):
                        products.set_point(n_rows, &self.partition.X[record, 0])
                        rows[n_rows] = record
                        n_rows += 1
                    record += 1
                is_over(&watch, products.multiply(n_rows))
                for row in range(n_rows):
                    n_added += self._add_rivals_in_row(
                        products, row, rows[row], potential, margin, &watch
                    )
                    if watch.is_late:
                        return -1
        return n_added

    cdef Py_ssize_t _add_rivals_in_row(self, KeyProducts products, Py_ssize_t row,
                                       Py_ssize_t record, const double[::1] potential,
                                       double margin, Watch *watch) except -1 nogil:
        cdef Py_ssize_t own = self.partition.group_of[record], n_added = 0
        cdef double limit = self.partition.own_distance[record] - potential[own] + margin
        cdef size_t i
        is_over(watch, products.below(row, limit, self.likely))
        for i in range(self.likely.size()):
            n_added += self._add_if_rival(record, self.likely[i], potential, limit)
        return n_added

    cdef bint _add_if_rival(self, Py_ssize_t record, Py_ssize_t group, const double[::1] potential,
                            double limit) except -1 nogil:
        """Add an arc to another group if its squared distance less potential is below a limit."""
        cdef Py_ssize_t own = self.partition.group_of[record]
        cdef double distance = self.partition.to_group(record, group)
        if (
            group == own
            or distance - potential[group] >= limit
            or self._has_twin(record, group)
            or not self.add(own, group)
        ):
            return False
        self.has_rivals.push_back(own)
        return True

    cdef bint _is_copy(self, Py_ssize_t record) noexcept nogil:
        """Whether its group has an identical record of a lower number, which adds the same arcs."""
        cdef Py_ssize_t other
        if self.twins[record] >= 0:
            for other in self.partition.members[self.partition.group_of[record]]:
                if self.twins[other] == self.twins[record] and other < record:
                    return True
        return False

    cdef void forget_checks(self) noexcept nogil:
        """Let `add_missing` compare all records anew."""
        self.checked.assign(self.n_groups, INFINITY)

    cdef int _order_records(self, Py_ssize_t n_records) except -1:
        """List the first `n_records` so that each is near to the one before."""
        cdef Py_ssize_t group, record
        cdef vector[Py_ssize_t] groups
        self.partition.update_with_index()
        self.partition.index.in_order(groups)
        self.order.clear()
        for group in groups:
            for record in self.partition.members[group]:
                if record < n_records:
                    self.order.push_back(record)
        return 0

    cdef Py_ssize_t _add_rivals(self, Py_ssize_t record, PointTree tree,
                                double limit) except -1 nogil:
        """Add arcs to groups whose squared distance less potential is below a limit."""
        cdef Py_ssize_t own = self.partition.group_of[record], m = 2, n_added = 0
        cdef bint met_rival = False
        cdef size_t i
        self.hits.resize(m)
        # With fewer hits than were asked for, all rivals are known.
        while m < tree.size and not met_rival and <Py_ssize_t>self.hits.size() == m:
            m = min(2 * m, tree.size)
            tree.nearest_below(&self.partition.X[record, 0], m, limit, self.hits)
            for i in range(self.hits.size()):
                if self.hits[i].second != own and not self._has_twin(record, self.hits[i].second):
                    n_added += self.add(own, self.hits[i].second)
                    met_rival = True
        return n_added

    # What they cost

    cdef int measure(self, Py_ssize_t a, Arc *arc) except -1 nogil:
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
        arc.measured_at = self.partition.n_updates
        arc.cost = arc.twin_cost = arc.wall = INFINITY
        arc.record = arc.twin = -1
        self.partition.distances(a, arc.target, self.distances)
        for i in range(self.distances.size()):
            record = self.partition.members[a][i]
            distance = self.distances[i]
            cost = distance - self.partition.own_distance[record]
            has_twin = self._has_twin(record, arc.target)
            if not has_twin:
                arc.wall = min(arc.wall, cost)
            if has_twin or self.is_exempt[record]:
                # Rounding is added, so that twins that go round in a cycle cost nothing.
                cost += DISTANCE_ROUNDING * (distance + self.partition.own_distance[record])
                if cost < arc.twin_cost:
                    arc.twin_cost = cost
                    arc.twin = record
            elif cost < arc.cost:
                arc.cost = cost
                arc.record = record
        return 0

    cdef int exempt(self, Py_ssize_t record) except -1 nogil:
        """Ask no margin of a record, as if it had twins everywhere."""
        cdef Py_ssize_t group = self.partition.group_of[record]
        cdef size_t i
        self.is_exempt[record] = True
        self.has_exempt = True
        for i in range(self.leaving[group].size()):
            self.leaving[group][i].measured_at = -1
        return 0

    cdef double rounding(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """How far rounding may have moved the cost of sending a record to a group."""
        return DISTANCE_ROUNDING * (
            self.partition.to_group(record, group) + self.partition.own_distance[record]
        )

    cdef bint _has_twin(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        cdef size_t i
        if self.twins[record] < 0:
            return False
        for i in range(self.partition.members[group].size()):
            if self.twins[self.partition.members[group][i]] == self.twins[record]:
                return True
        return False

    def walls(self):
        """See `ExchangeGraph.walls`."""
        cdef Py_ssize_t group, n_walls = 0
        cdef size_t i
        n_arcs = [self.leaving[group].size() for group in range(self.n_groups)]
        starts = np.cumsum([0, *n_arcs], dtype=np.int32)
        cdef int[::1] targets = np.empty(starts[self.n_groups], dtype=np.int32)
        cdef double[::1] walls = np.empty(starts[self.n_groups])
        with nogil:
            for group in range(self.n_groups):
                for i in range(self.leaving[group].size()):
                    targets[n_walls] = <int>self.leaving[group][i].target
                    walls[n_walls] = self._wall(group, &self.leaving[group][i])
                    n_walls += 1
        return starts, np.asarray(targets), np.asarray(walls)

    cdef double _wall(self, Py_ssize_t group, Arc *arc) except? -1 nogil:
        self.measure(group, arc)
        if arc.wall < INFINITY:
            return arc.wall
        return self.partition.apart(group, arc.target)
