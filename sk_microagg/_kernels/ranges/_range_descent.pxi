"""Local search for generalized groups: the best swap or shift of each record, again and again.

Each record is compared with the few groups that it can join at the least cost. It may move to one
of them if its own group has more than k records, or change places with any record there.
"""

cimport cython
from libcpp.vector cimport vector

from ..common._common cimport BaseDescent
from ..common._interrupt cimport is_over

# A gain below this may be rounding.
cdef double MIN_ABSOLUTE_GAIN = 1e-9


cdef struct Swap:
    double gain
    Py_ssize_t target
    Py_ssize_t partner  # -1: none moves in return


@cython.final
cdef class RangeDescent(BaseDescent):
    """Lower the loss of a partition by shifts of records and swaps of pairs.

    Parameters
    ----------
    partition : RangePartition
        The partition to work on. No group shrinks below its `k` or grows beyond 2k - 1.

    seed : int, default=None
        Seed of the order in which groups are visited after the first sweep; with None always in
        the order of their numbers.

    n_near : int, default=16
        Number of groups that a record is compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import RangeColumns, RangeDescent, RangePartition
    >>> from sk_microagg.tables import Hierarchy
    >>> columns = RangeColumns([Hierarchy.intervals()._domain([1, 2, 9, 10], "x")], [1.0])
    >>> position = np.arange(4, dtype=np.int32)[:, None]
    >>> partition = RangePartition(columns, position, position, np.array([0, 1, 0, 1]), k=2)
    >>> RangeDescent(partition).run(partition.groups())
    1
    >>> partition.labels()
    array([1, 1, 0, 0])
    """

    cdef RangePartition partition
    cdef Py_ssize_t n_near
    cdef vector[Py_ssize_t] records

    def __init__(self, RangePartition partition, *, seed=None, Py_ssize_t n_near=16):
        BaseDescent.__init__(self, seed)
        self.partition = partition
        self.n_near = n_near

    cdef int prepare(self) except -1:
        return self.partition.update_with_index()

    cdef int visit(self, Py_ssize_t group, vector[Py_ssize_t] &changed) except -1 nogil:
        """Apply the best shift or swap of each record of a group."""
        cdef Py_ssize_t record
        cdef Swap best
        self.records = self.partition.members[group]
        for record in self.records:
            if self.partition.group_of[record] != group or self.partition.group_cost[group] == 0.0:
                continue
            # A record is compared with all of its neighbors.
            if is_over(&self.watch, self.partition.k):
                break
            self._find_best(record, &best)
            if best.target < 0:
                continue
            self.partition.shift(record, best.target)
            if best.partner >= 0:
                self.partition.shift(best.partner, group)
            self.partition.update_with_index()
            self.n_moves += 1
            changed.push_back(group)
            changed.push_back(best.target)
        return 0

    cdef int _find_best(self, Py_ssize_t record, Swap *best) except -1 nogil:
        """The shift or swap of a record that gains most, if one gains enough."""
        cdef Py_ssize_t own = self.partition.group_of[record], target, partner
        cdef double own_cost = self.partition.group_cost[own], limit, after
        cdef size_t i
        best[0] = Swap(MIN_ABSOLUTE_GAIN, -1, -1)
        self.partition.nearest_groups(record, self.n_near, self.partition.n_records)
        for i in range(self.partition.index.best.size()):
            target = self.partition.index.best[i].second
            if self._may_shift(own, target):
                after = self.partition.cost_without(own, record)
                after += self.partition.index.best[i].first
                if own_cost - after > best.gain:
                    best[0] = Swap(own_cost - after, target, -1)
            for partner in self.partition.members[target]:
                limit = own_cost + self.partition.group_cost[target] - best.gain
                after = self.partition.cost_exchanged(own, record, partner, limit)
                if after < limit:
                    after += self.partition.cost_exchanged(target, partner, record, limit - after)
                if after < limit:
                    best[0] = Swap(limit + best.gain - after, target, partner)
        return 0

    cdef bint _may_shift(self, Py_ssize_t own, Py_ssize_t target) noexcept nogil:
        return (
            <Py_ssize_t>self.partition.members[own].size() > self.partition.k
            and <Py_ssize_t>self.partition.members[target].size() < 2 * self.partition.k - 1
        )
