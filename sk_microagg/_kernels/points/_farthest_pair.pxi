"""The two records most distant from each other, asked again and again while records leave.

For every record, the squared distance to its farthest other record is kept from the last search.
As records only leave, it can only be too large, and it is exact while that other record is there.
Records are tried from the outermost inward, by their distance to a fixed middle: once the
distances of a record and of the outermost one to the middle together fall below the best diameter,
no pair further inward is as far apart. So a few tree searches replace a comparison of all pairs,
with a few numbers per record in memory.
"""

from libc.math cimport INFINITY, sqrt
from libcpp.algorithm cimport sort

from ..common._distances cimport NO_HIT, SAFETY, TINY, Hit
from ..common._interrupt cimport Watch, is_over, new_watch

cdef enum:
    SEARCHES_BETWEEN_SIGNALS = 64


cdef class FarthestPair:

    def __init__(self, PointTree tree, const double[::1] middle):
        cdef size_t place
        self.tree = tree
        self.farthest.assign(tree.X.shape[0], INFINITY)
        self.partner.assign(tree.X.shape[0], -1)
        tree.distances(&middle[0], self.order)
        for place in range(self.order.size()):
            self.order[place].first = -sqrt(self.order[place].first)
        sort(self.order.begin(), self.order.end())

    cdef int ends(self, Py_ssize_t *lower, Py_ssize_t *higher) except -1 nogil:
        cdef Hit best = NO_HIT, found
        cdef double outermost, bound
        cdef Py_ssize_t record
        cdef Watch watch = new_watch(SEARCHES_BETWEEN_SIGNALS)
        cdef size_t place, n_live = 0
        for place in range(self.order.size()):
            if self.tree.holds(self.order[place].second):
                self.order[n_live] = self.order[place]
                n_live += 1
        self.order.resize(n_live)
        outermost = -self.order[0].first
        for place in range(n_live):
            record = self.order[place].second
            bound = (outermost - self.order[place].first) * SAFETY + TINY
            if bound * bound < -best.first:
                break
            if not Hit(-self.farthest[record], record) < best:
                continue
            if self.partner[record] < 0 or not self.tree.holds(self.partner[record]):
                found = self.tree.farthest(&self.tree.X[record, 0], NO_HIT)
                self.farthest[record] = -found.first
                self.partner[record] = found.second
                is_over(&watch, 1)
            if Hit(-self.farthest[record], record) < best:
                best = Hit(-self.farthest[record], record)
                lower[0] = record
                higher[0] = self.partner[record]
        return 0
