"""Blocks as described, one record at a time: it descends the cuts, then finds its power cell.

A leaf of the tree is the number of a block, from left to right; any other node is a tuple of
column, cut, left node and right node.
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
        column, cut = best
        low = [row for row in rows if X[row, column] <= cut]
        high = [row for row in rows if X[row, column] > cut]
        return column, cut, self.grow(X, low), self.grow(X, high)

    def block_of(self, record):
        node = self.tree
        while isinstance(node, tuple):
            column, cut, low, high = node
            node = low if record[column] <= cut else high
        return node


def best_cut(X, smallest, k):
    """Return column and cut: in the widest column with a balanced cut, or the most even cut."""
    width, found = X.std(axis=0), []
    for column in sorted(range(X.shape[1]), key=lambda column: -width[column]):
        for n_smaller, cut in cuts(X[:, column], k):
            if n_smaller >= smallest:
                if 10 * n_smaller >= 4 * len(X):
                    return column, cut
                found.append((n_smaller, column, cut))
    # The first of the most even cuts, which is in the widest column.
    return max(found, key=lambda cut: cut[0])[1:] if found else None


def cuts(values, k):
    """Yield the number of values on the smaller side and the cut, for the cuts near the median."""
    ordered = sorted(values.tolist())
    n, median = len(ordered), ordered[(len(ordered) - 1) // 2]
    n_below, n_equal = ordered.index(median), ordered.count(median)
    middles = [n_below + n_equal, n_below] if n_equal >= k else [n - n // 2]
    for n_low in sorted(middles, key=lambda n_low: -min(n_low, n - n_low)):
        if k <= n_low <= n - k:
            cut = third_between(ordered[n_low - k], ordered[n_low + k - 1])
            if cut is not None:
                n_placed = sum(value <= cut for value in ordered)
                yield min(n_placed, n - n_placed), cut


def third_between(low, high):
    """Return the lowest number between two others that is i / 3 times the largest power of two."""
    low, high = Fraction(low), Fraction(high)
    largest = frexp(max(abs(low), abs(high)))[1] + 3
    for exponent in range(largest, largest - 60, -1):
        third = Fraction(2) ** exponent / 3
        numbers = [float(i * third) for i in range(low // third, low // third + 4) if i % 3]
        numbers = [number for number in numbers if low < number < high]
        if numbers and 24 * third > high - low:
            return min(numbers)
    return None


def nearest_in_block(X, labels, weights, blocks, record):
    """Return the group in whose power cell a record lies, among the groups of its block."""
    groups = np.unique(labels[blocks.rows[blocks.block_of(record)]])
    centroids = np.array([centroid(X, np.flatnonzero(labels == group)) for group in groups])
    return groups[np.argmin(squared_distances(centroids, record) - weights[groups])]
