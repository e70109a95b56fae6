from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ..points._point_tree cimport PointTree
from ._partition cimport Partition


# An arc from one group to another. Of the records that it may send, `record` costs least among
# those that need a margin, and `twin` among those that need none: they have a twin in the other
# group, or are exempt. The wall is the least cost of a record without a twin there.
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
    cdef Py_ssize_t n_groups
    cdef const Py_ssize_t[::1] twins
    cdef vector[char] is_exempt

    # By group, and the groups that got an arc since the caller last cleared the list.
    cdef vector[vector[Arc]] leaving
    cdef vector[Py_ssize_t] extended

    # The state of the partition when `add_missing` last ran, and the potentials that it saw.
    cdef Py_ssize_t checked_at
    cdef vector[double] checked

    cdef vector[Hit] hits
    cdef vector[Py_ssize_t] order
    cdef vector[Py_ssize_t] has_rivals
    cdef vector[double] distances

    cdef Py_ssize_t add_near(self, Py_ssize_t m, Py_ssize_t n_records) except -1
    cdef Py_ssize_t add_missing(self, const double[::1] potential, double margin) except -1
    cdef void forget_checks(self) noexcept nogil
    cdef bint add(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef Arc *find(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef int measure(self, Py_ssize_t a, Arc *arc) except -1 nogil
    cdef int exempt(self, Py_ssize_t record) except -1 nogil
    cdef double rounding(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil

    cdef int _order_records(self, Py_ssize_t n_records) except -1
    cdef Py_ssize_t _add_rivals(self, Py_ssize_t record, PointTree tree,
                                double limit) except -1 nogil
    cdef bint _has_twin(self, Py_ssize_t record, Py_ssize_t group) noexcept nogil
    cdef double _wall(self, Py_ssize_t group, Arc *arc) except? -1 nogil
