from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from ._interrupt cimport Watch


cdef class BaseDescent:
    cdef bint shuffled
    cdef uint64_t random
    cdef Py_ssize_t n_sweeps
    cdef Py_ssize_t n_moves
    cdef Watch watch

    # Overridden by each kind of search.
    cdef int prepare(self) except -1
    cdef int visit(self, Py_ssize_t group, vector[Py_ssize_t] &changed) except -1 nogil

    cdef int _sweep(self, vector[Py_ssize_t] &targets) except -1 nogil
    cdef void _shuffle(self, vector[Py_ssize_t] &groups) noexcept nogil
