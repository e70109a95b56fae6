"""The records not yet grouped, with the exact queries of builders."""

import numpy as np

from libc.math cimport fabs
from libcpp.algorithm cimport partial_sort
from libcpp.vector cimport vector

from ..common._distances cimport NO_HIT, Hit, squared_distance
from ..common._interrupt cimport Watch, is_over, new_watch, watch_until


cdef enum:
    POINTS_BETWEEN_SIGNALS = 1024
    POINTS_AT_A_TIME = 65536
    # For fewer points, products do not pay.
    POINTS_FOR_PRODUCTS = 128

_SEARCHES = {"auto": AUTO, "tree": TREE, "scan": SCAN}


cdef class Pool(BasePool):
    """Pool(X, *, weights=None, search="auto")\n--\n\n\
    The records not yet grouped: a set that shrinks, with exact point queries.

    Distances are Euclidean. Ties go to the lowest index, so that an answer never depends on how it
    was found. A pool must not be used by several threads at once.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64, C-contiguous
        The records. The pool keeps a reference to them.

    weights : ndarray of shape (n_records,), float64, default=None
        Weights of a power diagram: the nearest record is the one with the least squared distance
        less weight. By default all are 0. The farthest record does not depend on them.

    search : {"auto", "tree", "scan"}, default="auto"
        "tree" prunes with a kd-tree, "scan" computes all distances, "auto" tries which is faster.
        The answers are the same.

    Attributes
    ----------
    size : int
        Number of records still in the pool.

    n_distances : int
        Number of distances that queries have computed so far.

    See Also
    --------
    Builder : Base class of builders, which group the records of a pool.
    sk_microagg.refiners.Partition : Groups of records, with moves between them.

    Examples
    --------
    Groups of two, each around the record farthest from the centroid of those that are left:

    >>> import numpy as np
    >>> from sk_microagg.builders import Pool
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0]])
    >>> pool = Pool(X)
    >>> while pool.size:
    ...     group = pool.around(pool.farthest(pool.centroid()), 2)
    ...     pool.remove(group)
    ...     print(group)
    [3 2]
    [0 1]
    """

    def __init__(self, const double[:, ::1] X, *, const double[::1] weights=None, search="auto"):
        if search not in _SEARCHES:
            raise ValueError(f"search={search!r} must be one of {sorted(_SEARCHES)}.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X of shape {(X.shape[0], X.shape[1])} has no record or no column.")
        if weights is not None and weights.shape[0] != X.shape[0]:
            raise ValueError(f"{weights.shape[0]} weights, but X has {X.shape[0]} records.")
        self.X = X
        self.n_coordinates = self.width = X.shape[1]
        self.tree = PointTree(X, _SEARCHES[search], weights=weights)
        self.n_removed = 0
        self.sum_after = 1
        self._sum()
        self._forget()

    @property
    def size(self):
        """Number of records still in the pool."""
        return self.tree.size

    @property
    def n_distances(self):
        """Number of distances that queries have computed so far."""
        return self.tree.n_distances

    def __contains__(self, Py_ssize_t record):
        return self.holds(record)

    def _use_codes(self, points):
        """Find what is near to a record, or far, by the codes of the same records, all of them."""
        self._check_complete()
        self.scan = CodedScan(points)

    def farthest(self, const double[::1] point, *, anchor=None):
        """Find the record farthest from a point.

        Parameters
        ----------
        point : ndarray of shape (n_columns,), float64
            The point.

        anchor : hashable, default=None
            Queries with the same anchor promise that their points are close to each other, such as
            a drifting centroid. This makes them faster, from the second on.

        Returns
        -------
        record : int
            Index of the record.
        """
        cdef AnchoredFarthest search
        cdef Py_ssize_t record
        self._check_point(point.shape[0])
        self._check_size(1)
        if anchor is None:
            with nogil:
                record = self.tree.farthest(&point[0], NO_HIT).second
            return record
        search = self.farthest_by_anchor.get(anchor)
        if search is None:
            search = self.farthest_by_anchor[anchor] = AnchoredFarthest(self.tree)
        with nogil:
            record = search.farthest(&point[0])
        return record

    def nearest(self, const double[::1] point, Py_ssize_t m):
        """Find the records nearest to a point.

        Parameters
        ----------
        point : ndarray of shape (n_columns,), float64
            The point.

        m : int
            Number of records.

        Returns
        -------
        records : ndarray of shape (m,)
            Indices of the records, nearest first.
        """
        self._check_point(point.shape[0])
        self._check_size(m)
        with nogil:
            self.tree.nearest(&point[0], m, self.hits)
        return self._records_hit()

    def around(self, Py_ssize_t record, Py_ssize_t m):
        """Find the records nearest to a record of the pool.

        Parameters
        ----------
        record : int
            The record.

        m : int
            Number of records, itself included.

        Returns
        -------
        records : ndarray of shape (m,)
            Indices of the record itself, and then of the others, nearest first.
        """
        self._check_held(record)
        self._check_around(m)
        with nogil:
            self.find_around(record, m)
        return self._records_hit()

    def around_each(self, Py_ssize_t m):
        """Find the records nearest to each record, while all are in the pool.

        Parameters
        ----------
        m : int
            Number of records, itself included.

        Returns
        -------
        records : ndarray of shape (n_records, m)
            What `around` returns, in a row for each record.
        """
        cdef Py_ssize_t record, place
        cdef Py_ssize_t[:, ::1] records
        cdef Watch watch = new_watch(POINTS_BETWEEN_SIGNALS)
        self._check_around(m)
        self._check_complete()
        records = np.empty((self.X.shape[0], m), dtype=np.intp)
        with nogil:
            for record in range(self.X.shape[0]):
                is_over(&watch, 1)
                self.find_around(record, m)
                for place in range(m):
                    records[record, place] = self.hits[place].second
        return records.base

    def near_each(self, Py_ssize_t m, *, deadline=None):
        """Find about the nearest other records of each record, while all are in the pool.

        Most of them are the nearest ones, and the rest are not much farther away. With many columns
        this takes a small part of the time of `around_each`.

        Parameters
        ----------
        m : int
            Number of records.

        deadline : Deadline or None, default=None
            When to be content with those next to each record in the order of the tree.

        Returns
        -------
        records : ndarray of shape (n_records, m), int32
            Indices of the records, nearest first.
        """
        cdef Py_ssize_t record, place, first
        cdef int[:, ::1] records
        cdef vector[Py_ssize_t] order
        cdef Watch watch = watch_until(deadline, POINTS_BETWEEN_SIGNALS)
        cdef size_t i, j
        self._check_around(m + 1)
        self._check_complete()
        records = np.empty((self.X.shape[0], m), dtype=np.int32)
        self.tree.in_order(order)
        with nogil:
            for i in range(order.size()):
                record = order[i]
                if is_over(&watch, 1):
                    first = min(max(<Py_ssize_t>i - m // 2, 0), <Py_ssize_t>order.size() - m - 1)
                    self.hits.clear()
                    for place in range(first, first + m + 1):
                        self.hits.push_back(Hit(0.0, order[place]))
                else:
                    self.tree.nearest_about(&self.X[record, 0], m + 1, self.hits)
                place = 0
                for j in range(self.hits.size()):
                    if self.hits[j].second != record and place < m:
                        records[record, place] = <int>self.hits[j].second
                        place += 1
        return records.base

    def in_order(self):
        """All records of the pool in an order in which most are near to the one before.

        Returns
        -------
        records : ndarray of shape (n_records,)
            Indices of the records.
        """
        cdef vector[Py_ssize_t] order
        self.tree.in_order(order)
        return np.array(order, dtype=np.intp)

    def nearest_each(self, const double[:, ::1] points):
        """Find the record nearest to each of many points.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_columns), float64, C-contiguous
            The points.

        Returns
        -------
        records : ndarray of shape (n_points,)
            Indices of the records.
        """
        cdef Py_ssize_t start, stop
        cdef Py_ssize_t[::1] records = np.empty(points.shape[0], dtype=np.intp)
        self._check_point(points.shape[1])
        self._check_size(1)
        if (
            self.tree.search == AUTO
            and self.tree.size == self.X.shape[0]
            and points.shape[0] >= POINTS_FOR_PRODUCTS
        ):
            # Many points share what making the products takes: a full chunk of records pays.
            products = KeyProducts.if_faster(self.X, self.tree.values, fewest=CHUNK)
            if products is not None:
                self._multiply_for_nearest(products, points, records)
                return records.base
        for start in range(0, points.shape[0], POINTS_AT_A_TIME):
            stop = min(start + POINTS_AT_A_TIME, points.shape[0])
            self._nearest_each(points[start:stop], records[start:stop])
        return records.base

    cdef int _multiply_for_nearest(self, KeyProducts products, const double[:, ::1] points,
                                   Py_ssize_t[::1] records) except -1:
        """Find the nearest by matrix products; where rounding could matter, measure again."""
        cdef Watch watch = new_watch(PRODUCTS_BETWEEN_SIGNALS)
        cdef vector[Py_ssize_t] likely
        cdef Py_ssize_t start = 0, row, n_rows
        cdef size_t i
        cdef Hit best
        with nogil:
            while start < points.shape[0]:
                n_rows = min(products.n_together, points.shape[0] - start)
                for row in range(n_rows):
                    products.set_point(row, &points[start + row, 0])
                is_over(&watch, products.multiply(n_rows))
                for row in range(n_rows):
                    best = self._key(&points[start + row, 0], products.likely_nearest(row))
                    is_over(&watch, products.below(row, best.first, likely))
                    for i in range(likely.size()):
                        best = min(best, self._key(&points[start + row, 0], likely[i]))
                    records[start + row] = best.second
                start += n_rows
        return 0

    cdef Hit _key(self, const double *point, Py_ssize_t record) noexcept nogil:
        """Squared distance less weight between a point and a record."""
        cdef double key = squared_distance(&self.X[record, 0], point, self.X.shape[1])
        if self.tree.weighted:
            key -= self.tree.values[record]
        return Hit(key, record)

    cdef int _nearest_each(self, const double[:, ::1] points, Py_ssize_t[::1] records) except -1:
        """Answer points in an order in which each is near to the one before.

        Then the tiles to search are in the cache, and one answer is a good guess for the next.
        """
        cdef BoxTree boxes = BoxTree(points, TREE)
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
        """Find the two records most distant from each other.

        Returns
        -------
        lower, higher : int
            Their indices, the lower one first.
        """
        cdef Py_ssize_t lower = 0, higher = 0
        self._check_size(1)
        if self.farthest_pair is None:
            self.farthest_pair = FarthestPair(self.tree, self.centroid())
        with nogil:
            self.farthest_pair.ends(&lower, &higher)
        return lower, higher

    def remove(self, const Py_ssize_t[::1] records):
        """Take records out of the pool.

        Parameters
        ----------
        records : ndarray of shape (n_removed,), intp
            Indices of the records, which must be in the pool.
        """
        cdef Py_ssize_t i = 0
        with nogil:
            while i < records.shape[0] and self.holds(records[i]):
                self.remove_one(records[i])
                i += 1
        if i < records.shape[0]:
            self._check_held(records[i])

    def refresh(self, Py_ssize_t record):
        """Take over a row of `X` that was changed in place.

        Parameters
        ----------
        record : int
            Index of the row, which must be in the pool.
        """
        cdef Py_ssize_t j
        self._check_held(record)
        for j in range(self.X.shape[1]):
            self._add(j, -self.tree.coordinate(record, j))
            self._add(j, self.X[record, j])
        self.tree.refresh(record)
        self.scan = None
        self._forget()

    cdef Py_ssize_t n_left(self) noexcept nogil:
        return self.tree.size

    cdef Py_ssize_t farthest_from_centroid(self) except -1 nogil:
        self.find_centroid()
        return self.from_centroid.farthest(self.point.data())

    cdef Py_ssize_t farthest_from(self, Py_ssize_t record) except -1 nogil:
        if self.scan is None:
            return self.tree.farthest(&self.X[record, 0], NO_HIT).second
        self.scan.farthest(record, self.likely)
        self._measure_likely(record, 1, -1.0)
        return self.hits[0].second

    cdef int find_around(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil:
        if self.scan is None:
            self.tree.nearest(&self.X[record, 0], m, self.hits)
        else:
            self.scan.nearest(record, m, self.likely)
            self._measure_likely(record, m, 1.0)
        put_first(record, self.hits)
        return 0

    cdef int _measure_likely(self, Py_ssize_t record, Py_ssize_t m, double sign) except -1 nogil:
        """Let `hits` be the likely records with the least distances, times the sign."""
        cdef double distance
        cdef size_t i
        self.hits.clear()
        for i in range(self.likely.size()):
            distance = squared_distance(
                &self.X[self.likely[i], 0], &self.X[record, 0], self.X.shape[1]
            )
            self.hits.push_back(Hit(sign * distance, self.likely[i]))
        partial_sort(self.hits.begin(), self.hits.begin() + m, self.hits.end())
        self.hits.resize(m)
        return 0

    cdef Py_ssize_t nearest_to_point(self) except -1 nogil:
        self.tree.nearest(self.point.data(), 1, self.hits)
        return self.hits[0].second

    cdef int add_to_sums(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t j
        for j in range(self.X.shape[1]):
            self.sums[j] += self.X[record, j]
        return 0

    cdef int remove_one(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t j
        for j in range(self.X.shape[1]):
            self._add(j, -self.X[record, j])
        self.tree.remove(record)
        if self.scan is not None:
            self.scan.remove(record)
        self.n_removed += 1
        if self.n_removed == self.sum_after:
            self.sum_after *= 2
            self._sum()
        return 0

    cdef bint holds(self, Py_ssize_t record) noexcept nogil:
        return 0 <= record < self.X.shape[0] and self.tree.holds(record)

    cdef int find_centroid(self) except -1 nogil:
        cdef Py_ssize_t j
        self.point.resize(self.X.shape[1])
        for j in range(self.X.shape[1]):
            self.point[j] = (self.total[j] + self.lost[j]) / self.tree.size
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
        cdef double before, after
        if value == 0.0:  # as most values of categories are
            return
        before = self.total[column]
        after = before + value
        if fabs(before) >= fabs(value):
            self.lost[column] += (before - after) + value
        else:
            self.lost[column] += (value - after) + before
        self.total[column] = after

    cdef _forget(self):
        """Drop what was remembered of distances between records."""
        self.farthest_by_anchor = {}
        self.from_centroid = AnchoredFarthest(self.tree)
        self.farthest_pair = None

    cdef int _check_complete(self) except -1:
        if self.tree.size < self.X.shape[0]:
            raise ValueError(f"{self.X.shape[0] - self.tree.size} records are not in the pool.")
        return 0

    cdef int _check_point(self, Py_ssize_t n_columns) except -1:
        if n_columns != self.X.shape[1]:
            raise ValueError(f"A point of {n_columns} columns, but X has {self.X.shape[1]}.")
        return 0


cdef void put_first(Py_ssize_t record, vector[Hit] &hits) noexcept nogil:
    """Let a record come first among its nearest: twins of it may come before, or push it out."""
    cdef size_t place = 0
    while place + 1 < hits.size() and hits[place].second != record:
        place += 1
    while place > 0:
        hits[place] = hits[place - 1]
        place -= 1
    hits[0] = Hit(0.0, record)
