"""The centers of groups, searched for the one that a new record fits best."""

import numpy as np

cimport cython

from ..common._distances cimport TINY
from ..common._interrupt cimport Watch, is_over, new_watch

cdef enum:
    RECORDS_BETWEEN_SIGNALS = 1024


@cython.final
cdef class CenterIndex(RangeTree):
    """Finds the center whose loss rises least when it is widened to cover a record.

    Of centers that cover the record already, the answer is the one with the least loss, and the
    first of several.

    Parameters
    ----------
    columns : RangeColumns
        What generalized values lose.

    low, high : ndarray of shape (n_centers, n_columns), int32, C-contiguous
        First and last position that each center covers.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import CenterIndex, RangeColumns
    >>> from sk_microagg.tables import Hierarchy
    >>> columns = RangeColumns([Hierarchy.intervals()._domain([1, 2, 9, 10], "x")], [1.0])
    >>> low, high = np.array([[0], [2]], dtype=np.int32), np.array([[1], [3]], dtype=np.int32)
    >>> centers = CenterIndex(columns, low, high)  # [1, 2] and [9, 10]
    >>> position = np.arange(4, dtype=np.int32)[:, None]
    >>> centers.nearest_each(position, position)
    array([0, 0, 1, 1])
    """

    cdef const int *record_lo
    cdef const int *record_hi
    cdef Py_ssize_t[::1] by_loss

    def __init__(self, RangeColumns columns, const int[:, ::1] low, const int[:, ::1] high):
        cdef Py_ssize_t center, j
        cdef double[::1] losses = np.zeros(low.shape[0])
        if high.shape[0] != low.shape[0] or low.shape[0] == 0 or not (
            low.shape[1] == high.shape[1] == columns.n_columns
        ):
            raise ValueError(f"Centers must have {columns.n_columns} columns, and two ends each.")
        self.columns = columns
        self.n_columns = columns.n_columns
        self.n_items = low.shape[0]
        for center in range(self.n_items):
            for j in range(self.n_columns):
                losses[center] += columns.loss(j, low[center, j], high[center, j])
        # Ties go to the lowest rank.
        self.by_loss = np.argsort(losses, kind="stable")
        self.rank.resize(self.n_items)
        for j in range(self.n_items):
            self.rank[self.by_loss[j]] = j
        self.build(&low[0, 0], &high[0, 0])

    def nearest_each(self, const int[:, ::1] lo, const int[:, ::1] hi):
        """Index of the center whose loss each of many records raises least."""
        cdef Py_ssize_t i
        cdef Watch watch = new_watch(RECORDS_BETWEEN_SIGNALS)
        cdef Py_ssize_t[::1] centers = np.empty(lo.shape[0], dtype=np.intp)
        if hi.shape[0] != lo.shape[0] or not lo.shape[1] == hi.shape[1] == self.n_columns:
            raise ValueError(f"Records must have {self.n_columns} columns, and two ends each.")
        with nogil:
            for i in range(lo.shape[0]):
                is_over(&watch, 1)
                self.record_lo = &lo[i, 0]
                self.record_hi = &hi[i, 0]
                self.search(1)
                centers[i] = self.by_loss[self.best[0].second]
        return centers.base

    cdef double cost(self, Py_ssize_t place, double limit) noexcept nogil:
        cdef Py_ssize_t j, at = place * self.n_columns
        cdef double total = 0.0
        cdef bint is_covered = True
        for j in range(self.n_columns):
            if self.record_lo[j] >= self.lo[at + j] and self.record_hi[j] <= self.hi[at + j]:
                continue
            is_covered = False
            total += self.columns.loss(
                j, min(self.record_lo[j], self.lo[at + j]), max(self.record_hi[j], self.hi[at + j])
            ) - self.columns.loss(j, self.lo[at + j], self.hi[at + j])
            if total > limit:
                break
        # A center that does not cover the record never ties with one that does, even if the rise is
        # lost in rounding.
        return total if is_covered else max(total, TINY)

    cdef double bound(self, Py_ssize_t node, double limit) noexcept nogil:
        cdef Py_ssize_t j, at = node * self.n_columns
        cdef double total = 0.0
        cdef bint may_cover = True
        for j in range(self.n_columns):
            may_cover = (
                may_cover
                and self.record_lo[j] >= self.min_lo[at + j]
                and self.record_hi[j] <= self.max_hi[at + j]
            )
            total += max(
                0.0,
                self.columns.loss(
                    j,
                    min(self.record_lo[j], self.max_lo[at + j]),
                    max(self.record_hi[j], self.min_hi[at + j]),
                )
                - self.max_loss[at + j],
            )
            if total > limit:
                break
        return total if may_cover else max(total, TINY)
