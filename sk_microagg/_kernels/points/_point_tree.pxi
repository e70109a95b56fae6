"""Exact queries to a kd-tree of points: the nearest, the farthest, and all within a distance.

Pruning is exact, bit for bit: rounding is monotone, and corners of boxes are measured by the same
sums in the same order as records, so a bound never crosses a distance (bounds from radii have a
margin). A node is passed over only if its bound and its lowest record together lose against the
best so far, so ties fall as in a plain scan.

Where boxes prune too little to pay for themselves (many columns, few records), every query scans
all tiles instead. The tree finds out by counting the distances that a few queries compute.
"""

cimport cython
from libcpp.algorithm cimport pop_heap, push_heap, sort_heap

from ..common._distances cimport SAFETY, TINY, Hit, squared_distance

cdef enum:
    QUERIES_TO_TRY = 32
    # Where boxes spare a smaller percentage of the records, plain scans are faster: measured as
    # FEW_RECORDS was.
    LEAST_PERCENT_SPARED = 55
    SCANS_BETWEEN_TRIALS = 512
    # `nearest_about` looks into this many tiles at most.
    TILES_FOR_ABOUT = 96

# ... and passes over nodes that are farther away than half the distance of the worst hit.
cdef double STRETCH_FOR_ABOUT = 4.0


