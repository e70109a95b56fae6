"""The records not yet grouped, as leaf ranges, with the exact queries of greedy methods."""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libcpp.vector cimport vector


cdef enum Criterion:
    LOSS
    ENTROPY
    FARTHEST

_CRITERIA = {"ncp": LOSS, "entropy": ENTROPY}


@cython.final
cdef class RecordTree(RangeTree):
    """Distinct records. Their cost depends on the center that they are merged with."""

    cdef Criterion criterion
    cdef const int *center_lo
    cdef const int *center_hi
    cdef const int *n_known
    cdef double size
    # By node and column: the largest content of a record, which the entropy divides by.
    cdef vector[double] largest_content

    def __init__(self, RangeColumns columns, Py_ssize_t n_items, const Py_ssize_t[::1] first_row):
        cdef Py_ssize_t row
        self.columns = columns
        self.n_columns = columns.n_columns
        self.n_items = n_items
        for row in first_row:
            self.rank.push_back(row)

    cdef double cost(self, Py_ssize_t place, double limit) noexcept nogil:
        cdef Py_ssize_t j, at = place * self.n_columns
        cdef double total = 0.0
        for j in range(self.n_columns):
            total += self._cell_cost(j, self.lo[at + j], self.hi[at + j])
            if total > limit and self.criterion != FARTHEST:
                break
        return total

    cdef double _cell_cost(self, Py_ssize_t j, int lo, int hi) noexcept nogil:
        cdef int center_lo = self.center_lo[j], center_hi = self.center_hi[j]
        if self.criterion == ENTROPY:
            return self.columns.rate(j, center_lo, center_hi, self.size, lo, hi)
        if self.criterion == FARTHEST:
            return -self.columns.loss(j, min(center_lo, lo), max(center_hi, hi))
        return self.columns.lost(j, center_lo, center_hi, self.n_known[j], lo, hi)

    cdef double bound(self, Py_ssize_t node, double limit) noexcept nogil:
        cdef Py_ssize_t j, at = node * self.n_columns
        cdef double total = 0.0
        for j in range(self.n_columns):
            total += self._cell_bound(j, at + j)
            if total > limit and self.criterion != FARTHEST:
                break
        return total

    cdef double _cell_bound(self, Py_ssize_t j, Py_ssize_t at) noexcept nogil:
        cdef int center_lo = self.center_lo[j], center_hi = self.center_hi[j]
        cdef int lo = self.max_lo[at], hi = self.min_hi[at]
        if self.criterion == ENTROPY:
            return self.columns.least_rate(
                j, center_lo, center_hi, self.size, lo, hi, self.largest_content[at]
            )
        if self.criterion == FARTHEST:
            lo, hi = self.min_lo[at], self.max_hi[at]
            return -self.columns.loss(j, min(center_lo, lo), max(center_hi, hi))
        # A record for which nothing is known here has nothing to lose.
        return (self.n_known[j] + (not self.columns.is_missing(j, self.max_hi[at]))) * (
            self.columns.loss(j, min(center_lo, lo), max(center_hi, hi))
        )

    cdef int find_contents(self) except -1 nogil:
        """Find the largest content of each node, for the bounds of the entropy."""
        cdef Py_ssize_t m = self.n_columns, node, place, left, j
        cdef double largest, content
        self.largest_content.assign(self.nodes.size() * m, 0.0)
        # Children come after their parents.
        for node in range(<Py_ssize_t>self.nodes.size() - 1, -1, -1):
            left = self.nodes[node].left
            for j in range(m):
                if left > 0:
                    largest = max(
                        self.largest_content[left * m + j],
                        self.largest_content[(left + 1) * m + j],
                    )
                else:
                    largest = 0.0
                    for place in range(self.nodes[node].start, self.nodes[node].stop):
                        content = self.columns.content(
                            j, self.lo[place * m + j], self.hi[place * m + j]
                        )
                        # The rate of a value without content is 0, as if it had infinite content.
                        largest = max(largest, content if content > 0.0 else INFINITY)
                self.largest_content[node * m + j] = largest
        return 0

    cdef Py_ssize_t find(self, Criterion criterion, const int *lo, const int *hi,
                         const int *n_known, double size) except -1 nogil:
        """The record that costs least."""
        self.criterion = criterion
        self.center_lo = lo
        self.center_hi = hi
        self.n_known = n_known
        self.size = size
        self.search(1)
        return self.best[0].second


