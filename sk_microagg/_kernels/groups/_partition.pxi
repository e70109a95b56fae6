"""Groups of points, with the queries of refiners and moves between the groups."""

import numpy as np

cimport cython
from libc.math cimport INFINITY, sqrt
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._common cimport BasePartition
from ..common._distances cimport NO_HIT, Hit, squared_distance
from ..points._points cimport AUTO, CodedTree, PointTree

cdef enum:
    FEW_LARGER_GROUPS = 64


@cython.final
cdef class Partition(BasePartition):
    """Partition(X, labels, k)\n--\n\n\
    Groups of records, with moves between them and a journal to undo moves.

    Groups may be smaller than k for a time: callers must restore size k. A group keeps its number
    while others come and go; `labels` numbers them anew, from 0.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64, C-contiguous, or CodedPoints
        The records. The partition keeps a reference to them. If they have codes, centroids and
        points are those in the columns of numbers.

    labels : ndarray of shape (n_records,), intp
        Group of each record, numbered from 0 with none left out.

    k : int
        Smallest size of a finished group.

    Attributes
    ----------
    n_records : int
        Number of records.

    n_groups : int
        Number of groups.

    n_slots : int
        Groups have numbers below this one.

    n_larger : int
        Number of groups with more than k records.

    sse : float
        Sum of squared distances of all records to the centroids of their groups.

    See Also
    --------
    Refiner : Base class of refiners, which lower the SSE of a partition.
    sk_microagg.builders.Pool : The records not yet grouped.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.refiners import Partition
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

    def __init__(self, X, const Py_ssize_t[::1] labels, Py_ssize_t k):
        self.X = getattr(X, "numbers", X)
        if labels.shape[0] != self.X.shape[0] or self.X.shape[0] == 0:
            raise ValueError(f"{labels.shape[0]} labels for {self.X.shape[0]} records.")
        BasePartition.__init__(self, labels, k)
        self.n_columns = self.X.shape[1]
        self.codes = getattr(X, "codes", None)
        self.squares = getattr(X, "squares", None)
        self.n_codes = 0 if self.codes is None else self.codes.shape[1]
        self.norms.assign(self.n_slots * self.n_codes, 0.0)
        self.counts.assign(0 if self.codes is None else self.squares.shape[0], 0)
        self.centroids = np.zeros((self.n_slots, self.n_columns))
        self.radius = np.zeros(self.n_slots)
        self.own_distance.assign(self.n_records, 0.0)
        self.is_taken.assign(self.n_records, 0)
        self.measure_all()

    # Questions

    @property
    def sse(self):
        """Sum of squared distances of all records to their centroids: the cost."""
        return self.cost_of_all()

    def centroid(self, Py_ssize_t group):
        """Mean of the records of a group.

        Parameters
        ----------
        group : int
            The group.

        Returns
        -------
        centroid : ndarray of shape (n_columns,)
            The mean.
        """
        self.check_group(group)
        self.update()
        return np.array(self.centroids[group])

    def all_centroids(self):
        """Means of all groups.

        Returns
        -------
        centroids : ndarray of shape (n_groups, n_columns)
            The means, in the order of `groups`.
        """
        self.update()
        return np.asarray(self.centroids)[self.groups()]

    def excess(self, Py_ssize_t group):
        """All records of a group but the k nearest to its centroid.

        Parameters
        ----------
        group : int
            The group.

        Returns
        -------
        records : ndarray of shape (size - k,)
            The records, farthest first; none if the group has k or fewer.
        """
        self.check_group(group)
        self.update()
        self._excess(group, self.hits)
        return np.array([hit.second for hit in self.hits], dtype=np.intp)

    def nearest(self, const double[::1] point, Py_ssize_t m):
        """Find the groups with the centroids nearest to a point.

        Parameters
        ----------
        point : ndarray of shape (n_columns,), float64
            The point.

        m : int
            Number of groups.

        Returns
        -------
        groups : ndarray of shape (m,)
            The groups, nearest first. Ties go to the lowest number.
        """
        if point.shape[0] != self.n_columns:
            raise ValueError(f"A point of {point.shape[0]} columns, but X has {self.n_columns}.")
        if not 0 <= m <= self.n_groups:
            raise ValueError(f"m={m} must be from 0 to the number of groups, {self.n_groups}.")
        self.update_with_index()
        self.index.nearest(&point[0], m, self.hits)
        return np.array([hit.second for hit in self.hits], dtype=np.intp)

    def nearest_group(self, Py_ssize_t group):
        """Find the other group with the nearest centroid.

        Parameters
        ----------
        group : int
            The group.

        Returns
        -------
        nearest : int
            The other group; the lowest of several. There must be one.
        """
        cdef Hit best = NO_HIT
        cdef Py_ssize_t other
        self.check_group(group)
        if self.n_groups < 2:
            raise ValueError(f"group={group} is the only one.")
        if self.n_codes == 0:
            self.update_with_index()
            return self._nearest_other(&self.centroids[group, 0], group, self.n_records + 1).second
        self.update()
        for other in range(self.n_slots):
            if other != group and not self.members[other].empty():
                best = min(best, Hit(self.apart(group, other), other))
        return best.second

    def best_departure(self, Py_ssize_t group):
        """Find the record whose move to the nearest other group lowers the SSE most.

        Parameters
        ----------
        group : int
            The group that it leaves, of two or more records.

        Returns
        -------
        record : int
            The record; the lowest of several.

        target : int
            The other group, or -1 if there is none.

        gain : float
            The decrease of the SSE, which may be negative.
        """
        cdef Py_ssize_t record, best_record = -1, target = -1
        cdef double gain, best_gain = -INFINITY, size, target_size
        cdef Hit hit
        self.check_group(group)
        if self.members[group].size() < 2:
            raise ValueError(f"group={group} has one record, and cannot be left by it.")
        self.update_with_index()
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

    def dissolve(self, Py_ssize_t group, Py_ssize_t full=-1):
        """Move each record of a group to the nearest other group.

        The records move in ascending order, and centroids follow each move.

        Parameters
        ----------
        group : int
            The group, which vanishes.

        full : int, default=-1
            Groups of this size take no more records; with -1 there is no limit.

        Returns
        -------
        touched : list of int
            The groups that took the records; empty, with nothing changed, if all others are full.
        """
        cdef vector[Py_ssize_t] records
        cdef Py_ssize_t record
        cdef size_t i = 0
        cdef Hit hit
        self.check_group(group)
        if full < 0:
            full = self.X.shape[0] + 1
        records = self.members[group]
        self.update_with_index()
        with nogil:
            # All leave first, so that none finds its own group.
            for record in records:
                self.leave(record)
            while i < records.size():
                self.update()
                hit = self._nearest_other(&self.X[records[i], 0], group, full)
                if hit.first == INFINITY:
                    break
                self.log_move(records[i], group)
                self.join(records[i], hit.second)
                i += 1
        if i == records.size():
            return sorted({self.group_of[record] for record in records})
        for record in records:
            if self.group_of[record] >= 0:
                self.leave(record)
                if self.recording:
                    self.journal.pop_back()
            self.join(record, group)
        return []

    def distill(self, Py_ssize_t first):
        """Make a group of k excess records around a first one.

        Every group of more than k records has an excess: those farthest from its centroid. One at
        a time, the excess record nearest to the centroid of the new group joins it.

        Parameters
        ----------
        first : int
            The first record.

        Returns
        -------
        group : int
            The new group.

        sources : list of int
            The groups that lost records.
        """
        cdef vector[Py_ssize_t] records
        cdef double[::1] mean
        cdef Hit hit
        cdef Py_ssize_t j, record
        self.check_record(first)
        mean = np.array(self.X[first])
        if self.X.shape[0] - self.k * self.n_groups < self.k:
            raise ValueError(f"Fewer than k={self.k} excess records in {self.n_groups} groups.")
        self.update_with_index()
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
        sources = {self.group_of[record] for record in records}
        return self.create(np.array(records, dtype=np.intp)), sorted(sources)

    def place_centroids(self, const double[:, ::1] points):
        """Take other points than the means for the centroids of all groups, until records move.

        Parameters
        ----------
        points : ndarray of shape (n_groups, n_columns), float64
            The point of each group, in the order of their numbers, of which none may be left out.
        """
        cdef Py_ssize_t group
        cdef size_t i
        if points.shape[0] != self.n_groups or points.shape[1] != self.n_columns:
            raise ValueError(
                f"Points of shape {(points.shape[0], points.shape[1])} for {self.n_groups} groups "
                f"of {self.n_columns} columns."
            )
        self.update()
        self.index = None
        self.centroids[: self.n_groups] = points
        for group in range(self.n_groups):
            self.distances(group, group, self.measured)
            self.radius[group] = 0.0
            for i in range(self.measured.size()):
                self.own_distance[self.members[group][i]] = self.measured[i]
                self.radius[group] = max(self.radius[group], sqrt(self.measured[i]))

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
            # The distance of any near one limits the search for a nearer one.
            while best.first == INFINITY:
                m = min(2 * m, self.index.size)
                self.index.nearest(point, m, self.nearby)
                for i in range(self.nearby.size()):
                    self._nearer_excess(self.nearby[i].second, point, &best)
            self.index.within(point, 2.0 * sqrt(best.first), 2.0, self.nearby)
        for i in range(self.nearby.size()):
            self._nearer_excess(self.nearby[i].second, point, &best)
        return best

    cdef int _nearer_excess(self, Py_ssize_t group, const double *point,
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

    # Measures

    cdef double measure(self, Py_ssize_t group) except -1 nogil:
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
        self._measure_norms(group)
        self.distances(group, group, self.measured)
        for i in range(members.size()):
            self.own_distance[members[0][i]] = self.measured[i]
            farthest = max(farthest, self.measured[i])
            total += self.measured[i]
        self.radius[group] = sqrt(farthest)
        return total

    cdef int reindex(self, Py_ssize_t group) except -1 nogil:
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

    cdef int update_with_index(self) except -1:
        """Update dirty groups, and build the index over the centroids if there is none yet."""
        self.update()
        if self.index is None:
            is_member = [not self.members[group].empty() for group in range(self.n_slots)]
            self.index = PointTree(
                self.centroids,
                AUTO,
                radii=self.radius,
                is_member=np.array(is_member, dtype=np.uint8),
                roomy=True,
            )
        return 0

    cdef int distances(self, Py_ssize_t group, Py_ssize_t target,
                       vector[double] &distances) except -1 nogil:
        """Squared distances of a group's members to the centroid of any group."""
        self._distances_to(group, &self.centroids[target, 0], distances)
        return 0 if self.n_codes == 0 else self._add_codes(group, target, distances)

    cdef double apart(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Squared distance between the centroids of two groups."""
        cdef double distance = squared_distance(
            &self.centroids[a, 0], &self.centroids[b, 0], self.n_columns
        )
        cdef double share = 1.0 / (self.members[a].size() * self.members[b].size())
        cdef double cross
        cdef Py_ssize_t slot, record
        if self.n_codes == 0:
            return distance
        self._count(b, 1)
        for slot in range(self.n_codes):
            cross = 0.0
            for record in self.members[a]:
                cross += (
                    self.squares[self.codes[record, slot]] * self.counts[self.codes[record, slot]]
                )
            cross = self.norms[a * self.n_codes + slot] - 2.0 * share * cross
            distance += max(cross + self.norms[b * self.n_codes + slot], 0.0)
        self._count(b, -1)
        return distance

    cdef double records_apart(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        """Squared distance between two records."""
        cdef double distance = squared_distance(
            &self.X[one, 0], &self.X[other, 0], self.n_columns
        )
        cdef Py_ssize_t slot
        for slot in range(self.n_codes):
            if self.codes[one, slot] != self.codes[other, slot]:
                distance += (
                    self.squares[self.codes[one, slot]] + self.squares[self.codes[other, slot]]
                )
        return distance

    cdef double to_group(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """Squared distance of a record to the centroid of a group."""
        cdef double distance = squared_distance(
            &self.X[record, 0], &self.centroids[group, 0], self.n_columns
        )
        cdef Py_ssize_t slot, member
        cdef int code, n_alike
        for slot in range(self.n_codes):
            code, n_alike = self.codes[record, slot], 0
            for member in self.members[group]:
                n_alike += self.codes[member, slot] == code
            distance += max(
                self.squares[code] * (1.0 - 2.0 * n_alike / self.members[group].size())
                + self.norms[group * self.n_codes + slot],
                0.0,
            )
        return distance

    cdef CodedTree coded_tree(self, weights):
        """The centroids of groups that are numbered from 0, none left out."""
        labels = np.repeat(np.array(self.group_of), self.n_codes)
        codes = np.asarray(self.codes).ravel().astype(np.intp)
        pairs, counts = np.unique(codes * self.n_groups + labels, return_counts=True)
        listed, groups = np.divmod(pairs, self.n_groups)
        sizes = np.array([self.members[group].size() for group in range(self.n_groups)])
        norms = np.array(self.norms).reshape(-1, self.n_codes)[: self.n_groups].sum(axis=1)
        starts = np.searchsorted(listed, np.arange(self.squares.shape[0] + 1))
        return CodedTree(
            self.centroids[: self.n_groups],
            norms,
            self.squares,
            starts.astype(np.int32),
            groups.astype(np.int32),
            counts / sizes[groups],
            weights,
        )

    cdef void _count(self, Py_ssize_t group, int step) noexcept nogil:
        """Add a group's codes to `counts`, or take them out again."""
        cdef Py_ssize_t slot, record
        for record in self.members[group]:
            for slot in range(self.n_codes):
                self.counts[self.codes[record, slot]] += step

    cdef void _measure_norms(self, Py_ssize_t group) noexcept nogil:
        """Compute the squared norm of a centroid in the coordinates of codes, slot by slot."""
        cdef double total, size = self.members[group].size()
        cdef Py_ssize_t slot, record
        cdef int code
        self._count(group, 1)
        for slot in range(self.n_codes):
            total = 0.0
            for record in self.members[group]:
                code = self.codes[record, slot]
                total += self.squares[code] * self.counts[code]
            self.norms[group * self.n_codes + slot] = total / (size * size)
        self._count(group, -1)

    cdef int _add_codes(self, Py_ssize_t group, Py_ssize_t target,
                        vector[double] &distances) except -1 nogil:
        """Add what codes contribute to the squared distances of members to a centroid."""
        cdef double size = self.members[target].size()
        cdef Py_ssize_t slot
        cdef size_t i
        cdef int code
        self._count(target, 1)
        for i in range(self.members[group].size()):
            for slot in range(self.n_codes):
                code = self.codes[self.members[group][i], slot]
                distances[i] += max(
                    self.squares[code] * (1.0 - 2.0 * self.counts[code] / size)
                    + self.norms[target * self.n_codes + slot],
                    0.0,
                )
        self._count(target, -1)
        return 0

    cdef int _distances_to(self, Py_ssize_t group, const double *point,
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
