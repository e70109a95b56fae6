from libcpp.vector cimport vector

from ._boxes cimport Hit
from ._tree cimport Tree


cdef class Outskirts:
    cdef Tree tree
    cdef vector[double] anchor
    cdef vector[Hit] order
    cdef size_t top
    cdef bint complete
    cdef double beyond
    cdef Py_ssize_t size_when_sorted
    cdef Py_ssize_t looked_at

    cdef Py_ssize_t farthest(self, const double *query) except -1 nogil
    cdef int _sort(self, const double *query) except -1 nogil
