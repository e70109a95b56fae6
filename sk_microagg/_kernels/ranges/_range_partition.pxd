from libcpp.vector cimport vector

from ..common._base_partition cimport BasePartition
from ._range_columns cimport RangeColumns
from ._range_tree cimport RangeTree


cdef class GroupTree(RangeTree):
    cdef RangePartition partition
    cdef Py_ssize_t record
    cdef Py_ssize_t full
    # By node and column: the fewest known values of a group.
    cdef vector[Py_ssize_t] fewest_known


cdef class RangePartition(BasePartition):
    cdef RangeColumns columns
    cdef Py_ssize_t n_columns
    cdef const int[:, ::1] lo
    cdef const int[:, ::1] hi

    # By group and column: the two lowest and the two highest ends, and the number of known cells.
    cdef vector[int] low
    cdef vector[int] next_low
    cdef vector[int] high
    cdef vector[int] next_high
    cdef vector[int] n_known
    cdef GroupTree index

    cdef int update_with_index(self) except -1 nogil
    cdef int nearest_groups(self, Py_ssize_t record, Py_ssize_t m, Py_ssize_t full) except -1 nogil
    cdef double cost_with(self, Py_ssize_t group, Py_ssize_t record, double limit) noexcept nogil
    cdef double cost_without(self, Py_ssize_t group, Py_ssize_t record) noexcept nogil
    cdef double cost_exchanged(self, Py_ssize_t group, Py_ssize_t leaving, Py_ssize_t joining,
                               double limit) noexcept nogil

    cdef vector[Py_ssize_t] _grow(self, Py_ssize_t first, vector[Py_ssize_t] spare) except *
