from libc.stdint cimport int32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ._boxes cimport Hit
from ._tree cimport Tree

ctypedef pair[double, int32_t] Ranked


cdef class RootSearch:
    cdef const double[:, ::1] X
    cdef const double[:, ::1] sums
    cdef Py_ssize_t k
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t n_records

    # Prices, and what makes a record seem nearer to a root.
    cdef double[::1] prices
    cdef double[::1] shift
    cdef double[::1] pull
    cdef Tree tree

    # Cuts: their members, their prices, and for each record the cuts that it is in.
    cdef const int32_t[::1] cut_start
    cdef const int32_t[::1] cut_member
    cdef const double[::1] cut_price
    cdef vector[vector[int32_t]] cuts_of

    # The present root, and its candidates.
    cdef Py_ssize_t root
    cdef Py_ssize_t n_candidates
    cdef vector[Hit] hits
    cdef vector[int32_t] record_of
    cdef vector[int32_t] place_of
    cdef vector[double] coordinates
    cdef vector[double] star
    cdef vector[double] spread
    cdef vector[uint64_t] cuts_at
    cdef vector[double] rows
    cdef vector[Py_ssize_t] row_start

    # One of each for every depth of the search.
    cdef vector[vector[int32_t]] listed
    cdef vector[vector[double]] gain
    cdef vector[vector[Ranked]] ranked
    cdef vector[double] weight
    cdef vector[double] smallest

    cdef vector[int32_t] chosen
    cdef vector[int32_t] best_members
    cdef double best
    cdef double least_open
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t node_limit
    cdef double stop_at
    cdef Py_ssize_t work
    cdef bint is_late

    cdef double _least(self, Py_ssize_t root, double tolerance) except? -1.0 nogil
    cdef bint _find_candidates(self) except -1 nogil
    cdef int _gather(self) except -1 nogil
    cdef int _look_closer(self) except -1 nogil
    cdef int _note_cuts(self) except -1 nogil
    cdef double _cut_prices(self, uint64_t cuts) noexcept nogil
    cdef const double *_row(self, Py_ssize_t place) except NULL nogil
    cdef int _start_greedily(self) except -1 nogil
    cdef int _branch(self, Py_ssize_t depth, double paid, double star, uint64_t cuts,
                     double inherited) except -1 nogil
    cdef int _descend(self, Py_ssize_t depth, double paid, double star, uint64_t cuts,
                      double bound) except -1 nogil
    cdef bint _narrow(self, Py_ssize_t depth, double mix, double paid, double star,
                      double *bound) except -1 nogil
    cdef int _try_last(self, Py_ssize_t depth, double paid, uint64_t cuts) except -1 nogil
    cdef int _try_last_two(self, Py_ssize_t depth, double paid, uint64_t cuts) except -1 nogil
    cdef void _offer(self, double value, Py_ssize_t n_chosen, uint64_t cuts) noexcept nogil
    cdef double _sum_of_smallest(self, Py_ssize_t n, Py_ssize_t m) noexcept nogil
    cdef bint _is_over(self, Py_ssize_t work) except -1 nogil
