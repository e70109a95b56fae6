"""A kd-tree over a shrinking set of records: exact nearest and farthest, cheap removal.

The records lie in tiles of TILE, column by column, so that one pass of vector instructions gives
the distances of a whole tile. Every leaf of the tree is a tile. Nodes are numbered as in a heap:
node 1 is the root, 2i and 2i+1 are the children of i, and the leaf of tile t is n_tiles + t. For
each node the tree knows its lowest live record, the box around its live records, and how far out
from the middle of all records they reach; these are fitted anew when a record leaves. A box is kept
as its low corner, its high corner and that radius, squared.

Pruning is exact, bit for bit: rounding is monotone, and corners of boxes are measured by the same
sums in the same order as records, so a bound never crosses a distance (bounds from radii have a
margin). A node is passed over only if its bound and its lowest record together lose against the
best so far, so ties fall as in a plain scan.

Where boxes prune too little to pay for themselves (many columns, few records), every query looks
at all tiles instead. The tree finds out by trying: it counts what a few queries look at.
"""

from libc.math cimport INFINITY, fabs
from libcpp.algorithm cimport nth_element, pop_heap, push_heap, sort_heap

cdef enum:
    TILE = 16
    # Measured on normal, clustered, low-rank and heavy-tailed records of 2 to 60 columns: below so
    # many records, or where boxes spare fewer than so many percent of them, plain scans are faster.
    FEW_RECORDS = 500
    LEAST_PERCENT_SPARED = 55
    QUERIES_TO_TRY = 32
    SCANS_BETWEEN_TRIALS = 512

# A bound on a distance, times the one plus the other, covers rounding and squares that underflow.
cdef double SAFETY = 1.0 + 1e-9
cdef double TINY = 1e-150

cdef Py_ssize_t NOBODY = (<size_t>-1) >> 1
cdef Hit NO_HIT = Hit(INFINITY, NOBODY)


cdef double squared_distance(const double *a, const double *b, Py_ssize_t n_columns) noexcept nogil:
    cdef double total = 0.0, gap
    cdef Py_ssize_t j
    for j in range(n_columns):
        gap = a[j] - b[j]
        total += gap * gap
    return total


