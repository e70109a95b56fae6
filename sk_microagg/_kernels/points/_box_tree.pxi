"""A kd-tree of boxes around tiles of records, which stays fitted while records come and go.

The records lie in tiles of TILE, column by column, so that one pass of vector instructions gives
the distances of a whole tile. Every leaf of the tree is a tile. Nodes are numbered as in a heap:
node 1 is the root, 2i and 2i+1 are the children of i, and the leaf of tile t is n_tiles + t. For
each node the tree keeps its lowest live record, the box around its live records, their largest
distance from the middle of all records, and the largest of their values, which the caller gives
(weights or radii). These are fitted anew when a record comes, goes or moves. A box is stored as its
low corner, its high corner, that distance, squared, and that value.

A tree that records may join has room for them in every tile: a record goes where its box is
nearest among those with room. When no room is left, when half of the records have gone, or when
all have moved many times over, the tree is built anew.
"""

from libc.math cimport INFINITY, fabs
from libcpp.algorithm cimport nth_element
from libcpp.vector cimport vector

from ..common._distances cimport NO_RECORD, SAFETY, TINY, Hit, squared_distance

cdef enum:
    LANES_FILLED_IF_ROOMY = 12
    # Moves per record after which the tree is built anew. That costs little compared with the
    # moves, and boxes have grown.
    MOVES_BEFORE_BUILDING_ANEW = 8
    # With fewer records, plain scans are faster: measured on normal, clustered, low-rank and
    # heavy-tailed records of 2 to 60 columns.
    FEW_RECORDS = 500


