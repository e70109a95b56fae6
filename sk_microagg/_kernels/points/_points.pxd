"""The state of the kernels in this folder."""

from libc.stdint cimport uint16_t
from libcpp.vector cimport vector

from ..common._distances cimport Hit


cdef enum:
    TILE = 16

cdef enum Search:
    AUTO
    TREE
    SCAN


cdef class BoxTree:
    cdef const double[:, ::1] X
    cdef const double[::1] values
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t size
    cdef Py_ssize_t size_when_built
    cdef Py_ssize_t n_distances

    cdef Search search
    cdef bint boxed
    cdef bint pruning
    cdef Py_ssize_t queries_to_go
    cdef Py_ssize_t n_distances_before
    cdef Py_ssize_t lanes_filled
    cdef Py_ssize_t n_refreshed

    cdef Py_ssize_t n_tiles
    cdef vector[double] tiles
    cdef vector[Py_ssize_t] tile_size
    cdef vector[Py_ssize_t] room
    cdef vector[Py_ssize_t] record_at
    cdef vector[Py_ssize_t] place_of
    cdef vector[double] middle
    cdef vector[double] radius_at
    cdef vector[double] value_at
    cdef Py_ssize_t box_size
    cdef vector[double] boxes
    cdef vector[Py_ssize_t] first_record

    cdef bint holds(self, Py_ssize_t record) noexcept nogil
    cdef double coordinate(self, Py_ssize_t record, Py_ssize_t column) noexcept nogil
    cdef int in_order(self, vector[Py_ssize_t] &records) except -1 nogil
    cdef int insert(self, Py_ssize_t record) except -1 nogil
    cdef int remove(self, Py_ssize_t record) except -1 nogil
    cdef int refresh(self, Py_ssize_t record) except -1 nogil

    cdef int _build(self) except -1 nogil
    cdef int _split(self, Py_ssize_t node, Hit *records, Py_ssize_t n_records,
                    const Py_ssize_t *n_leaves) except -1 nogil
    cdef void _fill_tile(self, Py_ssize_t tile, const Hit *records,
                         Py_ssize_t n_records) noexcept nogil
    cdef void _fill_place(self, Py_ssize_t place, Py_ssize_t record) noexcept nogil
    cdef Py_ssize_t _tile_with_room(self, const double *point) noexcept nogil
    cdef void _change_room(self, Py_ssize_t tile, Py_ssize_t change) noexcept nogil
    cdef void _find_middle(self, const vector[Hit] &records) noexcept nogil
    cdef void _refit(self, Py_ssize_t tile) noexcept nogil
    cdef bint _fit_leaf(self, Py_ssize_t tile) noexcept nogil
    cdef bint _fit_node(self, Py_ssize_t node) noexcept nogil
    cdef double _nearest_possible(self, Py_ssize_t node, const double *query) noexcept nogil
    cdef double _farthest_possible(self, Py_ssize_t node, const double *query,
                                   double query_radius) noexcept nogil


cdef class PointTree(BoxTree):
    cdef bint weighted
    # How `nearest_about` prunes: nodes whose bound, times `stretch`, is beyond the worst hit are
    # passed over, and all when `tiles_to_go` is 0.
    cdef double stretch
    cdef Py_ssize_t tiles_to_go
    cdef vector[Hit] nearest_hit
    # Keys of all records, from `measure_all` to the end of `below`.
    cdef bint measured
    cdef vector[double] keys

    cdef Hit farthest(self, const double *query, Hit best) noexcept nogil
    cdef int nearest(self, const double *query, Py_ssize_t m, vector[Hit] &hits) except -1 nogil
    cdef int nearest_about(self, const double *query, Py_ssize_t m,
                           vector[Hit] &hits) except -1 nogil
    cdef int nearest_below(self, const double *query, Py_ssize_t m, double limit,
                           vector[Hit] &hits) except -1 nogil
    cdef int below(self, const double *query, double limit, vector[Hit] &hits) except -1 nogil
    cdef Py_ssize_t nearest_one(self, const double *query, Py_ssize_t guess) except -1 nogil
    cdef int within(self, const double *query, double distance, double n_radii,
                    vector[Hit] &hits) except -1 nogil
    cdef int distances(self, const double *query, vector[Hit] &hits) except -1 nogil

    cdef int measure_all(self, const double *query) except -1 nogil

    cdef void _choose_scan_or_prune(self) noexcept nogil
    cdef double _largest_value(self, Py_ssize_t node) noexcept nogil
    cdef void _lowest_keys(self, Py_ssize_t node, const double *query, double *left_key,
                           double *right_key) noexcept nogil
    cdef const double *_tile_keys(self, Py_ssize_t tile, const double *query,
                                  double *buffer) noexcept nogil
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


