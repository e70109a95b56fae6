from libc.stdint cimport int32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ._root_candidates cimport RootCandidates

ctypedef pair[double, int32_t] Ranked


cdef class RootSearch:
    cdef Py_ssize_t k
    cdef RootCandidates candidates

    # One of each for every depth of the search.
    cdef vector[vector[int32_t]] listed
    cdef vector[vector[double]] gain
    cdef vector[vector[Ranked]] ranked

    # The weights of candidates in a bound, and the smallest of them.
    cdef vector[double] weight
    cdef vector[double] smallest

    cdef vector[int32_t] chosen
    cdef vector[int32_t] best_members
    cdef double best
    cdef double least_open
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t node_limit


    cdef double _least(self, Py_ssize_t root) except? -1.0 nogil
    cdef int _start_greedily(self) except -1 nogil
    cdef int _branch(self, Py_ssize_t depth, double cost, double star, uint64_t cuts,
                     double inherited) except -1 nogil
    cdef int _descend(self, Py_ssize_t depth, double cost, double star, uint64_t cuts,
                      double bound) except -1 nogil
    cdef bint _narrow(self, Py_ssize_t depth, double mix, double cost, double star,
                      double *bound) except -1 nogil
    cdef int _try_last(self, Py_ssize_t depth, double cost, uint64_t cuts) except -1 nogil
    cdef int _try_last_two(self, Py_ssize_t depth, double cost, uint64_t cuts) except -1 nogil
    cdef void _keep_if_best(self, double value, uint64_t cuts) noexcept nogil
