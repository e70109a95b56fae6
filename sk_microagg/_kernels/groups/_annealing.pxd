from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from ._partition cimport Partition


cdef class Annealer:
    cdef Partition partition
    cdef const int[:, ::1] neighbors
    cdef const Py_ssize_t[::1] by_scale
    cdef uint64_t random
    cdef Py_ssize_t full

    cdef double temperature
    cdef Py_ssize_t first_active
    cdef Py_ssize_t n_active
    cdef double chance_of_jump

    cdef vector[Py_ssize_t] carried
    cdef vector[Py_ssize_t] carried_from

    cdef int _step(self) except -1 nogil
    cdef Py_ssize_t _draw_record(self) noexcept nogil
    cdef Py_ssize_t _draw_partner(self, Py_ssize_t record) noexcept nogil
    cdef Py_ssize_t _draw_other(self, Py_ssize_t record) noexcept nogil
    cdef bint _accepts(self, double rise) noexcept nogil
    cdef int _create(self, Py_ssize_t record) except -1 nogil
    cdef int _dissolve(self, Py_ssize_t group) except -1 nogil
    cdef Py_ssize_t _cheapest_other(self, Py_ssize_t record, double *cost) noexcept nogil
    cdef int _carry(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int _undo(self) except -1 nogil
