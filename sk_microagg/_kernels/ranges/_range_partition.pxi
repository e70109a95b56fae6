"""Groups of generalized records: their losses, and moves between them.

A group costs, in each column, the loss of the value that covers all its members, times the number
of members whose value is known: a missing value that is released as missing has lost nothing.
"""

import numpy as np

cimport cython
from libc.limits cimport INT_MAX
from libc.math cimport INFINITY
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._common cimport BasePartition
from ..common._distances cimport Hit

cdef enum:
    FEW_GROUPS = 16

# Largest rounding error of a difference of costs.
cdef double ROUNDING = 1e-9


@cython.final
cdef class GroupTree(RangeTree):
    """The centers of groups, searched for those that a record joins at the least cost."""

    def __init__(self, RangePartition partition):
        self.partition = partition
        self.columns = partition.columns
        self.n_columns = partition.n_columns
        self.n_items = partition.n_slots
        self.record = 0

    cdef double cost(self, Py_ssize_t place, double limit) noexcept nogil:
        cdef Py_ssize_t group = self.item_at[place]
        cdef double before
        if (
            group == self.partition.group_of[self.record]
            or <Py_ssize_t>self.partition.members[group].size() >= self.full
        ):
            return INFINITY
        before = self.partition.group_cost[group]
        return self.partition.cost_with(group, self.record, before + limit + ROUNDING) - before

    cdef double bound(self, Py_ssize_t node, double limit) noexcept nogil:
        # Where its value is known, the record loses at least what the merged value loses; and each
        # known value of the group loses at least the rise above the largest loss of the node.
        cdef const int *lo = &self.partition.lo[self.record, 0]
        cdef const int *hi = &self.partition.hi[self.record, 0]
        cdef Py_ssize_t j, at = node * self.n_columns
        cdef double total = 0.0, merged
        for j in range(self.n_columns):
            merged = self.columns.loss(
                j, min(lo[j], self.max_lo[at + j]), max(hi[j], self.min_hi[at + j])
            )
            if merged > self.max_loss[at + j]:
                total += self.fewest_known[at + j] * (merged - self.max_loss[at + j])
            if not self.columns.is_missing(j, hi[j]):
                total += merged
            if total > limit + ROUNDING:
                break
        # Costs are differences of larger numbers, and rounded as such.
        return total - ROUNDING

    cdef void enclose(self, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t m = self.n_columns, left = self.nodes[node].left, j, place, group, fewest
        RangeTree.enclose(self, node)
        for j in range(m):
            if left > 0:
                fewest = min(
                    self.fewest_known[left * m + j], self.fewest_known[(left + 1) * m + j]
                )
            else:
                fewest = self.partition.n_records
                for place in range(self.nodes[node].start, self.nodes[node].stop):
                    group = self.item_at[place]
                    if self.rank[group] != NOWHERE:
                        fewest = min(fewest, self.partition.n_known[group * m + j])
            self.fewest_known[node * m + j] = fewest

    cdef int set_up(self) except -1 nogil:
        self.fewest_known.resize(self.nodes.size() * self.n_columns)
        return 0


@cython.final
cdef class RangePartition(BasePartition):
    """Groups of generalized records, with moves between them and a journal to take moves back.

    Parameters
    ----------
    columns : RangeColumns
        What generalized values lose.

    lo, hi : ndarray of shape (n_records, n_columns), int32, C-contiguous
        The leaf range of each cell.

    labels : ndarray of shape (n_records,), intp
        Group of each record, numbered from 0 with none left out.

    k : int
        Smallest size that a group is to have in the end.

    Attributes
    ----------
    n_groups : int
        Number of groups.

    n_slots : int
        Bound of the numbers that groups can have.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import RangeColumns, RangePartition
    >>> from sk_microagg.tables import Hierarchy
    >>> columns = RangeColumns([Hierarchy.intervals()._domain([1, 2, 4, 10], "x")], [1.0])
    >>> position = np.arange(4, dtype=np.int32)[:, None]
    >>> partition = RangePartition(columns, position, position, np.array([0, 1, 1, 1]), k=1)
    >>> partition.cost  # 3 values in [2, 10], of [1, 10]
    2.7
    >>> partition.move(1, 0)
    >>> round(partition.cost, 12)
    1.8
    """

    def __init__(self, RangeColumns columns, const int[:, ::1] lo, const int[:, ::1] hi,
                 const Py_ssize_t[::1] labels, Py_ssize_t k):
        if labels.shape[0] != lo.shape[0] or lo.shape[0] == 0:
            raise ValueError(f"{labels.shape[0]} labels for {lo.shape[0]} records.")
        if hi.shape[0] != lo.shape[0] or not lo.shape[1] == hi.shape[1] == columns.n_columns:
            raise ValueError(f"Ranges must have {columns.n_columns} columns, and two ends each.")
        BasePartition.__init__(self, labels, k)
        self.columns = columns
        self.n_columns = columns.n_columns
        self.lo = lo
        self.hi = hi
        self.low.resize(self.n_slots * self.n_columns)
        self.next_low.resize(self.n_slots * self.n_columns)
        self.high.resize(self.n_slots * self.n_columns)
        self.next_high.resize(self.n_slots * self.n_columns)
        self.n_known.resize(self.n_slots * self.n_columns)
        self.measure_all()

    # Questions

    def centers(self):
        """First and last position of the value of each group, in the order of slots."""
        cdef Py_ssize_t i, j, group
        groups = self.groups()
        cdef int[:, ::1] low = np.empty((len(groups), self.n_columns), np.int32)
        cdef int[:, ::1] high = np.empty((len(groups), self.n_columns), np.int32)
        self.update()
        for i, group in enumerate(groups):
            for j in range(self.n_columns):
                low[i, j] = self.low[group * self.n_columns + j]
                high[i, j] = self.high[group * self.n_columns + j]
        return low.base, high.base

    def excess(self, Py_ssize_t group):
        """All but k records of a group: those without which it would cost least."""
        cdef vector[Hit] hits
        cdef Py_ssize_t record
        self.check_group(group)
        self.update()
        for record in self.members[group]:
            hits.push_back(Hit(self.cost_without(group, record), record))
        sort(hits.begin(), hits.end())
        hits.resize(max(<Py_ssize_t>hits.size() - self.k, 0))
        return np.array([hit.second for hit in hits], dtype=np.intp)

    # Changes

    def dissolve(self, Py_ssize_t group):
        """Move each record of a group, ascending, to the group where it costs least.

        No group grows beyond 2k - 1 records.

        Returns
        -------
        touched : list of int
            The groups that took the records; empty, with nothing changed, if they have no room.
        """
        cdef vector[Py_ssize_t] records
        cdef Py_ssize_t record
        self.check_group(group)
        records = self.members[group]
        if (2 * self.k - 1) * (self.n_groups - 1) < self.n_records:
            return []
        with nogil:
            for record in records:
                self.update_with_index()
                self.nearest_groups(record, 1, 2 * self.k - 1)
                self.shift(record, self.index.best[0].second)
        return sorted({self.group_of[record] for record in records})

    def distill(self, Py_ssize_t first):
        """Make a group of k excess records around a first one.

        Every group of more than k records has an excess. Of those in the groups near the first
        record, the one with which the new group loses least joins, one at a time. Returns the
        number of the new group, and the groups that lost records.
        """
        cdef Py_ssize_t m = FEW_GROUPS
        self.check_record(first)
        if self.n_records - self.k * self.n_groups < self.k:
            raise ValueError(f"Fewer than k={self.k} excess records in {self.n_groups} groups.")
        self.update_with_index()
        while True:
            self.nearest_groups(first, m, self.n_records)
            near = [hit.second for hit in self.index.best] + [self.group_of[first]]
            spare = [record for group in near for record in self.excess(group) if record != first]
            if len(spare) >= self.k - 1:
                break
            m *= 4
        members = self._grow(first, sorted(spare))
        sources = {self.group_of[record] for record in members}
        return self.create(np.array(members, dtype=np.intp)), sorted(sources)

    cdef vector[Py_ssize_t] _grow(self, Py_ssize_t first, vector[Py_ssize_t] spare) except *:
        """Add k - 1 of the spare records to a first one."""
        cdef vector[Py_ssize_t] members
        cdef vector[int] low, high, n_known
        cdef Py_ssize_t record = first, j
        cdef size_t i
        cdef Hit least, cost
        for j in range(self.n_columns):
            low.push_back(self.lo[first, j])
            high.push_back(self.hi[first, j])
            n_known.push_back(0)
        while True:
            members.push_back(record)
            for j in range(self.n_columns):
                low[j] = min(low[j], self.lo[record, j])
                high[j] = max(high[j], self.hi[record, j])
                n_known[j] += not self.columns.is_missing(j, self.hi[record, j])
            if <Py_ssize_t>members.size() == self.k:
                return members
            least = Hit(INFINITY, 0)
            for i in range(spare.size()):
                cost = Hit(0.0, i)
                for j in range(self.n_columns):
                    cost.first += self.columns.lost(
                        j, low[j], high[j], n_known[j], self.lo[spare[i], j], self.hi[spare[i], j]
                    )
                least = min(least, cost)
            record = spare[least.second]
            spare.erase(spare.begin() + least.second)

    # Measures

    cdef double measure(self, Py_ssize_t group) except -1 nogil:
        cdef Py_ssize_t j, at, record
        cdef int lo, hi
        cdef double total = 0.0
        for j in range(self.n_columns):
            at = group * self.n_columns + j
            self.low[at] = self.next_low[at] = INT_MAX
            self.high[at] = self.next_high[at] = -1
            self.n_known[at] = 0
            for record in self.members[group]:
                lo, hi = self.lo[record, j], self.hi[record, j]
                self.next_low[at] = min(self.next_low[at], max(self.low[at], lo))
                self.low[at] = min(self.low[at], lo)
                self.next_high[at] = max(self.next_high[at], min(self.high[at], hi))
                self.high[at] = max(self.high[at], hi)
                self.n_known[at] += not self.columns.is_missing(j, hi)
            if self.n_known[at] > 0:
                total += self.n_known[at] * self.columns.loss(j, self.low[at], self.high[at])
        return total

    cdef double cost_with(self, Py_ssize_t group, Py_ssize_t record, double limit) noexcept nogil:
        """What a group would cost with another record; anything above `limit` if it is more."""
        cdef Py_ssize_t j, at = group * self.n_columns
        cdef double total = 0.0
        for j in range(self.n_columns):
            total += self.columns.lost(
                j, self.low[at + j], self.high[at + j], self.n_known[at + j], self.lo[record, j],
                self.hi[record, j],
            )
            if total > limit:
                break
        return total

    cdef double cost_without(self, Py_ssize_t group, Py_ssize_t record) noexcept nogil:
        """What a group would cost without one of its records."""
        cdef Py_ssize_t j, at = group * self.n_columns
        cdef int lo, hi
        cdef double total = 0.0
        if self.members[group].size() == 1:
            return 0.0
        for j in range(self.n_columns):
            lo, hi = self.lo[record, j], self.hi[record, j]
            total += (self.n_known[at + j] - (not self.columns.is_missing(j, hi))) * (
                self.columns.loss(
                    j,
                    self.next_low[at + j] if lo == self.low[at + j] else self.low[at + j],
                    self.next_high[at + j] if hi == self.high[at + j] else self.high[at + j],
                )
            )
        return total

    cdef double cost_exchanged(self, Py_ssize_t group, Py_ssize_t leaving, Py_ssize_t joining,
                               double limit) noexcept nogil:
        """What a group would cost with another record instead of one of its own.

        Anything above `limit` if it is more.
        """
        cdef Py_ssize_t j, at = group * self.n_columns
        cdef int lo, hi
        cdef double total = 0.0
        for j in range(self.n_columns):
            lo, hi = self.lo[leaving, j], self.hi[leaving, j]
            total += (
                self.n_known[at + j]
                - (not self.columns.is_missing(j, hi))
                + (not self.columns.is_missing(j, self.hi[joining, j]))
            ) * self.columns.loss(
                j,
                min(
                    self.next_low[at + j] if lo == self.low[at + j] else self.low[at + j],
                    self.lo[joining, j],
                ),
                max(
                    self.next_high[at + j] if hi == self.high[at + j] else self.high[at + j],
                    self.hi[joining, j],
                ),
            )
            if total > limit:
                break
        return total

    # Index

    cdef int update_with_index(self) except -1 nogil:
        """Update dirty groups, and build the index over the centers if that is due."""
        cdef Py_ssize_t group
        self.update()
        # Groups that have moved away make boxes large.
        if self.index is None or self.index.n_changes > self.n_slots:
            with gil:
                self.index = GroupTree(self)
            for group in range(self.n_slots):
                self.index.rank.push_back(NOWHERE if self.members[group].empty() else group)
            self.index.build(self.low.data(), self.high.data())
        return 0

    cdef int reindex(self, Py_ssize_t group) except -1 nogil:
        cdef Py_ssize_t at = group * self.n_columns
        cdef Py_ssize_t rank = NOWHERE if self.members[group].empty() else group
        if self.index is None:
            return 0
        return self.index.change(group, &self.low[at], &self.high[at], rank)

    cdef int nearest_groups(self, Py_ssize_t record, Py_ssize_t m, Py_ssize_t full) except -1 nogil:
        """Find the `m` groups that a record costs least, of those smaller than `full`.

        They are in `index.best`. The record's own group is not among them.
        """
        self.index.record = record
        self.index.full = full
        return self.index.search(m)
