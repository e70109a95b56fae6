"""What a generalized value loses, for columns of categories and of numbers alike.

The leaves of a column, its categories or its distinct numbers in order, have positions 0, 1, ...
A generalized value is the smallest node, or the interval, that covers the leaves from `lo` to `hi`.
One position comes after all leaves and is covered by the root alone: a missing value covers all
from the first position to that one, and so does everything that is merged with it.
"""

import numpy as np

from libc.math cimport exp, log
from libcpp.vector cimport vector

from ..common._distances cimport SAFETY

cdef enum:
    LARGEST_TABLE = 256


cdef class RangeColumns:
    """Loss and entropy of generalized values, for every column of a table.

    Parameters
    ----------
    domains : list
        For each column an object with the arrays that describe it. A hierarchy has `parent`, `last`
        (the last position that a node covers), `loss`, `info` and `mass` by node; the leaves come
        first. Numbers have by leaf `left` and `right`, where a value that begins or ends with this
        leaf begins or ends, the `loss` of the leaf alone, `info` and `mass`; and `extent`, the
        width of the whole. All have `is_tree` and `n_leaves`.

    weights : sequence of float
        Weight of each column.

    constant : float, default=-1
        Added to the information of a value where the entropy divides by it; below 0, each value has
        its own, -p log p with its frequency p.

    Attributes
    ----------
    n_columns : int
        Number of columns.

    Examples
    --------
    >>> from sk_microagg._kernels import RangeColumns
    >>> from sk_microagg.tables import Hierarchy
    >>> country = Hierarchy.from_nested({"Europe": ["France", "Spain"], "Asia": ["India"]})
    >>> columns = RangeColumns([country._domain(["Spain", "India", "India"], "country")], [1.0])
    >>> columns.loss_of(0, 0, 1), columns.loss_of(0, 0, 2)  # Europe, and all
    (0.6666666666666666, 1.0)
    """

    def __init__(self, domains, weights, *, double constant=-1.0):
        cdef Column *column
        cdef Py_ssize_t j
        self.n_columns = len(domains)
        self.constant = constant
        self.largest_constant = exp(-1.0) if constant < 0.0 else constant
        self.columns.resize(self.n_columns)
        for j, (domain, weight) in enumerate(zip(domains, weights, strict=True)):
            column = &self.columns[j]
            column.width = domain.n_leaves + 1
            column.weight = weight
            if domain.is_tree:
                column.kind = HIERARCHY
                column.parent = domain.parent
                column.last = domain.last
                column.loss = [weight * loss for loss in domain.loss]
                column.info = domain.info
                column.content = [
                    info + self._constant(mass)
                    for info, mass in zip(domain.info, domain.mass, strict=True)
                ]
            else:
                column.kind = NUMBERS
                column.left = domain.left
                column.right = domain.right
                column.loss = [weight * loss for loss in domain.loss]
                column.extent = domain.extent
                column.info_before = sums_before(domain.info)
                column.mass_before = sums_before(domain.mass)
            if column.width <= LARGEST_TABLE:
                self._tabulate(j)

    def loss_of(self, Py_ssize_t column, int lo, int hi):
        """Weighted loss of a generalized value."""
        return self.loss(column, lo, hi)

    @property
    def n_leaves(self):
        """Number of leaves of each column, and the position that only missing values cover."""
        return np.array([self.columns[j].width - 1 for j in range(self.n_columns)], np.int32)

    def costs(self, const int[:, ::1] center_lo, const int[:, ::1] center_hi,
              const int[:, ::1] n_known, const Py_ssize_t[::1] sizes, const int[::1] lo,
              const int[::1] hi, *, bint by_entropy=False):
        """Cost of adding a record to each of several groups.

        By loss, all known values lose what the merged center loses instead of what the old one did.
        By entropy, it is the sum of the rates at which members and record are generalized.
        """
        cdef double[::1] costs = np.zeros(sizes.shape[0])
        cdef Py_ssize_t group, j
        with nogil:
            for group in range(sizes.shape[0]):
                for j in range(self.n_columns):
                    if by_entropy:
                        costs[group] += self.rate(
                            j, center_lo[group, j], center_hi[group, j], sizes[group], lo[j], hi[j]
                        )
                    else:
                        costs[group] += self.lost(
                            j, center_lo[group, j], center_hi[group, j], n_known[group, j], lo[j],
                            hi[j],
                        )
                        costs[group] -= n_known[group, j] * self.loss(
                            j, center_lo[group, j], center_hi[group, j]
                        )
        return costs.base

    def info_of(self, Py_ssize_t column, int lo, int hi):
        """Information of a generalized value, and its content, by which the entropy divides."""
        return self.info(column, lo, hi), self.content(column, lo, hi)

    cdef double loss(self, Py_ssize_t j, int lo, int hi) noexcept nogil:
        """The loss of the value that covers positions lo to hi, times the column's weight.

        Never less than that of a value that it covers, to the last bit.
        """
        cdef Column *column = &self.columns[j]
        if column.kind == TABULATED:
            return column.loss[lo * column.width + hi]
        if column.kind == HIERARCHY:
            return column.loss[lowest_common(column, lo, hi)]
        if hi == column.width - 1:
            return column.weight
        if lo == hi:
            return column.loss[lo]
        # An infinite end is as much as the root.
        return column.weight * min((column.right[hi] - column.left[lo]) / column.extent, 1.0)

    cdef double info(self, Py_ssize_t j, int lo, int hi) noexcept nogil:
        """The information that is lost when a value gets as general as this."""
        cdef Column *column = &self.columns[j]
        if column.kind == TABULATED:
            return column.info[lo * column.width + hi]
        if column.kind == HIERARCHY:
            return column.info[lowest_common(column, lo, hi)]
        if lo == hi:
            return 0.0
        return column.info_before[min(hi + 1, column.width - 1)] - column.info_before[lo]

    cdef double content(self, Py_ssize_t j, int lo, int hi) noexcept nogil:
        """The content of a value: what the entropy divides by when it is generalized."""
        cdef Column *column = &self.columns[j]
        if column.kind == TABULATED:
            return column.content[lo * column.width + hi]
        if column.kind == HIERARCHY:
            return column.content[lowest_common(column, lo, hi)]
        return self.info(j, lo, hi) + self._constant(
            column.mass_before[min(hi + 1, column.width - 1)] - column.mass_before[lo]
        )

    cdef double lost(self, Py_ssize_t j, int center_lo, int center_hi, int n_known, int lo,
                     int hi) noexcept nogil:
        """Loss of a group with one more record; a missing value has nothing to lose."""
        return (n_known + (not self.is_missing(j, hi))) * self.loss(
            j, min(center_lo, lo), max(center_hi, hi)
        )

    cdef double rate(self, Py_ssize_t j, int center_lo, int center_hi, double size, int lo,
                     int hi) noexcept nogil:
        """Cost, by entropy, of merging a value with the center of `size` records.

        It is the sum of the rates at which all of them are generalized to the value that covers
        both, and that value to itself.
        """
        cdef int merged_lo = min(center_lo, lo), merged_hi = max(center_hi, hi)
        cdef double info = self.info(j, merged_lo, merged_hi)
        cdef double to_itself = share(info, self.content(j, merged_lo, merged_hi))
        return self.columns[j].weight * (
            (share(info, self.content(j, lo, hi)) + to_itself)
            + size * (share(info, self.content(j, center_lo, center_hi)) + to_itself)
        )

    cdef double least_rate(self, Py_ssize_t j, int center_lo, int center_hi, double size, int lo,
                           int hi, double largest_content) noexcept nogil:
        """Lower bound on the rate of values that cover `lo` to `hi`, with limited content."""
        cdef double info = self.info(j, min(center_lo, lo), max(center_hi, hi))
        # The rate of a value to itself need not grow with the value; this bound on it does.
        cdef double to_itself = share(info, info + self.largest_constant)
        return self.columns[j].weight / SAFETY * (
            (share(info, largest_content) + to_itself)
            + size * (share(info, self.content(j, center_lo, center_hi)) + to_itself)
        )

    cdef bint is_missing(self, Py_ssize_t j, int hi) noexcept nogil:
        return hi == self.columns[j].width - 1

    cdef double _constant(self, double mass) noexcept nogil:
        if self.constant >= 0.0:
            return self.constant
        return -mass * log(mass) if 0.0 < mass < 1.0 else 0.0

    cdef int _tabulate(self, Py_ssize_t j) except -1:
        """Tabulate all values of a column with few leaves."""
        cdef Column *column = &self.columns[j]
        cdef int lo, hi, width = column.width
        cdef vector[double] loss, info, content
        loss.resize(width * width)
        info.resize(width * width)
        content.resize(width * width)
        for lo in range(width):
            for hi in range(lo, width):
                loss[lo * width + hi] = self.loss(j, lo, hi)
                info[lo * width + hi] = self.info(j, lo, hi)
                content[lo * width + hi] = self.content(j, lo, hi)
        column.loss = loss
        column.info = info
        column.content = content
        column.kind = TABULATED
        return 0


cdef inline double share(double part, double whole) noexcept nogil:
    return part / whole if whole > 0.0 else 0.0


cdef int lowest_common(const Column *column, int lo, int hi) noexcept nogil:
    """The smallest node that covers positions lo to hi: climb from the leaf at lo."""
    cdef int node = lo
    while column.last[node] < hi:
        node = column.parent[node]
    return node


cdef vector[double] sums_before(values):
    cdef vector[double] sums
    cdef double total = 0.0, value
    sums.push_back(0.0)
    for value in values:
        total += value
        sums.push_back(total)
    return sums
