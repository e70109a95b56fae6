"""Blocks as they are described, one record at a time: its way down the cuts, then its power cell.

A leaf of the tree is the number of a block, from the left to the right; any other node is a tuple
of column, cut, what is on the left and what is on the right.
"""

import numpy as np
from oracles.partition import centroid, squared_distances


class Blocks:
    def __init__(self, X, block_size, smallest):
        self.rows = []  # of each block
        self.tree = self.grow(X, range(len(X)), block_size, smallest)

    def grow(self, X, rows, block_size, smallest):
        best = best_cut(X[list(rows)], smallest) if len(rows) > block_size else None
        if best is None:
            self.rows.append(list(rows))
            return len(self.rows) - 1
        column, place = best
        low = [row for row in rows if X[row, column] <= place]
        high = [row for row in rows if X[row, column] > place]
        return (
            column,
            place,
            self.grow(X, low, block_size, smallest),
            self.grow(X, high, block_size, smallest),
        )

    def block_of(self, record):
        node = self.tree
        while isinstance(node, tuple):
            column, place, low, high = node
            node = low if record[column] <= place else high
        return node


def best_cut(X, smallest):
    """Column and place: of the widest column that is cut well, or else of the most even cut."""
    width, found = X.std(axis=0), []
    for column in sorted(range(X.shape[1]), key=lambda column: -width[column]):
        n_smaller, place = max(cuts(X[:, column]), default=(0, None))
        if n_smaller >= smallest:
            if 10 * n_smaller >= 4 * len(X):
                return column, place
            found.append((n_smaller, column, place))
    # The first of those that are as even, which is the widest.
    return max(found, key=lambda cut: cut[0])[1:] if found else None


def cuts(values):
    """The number of values on the smaller side, and the place, of every cut between two values."""
    ordered = sorted(values.tolist())
    for n_low in range(1, len(ordered)):
        low, high = ordered[n_low - 1], ordered[n_low]
        if low < high:
            middle = low + (high - low) / 2
            place = middle if middle < high else low
            yield min(n_low, len(ordered) - n_low), place


def nearest_in_block(X, labels, weights, blocks, record):
    """The group in whose power cell a record is, among the groups of its block."""
    groups = np.unique(labels[blocks.rows[blocks.block_of(record)]])
    centroids = np.array([centroid(X, np.flatnonzero(labels == group)) for group in groups])
    return groups[np.argmin(squared_distances(centroids, record) - weights[groups])]
