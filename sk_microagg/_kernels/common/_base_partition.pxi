"""The base of all partitions: the members and cost of each group, moves, and a journal of moves.

All that is known of a group is a function of its members alone, taken in ascending order: it does
not depend on the moves that led there, errors never pile up, and groups that are rolled back are
the same to the last bit. So a move only marks two groups as dirty. They are measured anew, from
their members, when something about them is next asked. Subclasses say what there is to measure.

Groups are numbered by slots. A group that loses its last record vanishes, and a new one takes the
lowest free slot.
"""

import numpy as np

from cython.operator cimport dereference
from libc.math cimport fabs
from libcpp.algorithm cimport lower_bound
from libcpp.pair cimport pair
from libcpp.vector cimport vector

# The total cost is summed anew when it has fallen to this share of its largest value: the rounding
# error of the large sum would show in the small one.
cdef double SHARE_TO_SUM_ANEW = 1e-3


cdef class BasePartition:

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
        self.is_dirty.assign(self.n_slots, 0)
        self.place_in_larger.assign(self.n_slots, -1)
        self.n_updates = 0
        self.recording = False

    cdef int measure_all(self) except -1 nogil:
        """Measure every group. Subclasses call this at the end of their `__init__`."""
        cdef Py_ssize_t group
        for group in range(self.n_groups):
            self.group_cost[group] = self.measure(group)
            self._list_if_larger(group)
        self._sum_groups()
        return 0

    # Questions

    @property
    def cost(self):
        """Sum of the costs of all groups."""
        return self.cost_of_all()

    @property
    def n_larger(self):
        """Number of groups with more than k records."""
        self.update()
        return self.larger.size()

    def groups(self):
        """Numbers of the groups.

        Returns
        -------
        groups : ndarray of shape (n_groups,)
            The numbers, ascending.
        """
        return np.array([g for g in range(self.n_slots) if not self.members[g].empty()], np.intp)

    def labels(self):
        """Label of each record.

        Returns
        -------
        labels : ndarray of shape (n_records,)
            The place of each record's group in `groups`.
        """
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
        """Group of a record.

        Parameters
        ----------
        record : int
            The record.

        Returns
        -------
        group : int
            Its group.
        """
        self.check_record(record)
        return self.group_of[record]

    def size(self, Py_ssize_t group):
        """Number of records in a group.

        Parameters
        ----------
        group : int
            A number below `n_slots`.

        Returns
        -------
        size : int
            Its size; 0 if there is no group of this number.
        """
        if not 0 <= group < self.n_slots:
            raise ValueError(f"group={group} must be from 0 to {self.n_slots - 1}.")
        return self.members[group].size()

    def members_of(self, Py_ssize_t group):
        """Records of a group.

        Parameters
        ----------
        group : int
            The group.

        Returns
        -------
        records : ndarray of shape (size,)
            The records, ascending.
        """
        self.check_group(group)
        return np.array(self.members[group], dtype=np.intp)

    def cost_of(self, Py_ssize_t group):
        """Cost of a group: its share of the total `cost`.

        Parameters
        ----------
        group : int
            The group.

        Returns
        -------
        cost : float
            The cost.
        """
        self.check_group(group)
        self.update()
        return self.group_cost[group]

    def all_costs(self):
        """Costs of all groups.

        Returns
        -------
        costs : ndarray of shape (n_groups,)
            The costs, in the order of `groups`.
        """
        self.update()
        return np.array(self.group_cost)[self.groups()]

    def larger_group(self, Py_ssize_t place):
        """One of the groups with more than k records, to draw one at random.

        Parameters
        ----------
        place : int
            A number from 0 to `n_larger` - 1.

        Returns
        -------
        group : int
            The group.
        """
        self.update()
        if not 0 <= place < <Py_ssize_t>self.larger.size():
            n_larger = <Py_ssize_t>self.larger.size()
            raise ValueError(f"place={place} must be from 0 to {n_larger - 1}.")
        return self.larger[place]

    # Changes

    def move(self, Py_ssize_t record, Py_ssize_t group):
        """Move a record to another group.

        Parameters
        ----------
        record : int
            The record.

        group : int
            The group that it joins. The one that it leaves vanishes if that was its last record.
        """
        self.check_record(record)
        self.check_group(group)
        if self.group_of[record] != group:
            self.shift(record, group)

    def swap(self, Py_ssize_t one, Py_ssize_t other):
        """Swap two records between their groups.

        Parameters
        ----------
        one, other : int
            The records.
        """
        cdef Py_ssize_t group
        self.check_record(one)
        self.check_record(other)
        group = self.group_of[one]
        if group != self.group_of[other]:
            self.shift(one, self.group_of[other])
            self.shift(other, group)

    def create(self, const Py_ssize_t[::1] records):
        """Make a group of records of any groups.

        Parameters
        ----------
        records : ndarray of shape (size,), intp
            The records.

        Returns
        -------
        group : int
            The new group.
        """
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
        """Split a group into parts.

        Parameters
        ----------
        group : int
            The group.

        parts : ndarray of shape (size,), intp
            Part of each of its records, ascending. Part 0 stays, every other becomes a new group.

        Returns
        -------
        groups : list of int
            The group of each part.
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
        """Mark the current state, for `rollback` to return to."""
        self.journal.clear()
        self.recording = True

    def rollback(self):
        """Return to the state at the last `mark`, which stays marked."""
        if not self.recording:
            raise ValueError("rollback needs a mark to return to.")
        self.recording = False
        while not self.journal.empty():
            self.shift(self.journal.back().first, self.journal.back().second)
            self.journal.pop_back()
        self.recording = True

    # Inside

    cdef double measure(self, Py_ssize_t group) except -1 nogil:
        """Compute all that is kept of a group, which may be empty; return its cost."""
        return 0.0

    cdef int reindex(self, Py_ssize_t group) except -1 nogil:
        """Update an index over the groups after a group has been measured."""
        return 0

    cdef double cost_of_all(self) except -1 nogil:
        self.update()
        return self.total_cost + self.lost_cost

    cdef int shift(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Move a record to another group, or to a free slot."""
        self.log_move(record, self.group_of[record])
        self.leave(record)
        return self.join(record, group)

    cdef int log_move(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Write into the journal which group a record leaves."""
        if self.recording:
            self.journal.push_back(pair[Py_ssize_t, Py_ssize_t](record, group))
        return 0

    cdef int update(self) except -1 nogil:
        """Measure all dirty groups."""
        cdef size_t i
        for i in range(self.dirty.size()):
            self._update_group(self.dirty[i])
        self.dirty.clear()
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
        return self._mark_dirty(group)

    cdef int join(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        cdef vector[Py_ssize_t] *members = &self.members[group]
        if members.empty():
            self.free_slots.erase(group)
            self.n_groups += 1
        members.insert(lower_bound(members.begin(), members.end(), record), record)
        self.group_of[record] = group
        return self._mark_dirty(group)

    cdef int _mark_dirty(self, Py_ssize_t group) except -1 nogil:
        if not self.is_dirty[group]:
            self.is_dirty[group] = 1
            self.dirty.push_back(group)
        return 0

    cdef int _update_group(self, Py_ssize_t group) except -1 nogil:
        self.is_dirty[group] = 0
        self.n_updates += 1
        self.version[group] = self.n_updates
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
