"""Points with codes: a few columns of numbers, and codes that say which of many coordinates are not 0.

A code stands for a coordinate. All records that have it have the same value there, the root of its
square; a record has one code per slot, and two codes of different slots are never the same. For a
center with norm |c|² in the coordinates of codes, which a share p_v of its records has,

    |x - c|² = |numbers of x - numbers of c|² + |c|² + Σ s_v² (1 - 2 p_v), over the codes v of x.

Without the last term, this is the squared distance less a weight in the columns of numbers alone: a
tree of these finds the nearest among the centers that have no code of x. All others are in the
lists of the centers that have each code, and are measured one by one.
"""

import numpy as np

cimport cython
from libc.math cimport fabs
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ..common._distances cimport Hit, squared_distance
from ..common._interrupt cimport Watch, is_over, new_watch

# Share of a key that may be rounding.
cdef double KEY_ROUNDING = 1e-12


@cython.final
cdef class CodedTree:
    """Centers in a tree, and lists of those that have each code.

    Parameters
    ----------
    numbers : ndarray of shape (n_centers, n_columns), float64
        The columns of numbers.

    norms : ndarray of shape (n_centers,), float64
        Squared norm of each center in the coordinates of codes.

    squares : ndarray of shape (n_codes,), float64
        Squared value of each code.

    starts : ndarray of shape (n_codes + 1,), int32
        Where the list of each code begins, and the last one ends.

    centers, shares : ndarray of shape (n_listed,), int32 and float64
        The centers that have a code, and which share of their records has it, list after list.

    weights : ndarray of shape (n_centers,), float64, default=None
        Weights of a power diagram, as in `Pool`.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg._kernels import CodedTree
    >>> numbers, squares = np.array([[0.0], [1.0], [5.0]]), np.array([8.0, 8.0])
    >>> starts, centers = np.array([0, 2, 3], dtype=np.int32), np.array([0, 2, 1], dtype=np.int32)
    >>> tree = CodedTree(numbers, np.full(3, 8.0), squares, starts, centers, np.ones(3))
    >>> tree.nearest_each(np.array([[3.0], [3.0]]), np.array([[0], [1]], dtype=np.int32))
    array([2, 1])
    """

    def __init__(self, const double[:, ::1] numbers, const double[::1] norms,
                 const double[::1] squares, const int[::1] starts, const int[::1] centers,
                 const double[::1] shares, const double[::1] weights=None):
        if weights is None:
            weights = np.zeros(numbers.shape[0])
        self.numbers = numbers
        self.norms = norms
        self.squares = squares
        self.starts = starts
        self.centers = centers
        self.shares = shares
        self.weights = weights
        self.bonus.assign(numbers.shape[0], 0.0)
        self.tree = PointTree(numbers, AUTO, weights=np.asarray(weights) - norms)

    def nearest_each(self, const double[:, ::1] numbers, const int[:, ::1] codes):
        """Find the center nearest to each of many records.

        Parameters
        ----------
        numbers : ndarray of shape (n_records, n_columns), float64
            The columns of numbers of the records.

        codes : ndarray of shape (n_records, n_slots), int32
            Their codes.

        Returns
        -------
        centers : ndarray of shape (n_records,)
            The centers. Ties go to the lowest number.
        """
        cdef Py_ssize_t[::1] found = np.empty(numbers.shape[0], dtype=np.intp)
        cdef Watch watch = new_watch(POINTS_BETWEEN_SIGNALS)
        cdef vector[Hit] hits
        cdef Py_ssize_t i
        with nogil:
            for i in range(numbers.shape[0]):
                is_over(&watch, 1)
                self.nearest(&numbers[i, 0], &codes[i, 0], codes.shape[1], 1, hits)
                found[i] = hits[0].second
        return found.base

    cdef int nearest(self, const double *query, const int *codes, Py_ssize_t n_slots,
                     Py_ssize_t m, vector[Hit] &hits) except -1 nogil:
        """The `m` nearest centers, nearest first, keyed by squared distance less weight."""
        self.tree.nearest(query, m, hits)
        self._meet(codes, n_slots)
        self._measure(query, hits)
        sort(hits.begin(), hits.end())
        hits.resize(min(m, <Py_ssize_t>hits.size()))
        return 0

    cdef int below(self, const double *query, const int *codes, Py_ssize_t n_slots, double limit,
                   vector[Hit] &hits) except -1 nogil:
        """All centers whose squared distance less weight is below `limit`, unordered."""
        cdef size_t i, n_below = 0
        self._meet(codes, n_slots)
        self.tree.below(query, limit - self.own + KEY_ROUNDING * (fabs(limit) + self.own), hits)
        self._measure(query, hits)
        for i in range(hits.size()):
            if hits[i].first < limit:
                hits[n_below] = hits[i]
                n_below += 1
        hits.resize(n_below)
        return 0

    cdef int _meet(self, const int *codes, Py_ssize_t n_slots) except -1 nogil:
        """Find the centers that have a code of a record, and how much nearer it makes them."""
        cdef Py_ssize_t slot, i
        cdef double square
        self.own = 0.0
        for slot in range(n_slots):
            square = self.squares[codes[slot]]
            self.own += square
            if square == 0.0:
                continue
            for i in range(self.starts[codes[slot]], self.starts[codes[slot] + 1]):
                if self.bonus[self.centers[i]] == 0.0:
                    self.met.push_back(self.centers[i])
                self.bonus[self.centers[i]] += 2.0 * square * self.shares[i]
        return 0

    cdef int _measure(self, const double *query, vector[Hit] &hits) except -1 nogil:
        """Measure what the tree has found and all centers that were met; forget these."""
        cdef size_t i, n_others = 0
        for i in range(hits.size()):
            if self.bonus[hits[i].second] == 0.0:
                hits[n_others] = Hit(self._key(query, hits[i].second), hits[i].second)
                n_others += 1
        hits.resize(n_others)
        for i in range(self.met.size()):
            if self.tree.holds(self.met[i]):
                hits.push_back(Hit(self._key(query, self.met[i]), self.met[i]))
            self.bonus[self.met[i]] = 0.0
        self.met.clear()
        return 0

    cdef double _key(self, const double *query, Py_ssize_t center) noexcept nogil:
        """Squared distance less weight, in sums that do not depend on how a center was found."""
        cdef double key = squared_distance(
            &self.numbers[center, 0], query, self.numbers.shape[1]
        )
        key += max((self.own + self.norms[center]) - self.bonus[center], 0.0)
        return key - self.weights[center]
