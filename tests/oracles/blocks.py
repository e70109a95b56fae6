"""Blocks as described, one record at a time: down the cuts to its block, then to its power cell.

A leaf of the tree is the number of a block, from the left to the right; any other node is a tuple
of column, cut, what is on the left and what is on the right.
"""

from fractions import Fraction
from math import frexp

import numpy as np
from oracles.partition import centroid, squared_distances


class Blocks:
    def __init__(self, X, block_size, smallest, k):
        self.rows = []  # of each block
        self.block_size, self.smallest, self.k = block_size, smallest, k
        self.tree = self.grow(X, range(len(X)))

    def grow(self, X, rows):
        is_large = len(rows) > self.block_size + 2 * self.k - 2
        best = best_cut(X[list(rows)], self.smallest, self.k) if is_large else None
        if best is None:
            self.rows.append(list(rows))
            return len(self.rows) - 1
        column, place = best
        low = [row for row in rows if X[row, column] <= place]
        high = [row for row in rows if X[row, column] > place]
        return column, place, self.grow(X, low), self.grow(X, high)

    def block_of(self, record):
        node = self.tree
        while isinstance(node, tuple):
            column, place, low, high = node
            node = low if record[column] <= place else high
        return node


def best_cut(X, smallest, k):
    """Column and place: of the widest column that is cut well, or else of the most even cut."""
    width, found = X.std(axis=0), []
    for column in sorted(range(X.shape[1]), key=lambda column: -width[column]):
        for n_smaller, place in cuts(X[:, column], k):
            if n_smaller >= smallest:
                if 10 * n_smaller >= 4 * len(X):
                    return column, place
                found.append((n_smaller, column, place))
    # The first of those that are as even, which is the widest.
    return max(found, key=lambda cut: cut[0])[1:] if found else None


def cuts(values, k):
    """The number of values on the smaller side, and the place, of the cuts next to the median."""
    ordered = sorted(values.tolist())
    n, median = len(ordered), ordered[(len(ordered) - 1) // 2]
    n_below, n_equal = ordered.index(median), ordered.count(median)
    middles = [n_below + n_equal, n_below] if n_equal >= k else [n - n // 2]
    for n_low in sorted(middles, key=lambda n_low: -min(n_low, n - n_low)):
        if k <= n_low <= n - k:
            place = third_between(ordered[n_low - k], ordered[n_low + k - 1])
            if place is not None:
                n_placed = sum(value <= place for value in ordered)
                yield min(n_placed, n - n_placed), place


def third_between(low, high):
    """The lowest number between two others that is i / 3 times the largest power of two."""
    low, high = Fraction(low), Fraction(high)
    largest = frexp(max(abs(low), abs(high)))[1] + 3
    for exponent in range(largest, largest - 60, -1):
        third = Fraction(2) ** exponent / 3
        places = [float(i * third) for i in range(low // third, low // third + 4) if i % 3]
        places = [place for place in places if low < place < high]
        if places and 24 * third > high - low:
            return min(places)
    return None


def nearest_in_block(X, labels, weights, blocks, record):
    """The group in whose power cell a record is, among the groups of its block."""
    groups = np.unique(labels[blocks.rows[blocks.block_of(record)]])
    centroids = np.array([centroid(X, np.flatnonzero(labels == group)) for group in groups])
    return groups[np.argmin(squared_distances(centroids, record) - weights[groups])]
