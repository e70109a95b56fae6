"""The cheapest assignment of records to rows that take a given number of records each."""

import numpy as np

from sk_microagg._utils._typing import Floats, Labels

# All costs are in memory, at 8 bytes each.
MOST_PAIRS = 20_000_000


def cheapest_assignment(costs: Floats, points: Labels, sizes: Labels) -> Labels:
    """Assign all records to rows at the least total cost, by shortest augmenting paths."""
    assignment = _Assignment(costs, points, sizes)
    for record in assignment.take_nearest():
        assignment.add(record)
    return assignment.row_of


class _Assignment:
    """A cheapest assignment of some of the records, to which others are added one by one.

    To make room for a record, others move along a path of rows. A row passes one of its members on
    to another at the cost `passing[row, other]`, that of the member for which it costs least. The
    dual variables of the rows keep all these costs at 0 or more, as Dijkstra's algorithm needs.
    """

    def __init__(self, costs, points, sizes):
        self._costs, self._points = costs, points
        self._members = [[] for _ in sizes]
        self._n_free = sizes.copy()
        self._passing = np.full((len(sizes), len(sizes)), np.inf)
        self._duals = np.zeros(len(sizes))
        self.row_of = np.full(len(points), -1)

    def take_nearest(self):
        """Assign records to the nearest row while it has room; return those that are left."""
        left = []
        for record, row in enumerate(np.argmin(self._costs, axis=1)[self._points]):
            if self._n_free[row]:
                self._n_free[row] -= 1
                self.row_of[record] = row
                self._members[row].append(record)
            else:
                left.append(record)
        for row in range(len(self._members)):
            self._update_passing(row)
        return left

    def add(self, record):
        """Assign one more record, along the shortest path to a row with room."""
        row, before = self._shortest_path(self._costs[self._points[record]])
        self._n_free[row] -= 1
        changed = [row]
        while before[row] >= 0:
            giver = before[row]
            members = self._members[giver]
            apart = self._costs[self._points[members]]
            moved = members.pop(np.argmin(apart[:, row] - apart[:, giver]))
            self._put(moved, row)
            row = giver
            changed.append(row)
        self._put(record, row)
        for row in changed:
            self._update_passing(row)

    def _shortest_path(self, costs):
        """The nearest row with room by Dijkstra's algorithm, and the row before each on the way."""
        distances = costs - self._duals
        before = np.full(len(distances), -1)
        is_open = np.ones(len(distances), dtype=bool)
        while True:
            row = np.argmin(np.where(is_open, distances, np.inf))
            if self._n_free[row]:
                break
            is_open[row] = False
            through = self._passing[row] + (self._duals[row] + distances[row]) - self._duals
            is_nearer = is_open & (through < distances)
            distances[is_nearer] = through[is_nearer]
            before[is_nearer] = row
        self._duals[~is_open] += distances[~is_open] - distances[row]
        return row, before

    def _put(self, record, row):
        self.row_of[record] = row
        self._members[row].append(record)

    def _update_passing(self, row):
        if self._members[row]:
            costs = self._costs[self._points[self._members[row]]]
            self._passing[row] = np.min(costs - costs[:, [row]], axis=0)
