"""The books of a partition: who is in which group, what that costs, and how to go back.

All that is known of a group (centroid, radius, SSE, the distances of its members) is a function of
its members alone, taken in ascending order: it does not depend on the moves that led there, errors
never pile up, and a partition that is rolled back is the same to the last bit. So a move only notes
that two groups have changed. They are measured, from their members, when they are next looked at.

Groups are numbered by slots. A group that loses its last record vanishes, and a new one takes the
lowest free slot.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libcpp.algorithm cimport lower_bound
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ._boxes cimport AUTO, squared_distance
from ._tree cimport Tree

# The sum of all squared errors is summed anew when it has fallen to this share: what rounding took
# from the large sum would show in the small one.
cdef double SHARE_TO_SUM_ANEW = 1e-3


cdef class Ledger:

    def __init__(self, const double[:, ::1] X, const Py_ssize_t[::1] labels, Py_ssize_t k):
        cdef Py_ssize_t n_records = X.shape[0], record, group
        if k < 1:
            raise ValueError(f"k={k} must be at least 1.")
        if labels.shape[0] != n_records or n_records == 0:
            raise ValueError(f"{labels.shape[0]} labels for {n_records} records.")
        self.X = X
        self.k = k
        self.n_columns = X.shape[1]
        sizes = np.bincount(labels)
        if sizes.min() == 0:
            raise ValueError("Labels must be numbered from 0 with none left out.")
        self.n_groups = len(sizes)
        self.n_slots = max(self.n_groups, n_records // k)
        self.members.resize(self.n_slots)
        self.group_of.resize(n_records)
        for record in range(n_records):
            self.group_of[record] = labels[record]
            self.members[labels[record]].push_back(record)
        for group in range(self.n_groups, self.n_slots):
            self.free_slots.insert(group)
        self.centroids = np.zeros((self.n_slots, self.n_columns))
        self.radius = np.zeros(self.n_slots)
        self.own_distance.assign(n_records, 0.0)
        self.group_sse.assign(self.n_slots, 0.0)
        self.version.assign(self.n_slots, 0)
        self.is_unsettled.assign(self.n_slots, 0)
        self.place_in_larger.assign(self.n_slots, -1)
        self.n_settled = 0
        self.recording = False
        for group in range(self.n_groups):
            self.group_sse[group] = self._measure(group)
            self._list_if_larger(group)
        self._sum_groups()

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

    cdef int distances(self, Py_ssize_t group, const double *point,
                       vector[double] &distances) except -1 nogil:
        """Squared distances of a group's members to a point, each summed in the columns' order."""
        cdef const Py_ssize_t *members = self.members[group].data()
        cdef Py_ssize_t i = 0, j, size = self.members[group].size()
        cdef const double *row0
        cdef const double *row1
        cdef const double *row2
        cdef const double *row3
        cdef double total0, total1, total2, total3, gap0, gap1, gap2, gap3
        distances.resize(size)
        # Four sums at a time: none waits for another.
        while i + 4 <= size:
            row0 = &self.X[members[i], 0]
            row1 = &self.X[members[i + 1], 0]
            row2 = &self.X[members[i + 2], 0]
            row3 = &self.X[members[i + 3], 0]
            total0 = total1 = total2 = total3 = 0.0
            for j in range(self.n_columns):
                gap0 = row0[j] - point[j]
                gap1 = row1[j] - point[j]
                gap2 = row2[j] - point[j]
                gap3 = row3[j] - point[j]
                total0 += gap0 * gap0
                total1 += gap1 * gap1
                total2 += gap2 * gap2
                total3 += gap3 * gap3
            distances[i] = total0
            distances[i + 1] = total1
            distances[i + 2] = total2
            distances[i + 3] = total3
            i += 4
        while i < size:
            distances[i] = squared_distance(&self.X[members[i], 0], point, self.n_columns)
            i += 1
        return 0

    cdef int settle_with_index(self) except -1:
        """Measure the groups that have changed, and have an index over the centroids."""
        self.settle()
        if self.index is None:
            is_member = [not self.members[group].empty() for group in range(self.n_slots)]
            self.index = Tree(
                self.centroids,
                AUTO,
                reach=self.radius,
                is_member=np.array(is_member, dtype=np.uint8),
                roomy=True,
            )
        return 0

    cdef double sum_of_squares(self) except -1 nogil:
        self.settle()
        return self.total_sse + self.lost_sse

    cdef int shift(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Move a record to another group, or to a free slot."""
        if self.recording:
            self.journal.push_back(
                pair[Py_ssize_t, Py_ssize_t](record, self.group_of[record])
            )
        self._leave(record)
        return self._join(record, group)

    cdef int settle(self) except -1 nogil:
        """Measure the groups that have changed."""
        cdef size_t i
        for i in range(self.unsettled.size()):
            self._settle_group(self.unsettled[i])
        self.unsettled.clear()
        return 0

    cdef int _leave(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t group = self.group_of[record]
        cdef vector[Py_ssize_t] *members = &self.members[group]
        members.erase(lower_bound(members.begin(), members.end(), record))
        self.group_of[record] = -1
        if members.empty():
            self.free_slots.insert(group)
            self.n_groups -= 1
        return self._unsettle(group)

    cdef int _join(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
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
        self._add_to_total(-self.group_sse[group])
        self.group_sse[group] = self._measure(group)
        self._add_to_total(self.group_sse[group])
        self.largest_total = max(self.largest_total, self.total_sse)
        if self.total_sse < SHARE_TO_SUM_ANEW * self.largest_total:
            self._sum_groups()
        self._list_if_larger(group)
        if self.index is None:
            return 0
        if self.members[group].empty():
            if self.index.holds(group):
                self.index.remove(group)
        elif self.index.holds(group):
            self.index.refresh(group)
        else:
            self.index.insert(group)
        return 0

    cdef double _measure(self, Py_ssize_t group) except -1 nogil:
        """Find centroid, radius and distances of a group's members; return its SSE."""
        cdef const vector[Py_ssize_t] *members = &self.members[group]
        cdef double *centroid = &self.centroids[group, 0]
        cdef const double *base
        cdef double total = 0.0, farthest = 0.0
        cdef Py_ssize_t j, record
        cdef size_t i
        if members.empty():
            return 0.0
        # Deviations from one member are averaged, not the values: a column that is constant in the
        # group keeps its value to the last digit, and a large offset costs no accuracy.
        base = &self.X[members.front(), 0]
        for j in range(self.n_columns):
            centroid[j] = 0.0
        for i in range(members.size()):
            record = members[0][i]
            for j in range(self.n_columns):
                centroid[j] += self.X[record, j] - base[j]
        for j in range(self.n_columns):
            centroid[j] = base[j] + centroid[j] / members.size()
        self.distances(group, centroid, self.measured)
        for i in range(members.size()):
            self.own_distance[members[0][i]] = self.measured[i]
            farthest = max(farthest, self.measured[i])
            total += self.measured[i]
        self.radius[group] = sqrt(farthest)
        return total

    cdef void _add_to_total(self, double value) noexcept nogil:
        """Neumaier's compensated sum."""
        cdef double before = self.total_sse
        cdef double after = before + value
        if fabs(before) >= fabs(value):
            self.lost_sse += (before - after) + value
        else:
            self.lost_sse += (value - after) + before
        self.total_sse = after

    cdef void _sum_groups(self) noexcept nogil:
        cdef Py_ssize_t group
        self.total_sse = 0.0
        self.lost_sse = 0.0
        for group in range(self.n_slots):
            self._add_to_total(self.group_sse[group])
        self.largest_total = self.total_sse

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