cdef class Tree:

    def __init__(self, const double[:, ::1] X, Search search):
        self.X = X
        self.size = X.shape[0]
        self.n_columns = X.shape[1]
        self.search = search
        self.looked_at = 0
        self.place_of.assign(self.size, 0)
        with nogil:
            self._build()

    cdef bint holds(self, Py_ssize_t record) noexcept nogil:
        return self.place_of[record] >= 0

    cdef double coordinate(self, Py_ssize_t record, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t place = self.place_of[record]
        return self.tiles[(place // TILE * self.n_columns + column) * TILE + place % TILE]

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
        self._take_stock()
        return best

    cdef int nearest(self, const double *query, Py_ssize_t m, vector[Hit] &hits) except -1 nogil:
        """The `m` records nearest to `query`, nearest first."""
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
        self._take_stock()
        sort_heap(hits.begin(), hits.end())
        return 0

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

    cdef int remove(self, Py_ssize_t record) except -1 nogil:
        cdef Py_ssize_t place = self.place_of[record]
        cdef Py_ssize_t tile = place // TILE
        cdef Py_ssize_t last = tile * TILE + self.tile_size[tile] - 1
        cdef Py_ssize_t moved = self.record_at[last]
        cdef double *column = &self.tiles[tile * TILE * self.n_columns]
        cdef Py_ssize_t j
        for j in range(self.n_columns):
            column[j * TILE + place % TILE] = column[j * TILE + last % TILE]
        self.record_at[place] = moved
        self.radius_at[place] = self.radius_at[last]
        self.place_of[moved] = place
        self.place_of[record] = -1
        self.tile_size[tile] -= 1
        self.size -= 1
        if 2 * self.size < self.size_when_built and self.size > 0:
            return self._build()
        if self.boxed:
            self._refit(tile)
        return 0

    cdef void refresh(self, Py_ssize_t record) noexcept nogil:
        """Take over a row of X that has changed."""
        cdef Py_ssize_t place = self.place_of[record]
        cdef Py_ssize_t tile = place // TILE
        cdef double *column = &self.tiles[tile * TILE * self.n_columns]
        cdef Py_ssize_t j
        for j in range(self.n_columns):
            column[j * TILE + place % TILE] = self.X[record, j]
        self.radius_at[place] = squared_distance(
            &self.X[record, 0], self.middle.data(), self.n_columns
        )
        if self.boxed:
            self._refit(tile)

    # Building

    cdef int _build(self) except -1 nogil:
        cdef vector[Hit] live
        cdef vector[Py_ssize_t] n_leaves
        cdef Py_ssize_t record, tile, node
        live.reserve(self.size)
        for record in range(self.X.shape[0]):
            if self.place_of[record] >= 0:
                live.push_back(Hit(0.0, record))
        self.size_when_built = self.size
        self.n_tiles = (self.size + TILE - 1) // TILE
        self.tiles.assign(self.n_tiles * TILE * self.n_columns, 0.0)
        self.tile_size.assign(self.n_tiles, 0)
        self.record_at.assign(self.n_tiles * TILE, NOBODY)
        self.radius_at.assign(self.n_tiles * TILE, 0.0)
        self._find_middle(live)
        self.boxed = self.search == TREE or (self.search == AUTO and self.size >= FEW_RECORDS)
        self.pruning = self.boxed
        self.looked_at_before = self.looked_at
        self.queries_to_go = QUERIES_TO_TRY
        if not self.boxed:
            for tile in range(self.n_tiles):
                self._fill_tile(tile, &live[tile * TILE], min(TILE, self.size - tile * TILE))
            return 0
        self.box_size = 2 * self.n_columns + 1
        self.boxes.assign(2 * self.n_tiles * self.box_size, 0.0)
        self.first_record.assign(2 * self.n_tiles, NOBODY)
        n_leaves.assign(2 * self.n_tiles, 1)
        for node in range(self.n_tiles - 1, 0, -1):
            n_leaves[node] = n_leaves[2 * node] + n_leaves[2 * node + 1]
        return self._split(1, live.data(), self.size, n_leaves.data())

    cdef int _split(self, Py_ssize_t node, Hit *records, Py_ssize_t n_records,
                    const Py_ssize_t *n_leaves) except -1 nogil:
        """Halve the records at the median of their widest column, down to single tiles."""
        cdef double *low
        cdef double *high
        cdef const double *row
        cdef Py_ssize_t i, j, widest = 0, n_left
        if node >= self.n_tiles:
            self._fill_tile(node - self.n_tiles, records, n_records)
            self._fit_leaf(node - self.n_tiles)
            return 0
        low = &self.boxes[node * self.box_size]
        high = low + self.n_columns
        for j in range(self.n_columns):
            low[j] = INFINITY
            high[j] = -INFINITY
        for i in range(n_records):
            row = &self.X[records[i].second, 0]
            for j in range(self.n_columns):
                low[j] = min(low[j], row[j])
                high[j] = max(high[j], row[j])
        for j in range(1, self.n_columns):
            if high[j] - low[j] > high[widest] - low[widest]:
                widest = j
        for i in range(n_records):
            records[i].first = self.X[records[i].second, widest]
        # Only the last tile is short, so a cut at whole tiles leaves records on either side.
        n_left = n_leaves[2 * node] * TILE
        nth_element(records, records + n_left, records + n_records)
        self._split(2 * node, records, n_left, n_leaves)
        self._split(2 * node + 1, records + n_left, n_records - n_left, n_leaves)
        self._fit_node(node)
        return 0

    cdef void _find_middle(self, const vector[Hit] &records) noexcept nogil:
        """A point that most records surround, from which radii are measured: their mean."""
        cdef Py_ssize_t i, j
        self.middle.assign(self.n_columns, 0.0)
        for i in range(self.size):
            for j in range(self.n_columns):
                self.middle[j] += self.X[records[i].second, j] / self.size

    cdef void _fill_tile(self, Py_ssize_t tile, const Hit *records,
                         Py_ssize_t n_records) noexcept nogil:
        cdef double *column = &self.tiles[tile * TILE * self.n_columns]
        cdef Py_ssize_t lane, j, record
        self.tile_size[tile] = n_records
        for lane in range(n_records):
            record = records[lane].second
            self.record_at[tile * TILE + lane] = record
            self.place_of[record] = tile * TILE + lane
            self.radius_at[tile * TILE + lane] = squared_distance(
                &self.X[record, 0], self.middle.data(), self.n_columns
            )
            for j in range(self.n_columns):
                column[j * TILE + lane] = self.X[record, j]

    cdef void _take_stock(self) noexcept nogil:
        """Go over to plain scans for a while if the boxes spared too few records, or back."""
        self.queries_to_go -= 1
        if self.queries_to_go > 0 or not self.boxed or self.search == TREE:
            return
        self.pruning = not self.pruning or (
            100 * (self.looked_at - self.looked_at_before)
            < (100 - LEAST_PERCENT_SPARED) * QUERIES_TO_TRY * self.size
        )
        self.queries_to_go = QUERIES_TO_TRY if self.pruning else SCANS_BETWEEN_TRIALS
        self.looked_at_before = self.looked_at

    # Boxes

    cdef void _refit(self, Py_ssize_t tile) noexcept nogil:
        """Fit the boxes around a tile that has changed, up to the first that stays as it was."""
        cdef Py_ssize_t node = (self.n_tiles + tile) // 2
        cdef bint changed = self._fit_leaf(tile)
        while changed and node >= 1:
            changed = self._fit_node(node)
            node //= 2

    cdef bint _fit_leaf(self, Py_ssize_t tile) noexcept nogil:
        cdef Py_ssize_t node = self.n_tiles + tile
        cdef const double *column = &self.tiles[tile * TILE * self.n_columns]
        cdef double *low = &self.boxes[node * self.box_size]
        cdef double *high = low + self.n_columns
        cdef double lowest, highest, radius = -INFINITY
        cdef Py_ssize_t j, lane, first = NOBODY
        cdef bint changed = False
        for lane in range(self.tile_size[tile]):
            first = min(first, self.record_at[tile * TILE + lane])
            radius = max(radius, self.radius_at[tile * TILE + lane])
        for j in range(self.n_columns):
            lowest = INFINITY
            highest = -INFINITY
            for lane in range(self.tile_size[tile]):
                lowest = min(lowest, column[j * TILE + lane])
                highest = max(highest, column[j * TILE + lane])
            changed |= lowest != low[j] or highest != high[j]
            low[j] = lowest
            high[j] = highest
        changed |= first != self.first_record[node] or radius != high[self.n_columns]
        self.first_record[node] = first
        high[self.n_columns] = radius
        return changed

    cdef bint _fit_node(self, Py_ssize_t node) noexcept nogil:
        cdef double *low = &self.boxes[node * self.box_size]
        cdef const double *left = &self.boxes[2 * node * self.box_size]
        cdef const double *right = left + self.box_size
        cdef Py_ssize_t first = min(self.first_record[2 * node], self.first_record[2 * node + 1])
        cdef Py_ssize_t j
        cdef double bound
        cdef bint changed = first != self.first_record[node]
        self.first_record[node] = first
        for j in range(self.n_columns):
            bound = min(left[j], right[j])
            changed |= bound != low[j]
            low[j] = bound
        for j in range(self.n_columns, self.box_size):
            bound = max(left[j], right[j])
            changed |= bound != low[j]
            low[j] = bound
        return changed

    cdef double _nearest_possible(self, Py_ssize_t node, const double *query) noexcept nogil:
        """Squared distance from `query` to the node's box; infinite for an empty one."""
        cdef const double *low = &self.boxes[node * self.box_size]
        cdef const double *high = low + self.n_columns
        cdef double total = 0.0, gap
        cdef Py_ssize_t j
        for j in range(self.n_columns):
            gap = max(max(low[j] - query[j], query[j] - high[j]), 0.0)
            total += gap * gap
        return total

    cdef double _farthest_possible(self, Py_ssize_t node, const double *query,
                                   double query_radius) noexcept nogil:
        """Squared distance that no record of the node exceeds; below zero for an empty one.

        It is the distance of the box's far corner, or less where the ball around the middle cuts
        that corner off: |x - q|² = |x - m|² + |q - m|² - 2 (x - m)(q - m), with the largest first
        term of any record and the least last term of any point in the box.
        """
        cdef const double *low = &self.boxes[node * self.box_size]
        cdef const double *high = low + self.n_columns
        cdef double radius = high[self.n_columns]
        cdef double corner = 0.0, along = 0.0, gap, offset
        cdef Py_ssize_t j
        if self.first_record[node] == NOBODY:
            return -1.0
        for j in range(self.n_columns):
            gap = max(fabs(query[j] - low[j]), fabs(query[j] - high[j]))
            corner += gap * gap
            offset = query[j] - self.middle[j]
            along += offset * ((low[j] if offset > 0.0 else high[j]) - self.middle[j])
        return min(corner, (radius + query_radius) * SAFETY + TINY * TINY - 2.0 * along)

    # Searching

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
        self.looked_at += TILE

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

    cdef void _nearest_below(self, Py_ssize_t node, const double *query, Py_ssize_t m,
                             vector[Hit] &heap) noexcept nogil:
        cdef Py_ssize_t near, far
        cdef Hit near_bound, far_bound
        if node >= self.n_tiles:
            self._nearest_in_tile(node - self.n_tiles, query, m, heap)
            return
        near = 2 * node
        far = near + 1
        near_bound = Hit(self._nearest_possible(near, query), self.first_record[near])
        far_bound = Hit(self._nearest_possible(far, query), self.first_record[far])
        if far_bound < near_bound:
            near, far = far, near
            near_bound, far_bound = far_bound, near_bound
        if <Py_ssize_t>heap.size() < m or near_bound < heap.front():
            self._nearest_below(near, query, m, heap)
        if <Py_ssize_t>heap.size() < m or far_bound < heap.front():
            self._nearest_below(far, query, m, heap)

    cdef void _nearest_in_tile(self, Py_ssize_t tile, const double *query, Py_ssize_t m,
                               vector[Hit] &heap) noexcept nogil:
        """Keep the m best in a heap with the worst of them at its front."""
        cdef double distances[TILE]
        cdef Py_ssize_t lane
        cdef Hit hit
        self._tile_distances(tile, query, distances)
        for lane in range(self.tile_size[tile]):
            if <Py_ssize_t>heap.size() == m and distances[lane] > heap.front().first:
                continue
            hit = Hit(distances[lane], self.record_at[tile * TILE + lane])
            if <Py_ssize_t>heap.size() < m:
                heap.push_back(hit)
                push_heap(heap.begin(), heap.end())
            elif hit < heap.front():
                pop_heap(heap.begin(), heap.end())
                heap[m - 1] = hit
                push_heap(heap.begin(), heap.end())
