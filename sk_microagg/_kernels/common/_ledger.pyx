"""The books of a partition: who is in which group, what that costs, and how to go back.

All that is known of a group is a function of its members alone, taken in ascending order: it does
not depend on the moves that led there, errors never pile up, and groups that are rolled back are
the same to the last bit. So a move only notes that two groups have changed. They are measured, from
their members, when they are next looked at. What there is to measure, a kind of partition says.

Groups are numbered by slots. A group that loses its last record vanishes, and a new one takes the
lowest free slot.
"""

import numpy as np

from cython.operator cimport dereference
from libc.math cimport fabs
from libcpp.algorithm cimport lower_bound
from libcpp.pair cimport pair
from libcpp.vector cimport vector

# The sum of all costs is summed anew when it has fallen to this share: what rounding took from the
# large sum would show in the small one.
cdef double SHARE_TO_SUM_ANEW = 1e-3


cdef class Ledger:

    def __init__(self, const Py_ssize_t[::1] labels, Py_ssize_t k):
        cdef Py_ssize_t record, group
        if k < 1:
            raise ValueError(f"k={k} must be at least 1.")
        self.k = k
        self.n_records = labels.shape[0]
        sizes = np.bincount(labels)
        if sizes.min() == 0:
            raise ValueError("Labels must be numbered from 0 with none left out.")
        self.n_groups = len(sizes)
        self.n_slots = max(self.n_groups, self.n_records // k)
        self.members.resize(self.n_slots)
        self.group_of.resize(self.n_records)
        for record in range(self.n_records):
            self.group_of[record] = labels[record]
            self.members[labels[record]].push_back(record)
        for group in range(self.n_groups, self.n_slots):
            self.free_slots.insert(group)
        self.group_cost.assign(self.n_slots, 0.0)
        self.version.assign(self.n_slots, 0)
        self.is_unsettled.assign(self.n_slots, 0)
        self.place_in_larger.assign(self.n_slots, -1)
        self.n_settled = 0
        self.recording = False

    cdef int measure_all(self) except -1 nogil:
        """Measure every group. A kind of partition does so when it is ready to."""
        cdef Py_ssize_t group
        for group in range(self.n_groups):
            self.group_cost[group] = self.measure(group)
            self._list_if_larger(group)
        self._sum_groups()
        return 0

    # What a partition is

    @property
    def cost(self):
        """Sum of the costs of all groups."""
        return self.cost_of_all()

    @property
    def n_larger(self):
        """Number of groups with more than k records."""
        self.settle()
        return self.larger.size()

    def groups(self):
        """Numbers of the groups, ascending."""
        return np.array([g for g in range(self.n_slots) if not self.members[g].empty()], np.intp)

    def labels(self):
        """Group of each record, numbered from 0 in the order of the groups' slots."""
        cdef Py_ssize_t record, n_before = 0, group
        cdef Py_ssize_t[::1] number = np.empty(self.n_slots, np.intp)
        cdef Py_ssize_t[::1] labels = np.empty(self.n_records, np.intp)
        for group in range(self.n_slots):
            number[group] = n_before
            n_before += not self.members[group].empty()
        for record in range(self.n_records):
            labels[record] = number[self.group_of[record]]
        return labels.base

    def group(self, Py_ssize_t record):
        """Group of a record."""
        self.check_record(record)
        return self.group_of[record]

    def size(self, Py_ssize_t group):
        """Number of records in a group; 0 if the slot is free."""
        if not 0 <= group < self.n_slots:
            raise ValueError(f"group={group} must be from 0 to {self.n_slots - 1}.")
        return self.members[group].size()

    def members_of(self, Py_ssize_t group):
        """Records of a group, ascending."""
        self.check_group(group)
        return np.array(self.members[group], dtype=np.intp)

    def cost_of(self, Py_ssize_t group):
        """Cost of a group."""
        self.check_group(group)
        self.settle()
        return self.group_cost[group]

    def all_costs(self):
        """Costs of all groups, in the order of their slots."""
        self.settle()
        return np.array(self.group_cost)[self.groups()]

    def larger_group(self, Py_ssize_t place):
        """One of the groups with more than k records, which have places from 0 to `n_larger` - 1.
        """
        self.settle()
        if not 0 <= place < <Py_ssize_t>self.larger.size():
            n_larger = <Py_ssize_t>self.larger.size()
            raise ValueError(f"place={place} must be from 0 to {n_larger - 1}.")
        return self.larger[place]

    # Changes

    def move(self, Py_ssize_t record, Py_ssize_t group):
        """Move a record to another group."""
        self.check_record(record)
        self.check_group(group)
        if self.group_of[record] != group:
            self.shift(record, group)

    def swap(self, Py_ssize_t one, Py_ssize_t other):
        """Let two records change places."""
        cdef Py_ssize_t group
        self.check_record(one)
        self.check_record(other)
        group = self.group_of[one]
        if group != self.group_of[other]:
            self.shift(one, self.group_of[other])
            self.shift(other, group)

    def create(self, const Py_ssize_t[::1] records):
        """Make a group of records of any groups; return its number."""
        cdef Py_ssize_t i, group
        for i in range(records.shape[0]):
            self.check_record(records[i])
        if records.shape[0] == 0 or self.free_slots.empty():
            raise ValueError(f"No group of {records.shape[0]} can be made: {self.n_groups} exist.")
        group = self.free_slot()
        for i in range(records.shape[0]):
            self.shift(records[i], group)
        return group

    def split(self, Py_ssize_t group, const Py_ssize_t[::1] parts):
        """Part the records of a group, ascending, by the numbers given; return all the groups.

        Part 0 stays, every other becomes a new group.
        """
        members = self.members_of(group)
        if parts.shape[0] != len(members):
            raise ValueError(f"{parts.shape[0]} parts for {len(members)} records.")
        n_parts = np.max(parts) + 1
        return [group] + [
            self.create(members[np.equal(parts, part)]) for part in range(1, n_parts)
        ]

    # Journal

    def mark(self):
        """Remember this partition: `rollback` will return to it."""
        self.journal.clear()
        self.recording = True

    def rollback(self):
        """Return to the partition as it was at the last `mark`, which stays marked."""
        if not self.recording:
            raise ValueError("rollback needs a mark to return to.")
        self.recording = False
        while not self.journal.empty():
            self.shift(self.journal.back().first, self.journal.back().second)
            self.journal.pop_back()
        self.recording = True

    # Moves and measures

    cdef double measure(self, Py_ssize_t group) except -1 nogil:
        """Find what is to be known of a group's members, which may be none; return its cost."""
        return 0.0

    cdef int reindex(self, Py_ssize_t group) except -1 nogil:
        """Let an index over the groups know that a group has been measured anew."""
        return 0

    cdef double cost_of_all(self) except -1 nogil:
        self.settle()
        return self.total_cost + self.lost_cost

    cdef int shift(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Move a record to another group, or to a free slot."""
        self.note(record, self.group_of[record])
        self.leave(record)
        return self.join(record, group)

    cdef int note(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Write down where a record comes from."""
        if self.recording:
            self.journal.push_back(pair[Py_ssize_t, Py_ssize_t](record, group))
        return 0

    cdef int settle(self) except -1 nogil:
        """Measure the groups that have changed."""
        cdef size_t i
        for i in range(self.unsettled.size()):
            self._settle_group(self.unsettled[i])
        self.unsettled.clear()
        return 0

    cdef Py_ssize_t free_slot(self) noexcept nogil:
        """The slot that a new group is to take; there must be one."""
        return dereference(self.free_slots.begin())

    cdef int leave(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t group = self.group_of[record]
        cdef vector[Py_ssize_t] *members = &self.members[group]
        members.erase(lower_bound(members.begin(), members.end(), record))
        self.group_of[record] = -1
        if members.empty():
            self.free_slots.insert(group)
            self.n_groups -= 1
        return self._unsettle(group)

    cdef int join(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        cdef vector[Py_ssize_t] *members = &self.members[group]
        if members.empty():
            self.free_slots.erase(group)
            self.n_groups += 1
        members.insert(lower_bound(members.begin(), members.end(), record), record)
        self.group_of[record] = group
        return self._unsettle(group)

    cdef int _unsettle(self, Py_ssize_t group) except -1 nogil:
        if not self.is_unsettled[group]:
            self.is_unsettled[group] = 1
            self.unsettled.push_back(group)
        return 0

    cdef int _settle_group(self, Py_ssize_t group) except -1 nogil:
        self.is_unsettled[group] = 0
        self.n_settled += 1
        self.version[group] = self.n_settled
        self._add_to_total(-self.group_cost[group])
        self.group_cost[group] = self.measure(group)
        self._add_to_total(self.group_cost[group])
        self.largest_total = max(self.largest_total, self.total_cost)
        if self.total_cost < SHARE_TO_SUM_ANEW * self.largest_total:
            self._sum_groups()
        self._list_if_larger(group)
        return self.reindex(group)

    cdef void _add_to_total(self, double value) noexcept nogil:
        """Neumaier's compensated sum."""
        cdef double before = self.total_cost
        cdef double after = before + value
        if fabs(before) >= fabs(value):
            self.lost_cost += (before - after) + value
        else:
            self.lost_cost += (value - after) + before
        self.total_cost = after

    cdef void _sum_groups(self) noexcept nogil:
        cdef Py_ssize_t group
        self.total_cost = 0.0
        self.lost_cost = 0.0
        for group in range(self.n_slots):
            self._add_to_total(self.group_cost[group])
        self.largest_total = self.total_cost

    cdef int _list_if_larger(self, Py_ssize_t group) except -1 nogil:
        cdef Py_ssize_t place = self.place_in_larger[group]
        cdef bint is_larger = <Py_ssize_t>self.members[group].size() > self.k
        if is_larger and place < 0:
            self.place_in_larger[group] = self.larger.size()
            self.larger.push_back(group)
        elif not is_larger and place >= 0:
            self.larger[place] = self.larger.back()
            self.place_in_larger[self.larger[place]] = place
            self.larger.pop_back()
            self.place_in_larger[group] = -1
        return 0

    # Checks

    cdef int check_group(self, Py_ssize_t group) except -1:
        if not 0 <= group < self.n_slots or self.members[group].empty():
            raise ValueError(f"There is no group {group}.")
        return 0

    cdef int check_record(self, Py_ssize_t record) except -1:
        if not 0 <= record < self.n_records:
            raise ValueError(f"There is no record {record}.")
        return 0
