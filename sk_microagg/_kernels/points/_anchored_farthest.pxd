from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ._point_tree cimport PointTree


cdef class AnchoredFarthest:
    cdef PointTree tree
    cdef vector[double] anchor
    cdef vector[Hit] order
    cdef size_t top
    cdef bint complete
    cdef double beyond
    cdef Py_ssize_t size_when_sorted
    cdef Py_ssize_t n_distances

    cdef Py_ssize_t farthest(self, const double *query) except -1 nogil
    cdef int _sort(self, const double *query) except -1 nogil
