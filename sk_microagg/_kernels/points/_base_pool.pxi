"""The base of pools: groups that are taken out of them, one or many at a time.

Subclasses say what is far, what is near and what it takes to remove a record. Groups that follow
each other without the GIL leave other threads to their own blocks.
"""

from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ..common._interrupt cimport Watch, check_now, is_over, watch_until

cdef enum:
    # Work is counted in columns of records; about 20 ms.
    WORK_BETWEEN_SIGNALS = 1 << 25


cdef bint _follows_centroid(growth) except -1:
    if growth not in ("nn", "nc"):
        raise ValueError(f"growth={growth!r} must be one of ['nc', 'nn'].")
    return growth == "nc"


cdef class BasePool:

    def centroid(self):
        """Mean of the records in the pool.

        Returns
        -------
        centroid : ndarray of shape (n_columns,)
            The mean.
        """
        cdef double[::1] mean = np.empty(self.n_coordinates)
        cdef Py_ssize_t place
        self._check_size(1)
        with nogil:
            self.find_centroid()
            for place in range(self.n_coordinates):
                mean[place] = self.point[place]
        return mean.base

    def take_group(self, Py_ssize_t first, Py_ssize_t k, *, growth="nn"):
        """Take a group of records out of the pool.

        Parameters
        ----------
        first : int
            Its first record.

        k : int
            Number of records.

        growth : {"nn", "nc"}, default="nn"
            How the group grows: "nn" (nearest neighbors) adds the records nearest to the first one;
            "nc" (nearest to the centroid) adds, one at a time, the record nearest to the centroid
            of the group so far.

        Returns
        -------
        members : ndarray of shape (k,)
            Indices of the records, in the order in which they came.
        """
        cdef bint follows_centroid = _follows_centroid(growth)
        cdef Py_ssize_t[::1] members
        self._check_held(first)
        self._check_around(k)
        members = np.empty(k, dtype=np.intp)
        with nogil:
            self._take_group(first, k, follows_centroid, &members[0])
        return members.base

    def take_opposite_groups(self, Py_ssize_t k, Py_ssize_t least, *, growth="nn", deadline=None):
        """Take pairs of groups at opposite ends out of the pool, as MDAV does.

        The record farthest from the centroid of the pool starts a group, then the record farthest
        from that record starts another.

        Parameters
        ----------
        k : int
            Number of records of each group.

        least : int
            Pairs are taken while the pool has at least so many records, 2k or more.

        growth : {"nn", "nc"}, default="nn"
            As in `take_group`.

        deadline : Deadline or None, default=None
            When to stop before that.

        Returns
        -------
        groups : ndarray of shape (n_groups, k)
            Indices of the records of each group.
        """
        cdef bint follows_centroid = _follows_centroid(growth)
        cdef Watch watch = watch_until(deadline, WORK_BETWEEN_SIGNALS)
        cdef Py_ssize_t first, n_groups = 0
        cdef Py_ssize_t[:, ::1] groups
        if not 2 <= 2 * k <= least:
            raise ValueError(f"least={least} must be at least 2 k, and k={k} at least 1.")
        groups = np.empty((max(self.n_left() - least + 2 * k, 0) // (2 * k) * 2, k), dtype=np.intp)
        check_now(&watch)
        with nogil:
            while self.n_left() >= least and not is_over(&watch, self.n_left() * self.width):
                first = self.farthest_from_centroid()
                self._take_group(first, k, follows_centroid, &groups[n_groups, 0])
                first = self.farthest_from(first)
                self._take_group(first, k, follows_centroid, &groups[n_groups + 1, 0])
                n_groups += 2
        return groups.base[:n_groups]

    cdef int _take_group(self, Py_ssize_t first, Py_ssize_t k, bint follows_centroid,
                         Py_ssize_t *members) except -1 nogil:
        cdef Py_ssize_t n_members, place
        if not follows_centroid:
            self.find_around(first, k)
            for place in range(k):
                members[place] = self.hits[place].second
                self.remove_one(members[place])
            return 0
        self.sums.assign(self.n_coordinates, 0.0)
        self.point.resize(self.n_coordinates)
        members[0] = first
        for n_members in range(1, k + 1):
            self.remove_one(members[n_members - 1])
            self.add_to_sums(members[n_members - 1])
            if n_members < k:
                for place in range(self.n_coordinates):
                    self.point[place] = self.sums[place] / n_members
                members[n_members] = self.nearest_to_point()
        return 0

    cdef Py_ssize_t n_left(self) noexcept nogil:
        """Number of records still in the pool."""
        return 0

    cdef int find_centroid(self) except -1 nogil:
        """Let `point` be the mean of the records in the pool."""
        return 0

    cdef Py_ssize_t farthest_from_centroid(self) except -1 nogil:
        """The record farthest from the centroid of the pool."""
        return 0

    cdef Py_ssize_t farthest_from(self, Py_ssize_t record) except -1 nogil:
        """The record of the pool that is farthest from any record."""
        return 0

    cdef int find_around(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil:
        """Let `hits` be a record of the pool, and then the records nearest to it."""
        return 0

    cdef Py_ssize_t nearest_to_point(self) except -1 nogil:
        """The record of the pool that is nearest to `point`."""
        return 0

    cdef int add_to_sums(self, Py_ssize_t record) except -1 nogil:
        """Add the coordinates of a record to `sums`."""
        return 0

    cdef int remove_one(self, Py_ssize_t record) except -1 nogil:
        """Take a record out of the pool."""
        return 0

    cdef bint holds(self, Py_ssize_t record) noexcept nogil:
        """Whether a record is in the pool."""
        return False

    cdef _records_hit(self):
        cdef size_t place
        cdef Py_ssize_t[::1] records = np.empty(self.hits.size(), dtype=np.intp)
        for place in range(self.hits.size()):
            records[place] = self.hits[place].second
        return records.base

    cdef int _check_size(self, Py_ssize_t m) except -1:
        if not 0 <= m <= self.n_left():
            raise ValueError(f"The pool of {self.n_left()} records cannot give {m}.")
        return 0

    cdef int _check_around(self, Py_ssize_t m) except -1:
        self._check_size(m)
        if m < 1:
            raise ValueError(f"m={m} must be at least 1.")
        return 0

    cdef int _check_held(self, Py_ssize_t record) except -1:
        if not self.holds(record):
            raise ValueError(f"Record {record} is not in the pool.")
        return 0
