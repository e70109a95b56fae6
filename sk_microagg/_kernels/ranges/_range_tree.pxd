from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ._range_columns cimport RangeColumns

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
