"""The candidates of a root: records that can be in one of its sets, and what bounds need of them.

See `RootSearch` for the bounds.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._distances cimport by_record, squared_distance
from ..points._points cimport AUTO, PointTree

cdef enum:
    # All distances between the candidates of a root may be kept in memory.
    MAX_CANDIDATES = 2048
    MAX_CUTS_OF_RECORD = 64
    # When it is worth its time to compute the spread among the candidates.
    MIN_K_TO_TIGHTEN = 5
    MAX_CANDIDATES_TO_TIGHTEN = 400

cdef double POTENTIAL_SHARE = 0.3


@cython.final
cdef class RootCandidates:
    """The records that can be in a set of a root, one root at a time.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_columns), float64
        The records.

    k : int
        Size of the sets, at least 2.

    sums : ndarray of shape (n_records, n_sums), float64
        As `RootSearch` takes them.
    """

    def __init__(self, const double[:, ::1] X, Py_ssize_t k, const double[:, ::1] sums):
        if not 2 <= k <= X.shape[0]:
            raise ValueError(f"k={k} must be from 2 to the number of records, {X.shape[0]}.")
        self.X = X
        self.sums = sums
        self.k = k
        self.n_records = X.shape[0]
        self.n_columns = X.shape[1]
        self.place_of.assign(self.n_records, -1)
        self.smallest.resize(k)
        self.set_raised(np.ones(self.n_records, dtype=np.uint8))
        self.set_duals(np.zeros(self.n_records), np.zeros(self.n_records))
        self.set_cuts(np.zeros(1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0))

    cdef int set_duals(self, const double[::1] duals, const double[::1] shift) except -1:
        """Set the duals, see `RootSearch.set_duals`."""
        self.duals = np.array(duals)
        self.shift = np.array(shift)
        self.pull = 2.0 * (np.asarray(duals) + np.asarray(shift))
        self.tree = PointTree(self.X, AUTO, weights=self.pull)
        return 0

    cdef int set_raised(self, const unsigned char[::1] raised) except -1:
        """Set which records are raised, see `RootSearch.set_raised`."""
        self.raised = raised
        return 0

    cdef int set_cuts(self, const int32_t[::1] start, const int32_t[::1] member,
                      const double[::1] cut_dual) except -1:
        """Set the cuts, see `RootSearch.set_cuts`."""
        cdef Py_ssize_t cut, i
        self.cut_start = start
        self.cut_member = member
        self.cut_dual = cut_dual
        self.cuts_of.assign(self.n_records, vector[int32_t]())
        for cut in range(cut_dual.shape[0]):
            for i in range(start[cut], start[cut + 1]):
                self.cuts_of[member[i]].push_back(cut)
                if self.cuts_of[member[i]].size() > MAX_CUTS_OF_RECORD:
                    raise ValueError(f"Record {member[i]} is in too many cuts.")
        return 0

    cdef int lower(self, double value) except -1 nogil:
        """Change the dual of the root by a value below 0."""
        self.duals[self.root] += value
        self.pull[self.root] += 2.0 * value
        return self.tree.refresh(self.root)

    cdef bint find(self, Py_ssize_t root, double below, double *least_open) except -1 nogil:
        """Find all records that can be in a set of the root with a reduced cost below a value.

        A record is left out only where the star bound with it in the set is no lower. Return
        whether the bound admits such a set at all. If there are too many candidates to search
        among, return False and store the bound in `least_open`.
        """
        cdef const double *point = &self.X[root, 0]
        cdef double total = (self.k - 1) * self.shift[root] - self.duals[root]
        cdef Py_ssize_t n_counted = 0
        cdef double last = 0.0
        cdef size_t i
        self.root = root
        self.work += self.n_records // 8
        self.tree.measure_all(point)
        self.tree.nearest(point, self.k, self.hits)
        for i in range(self.hits.size()):
            if self.hits[i].second != root and n_counted < self.k - 1:
                last = self.hits[i].first / 2.0
                total += last
                n_counted += 1
        if total >= below:
            return False
        self.tree.below(point, 2.0 * (below - total + last), self.hits)
        if not self._is_any_raised():
            return False
        # A tree does not promise an order; results must not depend on the number of threads.
        sort(self.hits.begin(), self.hits.end(), &by_record)
        if <Py_ssize_t>self.hits.size() > MAX_CANDIDATES:
            least_open[0] = total
            return False
        self.record_of.clear()
        for i in range(self.hits.size()):
            if self.hits[i].second != root:
                self.record_of.push_back(self.hits[i].second)
        self._gather()
        return True

    cdef bint _is_any_raised(self) noexcept nogil:
        """Whether the root or one of its candidates is raised."""
        cdef size_t i
        if self.raised[self.root]:
            return True
        for i in range(self.hits.size()):
            if self.raised[self.hits[i].second]:
                return True
        return False

    cdef int keep(self, const vector[int32_t] &places) except -1 nogil:
        """Keep only the candidates at some places, in ascending order, and tighten the bounds."""
        cdef size_t i
        if self.k < MIN_K_TO_TIGHTEN or places.size() > MAX_CANDIDATES_TO_TIGHTEN:
            return 0
        for i in range(places.size()):
            self.record_of[i] = self.record_of[places[i]]
        self.record_of.resize(places.size())
        self._gather()
        return self._tighten_spread()

    cdef int _gather(self) except -1 nogil:
        """Lay out the coordinates of the candidates, column by column, and what bounds need."""
        cdef Py_ssize_t place, j, record, n, n_sums = self.sums.shape[1]
        cdef double to_root, per_pair = 0.5 / self.k
        n = self.record_of.size()
        self.n = n
        self.work += n * (self.n_columns + self.k)
        self.coordinates.resize(n * self.n_columns)
        self.star.resize(n)
        self.joining.resize(n)
        self.spread.resize(n * self.k)
        self.weight.resize(n)
        self.is_raised.resize(n)
        self.rows.clear()
        self.row_start.assign(n, -1)
        for place in range(n):
            record = self.record_of[place]
            self.is_raised[place] = self.raised[record]
            for j in range(self.n_columns):
                self.coordinates[j * n + place] = self.X[record, j]
            to_root = squared_distance(
                &self.X[self.root, 0], &self.X[record, 0], self.n_columns
            )
            self.star[place] = to_root / 2.0 - self.duals[record] - self.shift[record]
            self.joining[place] = to_root / self.k - self.duals[record]
            for j in range(self.k - 1):
                self.spread[j * n + place] = self.sums[record, min(j, n_sums - 1)] * per_pair
        return self._note_cuts()

    cdef int _tighten_spread(self) except -1 nogil:
        """Compute the spread among the candidates only, with costs shifted by potentials.

        A pair of members costs d²/k, half of it for each; a potential may be moved from one half
        to the other. With a part of the cost of joining the root as the potential, the bound also
        excludes records whose neighbors are bad candidates.
        """
        cdef Py_ssize_t n = self.n, place, other, j
        cdef double share = POTENTIAL_SHARE / (self.k - 2.0), total
        cdef const double *row
        for place in range(n):
            row = self.row(place)
            for other in range(n):
                self.weight[other] = row[other] / 2.0 + share * self.joining[other]
            self.weight[place] = INFINITY
            sum_of_smallest(self.weight.data(), n, self.k - 2, self.smallest.data())
            total = 0.0
            for j in range(1, self.k - 1):
                total += self.smallest[j - 1] - share * self.joining[place]
                self.spread[j * n + place] = total
        return 0

    cdef int _note_cuts(self) except -1 nogil:
        """Give each candidate a bit for every cut that holds it and the root."""
        cdef const vector[int32_t] *cuts = &self.cuts_of[self.root]
        cdef Py_ssize_t place, i
        cdef size_t bit
        self.cuts_at.assign(self.n, 0)
        self.cut_dual_at.clear()
        for bit in range(cuts.size()):
            self.cut_dual_at.push_back(self.cut_dual[cuts[0][bit]])
        if cuts.empty():
            return 0
        for place in range(self.n):
            self.place_of[self.record_of[place]] = place
        for bit in range(cuts.size()):
            for i in range(self.cut_start[cuts[0][bit]], self.cut_start[cuts[0][bit] + 1]):
                place = self.place_of[self.cut_member[i]]
                if place >= 0:
                    self.cuts_at[place] |= (<uint64_t>1) << bit
        for place in range(self.n):
            self.place_of[self.record_of[place]] = -1
        return 0

    cdef uint64_t cuts_of_root(self) noexcept nogil:
        """The cuts of the root, one bit each."""
        cdef size_t n_cuts = self.cuts_of[self.root].size()
        return (<uint64_t>1 << n_cuts) - 1 if n_cuts < 64 else ~(<uint64_t>0)

    cdef double sum_of_cut_duals(self, uint64_t cuts) noexcept nogil:
        """Sum of the duals of cuts of the root, one bit each."""
        cdef double total = 0.0
        cdef size_t bit = 0
        while cuts:
            if cuts & 1:
                total += self.cut_dual_at[bit]
            cuts >>= 1
            bit += 1
        return total

    cdef const double *row(self, Py_ssize_t place) except NULL nogil:
        """Squared distances from a candidate to all, over k; valid until the next call."""
        cdef Py_ssize_t n = self.n, j, other
        cdef const double *column
        cdef double *row
        cdef double own, gap, share = 1.0 / self.k
        if self.row_start[place] < 0:
            self.row_start[place] = self.rows.size()
            self.rows.resize(self.rows.size() + n, 0.0)
            row = &self.rows[self.row_start[place]]
            for j in range(self.n_columns):
                column = &self.coordinates[j * n]
                own = column[place]
                for other in range(n):
                    gap = column[other] - own
                    row[other] += gap * gap
            for other in range(n):
                row[other] *= share
            self.work += n * self.n_columns
        return &self.rows[self.row_start[place]]

    cdef Py_ssize_t take_work(self) noexcept nogil:
        """Operations since the last call, for a search that counts them."""
        cdef Py_ssize_t work = self.work
        self.work = 0
        return work
