"""The candidates of a root: records that can be in one of its sets, and what bounds need of them.

See `RootSearch` for the bounds.
"""

import time

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._distances cimport by_record, squared_distance
from ..points._box_tree cimport AUTO
from ..points._point_tree cimport PointTree

cdef enum:
    # Distances between the candidates of a root are kept: so many squared is the most.
    MOST_CANDIDATES = 2048
    MOST_CUTS_OF_A_RECORD = 64
    WORK_BETWEEN_SIGNALS = 400_000
    # The spread among candidates is worth its price for sets of so many, and up to so many of them.
    LEAST_K_TO_LOOK_CLOSER = 5
    MOST_TO_LOOK_CLOSER = 400

cdef double POTENTIAL = 0.3


cdef class RootCandidates:

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
        self.set_prices(np.zeros(self.n_records), np.zeros(self.n_records))
        self.set_cuts(np.zeros(1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0))

    def set_prices(self, const double[::1] prices, const double[::1] shift):
        """Take the price of each record, and the numbers that say which member is root of a set."""
        self.prices = np.array(prices)
        self.shift = np.array(shift)
        self.pull = 2.0 * (np.asarray(prices) + np.asarray(shift))
        self.tree = PointTree(self.X, AUTO, weights=self.pull)

    def get_prices(self):
        """Prices of the records, lowered by sweeps that do so."""
        return np.array(self.prices)

    def set_cuts(self, const int32_t[::1] start, const int32_t[::1] member,
                 const double[::1] price):
        """Take cuts: the members of cut c are those from `start[c]` to `start[c + 1]`.

        A record is in 64 cuts at most, and no cut has a price below 0.
        """
        cdef Py_ssize_t cut, i
        self.cut_start = start
        self.cut_member = member
        self.cut_price = price
        self.cuts_of.assign(self.n_records, vector[int32_t]())
        for cut in range(price.shape[0]):
            for i in range(start[cut], start[cut + 1]):
                self.cuts_of[member[i]].push_back(cut)
                if self.cuts_of[member[i]].size() > MOST_CUTS_OF_A_RECORD:
                    raise ValueError(f"Record {member[i]} is in too many cuts.")

    cdef int lower(self, double value) except -1 nogil:
        """Change the price of the root by a value below 0."""
        self.prices[self.root] += value
        self.pull[self.root] += 2.0 * value
        return self.tree.refresh(self.root)

    cdef bint find_candidates(self, double below, double *least_open) except -1 nogil:
        """Find all records that can be in a set of the root with a reduced cost below a value.

        A record is left out only where the star bound with it in the set is no lower. Return
        whether there is such a set at all, as far as that bound tells. If there are too many
        candidates to search among, the answer is no, and the bound is left in `least_open`.
        """
        cdef const double *point = &self.X[self.root, 0]
        cdef double total = (self.k - 1) * self.shift[self.root] - self.prices[self.root]
        cdef Py_ssize_t n_counted = 0
        cdef double last = 0.0
        cdef size_t i
        self.tree.nearest(point, self.k, self.hits)
        for i in range(self.hits.size()):
            if self.hits[i].second != self.root and n_counted < self.k - 1:
                last = self.hits[i].first / 2.0
                total += last
                n_counted += 1
        self.is_over(self.n_records // 8)
        if total >= below:
            return False
        self.tree.below(point, 2.0 * (below - total + last), self.hits)
        # A tree's answers have no order that others could rely on, such as a search beside it.
        sort(self.hits.begin(), self.hits.end(), &by_record)
        if <Py_ssize_t>self.hits.size() > MOST_CANDIDATES:
            least_open[0] = total
            return False
        self._gather()
        return True

    cdef int _gather(self) except -1 nogil:
        """Lay the candidates out: their columns one after the other, and what bounds need."""
        cdef Py_ssize_t place, j, record, n, n_sums = self.sums.shape[1]
        cdef double to_root, per_pair = 0.5 / self.k
        cdef size_t i
        self.record_of.clear()
        for i in range(self.hits.size()):
            if self.hits[i].second != self.root:
                self.record_of.push_back(self.hits[i].second)
        n = self.record_of.size()
        self.n_candidates = n
        self.coordinates.resize(n * self.n_columns)
        self.star.resize(n)
        self.joining.resize(n)
        self.spread.resize(n * self.k)
        self.weight.resize(n)
        self.rows.clear()
        self.row_start.assign(n, -1)
        for place in range(n):
            record = self.record_of[place]
            for j in range(self.n_columns):
                self.coordinates[j * n + place] = self.X[record, j]
            to_root = squared_distance(
                &self.X[self.root, 0], &self.X[record, 0], self.n_columns
            )
            self.star[place] = to_root / 2.0 - self.prices[record] - self.shift[record]
            self.joining[place] = to_root / self.k - self.prices[record]
            for j in range(self.k - 1):
                self.spread[j * n + place] = self.sums[record, min(j, n_sums - 1)] * per_pair
        if self.k >= LEAST_K_TO_LOOK_CLOSER and n <= MOST_TO_LOOK_CLOSER:
            self._look_closer()
        self._note_cuts()
        return self.is_over(n * (self.n_columns + self.k))

    cdef int _look_closer(self) except -1 nogil:
        """Take the spread among the candidates only, of costs from which potentials are taken.

        A pair of members costs d²/k, half of it for each; a potential may be moved from the one's
        half to the other's. With a part of what joining the root costs as the potential, records
        whose near ones are bad candidates are seen to be so, too.
        """
        cdef Py_ssize_t n = self.n_candidates, place, other, j
        cdef double share = POTENTIAL / (self.k - 2.0), total
        cdef const double *row
        for place in range(n):
            row = self.row(place)
            for other in range(n):
                self.weight[other] = row[other] / 2.0 + share * self.joining[other]
            self.weight[place] = INFINITY
            self.sum_of_smallest(n, self.k - 2)
            total = 0.0
            for j in range(1, self.k - 1):
                total += self.smallest[j - 1] - share * self.joining[place]
                self.spread[j * n + place] = total
        return 0

    cdef int _note_cuts(self) except -1 nogil:
        """Give each candidate a bit for every cut in which it is together with the root."""
        cdef const vector[int32_t] *cuts = &self.cuts_of[self.root]
        cdef Py_ssize_t place, i
        cdef size_t bit
        self.cuts_at.assign(self.n_candidates, 0)
        if cuts.empty():
            return 0
        for place in range(self.n_candidates):
            self.place_of[self.record_of[place]] = place
        for bit in range(cuts.size()):
            for i in range(self.cut_start[cuts[0][bit]], self.cut_start[cuts[0][bit] + 1]):
                place = self.place_of[self.cut_member[i]]
                if place >= 0:
                    self.cuts_at[place] |= (<uint64_t>1) << bit
        for place in range(self.n_candidates):
            self.place_of[self.record_of[place]] = -1
        return 0

    cdef double cut_prices(self, uint64_t cuts) noexcept nogil:
        cdef double total = 0.0
        cdef size_t bit = 0
        while cuts:
            if cuts & 1:
                total += self.cut_price[self.cuts_of[self.root][bit]]
            cuts >>= 1
            bit += 1
        return total

    cdef const double *row(self, Py_ssize_t place) except NULL nogil:
        """Squared distances from a candidate to all, over k; valid until the next row is asked for.
        """
        cdef Py_ssize_t n = self.n_candidates, j, other
        cdef const double *column
        cdef double *row
        cdef double own, gap
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
                row[other] /= self.k
            self.is_over(n * self.n_columns)
        return &self.rows[self.row_start[place]]

    cdef double sum_of_smallest(self, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
        """Sum of the m smallest weights, which are in `smallest` then, in rising order."""
        cdef const double *weight = self.weight.data()
        cdef double *smallest = self.smallest.data()
        cdef double total = 0.0, value
        cdef Py_ssize_t i, place
        for i in range(m):
            smallest[i] = INFINITY
        for i in range(n):
            value = weight[i]
            if value < smallest[m - 1]:
                place = m - 1
                while place > 0 and smallest[place - 1] > value:
                    smallest[place] = smallest[place - 1]
                    place -= 1
                smallest[place] = value
        for i in range(m):
            total += smallest[i]
        return total

    cdef bint is_over(self, Py_ssize_t work) except -1 nogil:
        """Whether it is too late to go on; asked after so much work, and now and then answered."""
        self.work += work
        if self.work >= WORK_BETWEEN_SIGNALS:
            self.work = 0
            with gil:
                PyErr_CheckSignals()  # Ctrl-C
                self.is_late = time.monotonic() >= self.stop_at
        return self.is_late