cdef class BoxTree:

    def __init__(self, const double[:, ::1] X, Search search, *, const double[::1] values=None,
                 const unsigned char[::1] is_member=None, bint roomy=False):
        """Take the rows of X that are members as records, by default all; others may join later."""
        cdef Py_ssize_t row
        self.X = X
        self.values = values
        self.n_columns = X.shape[1]
        self.search = search
        self.lanes_filled = LANES_FILLED_IF_ROOMY if roomy else TILE
        self.n_distances = 0
        self.size = 0
        self.place_of.assign(X.shape[0], -1)
        for row in range(X.shape[0]):
            if is_member is None or is_member[row]:
                self.place_of[row] = 0
                self.size += 1
        with nogil:
            self._build()

    cdef bint holds(self, Py_ssize_t record) noexcept nogil:
        return self.place_of[record] >= 0

    cdef double coordinate(self, Py_ssize_t record, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t place = self.place_of[record]
        return self.tiles[(place // TILE * self.n_columns + column) * TILE + place % TILE]

    cdef int in_order(self, vector[Py_ssize_t] &records) except -1 nogil:
        """All records, tile by tile: each near to the one before."""
        cdef Py_ssize_t tile, lane
        records.clear()
        records.reserve(self.size)
        for tile in range(self.n_tiles):
            for lane in range(self.tile_size[tile]):
                records.push_back(self.record_at[tile * TILE + lane])
        return 0

    # Changing

    cdef int insert(self, Py_ssize_t record) except -1 nogil:
        """Take in a row of X that is not held."""
        cdef Py_ssize_t tile = self._tile_with_room(&self.X[record, 0])
        self.size += 1
        if tile < 0:
            self.place_of[record] = 0
            return self._build()
        self._fill_place(tile * TILE + self.tile_size[tile], record)
        self.tile_size[tile] += 1
        if self.boxed:
            self._change_room(tile, -1)
            self._refit(tile)
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
        self.value_at[place] = self.value_at[last]
        self.place_of[moved] = place
        self.place_of[record] = -1
        self.tile_size[tile] -= 1
        self.size -= 1
        if 2 * self.size < self.size_when_built and self.size > 0:
            return self._build()
        if self.boxed:
            self._change_room(tile, 1)
            self._refit(tile)
        return 0

    cdef int refresh(self, Py_ssize_t record) except -1 nogil:
        """Take over a row of X, or its value, that has changed."""
        cdef Py_ssize_t place = self.place_of[record]
        self.n_refreshed += 1
        if self.boxed and self.n_refreshed > MOVES_BEFORE_BUILDING_ANEW * self.size_when_built:
            return self._build()
        self._fill_place(place, record)
        if self.boxed:
            self._refit(place // TILE)
        return 0

    cdef Py_ssize_t _tile_with_room(self, const double *point) noexcept nogil:
        """A tile near the point that has room, or -1."""
        cdef Py_ssize_t node = 1, tile
        if not self.boxed:
            for tile in range(self.n_tiles):
                if self.tile_size[tile] < TILE:
                    return tile
            return -1
        if self.room[1] == 0:
            return -1
        while node < self.n_tiles:
            node *= 2
            if self.room[node] == 0 or (
                self.room[node + 1] > 0
                and self._nearest_possible(node + 1, point) < self._nearest_possible(node, point)
            ):
                node += 1
        return node - self.n_tiles

    cdef void _change_room(self, Py_ssize_t tile, Py_ssize_t change) noexcept nogil:
        cdef Py_ssize_t node = self.n_tiles + tile
        while node >= 1:
            self.room[node] += change
            node //= 2

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
        self.n_refreshed = 0
        self.n_tiles = (self.size + self.lanes_filled - 1) // self.lanes_filled
        self.tiles.assign(self.n_tiles * TILE * self.n_columns, 0.0)
        self.tile_size.assign(self.n_tiles, 0)
        self.record_at.assign(self.n_tiles * TILE, NO_RECORD)
        self.radius_at.assign(self.n_tiles * TILE, 0.0)
        self.value_at.assign(self.n_tiles * TILE, 0.0)
        self._find_middle(live)
        self.boxed = self.search == TREE or (self.search == AUTO and self.size >= FEW_RECORDS)
        self.pruning = self.boxed
        self.n_distances_before = self.n_distances
        self.queries_to_go = 0
        if not self.boxed:
            for tile in range(self.n_tiles):
                self._fill_tile(
                    tile,
                    &live[tile * self.lanes_filled],
                    min(self.lanes_filled, self.size - tile * self.lanes_filled),
                )
            return 0
        self.box_size = 2 * self.n_columns + 2
        self.boxes.assign(2 * self.n_tiles * self.box_size, 0.0)
        self.first_record.assign(2 * self.n_tiles, NO_RECORD)
        n_leaves.assign(2 * self.n_tiles, 1)
        for node in range(self.n_tiles - 1, 0, -1):
            n_leaves[node] = n_leaves[2 * node] + n_leaves[2 * node + 1]
        self._split(1, live.data(), self.size, n_leaves.data())
        self.room.assign(2 * self.n_tiles, 0)
        for tile in range(self.n_tiles):
            self._change_room(tile, TILE - self.tile_size[tile])
        return 0

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
        # Only the last tile is short, so a split at whole tiles leaves records on either side.
        n_left = n_leaves[2 * node] * self.lanes_filled
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
        cdef Py_ssize_t lane
        self.tile_size[tile] = n_records
        for lane in range(n_records):
            self._fill_place(tile * TILE + lane, records[lane].second)

    cdef void _fill_place(self, Py_ssize_t place, Py_ssize_t record) noexcept nogil:
        cdef double *column = &self.tiles[place // TILE * TILE * self.n_columns]
        cdef Py_ssize_t j
        self.record_at[place] = record
        self.place_of[record] = place
        self.radius_at[place] = squared_distance(
            &self.X[record, 0], self.middle.data(), self.n_columns
        )
        if self.values is not None:
            self.value_at[place] = self.values[record]
        for j in range(self.n_columns):
            column[j * TILE + place % TILE] = self.X[record, j]

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
        cdef double lowest, highest, radius = -INFINITY, value = -INFINITY
        cdef Py_ssize_t j, lane, first = NO_RECORD
        cdef bint changed = False
        for lane in range(self.tile_size[tile]):
            first = min(first, self.record_at[tile * TILE + lane])
            radius = max(radius, self.radius_at[tile * TILE + lane])
            value = max(value, self.value_at[tile * TILE + lane])
        for j in range(self.n_columns):
            lowest = INFINITY
            highest = -INFINITY
            for lane in range(self.tile_size[tile]):
                lowest = min(lowest, column[j * TILE + lane])
                highest = max(highest, column[j * TILE + lane])
            changed |= lowest != low[j] or highest != high[j]
            low[j] = lowest
            high[j] = highest
        changed |= first != self.first_record[node]
        changed |= radius != high[self.n_columns] or value != high[self.n_columns + 1]
        self.first_record[node] = first
        high[self.n_columns] = radius
        high[self.n_columns + 1] = value
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
            gap = query[j] - min(max(query[j], low[j]), high[j])
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
        if self.first_record[node] == NO_RECORD:
            return -1.0
        for j in range(self.n_columns):
            gap = max(fabs(query[j] - low[j]), fabs(query[j] - high[j]))
            corner += gap * gap
            offset = query[j] - self.middle[j]
            along += offset * ((low[j] if offset > 0.0 else high[j]) - self.middle[j])
        return min(corner, (radius + query_radius) * SAFETY + TINY * TINY - 2.0 * along)
