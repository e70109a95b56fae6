from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ..points._point_tree cimport PointTree


cdef class RootCandidates:
    cdef const double[:, ::1] X
    cdef const double[:, ::1] sums
    cdef Py_ssize_t k
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t n_records

    # Prices, and what makes a record seem nearer to a root.
    cdef double[::1] prices
    cdef double[::1] shift
    cdef double[::1] pull
    cdef PointTree tree

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
    cdef vector[double] joining
    cdef vector[double] spread
    cdef vector[uint64_t] cuts_at
    cdef vector[double] rows
    cdef vector[Py_ssize_t] row_start

    # The weights of candidates in a bound, and the smallest of them.
    cdef vector[double] weight
    cdef vector[double] smallest

    cdef double stop_at
    cdef Py_ssize_t work
    cdef bint is_late

    cdef bint find_candidates(self, double below, double *least_open) except -1 nogil
    cdef double cut_prices(self, uint64_t cuts) noexcept nogil
    cdef const double *row(self, Py_ssize_t place) except NULL nogil
    cdef double sum_of_smallest(self, Py_ssize_t n, Py_ssize_t m) noexcept nogil
    cdef int lower(self, double value) except -1 nogil
    cdef bint is_over(self, Py_ssize_t work) except -1 nogil

    cdef int _gather(self) except -1 nogil
    cdef int _look_closer(self) except -1 nogil
    cdef int _note_cuts(self) except -1 nogil
