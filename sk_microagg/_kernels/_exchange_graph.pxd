from libcpp.deque cimport deque
from libcpp.vector cimport vector

from ._boxes cimport Hit
from ._partition cimport Partition
from ._tree cimport Tree


# An arc from one group to another: the record that costs least to send along it, of those that
# have no twin in the other group, and of those that have.
cdef struct Arc:
    Py_ssize_t target
    Py_ssize_t record
    double cost
    Py_ssize_t twin
    double twin_cost
    Py_ssize_t measured_at


# Part of a cycle: who sends which record to whom, and what that costs. Paths have no record where
# they begin and end.
cdef struct Step:
    Py_ssize_t source
    Py_ssize_t target
    Py_ssize_t record
    double cost
    double rounding
    bint has_margin


cdef class ExchangeGraph:
    cdef Partition partition
    cdef Py_ssize_t dummy
    cdef const Py_ssize_t[::1] twins
    cdef vector[char] is_excused
    cdef vector[vector[Arc]] arcs
    cdef readonly double margin
    cdef bint with_paths
    cdef Py_ssize_t known_at
    cdef Py_ssize_t checked_at
    cdef vector[double] checked

    cdef double[::1] potential
    cdef vector[Py_ssize_t] previous
    cdef deque[Py_ssize_t] queue
    cdef vector[char] is_queued
    cdef vector[Step] cycle
    cdef vector[Hit] hits
    cdef vector[Py_ssize_t] order
    cdef vector[Py_ssize_t] has_rivals
    cdef vector[double] distances

    cdef int _order_records(self, n_records) except -1
    cdef Py_ssize_t _add_rivals(self, Py_ssize_t record, Tree tree) except -1 nogil
    cdef bint _add_arc(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef int _measure(self, Py_ssize_t a, Arc *arc) except -1 nogil
    cdef double _distance(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil
    cdef bint _has_twin(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil
    cdef double _widest_for_pairs(self) except -1 nogil
    cdef bint _find_cycle(self) except -1 nogil
    cdef bint _pull_others(self, Py_ssize_t a) except -1 nogil
    cdef bint _pull(self, Py_ssize_t a, Py_ssize_t b, double price) except -1 nogil
    cdef double _price(self, Arc arc) noexcept nogil
    cdef bint _has_room(self, Py_ssize_t group) noexcept nogil
    cdef bint _trace_cycle(self, Py_ssize_t last) except -1 nogil
    cdef Step _step(self, Py_ssize_t a, Py_ssize_t b) except * nogil
    cdef bint _cancel_cycle(self) except -1 nogil
    cdef double _sse_on_cycle(self) noexcept nogil
    cdef bint _narrow(self) noexcept nogil
    cdef bint _is_rounding(self) noexcept nogil
    cdef bint _excuse(self) except -1 nogil
    cdef int _enqueue(self, Py_ssize_t group) except -1 nogil
    cdef int _enqueue_around(self, Py_ssize_t group) except -1 nogil
