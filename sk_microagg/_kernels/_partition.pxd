from libcpp.vector cimport vector

from ._boxes cimport Hit
from ._ledger cimport Ledger


cdef class Partition(Ledger):
    cdef vector[Hit] hits
    cdef vector[Hit] nearby
    cdef vector[char] is_taken

    cdef Hit _nearest_other(self, const double *point, Py_ssize_t group,
                            Py_ssize_t full) except * nogil
    cdef Hit _nearest_excess(self, const double *point) except * nogil
    cdef int _look_for_excess(self, Py_ssize_t group, const double *point,
                              Hit *best) except -1 nogil
    cdef int _excess(self, Py_ssize_t group, vector[Hit] &records) except -1 nogil
    cdef int _check_group(self, Py_ssize_t group) except -1
    cdef int _check_record(self, Py_ssize_t record) except -1
