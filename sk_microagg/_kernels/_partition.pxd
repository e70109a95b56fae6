from libcpp.vector cimport vector

from ._boxes cimport Hit
from ._ledger cimport Ledger
from ._tree cimport Tree


cdef class Partition(Ledger):
    cdef const double[:, ::1] X
    cdef Py_ssize_t n_columns

    # Measured when a group is settled.
    cdef double[:, ::1] centroids
    cdef double[::1] radius
    cdef vector[double] own_distance
    cdef vector[double] measured
    cdef Tree index

    cdef vector[Hit] hits
    cdef vector[Hit] nearby
    cdef vector[char] is_taken

    cdef int settle_with_index(self) except -1
    cdef int distances(self, Py_ssize_t group, const double *point,
                       vector[double] &distances) except -1 nogil

    cdef Hit _nearest_other(self, const double *point, Py_ssize_t group,
                            Py_ssize_t full) except * nogil
    cdef Hit _nearest_excess(self, const double *point) except * nogil
    cdef int _look_for_excess(self, Py_ssize_t group, const double *point,
                              Hit *best) except -1 nogil
    cdef int _excess(self, Py_ssize_t group, vector[Hit] &records) except -1 nogil
