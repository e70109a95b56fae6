from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ._point_tree cimport PointTree


cdef class FarthestPair:
    cdef PointTree tree
    cdef vector[Hit] order
    cdef vector[double] farthest
    cdef vector[Py_ssize_t] partner

    cdef int ends(self, Py_ssize_t *lower, Py_ssize_t *higher) except -1 nogil
