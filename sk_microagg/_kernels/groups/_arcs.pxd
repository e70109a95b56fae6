from libcpp.deque cimport deque
from libcpp.vector cimport vector

from ..points._boxes cimport Hit
from ._partition cimport Partition
from ..points._tree cimport Tree

# Share of the distances behind a cost that may be rounding.
cdef double ROUNDING

# A margin that proves too wide is narrowed to this share of what is allowed: margins are nearly the
# widest, and rounding never asks for another round.
cdef double NARROWED


# An arc from one group to another: the record that costs least to send along it, of those that
# have no twin in the other group, and of those that have. The wall is the least cost of a record
# that has no twin there, asked for a margin or not.
cdef struct Arc:
    Py_ssize_t target
    Py_ssize_t record
    double cost
    Py_ssize_t twin
    double twin_cost
    double wall
    Py_ssize_t measured_at


cdef class Arcs:
    cdef Partition partition
    cdef const Py_ssize_t[::1] twins
    cdef vector[char] is_excused
    cdef vector[vector[Arc]] arcs

    # A group beyond the others, with which paths are cycles.
    cdef Py_ssize_t dummy
    cdef double[::1] potential
    cdef readonly double margin

    # Groups from which arcs are to be looked at.
    cdef deque[Py_ssize_t] queue
    cdef vector[char] is_queued

    # When all groups were looked at last, and what their potentials were then.
    cdef Py_ssize_t checked_at
    cdef vector[double] checked

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
    cdef int _enqueue(self, Py_ssize_t group) except -1 nogil
