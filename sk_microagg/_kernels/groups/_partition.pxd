from libcpp.vector cimport vector

from ..common._base_partition cimport BasePartition
from ..common._distances cimport Hit
from ..points._point_tree cimport PointTree


cdef class Partition(BasePartition):
    cdef const double[:, ::1] X
    cdef Py_ssize_t n_columns

    # Brought up to date by `update`.
    cdef double[:, ::1] centroids
    cdef double[::1] radius
    cdef vector[double] own_distance
    cdef vector[double] measured
    cdef PointTree index

    cdef vector[Hit] hits
    cdef vector[Hit] nearby
    cdef vector[char] is_taken

    cdef int update_with_index(self) except -1
    cdef int distances(self, Py_ssize_t group, const double *point,
                       vector[double] &distances) except -1 nogil

    cdef Hit _nearest_other(self, const double *point, Py_ssize_t group,
                            Py_ssize_t full) except * nogil
    cdef Hit _nearest_excess(self, const double *point) except * nogil
    cdef int _nearer_excess(self, Py_ssize_t group, const double *point,
                              Hit *best) except -1 nogil
    cdef int _excess(self, Py_ssize_t group, vector[Hit] &records) except -1 nogil

    # Moves by the million, inlined. `carry` updates the centroids as running means, at the cost of
    # one row; everything else about the groups waits for `update`.

    cdef inline double _apart(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """Squared distance of a record to a centroid."""
        cdef const double *x = &self.X[record, 0]
        cdef const double *centroid = &self.centroids[group, 0]
        cdef double total = 0.0, total1 = 0.0, gap, gap1
        cdef Py_ssize_t j = 0
        while j + 2 <= self.n_columns:
            gap = x[j] - centroid[j]
            gap1 = x[j + 1] - centroid[j + 1]
            total += gap * gap
            total1 += gap1 * gap1
            j += 2
        if j < self.n_columns:
            gap = x[j] - centroid[j]
            total += gap * gap
        return total + total1

    cdef inline void _pull(self, Py_ssize_t group, Py_ssize_t record, double share) noexcept nogil:
        """Move a centroid by a share of its distance to a record."""
        cdef Py_ssize_t j
        if share == 1.0:  # A new group: what was in its slot may have been far away.
            for j in range(self.n_columns):
                self.centroids[group, j] = self.X[record, j]
            return
        for j in range(self.n_columns):
            self.centroids[group, j] += share * (self.X[record, j] - self.centroids[group, j])

    cdef inline double cost_to_join(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """By how much the SSE rises when a record joins a group."""
        cdef double size = self.members[group].size()
        return size / (size + 1.0) * self._apart(record, group)

    cdef inline double cost_to_shift(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil:
        """By how much the SSE rises, or falls if below 0, when a record moves to another group."""
        cdef Py_ssize_t source = self.group_of[record]
        cdef double size = self.members[source].size()
        cdef double cost = self.cost_to_join(record, group)
        if size > 1.0:
            cost -= size / (size - 1.0) * self._apart(record, source)
        return cost

    cdef inline double cost_to_swap(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        """By how much the SSE rises when two records of different groups change places."""
        cdef Py_ssize_t j = 0, a = self.group_of[one], b = self.group_of[other]
        cdef const double *x = &self.X[one, 0]
        cdef const double *y = &self.X[other, 0]
        cdef const double *from_a = &self.centroids[a, 0]
        cdef const double *from_b = &self.centroids[b, 0]
        cdef double along = 0.0, along1 = 0.0, squared = 0.0, squared1 = 0.0, gap, gap1
        cdef double weight = 1.0 / self.members[a].size() + 1.0 / self.members[b].size()
        # Two sums at a time: none waits for another.
        while j + 2 <= self.n_columns:
            gap = y[j] - x[j]
            gap1 = y[j + 1] - x[j + 1]
            along += gap * (from_a[j] - from_b[j])
            along1 += gap1 * (from_a[j + 1] - from_b[j + 1])
            squared += gap * gap
            squared1 += gap1 * gap1
            j += 2
        if j < self.n_columns:
            gap = y[j] - x[j]
            along += gap * (from_a[j] - from_b[j])
            squared += gap * gap
        return -2.0 * (along + along1) - weight * (squared + squared1)

    cdef inline int carry(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil:
        """Move a record to another group, or to a free slot, and let their centroids follow."""
        cdef Py_ssize_t source = self.group_of[record]
        self.shift(record, group)
        if not self.members[source].empty():
            self._pull(source, record, -1.0 / self.members[source].size())
        self._pull(group, record, 1.0 / self.members[group].size())
        return 0

    cdef inline int carry_both(self, Py_ssize_t one, Py_ssize_t other) except -1 nogil:
        """Let two records of different groups change places, and their centroids follow."""
        cdef Py_ssize_t j, a = self.group_of[one], b = self.group_of[other]
        cdef double gap
        self.shift(one, b)
        self.shift(other, a)
        for j in range(self.n_columns):
            gap = self.X[other, j] - self.X[one, j]
            self.centroids[a, j] += gap / self.members[a].size()
            self.centroids[b, j] -= gap / self.members[b].size()
        return 0
