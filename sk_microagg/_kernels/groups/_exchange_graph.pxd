from libcpp.deque cimport deque
from libcpp.vector cimport vector

from ..common._interrupt cimport Watch
from ._arcs cimport Arc, Arcs
from ._partition cimport Partition


# One arc of a cycle, the record that it sends, and what that costs. Arcs of the dummy group send no
# record.
cdef struct Step:
    Py_ssize_t source
    Py_ssize_t target
    Py_ssize_t record
    double cost
    double rounding
    bint has_margin


cdef class ExchangeGraph:
    cdef Partition partition
    cdef Arcs arcs
    cdef double[::1] potential
    cdef readonly double margin

    # A group with a number beyond all others. Cycles through it are paths among the others.
    cdef Py_ssize_t dummy
    cdef bint with_paths

    # Groups whose arcs may pull potentials down, and the group that last pulled each down.
    cdef deque[Py_ssize_t] queue
    cdef vector[char] is_queued
    cdef vector[Py_ssize_t] previous
    cdef Py_ssize_t known_at
    cdef Watch watch
    cdef Py_ssize_t n_pulls
    cdef vector[Step] cycle

    cdef int _enqueue_extended(self) except -1
    cdef int _check_started(self) except -1
    cdef double _widest_for_pairs(self) except -1 nogil
    cdef bint _find_cycle(self) except -1 nogil
    cdef bint _pull_others(self, Py_ssize_t a) except -1 nogil
    cdef bint _pull(self, Py_ssize_t a, Py_ssize_t b, double cost) except -1 nogil
    cdef double _reduced_cost(self, const Arc *arc) noexcept nogil
    cdef bint _has_room(self, Py_ssize_t group) noexcept nogil
    cdef bint _trace_cycle(self, Py_ssize_t last) except -1 nogil
    cdef Step _step(self, Py_ssize_t a, Py_ssize_t b) except * nogil
    cdef bint _cancel_cycle(self) except -1 nogil
    cdef double _sse_on_cycle(self) noexcept nogil
    cdef bint _narrow(self) noexcept nogil
    cdef bint _is_rounding(self) noexcept nogil
    cdef bint _exempt_from_margin(self) except -1 nogil
    cdef int _enqueue(self, Py_ssize_t group) except -1 nogil
    cdef int _enqueue_around(self, Py_ssize_t group) except -1 nogil
