"""Groups of records: the questions that refiners ask of them, and every way to change them."""

import numpy as np

cimport cython
from cython.operator cimport dereference
from libc.math cimport INFINITY, sqrt
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ._boxes cimport NO_HIT, Hit, squared_distance
from ._ledger cimport Ledger

cdef enum:
    FEW_LARGER_GROUPS = 64


@cython.final
cdef class Partition(Ledger):
    """Groups of records, with moves between them and a journal to take moves back.

    Groups smaller than k are allowed on the way: who moves records sees to the end.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64, C-contiguous
        The records. The partition keeps a reference to them.

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
    >>> from sk_microagg._kernels import Partition
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> partition = Partition(X, np.array([0, 0, 1, 1]), k=1)
    >>> partition.sse
    8.5
    >>> partition.mark()
    >>> partition.move(2, 0)
    >>> partition.centroid(0), partition.sse
    (array([2.]), 14.0)
    >>> partition.rollback()
    >>> partition.labels()
    array([0, 0, 1, 1])
    """

    def __init__(self, const double[:, ::1] X, const Py_ssize_t[::1] labels, Py_ssize_t k):
        Ledger.__init__(self, X, labels, k)
        self.is_taken.assign(X.shape[0], 0)

    # What a partition is

    @property
    def sse(self):
        """Sum of squared distances of all records to their centroids."""
        return self.sum_of_squares()

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
        cdef Py_ssize_t[::1] labels = np.empty(self.X.shape[0], np.intp)
        for group in range(self.n_slots):
            number[group] = n_before
            n_before += not self.members[group].empty()
        for record in range(self.X.shape[0]):
            labels[record] = number[self.group_of[record]]
        return labels.base

    def group(self, Py_ssize_t record):
        """Group of a record."""
        self._check_record(record)
        return self.group_of[record]

    def size(self, Py_ssize_t group):
        """Number of records in a group; 0 if the slot is free."""
        if not 0 <= group < self.n_slots:
            raise ValueError(f"group={group} must be from 0 to {self.n_slots - 1}.")
        return self.members[group].size()

    def members_of(self, Py_ssize_t group):
        """Records of a group, ascending."""
        self._check_group(group)
        return np.array(self.members[group], dtype=np.intp)

    def centroid(self, Py_ssize_t group):
        """Mean of a group's records."""
        self._check_group(group)
        self.settle()
        return np.array(self.centroids[group])

    def all_centroids(self):
        """Means of all groups, in the order of their slots."""
        self.settle()
        return np.asarray(self.centroids)[self.groups()]

    def sse_of(self, Py_ssize_t group):
        """Sum of squared distances of a group's records to their centroid."""
        self._check_group(group)
        self.settle()
        return self.group_sse[group]

    def larger_group(self, Py_ssize_t place):
        """One of the groups with more than k records, which have places from 0 to `n_larger` - 1.
        """
        self.settle()
        if not 0 <= place < <Py_ssize_t>self.larger.size():
            n_larger = <Py_ssize_t>self.larger.size()
            raise ValueError(f"place={place} must be from 0 to {n_larger - 1}.")
        return self.larger[place]

    def excess(self, Py_ssize_t group):
        """Records of a group beyond its k nearest to the centroid, farthest first."""
        self._check_group(group)
        self.settle()
        self._excess(group, self.hits)
        return np.array([hit.second for hit in self.hits], dtype=np.intp)

    def nearest(self, const double[::1] point, Py_ssize_t m):
        """Numbers of the `m` groups with the nearest centroids, nearest first; ties by number."""
        if point.shape[0] != self.n_columns:
            raise ValueError(f"A point of {point.shape[0]} columns, but X has {self.n_columns}.")
        if not 0 <= m <= self.n_groups:
            raise ValueError(f"m={m} must be from 0 to the number of groups, {self.n_groups}.")
        self.settle_with_index()
        self.index.nearest(&point[0], m, self.hits)
        return np.array([hit.second for hit in self.hits], dtype=np.intp)

    def best_departure(self, Py_ssize_t group):
        """The record of a group whose move to the nearest other group lowers the SSE most.

        Returns
        -------
        record, target, gain
            The record, that other group, and by how much the SSE falls, which may be below 0. Of
            several, the lowest record. The target is -1 if there is no other group.
        """
        cdef Py_ssize_t record, best_record = -1, target = -1
        cdef double gain, best_gain = -INFINITY, size, target_size
        cdef Hit hit
        self._check_group(group)
        if self.members[group].size() < 2:
            raise ValueError(f"group={group} has one record, and cannot be left by it.")
        self.settle_with_index()
        size = self.members[group].size()
        for record in self.members[group]:
            hit = self._nearest_other(&self.X[record, 0], group, self.X.shape[0])
            if hit.first == INFINITY:
                break
            target_size = self.members[hit.second].size()
            gain = size / (size - 1.0) * self.own_distance[record]
            gain -= target_size / (target_size + 1.0) * hit.first
            if gain > best_gain:
                best_record, target, best_gain = record, hit.second, gain
        return best_record, target, best_gain

    # Changes

    def move(self, Py_ssize_t record, Py_ssize_t group):
        """Move a record to another group."""
        self._check_record(record)
        self._check_group(group)
        if self.group_of[record] != group:
            self.shift(record, group)

    def swap(self, Py_ssize_t one, Py_ssize_t other):
        """Let two records change places."""
        cdef Py_ssize_t group
        self._check_record(one)
        self._check_record(other)
        group = self.group_of[one]
        if group != self.group_of[other]:
            self.shift(one, self.group_of[other])
            self.shift(other, group)

    def create(self, const Py_ssize_t[::1] records):
        """Make a group of records of any groups; return its number."""
        cdef Py_ssize_t i, group
        for i in range(records.shape[0]):
            self._check_record(records[i])
        if records.shape[0] == 0 or self.free_slots.empty():
            raise ValueError(f"No group of {records.shape[0]} can be made: {self.n_groups} exist.")
        group = dereference(self.free_slots.begin())
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

    def dissolve(self, Py_ssize_t group, Py_ssize_t full=-1):
        """Hand the records of a group, ascending, each to the nearest other; centroids follow.

        Parameters
        ----------
        group : int
            The group, which vanishes.

        full : int, default=-1
            Groups of so many records or more take no other; below 0 no group is full.

        Returns
        -------
        touched : list of int
            The groups that took the records; empty if some record found none, and nothing changed.
        """
        cdef vector[Py_ssize_t] records
        cdef Py_ssize_t record
        cdef size_t i = 0
        cdef Hit hit
        self._check_group(group)
        if full < 0:
            full = self.X.shape[0] + 1
        records = self.members[group]
        self.settle_with_index()
        with nogil:
            # All leave first, so that none finds its own group.
            for record in records:
                self._leave(record)
            while i < records.size():
                self.settle()
                hit = self._nearest_other(&self.X[records[i], 0], group, full)
                if hit.first == INFINITY:
                    break
                if self.recording:
                    self.journal.push_back(pair[Py_ssize_t, Py_ssize_t](records[i], group))
                self._join(records[i], hit.second)
                i += 1
        if i == records.size():
            return sorted({self.group_of[record] for record in records})
        for record in records:
            if self.group_of[record] >= 0:
                self._leave(record)
                if self.recording:
                    self.journal.pop_back()
            self._join(record, group)
        return []

    def distill(self, Py_ssize_t first):
        """Make a group of k excess records, from a first one; return its number and those it robs.

        Every group of more than k records has an excess: those farthest from its centroid. One at
        a time, the excess record nearest to the centroid of the new group joins it.
        """
        cdef vector[Py_ssize_t] records
        cdef double[::1] mean = np.array(self.X[first])
        cdef Hit hit
        cdef Py_ssize_t j, record
        self._check_record(first)
        if self.X.shape[0] - self.k * self.n_groups < self.k:
            raise ValueError(f"Fewer than k={self.k} excess records in {self.n_groups} groups.")
        self.settle_with_index()
        with nogil:
            records.push_back(first)
            self.is_taken[first] = 1
            while <Py_ssize_t>records.size() < self.k:
                hit = self._nearest_excess(&mean[0])
                records.push_back(hit.second)
                self.is_taken[hit.second] = 1
                for j in range(self.n_columns):
                    mean[j] += (self.X[hit.second, j] - mean[j]) / records.size()
            for record in records:
                self.is_taken[record] = 0
        robbed = {self.group_of[record] for record in records}
        return self.create(np.array(records, dtype=np.intp)), sorted(robbed)

    # Searches

    cdef Hit _nearest_other(self, const double *point, Py_ssize_t group,
                            Py_ssize_t full) except * nogil:
        """The group with the nearest centroid, other than `group` and not full, or NO_HIT."""
        cdef Py_ssize_t m = 0
        cdef size_t i
        while m < self.index.size:
            m = min(max(2 * m, 2), self.index.size)
            self.index.nearest(point, m, self.hits)
            for i in range(self.hits.size()):
                if (
                    self.hits[i].second != group
                    and <Py_ssize_t>self.members[self.hits[i].second].size() < full
                ):
                    return self.hits[i]
        return NO_HIT

    cdef Hit _nearest_excess(self, const double *point) except * nogil:
        """The excess record nearest to a point, of those not taken yet."""
        cdef Hit best = NO_HIT
        cdef Py_ssize_t m = 8
        cdef size_t i
        self.nearby.clear()
        if self.larger.size() <= FEW_LARGER_GROUPS:
            for i in range(self.larger.size()):
                self.nearby.push_back(Hit(0.0, self.larger[i]))
        else:
            # Any one that is near tells how far to look for a nearer one.
            while best.first == INFINITY:
                m = min(2 * m, self.index.size)
                self.index.nearest(point, m, self.nearby)
                for i in range(self.nearby.size()):
                    self._look_for_excess(self.nearby[i].second, point, &best)
            self.index.within(point, 2.0 * sqrt(best.first), 2.0, self.nearby)
        for i in range(self.nearby.size()):
            self._look_for_excess(self.nearby[i].second, point, &best)
        return best

    cdef int _look_for_excess(self, Py_ssize_t group, const double *point,
                              Hit *best) except -1 nogil:
        cdef Py_ssize_t record
        cdef size_t i
        if self.place_in_larger[group] < 0:
            return 0
        self._excess(group, self.hits)
        for i in range(self.hits.size()):
            record = self.hits[i].second
            if not self.is_taken[record]:
                best[0] = min(
                    best[0],
                    Hit(squared_distance(&self.X[record, 0], point, self.n_columns), record),
                )
        return 0

    cdef int _excess(self, Py_ssize_t group, vector[Hit] &records) except -1 nogil:
        cdef Py_ssize_t record
        records.clear()
        for record in self.members[group]:
            records.push_back(Hit(-self.own_distance[record], record))
        sort(records.begin(), records.end())
        if <Py_ssize_t>records.size() > self.k:
            records.resize(records.size() - self.k)
        else:
            records.clear()
        return 0

    # Checks

    cdef int _check_group(self, Py_ssize_t group) except -1:
        if not 0 <= group < self.n_slots or self.members[group].empty():
            raise ValueError(f"There is no group {group}.")
        return 0

    cdef int _check_record(self, Py_ssize_t record) except -1:
        if not 0 <= record < self.X.shape[0]:
            raise ValueError(f"There is no record {record}.")
        return 0
