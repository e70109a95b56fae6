"""The state of the kernels in this folder."""

from libcpp.vector cimport vector

from ..common._common cimport BasePartition
from ..common._distances cimport Hit


cdef enum Kind:
    TABULATED
    HIERARCHY
    NUMBERS


cdef struct Column:
    Kind kind
    # Positions: one for each leaf, and a last one that only the root covers.
    int width
    double weight

    # By lo * width + hi if tabulated, by node of a hierarchy; of numbers, by leaf, the loss alone.
    vector[double] loss
    vector[double] info
    vector[double] content

    # Of a hierarchy.
    vector[int] parent
    vector[int] last

    # Of numbers: where values that begin with a leaf begin, and where those that end with it end.
    vector[double] left
    vector[double] right
    double extent
    vector[double] info_before
    vector[double] mass_before


cdef class RangeColumns:
    cdef readonly Py_ssize_t n_columns
    cdef vector[Column] columns
    cdef double constant
    cdef double largest_constant

    cdef double loss(self, Py_ssize_t j, int lo, int hi) noexcept nogil
    cdef double info(self, Py_ssize_t j, int lo, int hi) noexcept nogil
    cdef double content(self, Py_ssize_t j, int lo, int hi) noexcept nogil
    cdef double lost(self, Py_ssize_t j, int center_lo, int center_hi, int n_known, int lo,
                     int hi) noexcept nogil
    cdef double rate(self, Py_ssize_t j, int center_lo, int center_hi, double size, int lo,
                     int hi) noexcept nogil
    cdef double least_rate(self, Py_ssize_t j, int center_lo, int center_hi, double size, int lo,
                           int hi, double largest_content) noexcept nogil
    cdef bint is_missing(self, Py_ssize_t j, int hi) noexcept nogil

    cdef double _constant(self, double mass) noexcept nogil
    cdef int _tabulate(self, Py_ssize_t j) except -1


cdef Py_ssize_t NOWHERE


cdef struct Node:
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t parent
    Py_ssize_t left  # The right child follows it; 0 for a node without children.


cdef class RangeTree:
    cdef RangeColumns columns
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t n_items
    cdef Py_ssize_t n_changes

    # By place: items that are near to each other in the tree are so in memory.
    cdef vector[int] lo
    cdef vector[int] hi
    cdef vector[Py_ssize_t] item_at
    cdef vector[Py_ssize_t] leaf_of

    # By item.
    cdef vector[Py_ssize_t] place_of
    cdef vector[Py_ssize_t] rank

    # By node, and there by column.
    cdef vector[Node] nodes
    cdef vector[Py_ssize_t] first_rank
    cdef vector[int] min_lo
    cdef vector[int] max_lo
    cdef vector[int] min_hi
    cdef vector[int] max_hi
    cdef vector[double] max_loss

    cdef vector[Hit] best
    cdef size_t n_wanted

    # Overridden by each kind of tree.
    cdef double cost(self, Py_ssize_t place, double limit) noexcept nogil
    cdef double bound(self, Py_ssize_t node, double limit) noexcept nogil
    cdef void enclose(self, Py_ssize_t node) noexcept nogil

    cdef int set_up(self) except -1 nogil
    cdef int build(self, const int *lo, const int *hi) except -1 nogil
    cdef int search(self, size_t n_wanted) except -1 nogil
    cdef int change(self, Py_ssize_t item, const int *lo, const int *hi,
                    Py_ssize_t rank) except -1 nogil
    cdef int rerank(self, Py_ssize_t item, Py_ssize_t rank) except -1 nogil

    cdef int _build(self, const int *lo, const int *hi, Py_ssize_t node,
                    vector[int] &keys) except -1 nogil
    cdef Py_ssize_t _split_items(self, const int *lo, const int *hi, Py_ssize_t node,
                          vector[int] &keys) except -1 nogil
    cdef void _search(self, Py_ssize_t node) noexcept nogil
    cdef double _bound_if_any(self, Py_ssize_t node, double limit) noexcept nogil
    cdef void _search_if_promising(self, Py_ssize_t node, double bound) noexcept nogil
    cdef void _offer(self, Hit hit) noexcept nogil
    cdef Hit _worst(self) noexcept nogil
    cdef void _enclose_places(self, Py_ssize_t node) noexcept nogil
    cdef void _rank(self, Py_ssize_t node) noexcept nogil


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
