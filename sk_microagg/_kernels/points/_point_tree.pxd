from libcpp.vector cimport vector

from ..common._distances cimport Hit
from ._box_tree cimport BoxTree


cdef class PointTree(BoxTree):
    cdef bint weighted
    cdef vector[Hit] nearest_hit

    cdef Hit farthest(self, const double *query, Hit best) noexcept nogil
    cdef int nearest(self, const double *query, Py_ssize_t m, vector[Hit] &hits) except -1 nogil
    cdef int nearest_below(self, const double *query, Py_ssize_t m, double limit,
                           vector[Hit] &hits) except -1 nogil
    cdef int below(self, const double *query, double limit, vector[Hit] &hits) except -1 nogil
    cdef Py_ssize_t nearest_one(self, const double *query, Py_ssize_t guess) except -1 nogil
    cdef int within(self, const double *query, double distance, double n_radii,
                    vector[Hit] &hits) except -1 nogil
    cdef int distances(self, const double *query, vector[Hit] &hits) except -1 nogil

    cdef void _choose_scan_or_prune(self) noexcept nogil
    cdef double _largest_value(self, Py_ssize_t node) noexcept nogil
    cdef void _lowest_keys(self, Py_ssize_t node, const double *query, double *left_key,
                           double *right_key) noexcept nogil
    cdef void _tile_distances(self, Py_ssize_t tile, const double *query,
                              double *distances) noexcept nogil
    cdef void _farthest_below(self, Py_ssize_t node, const double *query, double query_radius,
                              Hit *best) noexcept nogil
    cdef void _farthest_in_tile(self, Py_ssize_t tile, const double *query,
                                Hit *best) noexcept nogil
    cdef void _nearest_below(self, Py_ssize_t node, const double *query, Py_ssize_t m,
                             vector[Hit] &heap) noexcept nogil
    cdef void _nearest_in_tile(self, Py_ssize_t tile, const double *query, Py_ssize_t m,
                               vector[Hit] &heap) noexcept nogil
    cdef int _below_node(self, Py_ssize_t node, const double *query, double limit,
                         vector[Hit] &hits) except -1 nogil
    cdef int _below_in_tile(self, Py_ssize_t tile, const double *query, double limit,
                            vector[Hit] &hits) except -1 nogil
    cdef int _within_below(self, Py_ssize_t node, const double *query, double distance,
                           double n_radii, vector[Hit] &hits) except -1 nogil
    cdef int _within_tile(self, Py_ssize_t tile, const double *query, double distance,
                          double n_radii, vector[Hit] &hits) except -1 nogil
