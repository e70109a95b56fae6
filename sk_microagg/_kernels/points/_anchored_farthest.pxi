"""The record farthest from a point that moves little from query to query.

Seen from the centroid, the records of a whole shell are nearly equally far, and a tree must open
all of it. But the centroid drifts slowly: the records are sorted once by their distance to an
anchor, a past query. By the triangle inequality a record at distance r from the anchor is at most
r + drift from a query at distance `drift` from it, so a scan from the farthest inward may stop as
soon as r + drift falls below the best true distance.

A scan that gets long is finished by the tree, with the best found so far as its bound. When the
scans since the last sort have computed as many distances as a sort would, the records are sorted
again around the current query, which answers that query as well. Only the outermost records are
kept in order: the others follow with the next sort.
"""

from libc.math cimport sqrt
from libcpp.algorithm cimport equal, nth_element, sort

from ..common._distances cimport NO_HIT, SAFETY, TINY, Hit, squared_distance

cdef enum:
    LONG_SCAN = 256
    SORTED_SHARE = 16
    SORTED_AT_LEAST = 1024


cdef class AnchoredFarthest:

    def __init__(self, PointTree tree):
        self.tree = tree
        self.size_when_sorted = 0
        self.n_distances = 0

    cdef Py_ssize_t farthest(self, const double *query) except -1 nogil:
        cdef Hit best = NO_HIT
        cdef bint at_anchor
        cdef double drift, bound, d2
        cdef Py_ssize_t record, before, n_scanned = 0
        cdef size_t place
        if self.n_distances >= self.size_when_sorted:
            self._sort(query)
        at_anchor = equal(self.anchor.begin(), self.anchor.end(), query)
        drift = sqrt(squared_distance(query, self.anchor.data(), self.tree.n_columns))
        while self.top < self.order.size() and not self.tree.holds(self.order[self.top].second):
            self.top += 1
        for place in range(self.top, self.order.size()):
            record = self.order[place].second
            if not self.tree.holds(record):
                continue
            if at_anchor:
                return record
            bound = (sqrt(-self.order[place].first) + drift) * SAFETY + TINY
            if bound * bound < -best.first:
                return best.second
            if n_scanned == LONG_SCAN:
                before = self.tree.n_distances
                best = self.tree.farthest(query, best)
                self.n_distances += self.tree.n_distances - before
                return best.second
            d2 = squared_distance(&self.tree.X[record, 0], query, self.tree.n_columns)
            best = min(best, Hit(-d2, record))
            self.n_distances += 1
            n_scanned += 1
        bound = (self.beyond + drift) * SAFETY + TINY
        if not self.complete and bound * bound >= -best.first:
            self._sort(query)
            return self.order[0].second
        return best.second

    cdef int _sort(self, const double *query) except -1 nogil:
        """Sort the outermost live records by their distance to `query`, farthest first."""
        cdef Py_ssize_t n_kept = max(self.tree.size // SORTED_SHARE, SORTED_AT_LEAST)
        cdef size_t place
        self.anchor.assign(query, query + self.tree.n_columns)
        self.tree.distances(query, self.order)
        for place in range(self.order.size()):
            self.order[place].first = -self.order[place].first
        self.complete = n_kept >= self.tree.size
        if not self.complete:
            nth_element(self.order.begin(), self.order.begin() + n_kept, self.order.end())
            self.beyond = sqrt(-self.order[n_kept].first)
            self.order.resize(n_kept)
        sort(self.order.begin(), self.order.end())
        self.top = 0
        self.n_distances = 0
        self.size_when_sorted = self.tree.size
        return 0