cdef enum:
    # Points that are multiplied at a time, at most: more would not make it faster.
    PRODUCT_POINTS = 64
    # About 20 ms.
    PRODUCTS_BETWEEN_SIGNALS = 1 << 27


cdef extern from "points/_least_keys.h":
    cdef cppclass skm_key_table:
        void set_point(Py_ssize_t, const double *, const int *, Py_ssize_t) noexcept nogil
        void find_least(Py_ssize_t, double *) noexcept nogil
        void find_keys(Py_ssize_t, Py_ssize_t, double *) noexcept nogil


cdef class KeyProducts:
    cdef const double[::1] middle
    cdef skm_key_table *table
    cdef bint are_finite
    cdef double rounding
    cdef double most
    cdef Py_ssize_t n_chunks
    cdef Py_ssize_t n_together
    cdef vector[double] values
    cdef vector[int] columns
    cdef vector[double] own_squares
    cdef vector[double] least
    cdef vector[double] in_order

    cdef _squares(self, norms, weights, double tiny)
    cdef void set_point(self, Py_ssize_t row, const double *point) noexcept nogil
    cdef Py_ssize_t multiply(self, Py_ssize_t n_points) noexcept nogil
    cdef Py_ssize_t below(self, Py_ssize_t row, double limit,
                          vector[Py_ssize_t] &records) except -1 nogil
    cdef Py_ssize_t likely_nearest(self, Py_ssize_t row) noexcept nogil
    cdef int nearest_about(self, Py_ssize_t row, Py_ssize_t m,
                           vector[Hit] &hits) except -1 nogil
    cdef void _find_keys(self, Py_ssize_t row, Py_ssize_t chunk, double *keys) noexcept nogil


cdef class AnchoredFarthest:
    cdef PointTree tree
    cdef vector[double] anchor
    cdef vector[Hit] order
    cdef size_t top
    cdef bint complete
    cdef double beyond
    cdef Py_ssize_t size_when_sorted
    cdef Py_ssize_t n_distances

    cdef Py_ssize_t farthest(self, const double *query) except -1 nogil
    cdef int _sort(self, const double *query) except -1 nogil


cdef class FarthestPair:
    cdef PointTree tree
    cdef vector[Hit] order
    cdef vector[double] farthest
    cdef vector[Py_ssize_t] partner

    cdef int ends(self, Py_ssize_t *lower, Py_ssize_t *higher) except -1 nogil


cdef class CodedTree:
    cdef const double[:, ::1] numbers
    cdef const double[::1] norms
    cdef const double[::1] squares
    cdef const int[::1] starts
    cdef const int[::1] centers
    cdef const double[::1] shares
    cdef const double[::1] weights
    cdef PointTree tree

    # The centers that have a code of the record at hand, how much nearer these make them, and the
    # squared norm of the record in the coordinates of codes.
    cdef vector[int] met
    cdef vector[double] bonus
    cdef double own

    cdef int nearest(self, const double *query, const int *codes, Py_ssize_t n_slots,
                     Py_ssize_t m, vector[Hit] &hits) except -1 nogil
    cdef int below(self, const double *query, const int *codes, Py_ssize_t n_slots, double limit,
                   vector[Hit] &hits) except -1 nogil
    cdef int _meet(self, const int *codes, Py_ssize_t n_slots) except -1 nogil
    cdef int _measure(self, const double *query, vector[Hit] &hits) except -1 nogil
    cdef double _key(self, const double *query, Py_ssize_t center) noexcept nogil


