"""What `Pool` promises, as a plain scan in NumPy."""

import math

import numpy as np


class ScanPool:
    def __init__(self, X):
        self.records = np.arange(len(X))
        self.columns = np.array(X, dtype=float).T.copy()

    @property
    def size(self):
        return len(self.records)

    def __contains__(self, record):
        return record in self.records

    def distances(self, point):
        # Column by column, so that sums round as in the kernel and ties are ties in both.
        total = np.zeros(self.size)
        for column, coordinate in zip(self.columns, point, strict=True):
            total += (column - coordinate) ** 2
        return total

    def centroid(self):
        # Exact sums: two records on opposite sides of a centroid are a tie in both, too.
        return np.array([math.fsum(column.tolist()) for column in self.columns]) / self.size

    def farthest(self, point):
        return self.records[np.argmax(self.distances(point))]

    def nearest(self, point, m):
        if m == 0:
            return self.records[:0]
        distances = self.distances(point)
        near = np.flatnonzero(distances <= np.partition(distances, m - 1)[m - 1])
        return self.records[near[np.argsort(distances[near], kind="stable")[:m]]]

    def point(self, record):
        return self.columns[:, np.searchsorted(self.records, record)]

    def around(self, record, m):
        others = [r for r in self.nearest(self.point(record), min(m + 1, self.size)) if r != record]
        return np.array([record, *others[: m - 1]])

    def diameter(self):
        rows = [self.distances(self.point(record)) for record in self.records]
        lower, higher = divmod(int(np.argmax(rows)), self.size)
        return self.records[lower], self.records[higher]

    def remove(self, records):
        places = np.searchsorted(self.records, records)
        self.records = np.delete(self.records, places)
        self.columns = np.delete(self.columns, places, axis=1)
