"""The records not yet grouped, if they have codes: what `Pool` is for points without."""

from libcpp.algorithm cimport copy, sort

from ..common._distances cimport NO_HIT, Hit, squared_distance


cdef class CodedPool(BasePool):
    """CodedPool(points)\n--\n\n\
    A set of records with codes that shrinks, with the exact queries of `Pool`.

    A point is the columns of numbers, followed by the share that each code has in it.

    Parameters
    ----------
    points : CodedPoints
        The records.

    Attributes
    ----------
    size : int
        Number of records still in the pool.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import CodedPool
    >>> from sk_microagg._utils._coded_points import CodedPoints
    >>> codes = np.array([[0], [1], [0], [1]], dtype=np.int32)
    >>> numbers, squares = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([9.0, 9.0, 0.0])
    >>> points = CodedPoints(numbers, codes, squares)
    >>> pool = CodedPool(points)
    >>> pool.around(0, 2)
    array([0, 2])
    >>> pool.centroid()
    array([1.5, 0.5, 0.5, 0. ])
    """

    def __init__(self, points):
        self.X = points.numbers
        self.codes = points.codes
        self.squares = points.squares
        self.n_coordinates = self.X.shape[1] + points.squares.shape[0]
        self.width = self.X.shape[1] + self.codes.shape[1]
        self.tree = points.tree()
        self.alive = np.arange(self.X.shape[0], dtype=np.intp)
        self.place_of = np.arange(self.X.shape[0], dtype=np.intp)
        self.size = self.X.shape[0]
        self.counts = np.bincount(np.asarray(self.codes).ravel(), minlength=len(self.squares))

    def farthest(self, const double[::1] point, *, anchor=None):
        """Find the record farthest from a point.

        Parameters
        ----------
        point : ndarray of shape (n_columns + n_codes,), float64
            The point.

        anchor : hashable, default=None
            As in `Pool`; it makes no difference here.

        Returns
        -------
        record : int
            Index of the record.
        """
        cdef Py_ssize_t record
        self._check_point(point.shape[0])
        self._check_size(1)
        with nogil:
            record = self._farthest(&point[0])
        return record

    def nearest(self, const double[::1] point, Py_ssize_t m):
        """Find the records nearest to a point.

        Parameters
        ----------
        point : ndarray of shape (n_columns + n_codes,), float64
            The point.

        m : int
            Number of records.

        Returns
        -------
        records : ndarray of shape (m,)
            Indices of the records, nearest first.
        """
        cdef Py_ssize_t i
        self._check_point(point.shape[0])
        self._check_size(m)
        self.hits.clear()
        with nogil:
            for i in range(self.size):
                self.hits.push_back(Hit(self._key(&point[0], self.alive[i]), self.alive[i]))
            sort(self.hits.begin(), self.hits.end())
        self.hits.resize(m)
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
        self._check_size(m)
        with nogil:
            self.find_around(record, m)
        return self._records_hit()

    def near_each(self, Py_ssize_t m, *, deadline=None):
        """Find the nearest other records of each record, while all are in the pool.

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
        cdef Py_ssize_t place, first, i
        cdef int[:, ::1] records
        cdef const Py_ssize_t[::1] order = self.in_order()
        cdef Watch watch = watch_until(deadline, POINTS_BETWEEN_SIGNALS)
        self._check_size(m + 1)
        if self.size < self.X.shape[0]:
            raise ValueError(f"{self.X.shape[0] - self.size} records are not in the pool.")
        records = np.empty((self.X.shape[0], m), dtype=np.int32)
        with nogil:
            for i in range(self.size):
                if is_over(&watch, 1):
                    first = min(max(i - m // 2, 0), self.size - m - 1)
                    self.hits.clear()
                    for place in range(first, first + m + 1):
                        self.hits.push_back(Hit(0.0, order[place]))
                else:
                    self._nearest(order[i], m + 1)
                put_first(order[i], self.hits)
                for place in range(m):
                    records[order[i], place] = <int>self.hits[place + 1].second
        return records.base

    def in_order(self):
        """All records of the pool in an order in which most are near to the one before.

        Returns
        -------
        records : ndarray of shape (n_records,)
            Indices of the records.
        """
        cdef vector[Py_ssize_t] order
        self.tree.tree.in_order(order)
        return np.array(order, dtype=np.intp)

    def remove(self, const Py_ssize_t[::1] records):
        """Take records out of the pool.

        Parameters
        ----------
        records : ndarray of shape (n_removed,), intp
            Indices of the records, which must be in the pool.
        """
        cdef Py_ssize_t i
        for i in range(records.shape[0]):
            self._check_held(records[i])
            self.remove_one(records[i])

    cdef Py_ssize_t n_left(self) noexcept nogil:
        return self.size

    cdef Py_ssize_t farthest_from_centroid(self) except -1 nogil:
        self.find_centroid()
        return self._farthest(self.point.data())

    cdef Py_ssize_t farthest_from(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t slot
        self.point.assign(self.n_coordinates, 0.0)
        copy(&self.X[record, 0], &self.X[record, 0] + self.X.shape[1], self.point.begin())
        for slot in range(self.codes.shape[1]):
            self.point[self.X.shape[1] + self.codes[record, slot]] = 1.0
        return self._farthest(self.point.data())

    cdef int find_around(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil:
        self._nearest(record, m)
        put_first(record, self.hits)
        return 0

    cdef Py_ssize_t nearest_to_point(self) except -1 nogil:
        cdef Hit best = NO_HIT
        cdef Py_ssize_t i
        for i in range(self.size):
            best = min(best, Hit(self._key(self.point.data(), self.alive[i]), self.alive[i]))
        return best.second

    cdef int add_to_sums(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t j, slot
        for j in range(self.X.shape[1]):
            self.sums[j] += self.X[record, j]
        for slot in range(self.codes.shape[1]):
            self.sums[self.X.shape[1] + self.codes[record, slot]] += 1.0
        return 0

    cdef int remove_one(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t slot, last
        self.size -= 1
        last = self.alive[self.size]
        self.alive[self.place_of[record]] = last
        self.place_of[last] = self.place_of[record]
        for slot in range(self.codes.shape[1]):
            self.counts[self.codes[record, slot]] -= 1
        self.tree.tree.remove(record)
        return 0

    cdef bint holds(self, Py_ssize_t record) noexcept nogil:
        return 0 <= record < self.X.shape[0] and self.tree.tree.holds(record)

    cdef int find_centroid(self) except -1 nogil:
        cdef Py_ssize_t i, j
        self.point.assign(self.n_coordinates, 0.0)
        for i in range(self.size):
            for j in range(self.X.shape[1]):
                self.point[j] += self.X[self.alive[i], j]
        for j in range(self.X.shape[1]):
            self.point[j] /= self.size
        for j in range(self.squares.shape[0]):
            self.point[self.X.shape[1] + j] = self.counts[j] / <double>self.size
        return 0

    cdef Py_ssize_t _farthest(self, const double *point) noexcept nogil:
        cdef Hit best = NO_HIT
        cdef Py_ssize_t i
        for i in range(self.size):
            best = min(best, Hit(-self._key(point, self.alive[i]), self.alive[i]))
        return best.second

    cdef int _nearest(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil:
        return self.tree.nearest(
            &self.X[record, 0], &self.codes[record, 0], self.codes.shape[1], m, self.hits
        )

    cdef double _key(self, const double *point, Py_ssize_t record) noexcept nogil:
        """Squared distance of a record to a point, less the point's own norm in codes."""
        cdef double key = squared_distance(&self.X[record, 0], point, self.X.shape[1])
        cdef Py_ssize_t slot
        cdef int code
        for slot in range(self.codes.shape[1]):
            code = self.codes[record, slot]
            key += self.squares[code] * (1.0 - 2.0 * point[self.X.shape[1] + code])
        return key

    cdef int _check_point(self, Py_ssize_t n_columns) except -1:
        if n_columns != self.n_coordinates:
            raise ValueError(
                f"A point of {n_columns} columns, but records have {self.X.shape[1]} and "
                f"{self.squares.shape[0]} codes."
            )
        return 0