cdef class CodedScan:
    cdef const double[:, ::1] numbers
    cdef const int[:, ::1] codes
    cdef const double[::1] squares
    cdef Py_ssize_t size
    cdef Py_ssize_t n_slots
    # What rounding may add to a key.
    cdef double slack

    # The records that are left, in no order, and where each of them is.
    cdef uint16_t[::1] own_codes
    cdef double[::1] own_numbers
    cdef Py_ssize_t[::1] record_at
    cdef Py_ssize_t[::1] place_of

    # The record that was measured last, and the keys of all others.
    cdef Py_ssize_t measured
    cdef vector[double] keys

    cdef vector[double] table
    cdef vector[double] least

    cdef void remove(self, Py_ssize_t record) noexcept nogil
    cdef int nearest(self, Py_ssize_t record, Py_ssize_t m,
                     vector[Py_ssize_t] &records) except -1 nogil
    cdef int farthest(self, Py_ssize_t record, vector[Py_ssize_t] &records) except -1 nogil
    cdef void _measure(self, Py_ssize_t record) noexcept nogil


cdef class BasePool:
    cdef vector[Hit] hits
    # A point that is asked for, and sums of coordinates of a group.
    cdef vector[double] point
    cdef vector[double] sums
    cdef Py_ssize_t n_coordinates
    # What a distance costs.
    cdef Py_ssize_t width

    cdef Py_ssize_t n_left(self) noexcept nogil
    cdef int find_centroid(self) except -1 nogil
    cdef Py_ssize_t farthest_from_centroid(self) except -1 nogil
    cdef Py_ssize_t farthest_from(self, Py_ssize_t record) except -1 nogil
    cdef int find_around(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil
    cdef Py_ssize_t nearest_to_point(self) except -1 nogil
    cdef int add_to_sums(self, Py_ssize_t record) except -1 nogil
    cdef int remove_one(self, Py_ssize_t record) except -1 nogil
    cdef bint holds(self, Py_ssize_t record) noexcept nogil

    cdef int _take_group(self, Py_ssize_t first, Py_ssize_t k, bint follows_centroid,
                         Py_ssize_t *members) except -1 nogil
    cdef _records_hit(self)
    cdef int _check_size(self, Py_ssize_t m) except -1
    cdef int _check_around(self, Py_ssize_t m) except -1
    cdef int _check_held(self, Py_ssize_t record) except -1


cdef class Pool(BasePool):
    cdef const double[:, ::1] X
    cdef PointTree tree
    cdef dict farthest_by_anchor
    cdef AnchoredFarthest from_centroid
    cdef FarthestPair farthest_pair
    cdef CodedScan scan
    cdef vector[Py_ssize_t] likely
    # Sums of the columns over the pool, and their rounding errors. They are summed anew each time
    # that the number of removals has doubled: no error of huge records that left stays for long.
    cdef vector[double] total
    cdef vector[double] lost
    cdef Py_ssize_t n_removed
    cdef Py_ssize_t sum_after

    cdef int _multiply_for_nearest(self, KeyProducts products, const double[:, ::1] points,
                                   Py_ssize_t[::1] records) except -1
    cdef Hit _key(self, const double *point, Py_ssize_t record) noexcept nogil
    cdef int _measure_likely(self, Py_ssize_t record, Py_ssize_t m, double sign) except -1 nogil
    cdef int _nearest_each(self, const double[:, ::1] points, Py_ssize_t[::1] records) except -1
    cdef int _sum(self) except -1 nogil
    cdef void _add(self, Py_ssize_t column, double value) noexcept nogil
    cdef _forget(self)
    cdef int _check_complete(self) except -1
    cdef int _check_point(self, Py_ssize_t n_columns) except -1


cdef class CodedPool(BasePool):
    cdef const double[:, ::1] X
    cdef const int[:, ::1] codes
    cdef const double[::1] squares
    cdef CodedTree tree
    cdef readonly Py_ssize_t size

    # The records still in the pool, in no order, where each of them is, and how many have each code.
    cdef Py_ssize_t[::1] alive
    cdef Py_ssize_t[::1] place_of
    cdef Py_ssize_t[::1] counts

    cdef int _nearest(self, Py_ssize_t record, Py_ssize_t m) except -1 nogil
    cdef Py_ssize_t _farthest(self, const double *point) noexcept nogil
    cdef double _key(self, const double *point, Py_ssize_t record) noexcept nogil
    cdef int _check_point(self, Py_ssize_t n_columns) except -1