@cython.final
cdef class PointTree(BoxTree):

    def __init__(self, const double[:, ::1] X, Search search, *, const double[::1] weights=None,
                 const double[::1] radii=None, const unsigned char[::1] is_member=None,
                 bint roomy=False):
        """Records have weights, which make them seem nearer, or radii for `within`, or neither."""
        self.weighted = weights is not None
        self.stretch = 1.0
        self.tiles_to_go = -1
        self.measured = False
        BoxTree.__init__(
            self,
            X,
            search,
            values=weights if weights is not None else radii,
            is_member=is_member,
            roomy=roomy,
        )

    cdef Hit farthest(self, const double *query, Hit best) noexcept nogil:
        """The record farthest from `query`, keyed by minus its squared distance, or `best`."""
        cdef Py_ssize_t tile
        cdef double query_radius
        if self.pruning:
            query_radius = squared_distance(query, self.middle.data(), self.n_columns)
            self._farthest_below(1, query, query_radius, &best)
        else:
            for tile in range(self.n_tiles):
                self._farthest_in_tile(tile, query, &best)
        self._choose_scan_or_prune()
        return best

    cdef int nearest(self, const double *query, Py_ssize_t m, vector[Hit] &hits) except -1 nogil:
        """The `m` records nearest to `query`, nearest first, keyed by squared distance less weight.
        """
        cdef Py_ssize_t tile
        hits.clear()
        if m == 0:
            return 0
        hits.reserve(m)
        if self.pruning:
            self._nearest_below(1, query, m, hits)
        else:
            for tile in range(self.n_tiles):
                self._nearest_in_tile(tile, query, m, hits)
        self._choose_scan_or_prune()
        sort_heap(hits.begin(), hits.end())
        return 0

    cdef int nearest_about(self, const double *query, Py_ssize_t m,
                           vector[Hit] &hits) except -1 nogil:
        """About the `m` records nearest to `query`, nearest first: most of them, and others that
        are not much farther away. There must be no weights.
        """
        hits.clear()
        hits.reserve(m)
        if not self.boxed:
            return self.nearest(query, m, hits)
        self.stretch = STRETCH_FOR_ABOUT
        self.tiles_to_go = max(TILES_FOR_ABOUT, 2 * m // TILE)
        self._nearest_below(1, query, m, hits)
        self.stretch = 1.0
        self.tiles_to_go = -1
        sort_heap(hits.begin(), hits.end())
        return 0

    cdef int nearest_below(self, const double *query, Py_ssize_t m, double limit,
                           vector[Hit] &hits) except -1 nogil:
        """Like `nearest`, but only records with a key below `limit`: fewer than `m` perhaps."""
        cdef Py_ssize_t tile
        # Placeholders for hits yet to be found: they lose against any.
        hits.assign(m, Hit(limit, -1))
        if self.pruning:
            self._nearest_below(1, query, m, hits)
        else:
            for tile in range(self.n_tiles):
                self._nearest_in_tile(tile, query, m, hits)
        self._choose_scan_or_prune()
        sort_heap(hits.begin(), hits.end())
        while not hits.empty() and hits.back().second < 0:
            hits.pop_back()
        return 0

    cdef int below(self, const double *query, double limit, vector[Hit] &hits) except -1 nogil:
        """All records whose squared distance less weight is below `limit`, unordered."""
        cdef Py_ssize_t tile
        hits.clear()
        if self.pruning:
            self._below_node(1, query, limit, hits)
        else:
            for tile in range(self.n_tiles):
                self._below_in_tile(tile, query, limit, hits)
        self._choose_scan_or_prune()
        self.measured = False
        return 0

    cdef Py_ssize_t nearest_one(self, const double *query, Py_ssize_t guess) except -1 nogil:
        """The record nearest to `query`; the nearer the `guess`, the faster."""
        cdef double key = squared_distance(&self.X[guess, 0], query, self.n_columns)
        cdef Py_ssize_t tile
        if self.weighted:
            key -= self.values[guess]
        self.nearest_hit.clear()
        self.nearest_hit.push_back(Hit(key, guess))
        if self.pruning:
            self._nearest_below(1, query, 1, self.nearest_hit)
        else:
            for tile in range(self.n_tiles):
                self._nearest_in_tile(tile, query, 1, self.nearest_hit)
        self._choose_scan_or_prune()
        return self.nearest_hit[0].second

    cdef int distances(self, const double *query, vector[Hit] &hits) except -1 nogil:
        """All live records with their squared distances to `query`, in no order."""
        cdef double distances[TILE]
        cdef Py_ssize_t tile, lane
        hits.clear()
        hits.reserve(self.size)
        for tile in range(self.n_tiles):
            self._tile_distances(tile, query, distances)
            for lane in range(self.tile_size[tile]):
                hits.push_back(Hit(distances[lane], self.record_at[tile * TILE + lane]))
        return 0

    cdef int within(self, const double *query, double distance, double n_radii,
                    vector[Hit] &hits) except -1 nogil:
        """The records nearer than `distance`, or than `n_radii` times their own radius.

        With their squared distances, unordered. A record that is farther away by no more than
        rounding may be among them.
        """
        cdef Py_ssize_t tile
        hits.clear()
        if self.pruning:
            self._within_below(1, query, distance, n_radii, hits)
        else:
            for tile in range(self.n_tiles):
                self._within_tile(tile, query, distance, n_radii, hits)
        self._choose_scan_or_prune()
        return 0

    cdef void _choose_scan_or_prune(self) noexcept nogil:
        """Change to plain scans for a while if the boxes spared too few records, or back."""
        self.queries_to_go -= 1
        if self.queries_to_go > 0 or not self.boxed or self.search == TREE:
            return
        self.pruning = not self.pruning or (
            100 * (self.n_distances - self.n_distances_before)
            < (100 - LEAST_PERCENT_SPARED) * QUERIES_TO_TRY * self.size
        )
        self.queries_to_go = QUERIES_TO_TRY if self.pruning else SCANS_BETWEEN_TRIALS
        self.n_distances_before = self.n_distances

    cdef int measure_all(self, const double *query) except -1 nogil:
        """Keep the keys of all records, if queries scan them all: for `nearest`, and then `below`."""
        cdef Py_ssize_t tile
        self.measured = False
        if self.pruning:
            return 0
        self.keys.resize(self.n_tiles * TILE)
        for tile in range(self.n_tiles):
            self._tile_keys(tile, query, &self.keys[tile * TILE])
        self.measured = True
        return 0

    cdef inline const double *_tile_keys(self, Py_ssize_t tile, const double *query,
                                         double *buffer) noexcept nogil:
        """Squared distances of a tile's records, less their weights: in the buffer if not kept."""
        cdef Py_ssize_t lane
        if self.measured:
            return &self.keys[tile * TILE]
        self._tile_distances(tile, query, buffer)
        if self.weighted:
            for lane in range(TILE):
                buffer[lane] -= self.value_at[tile * TILE + lane]
        return buffer

    cdef inline void _tile_distances(self, Py_ssize_t tile, const double *query,
                                     double *distances) noexcept nogil:
        """Squared distances of a tile's records, each summed over the columns in their order."""
        cdef const double *column = &self.tiles[tile * TILE * self.n_columns]
        cdef double gap0, gap1, gap2, gap3
        cdef Py_ssize_t j = 0, lane
        for lane in range(TILE):
            distances[lane] = 0.0
        # Four columns at a time: the running sums make fewer trips to memory.
        while j + 4 <= self.n_columns:
            for lane in range(TILE):
                gap0 = column[lane] - query[j]
                gap1 = column[lane + TILE] - query[j + 1]
                gap2 = column[lane + 2 * TILE] - query[j + 2]
                gap3 = column[lane + 3 * TILE] - query[j + 3]
                distances[lane] = (
                    (((distances[lane] + gap0 * gap0) + gap1 * gap1) + gap2 * gap2) + gap3 * gap3
                )
            column += 4 * TILE
            j += 4
        while j < self.n_columns:
            for lane in range(TILE):
                gap0 = column[lane] - query[j]
                distances[lane] += gap0 * gap0
            column += TILE
            j += 1
        self.n_distances += TILE

    cdef void _farthest_below(self, Py_ssize_t node, const double *query, double query_radius,
                              Hit *best) noexcept nogil:
        cdef Py_ssize_t near, far
        cdef Hit near_bound, far_bound
        if node >= self.n_tiles:
            self._farthest_in_tile(node - self.n_tiles, query, best)
            return
        far = 2 * node
        near = far + 1
        far_bound.first = -self._farthest_possible(far, query, query_radius)
        far_bound.second = self.first_record[far]
        near_bound.first = -self._farthest_possible(near, query, query_radius)
        near_bound.second = self.first_record[near]
        if near_bound < far_bound:
            near, far = far, near
            near_bound, far_bound = far_bound, near_bound
        if far_bound < best[0]:
            self._farthest_below(far, query, query_radius, best)
        if near_bound < best[0]:
            self._farthest_below(near, query, query_radius, best)

    cdef void _farthest_in_tile(self, Py_ssize_t tile, const double *query,
                                Hit *best) noexcept nogil:
        cdef double distances[TILE]
        cdef Py_ssize_t lane
        cdef Hit hit
        self._tile_distances(tile, query, distances)
        for lane in range(self.tile_size[tile]):
            if -distances[lane] <= best.first:
                hit = Hit(-distances[lane], self.record_at[tile * TILE + lane])
                if hit < best[0]:
                    best[0] = hit

    cdef double _largest_value(self, Py_ssize_t node) noexcept nogil:
        return self.boxes[(node + 1) * self.box_size - 1]

    cdef void _lowest_keys(self, Py_ssize_t node, const double *query, double *left_key,
                           double *right_key) noexcept nogil:
        """Keys that no record in the left and right child of a node falls below."""
        cdef const double *left = &self.boxes[2 * node * self.box_size]
        cdef const double *right = left + self.box_size
        cdef double left_total = 0.0, right_total = 0.0, left_gap, right_gap
        cdef Py_ssize_t j, high = self.n_columns
        # Both in one go: neither sum waits for the other.
        for j in range(self.n_columns):
            left_gap = query[j] - min(max(query[j], left[j]), left[high + j])
            right_gap = query[j] - min(max(query[j], right[j]), right[high + j])
            left_total += left_gap * left_gap
            right_total += right_gap * right_gap
        left_key[0] = left_total
        right_key[0] = right_total
        if self.weighted:
            left_key[0] -= self._largest_value(2 * node)
            right_key[0] -= self._largest_value(2 * node + 1)

    cdef void _nearest_below(self, Py_ssize_t node, const double *query, Py_ssize_t m,
                             vector[Hit] &heap) noexcept nogil:
        cdef Py_ssize_t near, far
        cdef Hit near_bound, far_bound
        if node >= self.n_tiles:
            self._nearest_in_tile(node - self.n_tiles, query, m, heap)
            self.tiles_to_go -= 1
            return
        near = 2 * node
        far = near + 1
        self._lowest_keys(node, query, &near_bound.first, &far_bound.first)
        near_bound.first *= self.stretch
        far_bound.first *= self.stretch
        near_bound.second = self.first_record[near]
        far_bound.second = self.first_record[far]
        if far_bound < near_bound:
            near, far = far, near
            near_bound, far_bound = far_bound, near_bound
        if <Py_ssize_t>heap.size() < m or near_bound < heap.front():
            self._nearest_below(near, query, m, heap)
        if <Py_ssize_t>heap.size() < m or (far_bound < heap.front() and self.tiles_to_go != 0):
            self._nearest_below(far, query, m, heap)

    cdef void _nearest_in_tile(self, Py_ssize_t tile, const double *query, Py_ssize_t m,
                               vector[Hit] &heap) noexcept nogil:
        """Keep the m best in a heap with the worst of them at its front."""
        cdef double buffer[TILE]
        cdef const double *keys = self._tile_keys(tile, query, buffer)
        cdef Py_ssize_t lane
        cdef Hit hit
        for lane in range(self.tile_size[tile]):
            if <Py_ssize_t>heap.size() == m and keys[lane] > heap.front().first:
                continue
            hit = Hit(keys[lane], self.record_at[tile * TILE + lane])
            if <Py_ssize_t>heap.size() < m:
                heap.push_back(hit)
                push_heap(heap.begin(), heap.end())
            elif hit < heap.front():
                pop_heap(heap.begin(), heap.end())
                heap[m - 1] = hit
                push_heap(heap.begin(), heap.end())

    cdef int _below_node(self, Py_ssize_t node, const double *query, double limit,
                         vector[Hit] &hits) except -1 nogil:
        cdef double left_key, right_key
        if node >= self.n_tiles:
            return self._below_in_tile(node - self.n_tiles, query, limit, hits)
        self._lowest_keys(node, query, &left_key, &right_key)
        if left_key < limit:
            self._below_node(2 * node, query, limit, hits)
        if right_key < limit:
            self._below_node(2 * node + 1, query, limit, hits)
        return 0

    cdef int _below_in_tile(self, Py_ssize_t tile, const double *query, double limit,
                            vector[Hit] &hits) except -1 nogil:
        cdef double buffer[TILE]
        cdef const double *keys = self._tile_keys(tile, query, buffer)
        cdef Py_ssize_t lane
        for lane in range(self.tile_size[tile]):
            if keys[lane] < limit:
                hits.push_back(Hit(keys[lane], self.record_at[tile * TILE + lane]))
        return 0

    cdef int _within_below(self, Py_ssize_t node, const double *query, double distance,
                           double n_radii, vector[Hit] &hits) except -1 nogil:
        cdef Py_ssize_t child
        if node >= self.n_tiles:
            return self._within_tile(node - self.n_tiles, query, distance, n_radii, hits)
        for child in range(2 * node, 2 * node + 2):
            if self._nearest_possible(child, query) <= squared_bound(
                distance, n_radii * self._largest_value(child)
            ):
                self._within_below(child, query, distance, n_radii, hits)
        return 0

    cdef int _within_tile(self, Py_ssize_t tile, const double *query, double distance,
                          double n_radii, vector[Hit] &hits) except -1 nogil:
        cdef double distances[TILE]
        cdef Py_ssize_t lane
        self._tile_distances(tile, query, distances)
        for lane in range(self.tile_size[tile]):
            if distances[lane] <= squared_bound(
                distance, n_radii * self.value_at[tile * TILE + lane]
            ):
                hits.push_back(Hit(distances[lane], self.record_at[tile * TILE + lane]))
        return 0


cdef inline double squared_bound(double distance, double radius) noexcept nogil:
    cdef double bound = max(distance, radius) * SAFETY + TINY
    return bound * bound
