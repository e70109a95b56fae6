from libcpp.vector cimport vector

from ._boxes cimport Hit
from ._tree cimport Tree


cdef class Diameter:
    cdef Tree tree
    cdef vector[Hit] order
    cdef vector[double] reach
    cdef vector[Py_ssize_t] partner

    cdef int ends(self, Py_ssize_t *lower, Py_ssize_t *higher) except -1 nogil
