from libcpp.vector cimport vector

from ._arcs cimport Arc, Arcs


# Part of a cycle: who sends which record to whom, and what that costs. Paths have no record where
# they begin and end.
cdef struct Step:
    Py_ssize_t source
    Py_ssize_t target
    Py_ssize_t record
    double cost
    double rounding
    bint has_margin


cdef class ExchangeGraph(Arcs):
    cdef bint with_paths
    cdef Py_ssize_t known_at
    cdef Py_ssize_t n_steps
    cdef Py_ssize_t n_pulls
    cdef vector[Py_ssize_t] previous
    cdef vector[Step] cycle

    cdef int _check_started(self) except -1
    cdef double _widest_for_pairs(self) except -1 nogil
    cdef bint _find_cycle(self) except -1 nogil
    cdef bint _pull_others(self, Py_ssize_t a) except -1 nogil
    cdef bint _pull(self, Py_ssize_t a, Py_ssize_t b, double price) except -1 nogil
    cdef double _price(self, Arc arc) noexcept nogil
    cdef bint _has_room(self, Py_ssize_t group) noexcept nogil
    cdef bint _trace_cycle(self, Py_ssize_t last) except -1 nogil
    cdef double _wall(self, Py_ssize_t group, Arc *arc) except? -1 nogil
    cdef Step _step(self, Py_ssize_t a, Py_ssize_t b) except * nogil
    cdef bint _cancel_cycle(self) except -1 nogil
    cdef double _sse_on_cycle(self) noexcept nogil
    cdef bint _narrow(self) noexcept nogil
    cdef bint _is_rounding(self) noexcept nogil
    cdef bint _excuse(self) except -1 nogil
    cdef int _enqueue_around(self, Py_ssize_t group) except -1 nogil
