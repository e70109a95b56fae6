"""A tree over leaf ranges: exact queries by any cost that has a lower bound for a box of them.

An item is a record or the center of a group: in each column a range from `lo` to `hi`. Merged with
any item of a node, a range covers at least max_lo and min_hi of that node, and at most min_lo and
max_hi: bounds follow from these. Ties go to the lowest rank; an item without a rank is not in the
tree.
"""

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX
from libcpp.algorithm cimport nth_element
from libcpp.vector cimport vector

from ..common._distances cimport Hit

cdef enum:
    FEW_ITEMS = 8

cdef Py_ssize_t NOWHERE = INT64_MAX


cdef class RangeTree:

    # Overridden by each kind of tree

    cdef double cost(self, Py_ssize_t place, double limit) noexcept nogil:
        """Cost of the item at a place, or any number above `limit` if the cost is above it.

        Infinite for an item that must not be found.
        """
        return 0.0

    cdef double bound(self, Py_ssize_t node, double limit) noexcept nogil:
        """A lower bound on the costs of a node's items; any valid one if it is above `limit`."""
        return 0.0

    cdef int set_up(self) except -1 nogil:
        """Make room for what a subclass keeps of each node."""
        return 0

    # Search

    cdef int search(self, size_t n_wanted) except -1 nogil:
        """Find the items with the least cost, in `best`, sorted by cost and then by rank."""
        self.best.clear()
        self.best.reserve(n_wanted + 1)
        self.n_wanted = n_wanted
        self._search(0)
        return 0

    cdef void _search(self, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t place, item, left = self.nodes[node].left
        cdef double limit, to_left, to_right
        if left == 0:
            for place in range(self.nodes[node].start, self.nodes[node].stop):
                item = self.item_at[place]
                if self.rank[item] != NOWHERE:
                    self._offer(Hit(self.cost(place, self._worst().first), self.rank[item]))
            return
        limit = self._worst().first
        to_left = self._bound_if_any(left, limit)
        to_right = self._bound_if_any(left + 1, limit)
        if to_right < to_left:
            self._search_if_promising(left + 1, to_right)
            self._search_if_promising(left, to_left)
        else:
            self._search_if_promising(left, to_left)
            self._search_if_promising(left + 1, to_right)

    cdef double _bound_if_any(self, Py_ssize_t node, double limit) noexcept nogil:
        return INFINITY if self.first_rank[node] == NOWHERE else self.bound(node, limit)

    cdef void _search_if_promising(self, Py_ssize_t node, double bound) noexcept nogil:
        if Hit(bound, self.first_rank[node]) < self._worst():
            self._search(node)

    cdef Hit _worst(self) noexcept nogil:
        """What an item must beat to be among the best. An infinite cost never does."""
        return Hit(INFINITY, -1) if self.best.size() < self.n_wanted else self.best.back()

    cdef void _offer(self, Hit hit) noexcept nogil:
        cdef size_t i
        if hit >= self._worst():
            return
        if self.best.size() == self.n_wanted:
            self.best.pop_back()
        self.best.push_back(hit)
        i = self.best.size() - 1
        while i > 0 and hit < self.best[i - 1]:
            self.best[i] = self.best[i - 1]
            i -= 1
        self.best[i] = hit

    # Changes

    cdef int change(self, Py_ssize_t item, const int *lo, const int *hi,
                    Py_ssize_t rank) except -1 nogil:
        """Change the range and rank of an item, and the boxes around it."""
        cdef Py_ssize_t place = self.place_of[item], node = self.leaf_of[place], j
        for j in range(self.n_columns):
            self.lo[place * self.n_columns + j] = lo[j]
            self.hi[place * self.n_columns + j] = hi[j]
        self.rank[item] = rank
        self.n_changes += 1
        while node >= 0:
            self.enclose(node)
            node = self.nodes[node].parent
        return 0

    cdef int rerank(self, Py_ssize_t item, Py_ssize_t rank) except -1 nogil:
        """Change the rank of an item. The boxes stay: they can only be too large."""
        cdef Py_ssize_t node = self.leaf_of[self.place_of[item]]
        self.rank[item] = rank
        while node >= 0:
            self._rank(node)
            node = self.nodes[node].parent
        return 0

    # Structure

    cdef int build(self, const int *lo, const int *hi) except -1 nogil:
        """Build the tree of all items, from their ranges by item."""
        cdef Py_ssize_t m = self.n_columns, place, item, j, node
        cdef vector[int] keys
        self.item_at.clear()
        for item in range(self.n_items):
            self.item_at.push_back(item)
        self.nodes.clear()
        self.nodes.push_back(Node(0, self.n_items, -1, 0))
        self._build(lo, hi, 0, keys)
        self.lo.resize(self.n_items * m)
        self.hi.resize(self.n_items * m)
        self.leaf_of.resize(self.n_items)
        self.place_of.resize(self.n_items)
        for place in range(self.n_items):
            item = self.item_at[place]
            self.place_of[item] = place
            for j in range(m):
                self.lo[place * m + j] = lo[item * m + j]
                self.hi[place * m + j] = hi[item * m + j]
        self.min_lo.resize(self.nodes.size() * m)
        self.max_lo.resize(self.nodes.size() * m)
        self.min_hi.resize(self.nodes.size() * m)
        self.max_hi.resize(self.nodes.size() * m)
        self.max_loss.resize(self.nodes.size() * m)
        self.first_rank.resize(self.nodes.size())
        self.set_up()
        # Children come after their parents.
        for node in range(<Py_ssize_t>self.nodes.size() - 1, -1, -1):
            if self.nodes[node].left == 0:
                for place in range(self.nodes[node].start, self.nodes[node].stop):
                    self.leaf_of[place] = node
            self.enclose(node)
        self.n_changes = 0
        return 0

    cdef int _build(self, const int *lo, const int *hi, Py_ssize_t node,
                    vector[int] &keys) except -1 nogil:
        cdef Py_ssize_t middle, left
        cdef Node parent = self.nodes[node]
        if parent.stop - parent.start <= FEW_ITEMS:
            return 0
        middle = self._split_items(lo, hi, node, keys)
        left = self.nodes.size()
        self.nodes[node].left = left
        self.nodes.push_back(Node(parent.start, middle, node, 0))
        self.nodes.push_back(Node(middle, parent.stop, node, 0))
        self._build(lo, hi, left, keys)
        return self._build(lo, hi, left + 1, keys)

    cdef Py_ssize_t _split_items(self, const int *lo, const int *hi, Py_ssize_t node,
                          vector[int] &keys) except -1 nogil:
        """Split the items of a node where merging across would lose much; return the middle."""
        cdef Py_ssize_t m = self.n_columns, start = self.nodes[node].start
        cdef Py_ssize_t stop = self.nodes[node].stop, size = stop - start
        cdef Py_ssize_t j, place, item, n_below, best_column = -1, middle
        cdef int first, last, key, median, threshold, best_threshold = 0
        cdef double score, best_score = 0.0
        for j in range(m):
            keys.clear()
            first, last = lo[self.item_at[start] * m + j], hi[self.item_at[start] * m + j]
            for place in range(start, stop):
                item = self.item_at[place]
                keys.push_back(lo[item * m + j] + hi[item * m + j])
                first = min(first, lo[item * m + j])
                last = max(last, hi[item * m + j])
            nth_element(keys.begin(), keys.begin() + size // 2, keys.end())
            median = keys[size // 2]
            # Split below the median, or above if nothing is below: equal values stay together.
            n_below = 0
            threshold = INT_MAX
            for key in keys:
                n_below += key < median
                if key > median:
                    threshold = min(threshold, key)
            if n_below > 0:
                threshold = median
            else:
                for key in keys:
                    n_below += key < threshold
            if n_below == size:
                continue
            score = self.columns.loss(j, first, last) * min(n_below, size - n_below)
            if score > best_score:
                best_column, best_threshold, best_score = j, threshold, score
        if best_column < 0:
            return start + size // 2
        middle = start
        for place in range(start, stop):
            item = self.item_at[place]
            if lo[item * m + best_column] + hi[item * m + best_column] < best_threshold:
                self.item_at[place], self.item_at[middle] = self.item_at[middle], item
                middle += 1
        return middle

    cdef void enclose(self, Py_ssize_t node) noexcept nogil:
        """Fit the box of a node."""
        cdef Py_ssize_t m = self.n_columns, left = self.nodes[node].left, j, here, one, other
        self._rank(node)
        if left == 0:
            self._enclose_places(node)
            return
        # A child without items does not count.
        if self.first_rank[left] == NOWHERE:
            left += 1
            other = left
        elif self.first_rank[left + 1] == NOWHERE:
            other = left
        else:
            other = left + 1
        for j in range(m):
            here, one = node * m + j, left * m + j
            self.min_lo[here] = min(self.min_lo[one], self.min_lo[other * m + j])
            self.max_lo[here] = max(self.max_lo[one], self.max_lo[other * m + j])
            self.min_hi[here] = min(self.min_hi[one], self.min_hi[other * m + j])
            self.max_hi[here] = max(self.max_hi[one], self.max_hi[other * m + j])
            self.max_loss[here] = max(self.max_loss[one], self.max_loss[other * m + j])

    cdef void _enclose_places(self, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t m = self.n_columns, j, here, place, at
        for j in range(m):
            here = node * m + j
            self.min_lo[here] = self.min_hi[here] = INT_MAX
            self.max_lo[here] = self.max_hi[here] = -1
            self.max_loss[here] = 0.0
        for place in range(self.nodes[node].start, self.nodes[node].stop):
            if self.rank[self.item_at[place]] == NOWHERE:
                continue
            for j in range(m):
                here, at = node * m + j, place * m + j
                self.min_lo[here] = min(self.min_lo[here], self.lo[at])
                self.max_lo[here] = max(self.max_lo[here], self.lo[at])
                self.min_hi[here] = min(self.min_hi[here], self.hi[at])
                self.max_hi[here] = max(self.max_hi[here], self.hi[at])
                self.max_loss[here] = max(
                    self.max_loss[here], self.columns.loss(j, self.lo[at], self.hi[at])
                )

    cdef void _rank(self, Py_ssize_t node) noexcept nogil:
        """Find the lowest rank of a node."""
        cdef Py_ssize_t place, left = self.nodes[node].left
        if left > 0:
            self.first_rank[node] = min(self.first_rank[left], self.first_rank[left + 1])
            return
        self.first_rank[node] = NOWHERE
        for place in range(self.nodes[node].start, self.nodes[node].stop):
            self.first_rank[node] = min(self.first_rank[node], self.rank[self.item_at[place]])
