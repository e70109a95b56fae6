from libcpp.pair cimport pair
from libcpp.set cimport set as ordered_set
from libcpp.vector cimport vector

from ._tree cimport Tree


cdef class Ledger:
    cdef const double[:, ::1] X
    cdef readonly Py_ssize_t k
    cdef readonly Py_ssize_t n_slots
    cdef readonly Py_ssize_t n_groups
    cdef Py_ssize_t n_columns

    cdef vector[Py_ssize_t] group_of
    cdef vector[vector[Py_ssize_t]] members
    cdef ordered_set[Py_ssize_t] free_slots

    # Measured when a group is settled.
    cdef double[:, ::1] centroids
    cdef double[::1] radius
    cdef vector[double] group_sse
    cdef vector[double] own_distance
    cdef vector[double] measured
    cdef vector[Py_ssize_t] version
    cdef Py_ssize_t n_settled
    cdef double total_sse
    cdef double lost_sse
    cdef double largest_total
    cdef Tree index

    cdef vector[Py_ssize_t] unsettled
    cdef vector[char] is_unsettled
    cdef vector[Py_ssize_t] larger
    cdef vector[Py_ssize_t] place_in_larger

    cdef bint recording
    cdef vector[pair[Py_ssize_t, Py_ssize_t]] journal

    cdef double sum_of_squares(self) except -1 nogil
    cdef int shift(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int settle(self) except -1 nogil
    cdef int settle_with_index(self) except -1
    cdef int distances(self, Py_ssize_t group, const double *point,
                       vector[double] &distances) except -1 nogil

    cdef int _leave(self, Py_ssize_t record) except -1 nogil
    cdef int _join(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int _unsettle(self, Py_ssize_t group) except -1 nogil
    cdef int _settle_group(self, Py_ssize_t group) except -1 nogil
    cdef double _measure(self, Py_ssize_t group) except -1 nogil
    cdef void _add_to_total(self, double value) noexcept nogil
    cdef void _sum_groups(self) noexcept nogil
    cdef int _list_if_larger(self, Py_ssize_t group) except -1 nogil
