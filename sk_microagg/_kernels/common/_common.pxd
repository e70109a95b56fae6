"""The state of the kernels in this folder."""

from libc.stdint cimport uint64_t
from libcpp.pair cimport pair
from libcpp.set cimport set as ordered_set
from libcpp.vector cimport vector

from ._interrupt cimport Watch


cdef class BasePartition:
    cdef readonly Py_ssize_t k
    cdef readonly Py_ssize_t n_slots
    cdef readonly Py_ssize_t n_groups
    cdef readonly Py_ssize_t n_records

    cdef vector[Py_ssize_t] group_of
    cdef vector[vector[Py_ssize_t]] members
    cdef ordered_set[Py_ssize_t] free_slots

    # Brought up to date by `update`; `version` is the number of the update.
    cdef vector[double] group_cost
    cdef vector[Py_ssize_t] version
    cdef Py_ssize_t n_updates
    cdef double total_cost
    cdef double lost_cost
    cdef double largest_total

    cdef vector[Py_ssize_t] dirty
    cdef vector[char] is_dirty
    cdef vector[Py_ssize_t] larger
    cdef vector[Py_ssize_t] place_in_larger

    cdef bint recording
    cdef vector[pair[Py_ssize_t, Py_ssize_t]] journal

    # Overridden by each kind of partition.
    cdef double measure(self, Py_ssize_t group) except -1 nogil
    cdef int reindex(self, Py_ssize_t group) except -1 nogil

    cdef int measure_all(self) except -1 nogil
    cdef double cost_of_all(self) except -1 nogil
    cdef int shift(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int leave(self, Py_ssize_t record) except -1 nogil
    cdef int join(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int log_move(self, Py_ssize_t record, Py_ssize_t group) except -1 nogil
    cdef int update(self) except -1 nogil
    cdef Py_ssize_t free_slot(self) noexcept nogil
    cdef int check_group(self, Py_ssize_t group) except -1
    cdef int check_record(self, Py_ssize_t record) except -1

    cdef int _mark_dirty(self, Py_ssize_t group) except -1 nogil
    cdef int _update_group(self, Py_ssize_t group) except -1 nogil
    cdef void _add_to_total(self, double value) noexcept nogil
    cdef void _sum_groups(self) noexcept nogil
    cdef int _list_if_larger(self, Py_ssize_t group) except -1 nogil


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
