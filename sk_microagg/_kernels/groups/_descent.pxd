from libcpp.vector cimport vector

from ..common._base_descent cimport BaseDescent
from ..common._distances cimport Hit
from ._partition cimport Partition


# A record that moves to the other group of a pair, in exchange for a partner unless that is -1.
cdef struct Swap:
    double gain
    Py_ssize_t record
    Py_ssize_t partner


cdef struct Place:
    double along
    double across
    double gain


cdef class Descent(BaseDescent):
    cdef Partition partition
    cdef vector[Py_ssize_t] visited
    cdef vector[Hit] candidates
    cdef vector[double] to_b
    cdef vector[double] to_a
    cdef vector[Place] places
    cdef vector[size_t] may_swap

    cdef int _find_candidates(self, Py_ssize_t a) except -1 nogil
    cdef bint _improve_pair(self, Py_ssize_t a, Py_ssize_t b, double apart2) except -1 nogil
    cdef int _find_best(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil
    cdef bint _some_may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                             double least) except -1 nogil
    cdef int _apply(self, Swap swap, Py_ssize_t target) except -1 nogil
    cdef int _best_swap(self, Py_ssize_t a, Py_ssize_t b, double apart,
                        Swap *best) except -1 nogil
    cdef void _best_shift(self, Py_ssize_t a, Py_ssize_t b, const vector[double] &to_b,
                          Swap *best) noexcept nogil
    cdef bint _may_swap(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil
    cdef bint _may_shift(self, Py_ssize_t a, Py_ssize_t b, double apart) noexcept nogil