@cython.final
cdef class RangePool:
    """The records not yet grouped: a set that shrinks, with exact queries.

    Identical records are compared once. Ties go to the lowest index.

    Parameters
    ----------
    columns : RangeColumns
        What generalized values lose.

    lo, hi : ndarray of shape (n_records, n_columns), int32, C-contiguous
        The leaf range of each cell.

    distance : {"ncp", "entropy"}, default="ncp"
        What the nearest record minimizes: the loss by merging, or the generalization rates.

    Attributes
    ----------
    size : int
        Number of records still in the pool.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import RangeColumns, RangePool
    >>> from sk_microagg.tables import Hierarchy
    >>> age = Hierarchy.intervals()._domain([30, 34, 39, 60], "age")
    >>> position = np.arange(4, dtype=np.int32)[:, None]
    >>> pool = RangePool(RangeColumns([age], [1.0]), position, position)
    >>> pool.remove(2)
    >>> known = np.ones(1, dtype=np.int32)
    >>> pool.nearest(position[2], position[2], known, 1), pool.farthest(position[2], position[2])
    (1, 3)
    """

    cdef RecordTree tree
    cdef RangeColumns columns
    cdef Criterion criterion
    cdef readonly Py_ssize_t size
    cdef int[:, ::1] item_lo
    cdef int[:, ::1] item_hi
    cdef Py_ssize_t n_items_when_built
    cdef Py_ssize_t n_items
    # Identical rows, ascending: those of item i are rows[start[i]:stop[i]], without those gone.
    cdef Py_ssize_t[::1] item_of
    cdef Py_ssize_t[::1] rows
    cdef Py_ssize_t[::1] start
    cdef Py_ssize_t[::1] stop
    cdef vector[char] is_gone

    def __init__(self, RangeColumns columns, lo, hi, *, distance="ncp"):
        if distance not in _CRITERIA:
            raise ValueError(f"distance={distance!r} must be one of {sorted(_CRITERIA)}.")
        if lo.shape != hi.shape or lo.shape[1:] != (columns.n_columns,) or len(lo) == 0:
            raise ValueError(
                f"Ranges of shapes {lo.shape} and {hi.shape} for {columns.n_columns} columns."
            )
        self.columns = columns
        self.criterion = _CRITERIA[distance]
        self.size = len(lo)
        self.is_gone.assign(self.size, 0)
        cells, item_of = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
        self.item_of = item_of.reshape(-1)
        self.item_lo, self.item_hi = map(np.ascontiguousarray, np.hsplit(cells, 2))
        self.rows = np.argsort(self.item_of, kind="stable")
        bounds = np.searchsorted(item_of.reshape(-1)[self.rows], np.arange(len(cells) + 1))
        self.start, self.stop = bounds[: len(cells)].copy(), bounds[1:].copy()
        self._build()

    def nearest(self, const int[::1] lo, const int[::1] hi, const int[::1] n_known,
                Py_ssize_t size):
        """The record that a group can take in at the least cost.

        The group has the center `lo` to `hi`, `n_known` known values in each column, and `size`
        records.
        """
        return self._find(self.criterion, lo, hi, n_known, size)

    def farthest(self, const int[::1] lo, const int[::1] hi):
        """The record that loses most when it is merged with a range."""
        return self._find(FARTHEST, lo, hi, lo, 1)

    def remove(self, Py_ssize_t record):
        """Take a record out of the pool."""
        cdef Py_ssize_t item
        if not 0 <= record < self.item_of.shape[0] or self.is_gone[record]:
            raise ValueError(f"Record {record} is not in the pool.")
        item = self.item_of[record]
        self.size -= 1
        self.is_gone[record] = 1
        if self.rows[self.start[item]] != record:
            return
        while self.start[item] < self.stop[item] and self.is_gone[self.rows[self.start[item]]]:
            self.start[item] += 1
        if self.start[item] == self.stop[item]:
            self.n_items -= 1
        self.tree.rerank(item, self._first_row(item))
        # Far fewer records lie in far smaller boxes.
        if 2 * self.n_items < self.n_items_when_built and self.size > 0:
            self._rebuild()

    def __contains__(self, Py_ssize_t record):
        return 0 <= record < self.item_of.shape[0] and not self.is_gone[record]

    cdef Py_ssize_t _find(self, Criterion criterion, const int[::1] lo, const int[::1] hi,
                          const int[::1] n_known, Py_ssize_t size) except -1:
        cdef Py_ssize_t record
        if self.size == 0:
            raise ValueError("The pool is empty.")
        if not lo.shape[0] == hi.shape[0] == n_known.shape[0] == self.columns.n_columns:
            raise ValueError(f"Ranges must have {self.columns.n_columns} columns.")
        with nogil:
            record = self.tree.find(criterion, &lo[0], &hi[0], &n_known[0], size)
        return record

    cdef Py_ssize_t _first_row(self, Py_ssize_t item) noexcept nogil:
        return self.rows[self.start[item]] if self.start[item] < self.stop[item] else NOWHERE

    cdef int _build(self) except -1:
        cdef Py_ssize_t item
        first_row = np.array([self._first_row(item) for item in range(self.item_lo.shape[0])])
        self.n_items = self.n_items_when_built = self.item_lo.shape[0]
        self.tree = RecordTree(self.columns, self.n_items, first_row)
        with nogil:
            self.tree.build(&self.item_lo[0, 0], &self.item_hi[0, 0])
            self.tree.find_contents()
        return 0

    cdef int _rebuild(self) except -1:
        left = np.flatnonzero(np.less(self.start, self.stop))
        number = np.full(self.item_lo.shape[0], -1)
        number[left] = np.arange(len(left))
        self.item_of = number[self.item_of]
        self.item_lo = np.asarray(self.item_lo)[left]
        self.item_hi = np.asarray(self.item_hi)[left]
        self.start = np.asarray(self.start)[left]
        self.stop = np.asarray(self.stop)[left]
        return self._build()
