"""The records that no group has taken yet, and the exact questions that builders ask of them."""

import numpy as np

from libc.math cimport fabs
from libcpp.vector cimport vector

from ..common._interrupt cimport Watch, is_over, new_watch
from ._diameter cimport Diameter
from ._outskirts cimport Outskirts
from ._boxes cimport AUTO, NO_HIT, SCAN, TREE, Boxes, Hit
from ._tree cimport Tree


cdef enum:
    POINTS_BETWEEN_SIGNALS = 1024
    POINTS_AT_A_TIME = 65536

_SEARCHES = {"auto": AUTO, "tree": TREE, "scan": SCAN}


cdef class Pool:
    """The records not yet grouped: a set that shrinks, with exact point queries.

    Distances are Euclidean. Of several records that fit equally well, the one with the lowest index
    is the answer, so that an answer never depends on how it was found. A pool is for one thread.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64, C-contiguous
        The records. The pool keeps a reference to them.

    weights : ndarray of shape (n_records,), float64, default=None
        Weights of a power diagram: the nearest record is the one for which the squared distance
        less its weight is least. By default all are 0. The farthest record has nothing to do with
        them.

    search : {"auto", "tree", "scan"}, default="auto"
        "tree" prunes with a kd-tree, "scan" looks at every record, "auto" tries what is faster. The
        answers are the same.

    Attributes
    ----------
    size : int
        Number of records still in the pool.

    looked_at : int
        Number of records whose distances the queries so far have computed.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import Pool
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> pool = Pool(X)
    >>> pool.farthest(pool.centroid())
    3
    >>> pool.around(3, 2)
    array([3, 2])
    >>> pool.remove(pool.around(3, 2))
    >>> pool.size
    2
    """

    cdef const double[:, ::1] X
    cdef Tree tree
    cdef dict outskirts
    cdef Diameter diameter_search
    # Sums of the columns over the pool, and what rounding took from them. Each time that the number
    # of removals has doubled they are summed anew: huge records that left leave no error for long.
    cdef vector[double] total
    cdef vector[double] lost
    cdef Py_ssize_t n_removed
    cdef Py_ssize_t sum_after
    cdef vector[Hit] hits

    def __init__(self, const double[:, ::1] X, *, const double[::1] weights=None, search="auto"):
        if search not in _SEARCHES:
            raise ValueError(f"search={search!r} must be one of {sorted(_SEARCHES)}.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X of shape {(X.shape[0], X.shape[1])} has no record or no column.")
        if weights is not None and weights.shape[0] != X.shape[0]:
            raise ValueError(f"{weights.shape[0]} weights, but X has {X.shape[0]} records.")
        self.X = X
        self.tree = Tree(X, _SEARCHES[search], reach=weights, weighted=weights is not None)
        self.n_removed = 0
        self.sum_after = 1
        self._sum()
        self._forget()

    @property
    def size(self):
        return self.tree.size

    @property
    def looked_at(self):
        return self.tree.looked_at

    def __contains__(self, Py_ssize_t record):
        return self._holds(record)

    def centroid(self):
        """Mean of the records in the pool, an ndarray of shape (n_columns,)."""
        cdef Py_ssize_t j
        cdef double[::1] mean = np.empty(self.X.shape[1])
        self._check_size(1)
        for j in range(self.X.shape[1]):
            mean[j] = (self.total[j] + self.lost[j]) / self.tree.size
        return mean.base

    def farthest(self, const double[::1] point, *, anchor=None):
        """Index of the record farthest from a point.

        Queries that give the same `anchor`, any hashable, say that their points are close to each
        other (a centroid that drifts, a fixed reference). From the second on they are faster.
        """
        cdef Outskirts outskirts
        cdef Py_ssize_t record
        self._check_point(point.shape[0])
        self._check_size(1)
        if anchor is None:
            with nogil:
                record = self.tree.farthest(&point[0], NO_HIT).second
            return record
        outskirts = self.outskirts.get(anchor)
        if outskirts is None:
            outskirts = self.outskirts[anchor] = Outskirts(self.tree)
        with nogil:
            record = outskirts.farthest(&point[0])
        return record

    def nearest(self, const double[::1] point, Py_ssize_t m):
        """Indices of the `m` records nearest to a point, nearest first."""
        self._check_point(point.shape[0])
        self._check_size(m)
        with nogil:
            self.tree.nearest(&point[0], m, self.hits)
        return self._records_hit()

    def around(self, Py_ssize_t record, Py_ssize_t m):
        """Indices of a record of the pool and of the `m` - 1 others nearest to it, itself first."""
        self._check_held(record)
        self._check_around(m)
        with nogil:
            self._around(record, m)
        return self._records_hit()

    def around_each(self, Py_ssize_t m):
        """The same for every row of X, all of which must be in the pool: an array of `m` columns.
        """
        cdef Py_ssize_t record, place
        cdef Py_ssize_t[:, ::1] records
        cdef Watch watch = new_watch(POINTS_BETWEEN_SIGNALS)
        self._check_around(m)
        if self.tree.size < self.X.shape[0]:
            raise ValueError(f"{self.X.shape[0] - self.tree.size} records are not in the pool.")
        records = np.empty((self.X.shape[0], m), dtype=np.intp)
        with nogil:
            for record in range(self.X.shape[0]):
                is_over(&watch, 1)
                self._around(record, m)
                for place in range(m):
                    records[record, place] = self.hits[place].second
        return records.base

    def nearest_each(self, const double[:, ::1] points):
        """Index of the record nearest to each of many points."""
        cdef Py_ssize_t start, stop
        cdef Py_ssize_t[::1] records = np.empty(points.shape[0], dtype=np.intp)
        self._check_point(points.shape[1])
        self._check_size(1)
        for start in range(0, points.shape[0], POINTS_AT_A_TIME):
            stop = min(start + POINTS_AT_A_TIME, points.shape[0])
            self._nearest_each(points[start:stop], records[start:stop])
        return records.base

    cdef int _nearest_each(self, const double[:, ::1] points, Py_ssize_t[::1] records) except -1:
        """Answer points in an order in which each is near to the one before.

        Then the tiles to look at are at hand, and one answer is a good guess for the next.
        """
        cdef Boxes boxes = Boxes(points, TREE)
        cdef Watch watch = new_watch(POINTS_BETWEEN_SIGNALS)
        cdef vector[Py_ssize_t] order
        cdef Py_ssize_t record
        cdef size_t i
        self.tree.nearest(&points[0, 0], 1, self.hits)
        record = self.hits[0].second
        boxes.in_order(order)
        with nogil:
            for i in range(order.size()):
                is_over(&watch, 1)
                record = self.tree.nearest_one(&points[order[i], 0], record)
                records[order[i]] = record
        return 0

    def diameter(self):
        """Indices of the two records most distant from each other, the lower one first."""
        cdef Py_ssize_t lower = 0, higher = 0
        self._check_size(1)
        if self.diameter_search is None:
            self.diameter_search = Diameter(self.tree, self.centroid())
        with nogil:
            self.diameter_search.ends(&lower, &higher)
        return lower, higher

    def remove(self, const Py_ssize_t[::1] records):
        """Take records out of the pool."""
        cdef Py_ssize_t i = 0
        with nogil:
            while i < records.shape[0] and self._holds(records[i]):
                self._remove(records[i])
                i += 1
        if i < records.shape[0]:
            self._check_held(records[i])

    def refresh(self, Py_ssize_t record):
        """Take over a row of `X` that was changed in place since the pool was made."""
        cdef Py_ssize_t j
        self._check_held(record)
        for j in range(self.X.shape[1]):
            self._add(j, -self.tree.coordinate(record, j))
            self._add(j, self.X[record, j])
        self.tree.refresh(record)
        self._forget()

    cdef int _around(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil:
        cdef size_t place = 0
        self.tree.nearest(&self.X[record, 0], m, self.hits)
        # Twins of the record may come before it, or even push it out.
        while place + 1 < self.hits.size() and self.hits[place].second != record:
            place += 1
        while place > 0:
            self.hits[place] = self.hits[place - 1]
            place -= 1
        self.hits[0] = Hit(0.0, record)
        return 0

    cdef bint _holds(self, Py_ssize_t record) noexcept nogil:
        return 0 <= record < self.X.shape[0] and self.tree.holds(record)

    cdef int _remove(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t j
        for j in range(self.X.shape[1]):
            self._add(j, -self.X[record, j])
        self.tree.remove(record)
        self.n_removed += 1
        if self.n_removed == self.sum_after:
            self.sum_after *= 2
            self._sum()
        return 0

    cdef int _sum(self) except -1 nogil:
        cdef Py_ssize_t record, j
        self.total.assign(self.X.shape[1], 0.0)
        self.lost.assign(self.X.shape[1], 0.0)
        for record in range(self.X.shape[0]):
            if self.tree.holds(record):
                for j in range(self.X.shape[1]):
                    self._add(j, self.X[record, j])
        return 0

    cdef void _add(self, Py_ssize_t column, double value) noexcept nogil:
        """Neumaier's compensated sum."""
        cdef double before = self.total[column]
        cdef double after = before + value
        if fabs(before) >= fabs(value):
            self.lost[column] += (before - after) + value
        else:
            self.lost[column] += (value - after) + before
        self.total[column] = after

    cdef _forget(self):
        """Drop what was remembered of distances between records."""
        self.outskirts = {}
        self.diameter_search = None

    cdef _records_hit(self):
        cdef size_t place
        cdef Py_ssize_t[::1] records = np.empty(self.hits.size(), dtype=np.intp)
        for place in range(self.hits.size()):
            records[place] = self.hits[place].second
        return records.base

    cdef int _check_size(self, Py_ssize_t m) except -1:
        if not 0 <= m <= self.tree.size:
            raise ValueError(f"The pool of {self.tree.size} records cannot give {m}.")
        return 0

    cdef int _check_around(self, Py_ssize_t m) except -1:
        self._check_size(m)
        if m < 1:
            raise ValueError(f"m={m} must be at least 1.")
        return 0

    cdef int _check_held(self, Py_ssize_t record) except -1:
        if not self._holds(record):
            raise ValueError(f"Record {record} is not in the pool.")
        return 0

    cdef int _check_point(self, Py_ssize_t n_columns) except -1:
        if n_columns != self.X.shape[1]:
            raise ValueError(f"A point of {n_columns} columns, but X has {self.X.shape[1]}.")
        return 0
