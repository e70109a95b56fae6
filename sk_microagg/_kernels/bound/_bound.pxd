"""The state of the kernels in this folder."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ..common._interrupt cimport Watch
from ..points._points cimport PointTree


cdef class RootCandidates:
    cdef const double[:, ::1] X
    cdef const double[:, ::1] sums
    cdef Py_ssize_t k
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t n_records

    # Duals of the records, and by how much they bring a record nearer to a root.
    cdef double[::1] duals
    cdef double[::1] shift
    cdef const unsigned char[::1] raised
    cdef double[::1] pull
    cdef PointTree tree

    # Cuts: their members, their duals, and for each record the cuts that it is in.
    cdef const int32_t[::1] cut_start
    cdef const int32_t[::1] cut_member
    cdef const double[::1] cut_dual
    cdef vector[vector[int32_t]] cuts_of

    # The present root, and its candidates.
    cdef Py_ssize_t root
    cdef Py_ssize_t n
    cdef vector[Hit] hits
    cdef vector[int32_t] record_of
    cdef vector[int32_t] place_of
    cdef vector[double] coordinates
    cdef vector[double] star
    cdef vector[double] joining
    cdef vector[double] spread
    cdef vector[unsigned char] is_raised
    cdef vector[uint64_t] cuts_at
    cdef vector[double] cut_dual_at
    cdef vector[double] rows
    cdef vector[Py_ssize_t] row_start

    cdef vector[double] weight
    cdef vector[double] smallest

    # Operations since `take_work` was last called.
    cdef Py_ssize_t work

    cdef int set_duals(self, const double[::1] duals, const double[::1] shift) except -1
    cdef int set_raised(self, const unsigned char[::1] raised) except -1
    cdef int set_cuts(self, const int32_t[::1] start, const int32_t[::1] member,
                      const double[::1] cut_dual) except -1
    cdef bint find(self, Py_ssize_t root, double below, double *least_open) except -1 nogil
    cdef int keep(self, const vector[int32_t] &places) except -1 nogil
    cdef uint64_t cuts_of_root(self) noexcept nogil
    cdef double sum_of_cut_duals(self, uint64_t cuts) noexcept nogil
    cdef const double *row(self, Py_ssize_t place) except NULL nogil
    cdef int lower(self, double value) except -1 nogil
    cdef Py_ssize_t take_work(self) noexcept nogil

    cdef bint _is_any_raised(self) noexcept nogil
    cdef int _gather(self) except -1 nogil
    cdef int _tighten_spread(self) except -1 nogil
    cdef int _note_cuts(self) except -1 nogil


cdef inline double sum_of_smallest(const double *values, Py_ssize_t n, Py_ssize_t m,
                                   double *smallest) noexcept nogil:
    """Sum of the m smallest of n values, and these in rising order in `smallest`."""
    cdef double total = 0.0, value
    cdef Py_ssize_t i, place
    for i in range(m):
        smallest[i] = INFINITY
    for i in range(n):
        value = values[i]
        if value < smallest[m - 1]:
            place = m - 1
            while place > 0 and smallest[place - 1] > value:
                smallest[place] = smallest[place - 1]
                place -= 1
            smallest[place] = value
    for i in range(m):
        total += smallest[i]
    return total


cdef inline double sum_without_largest(const double *values, Py_ssize_t n, Py_ssize_t m,
                                       double *buffer) noexcept nogil:
    """Sum of the m smallest of n values: that of all less the largest ones if these are fewer.

    Where one value is far larger than the result, it rounds away digits of that.
    """
    cdef double total = 0.0
    cdef Py_ssize_t i
    if m <= n - m:
        return sum_of_smallest(values, n, m, buffer)
    for i in range(n):
        total += values[i]
    return total if m >= n else total - sum_of_largest(values, n, n - m, buffer)


cdef inline double sum_of_largest(const double *values, Py_ssize_t n, Py_ssize_t m,
                                  double *largest) noexcept nogil:
    """Sum of the m largest of n values, and these in falling order in `largest`."""
    cdef double total = 0.0, value
    cdef Py_ssize_t i, place
    for i in range(m):
        largest[i] = -INFINITY
    for i in range(n):
        value = values[i]
        if value > largest[m - 1]:
            place = m - 1
            while place > 0 and largest[place - 1] < value:
                largest[place] = largest[place - 1]
                place -= 1
            largest[place] = value
    for i in range(m):
        total += largest[i]
    return total


ctypedef pair[double, int32_t] Ranked


cdef class RootSearch:
    cdef Py_ssize_t k
    cdef RootCandidates candidates

    # One of each for every depth of the search.
    cdef vector[vector[int32_t]] listed
    cdef vector[vector[double]] gain
    cdef vector[vector[Ranked]] ranked

    # The weights of candidates in a bound, and the smallest of them.
    cdef vector[double] weight
    cdef vector[double] smallest

    cdef vector[int32_t] chosen
    # Whether one of those chosen is raised, for every depth.
    cdef vector[unsigned char] holds_raised
    cdef vector[int32_t] best_members
    cdef double best
    cdef double least_open
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t node_limit
    cdef Watch watch

    cdef double _least(self, Py_ssize_t root, double tolerance) except? -1.0 nogil
    cdef void _list_all(self) noexcept nogil
    cdef int _start_greedily(self) except -1 nogil
    cdef int _branch(self, Py_ssize_t depth, double cost, double star, uint64_t cuts,
                     double inherited) except -1 nogil
    cdef int _descend(self, Py_ssize_t depth, double cost, double star, uint64_t cuts,
                      uint64_t charged, double bound) except -1 nogil
    cdef uint64_t _cuts_to_charge(self, Py_ssize_t depth, uint64_t cuts) noexcept nogil
    cdef bint _narrow_by_all(self, Py_ssize_t depth, double cost, double star,
                             double *bound) except -1 nogil
    cdef bint _narrow(self, Py_ssize_t depth, double mix, double cost, double star,
                      uint64_t charged, double *bound) except -1 nogil
    cdef int _try_last(self, Py_ssize_t depth, double cost, uint64_t cuts) except -1 nogil
    cdef int _try_last_two(self, Py_ssize_t depth, double cost, uint64_t cuts) except -1 nogil
    cdef void _keep_if_best(self, double value, uint64_t cuts) noexcept nogil
