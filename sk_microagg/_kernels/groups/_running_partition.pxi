"""Groups whose centroids follow every move as running means, for moves by the million.

Groups lie at equal strides, so that a move touches few places of memory. Nothing is kept up to date
but members and centroids; `Partition` measures what else there is to know of a partition.
"""

import numpy as np

cimport cython
from libc.limits cimport SHRT_MAX
from libcpp.vector cimport vector

from ..common._distances cimport squared_distance

cdef enum:
    # With more values of codes, counts of all of them in each group take too much memory.
    MOST_VALUES_TO_COUNT = 1024


@cython.final
cdef class RunningPartition:
    """Groups of a limited size, with the costs of moves between them.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64, C-contiguous, or CodedPoints
        The records.

    labels : ndarray of shape (n_records,), intp
        Group of each record, numbered from 0 with none left out; each of k to `full` records.

    k : int
        Smallest size of a finished group.

    full : int, default=-1
        Largest size of a group; -1 is 2k - 1, since larger groups are not optimal unless there are
        constraints beyond k.

    Attributes
    ----------
    n_records, n_groups : int
        Number of records and of groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import RunningPartition
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> partition = RunningPartition(X, np.array([0, 0, 1, 1]), k=2)
    >>> partition.measure()
    8.5
    """

    def __init__(self, X, const Py_ssize_t[::1] labels, Py_ssize_t k, Py_ssize_t full=-1):
        cdef Py_ssize_t record, group, n_slots
        self.X = getattr(X, "numbers", X)
        self.codes = getattr(X, "codes", None)
        self.squares = getattr(X, "squares", None)
        self.n_codes = 0 if self.codes is None else self.codes.shape[1]
        self.n_records = self.X.shape[0]
        self.n_columns = self.X.shape[1]
        self.k = k
        self.full = 2 * k - 1 if full < 0 else full
        self.n_values = 0 if self.codes is None else self.squares.shape[0]
        if self.n_values > MOST_VALUES_TO_COUNT or self.full > SHRT_MAX:
            self.n_values = 0
        sizes = np.bincount(labels)
        if labels.shape[0] != self.n_records or not k <= sizes.min() <= sizes.max() <= self.full:
            raise ValueError(
                f"The groups of {self.n_records} records must have k={k} to {self.full} each."
            )
        self.n_groups = len(sizes)
        n_slots = self.n_records // k
        self.size.assign(n_slots, 0)
        self.members.assign(n_slots * self.full, -1)
        self.centroids.assign(n_slots * self.n_columns, 0.0)
        self.norms.assign(n_slots, 0.0)
        self.counts.assign(n_slots * self.n_values, 0)
        self.group_of.assign(labels.shape[0], 0)
        self.place_of.assign(labels.shape[0], 0)
        self.share_of.assign(self.full + 2, 1.0)
        for group in range(1, self.full + 2):
            self.share_of[group] = 1.0 / group
        for group in range(n_slots - 1, self.n_groups - 1, -1):
            self.free_slots.push_back(<int>group)
        for record in range(self.n_records):
            self._join(<int>record, <int>labels[record])
            self._count_codes(<int>record, <int>labels[record], 1)
        self.measure()

    def measure(self):
        """Compute all centroids anew, without the rounding of the moves before.

        Returns
        -------
        sse : float
            Sum of squared distances of all records to their centroids.
        """
        cdef Py_ssize_t group, n_slots = self.size.size()
        cdef double total = 0.0
        with nogil:
            for group in range(n_slots):
                total += self.measure_group(<int>group)
        return total

    def labels(self):
        """Group of each record, numbered from 0 with none left out.

        Returns
        -------
        labels : ndarray of shape (n_records,)
            The groups.
        """
        sizes = np.array(self.size)
        return (np.cumsum(sizes > 0) - 1)[np.array(self.group_of)]

    cdef double measure_group(self, int group) noexcept nogil:
        """Compute the centroid of a group anew; return its SSE."""
        cdef const int *members = &self.members[group * self.full]
        cdef double *centroid = &self.centroids[group * self.n_columns]
        cdef const double *base
        cdef double total = 0.0
        cdef Py_ssize_t i, j
        if self.size[group] == 0:
            return 0.0
        # Deviations from one member are averaged: a large offset costs no accuracy.
        base = &self.X[members[0], 0]
        for j in range(self.n_columns):
            centroid[j] = 0.0
        for i in range(1, self.size[group]):
            for j in range(self.n_columns):
                centroid[j] += self.X[members[i], j] - base[j]
        for j in range(self.n_columns):
            centroid[j] = base[j] + centroid[j] / self.size[group]
        for i in range(self.size[group]):
            total += squared_distance(&self.X[members[i], 0], centroid, self.n_columns)
        return total if self.n_codes == 0 else total + self._measure_codes(group)

    # What codes add: see `CodedTree`

    cdef double _measure_codes(self, int group) noexcept nogil:
        """Count the codes of a group anew; return their part of its SSE."""
        cdef const int *members = &self.members[group * self.full]
        cdef double square, own = 0.0, total = 0.0
        cdef Py_ssize_t slot, i
        for i in range(self.size[group]):
            for slot in range(self.n_codes):
                square = self.squares[self.codes[members[i], slot]]
                own += square
                total += square * self.count(group, slot, self.codes[members[i], slot])
        self.norms[group] = total
        return max(own - total / self.size[group], 0.0)

    cdef double _distance_of_codes(self, int record, int group) noexcept nogil:
        """What codes add to the squared distance of a record to a centroid."""
        cdef double share = self.share_of[self.size[group]]
        cdef double total = self.norms[group] * share * share
        cdef Py_ssize_t slot
        cdef int code
        for slot in range(self.n_codes):
            code = self.codes[record, slot]
            total += self.squares[code] * (1.0 - 2.0 * share * self.count(group, slot, code))
        return max(total, 0.0)

    cdef double _swap_of_codes(self, int one, int other, double weight) noexcept nogil:
        """What codes add to the cost of a swap."""
        cdef int a = self.group_of[one], b = self.group_of[other], x, y
        cdef double share_a = self.share_of[self.size[a]], share_b = self.share_of[self.size[b]]
        cdef double along = 0.0, squared = 0.0
        cdef Py_ssize_t slot
        for slot in range(self.n_codes):
            x, y = self.codes[one, slot], self.codes[other, slot]
            if x == y:
                continue
            along += self.squares[y] * (
                share_a * self.count(a, slot, y) - share_b * self.count(b, slot, y)
            )
            along -= self.squares[x] * (
                share_a * self.count(a, slot, x) - share_b * self.count(b, slot, x)
            )
            squared += self.squares[x] + self.squares[y]
        return -2.0 * along - weight * squared

    cdef void _count_codes(self, int record, int group, int change) noexcept nogil:
        cdef Py_ssize_t slot
        if self.n_values > 0:
            for slot in range(self.n_codes):
                self.counts[group * self.n_values + self.codes[record, slot]] += change

    cdef void _exchange_codes(self, int group, int leaving, int entering) noexcept nogil:
        """Update what is known of the codes of a group before a record leaves and another enters.

        -1 is for none.
        """
        cdef Py_ssize_t slot
        cdef int x, y
        if self.size[group] == 0:  # What was in its slot left rounding behind.
            self.norms[group] = 0.0
        for slot in range(self.n_codes):
            x = -1 if leaving < 0 else self.codes[leaving, slot]
            y = -1 if entering < 0 else self.codes[entering, slot]
            if x == y:
                continue
            if x >= 0:
                self.norms[group] -= self.squares[x] * (2 * self.count(group, slot, x) - 1)
            if y >= 0:
                self.norms[group] += self.squares[y] * (2 * self.count(group, slot, y) + 1)
        if leaving >= 0:
            self._count_codes(leaving, group, -1)
        if entering >= 0:
            self._count_codes(entering, group, 1)
