"""What a hierarchy becomes with data: values as positions, and what the generalised ones lose.

A released cell is told apart from others by a tuple: in a tree the labels from below the root down
to the node, for numbers the ends of the interval. The root is the empty tuple.
"""

from collections import Counter

import numpy as np

from sk_microagg._tables import has_numbers
from sk_microagg.generalization._labels import ROOT, interval_label, is_number, label_of


def information(counts):
    """-p log p for the frequency p of each leaf."""
    frequency = counts / max(counts.sum(), 1)
    # log 1 = 0 for those that do not occur.
    return 0.0 - frequency * np.log(np.where(frequency > 0, frequency, 1.0))


class TreeDomain:
    """Values that are leaves of a tree.

    Parameters
    ----------
    tree : Tree
        The tree.

    values : ndarray
        The values that are known, as often as they occur.

    loss : sequence of float
        What each node loses.

    middles : sequence of float or None
        The number in the middle of each node, if it is a tree of numbers.

    bins_of : callable or None
        For a number that is no leaf, gives the labels of the nodes above it, the lowest first. The
        lowest has a leaf without a label for such numbers.
    """

    is_tree = True

    def __init__(self, tree, values, loss, middles=None, bins_of=None):
        self.n_leaves = tree.n_leaves
        self.parent = tree.parent
        # The root alone covers the position after all leaves too.
        self.last = [*tree.last]
        self.last[tree.root] = tree.n_leaves
        self.loss = loss
        self._tree = tree
        self._middles = middles
        self._bins_of = bins_of
        self._leaf_of = {path[-1]: leaf for leaf, path in enumerate(tree.paths[: tree.n_leaves])}
        counts = np.zeros(tree.n_leaves)
        for label, n_times in Counter(map(label_of, values)).items():
            counts[self._leaf_of[label]] = n_times
        self.mass = tree.sums(counts / max(counts.sum(), 1))
        self.info = tree.sums(information(counts))
        self.info[: tree.n_leaves] = [0.0] * tree.n_leaves

    def encode(self, values):
        """First and last position of each value; where there is no leaf, those of the root."""
        ranges = {}
        # The class too: True is no 1.
        keys = [(type(value), value) for value in values]
        for key in dict.fromkeys(keys):
            leaf = self._leaf(key[1])
            ranges[key] = self.range_of(()) if leaf is None else (leaf, leaf)
        return np.array([ranges[key] for key in keys], dtype=np.int32).reshape(-1, 2)

    def _leaf(self, value):
        if self._bins_of is not None and not is_number(value):
            return None
        leaf = self._leaf_of.get(label_of(value))
        if leaf is None and self._bins_of is not None and is_number(value):
            leaf = self._tree.place.get((*self._bins_of(value)[::-1], None))
        return leaf

    def cell(self, lo, hi):
        """The smallest node that covers positions `lo` to `hi`."""
        return self._tree.paths[self._tree.lowest_common(lo, hi)]

    def range_of(self, cell):
        """First and last position that a cell covers."""
        node = self._tree.place[cell]
        return self._tree.first[node], self.last[node]

    def label(self, cell):
        return self._tree.labels[self._tree.place[cell]] if cell else ROOT

    def read(self, label, lo):
        """The cell that a label stands for, given a leaf below it; None if there is no such."""
        node = lo
        while self._tree.labels[node] != label:
            if node == self._tree.root:
                return None
            node = self._tree.parent[node]
        return self._tree.paths[node]

    def loss_of(self, cell):
        """What a value loses that is released as a cell: nothing above a single leaf."""
        lo, hi = self.range_of(cell)
        return self.loss[self._tree.lowest_common(lo, hi)]

    def middle(self, cell):
        """The number in the middle of a cell; None if these are no numbers."""
        return None if self._middles is None else self._middles[self._tree.place[cell]]


class NumberDomain:
    """Numbers that are generalised to intervals.

    Parameters
    ----------
    values : ndarray of float
        The values that are known, as often as they occur.

    scale : Scale
        How wide the column is.
    """

    is_tree = False

    def __init__(self, values, scale):
        self.left, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
        self.n_leaves = len(self.left)
        self.right = self.left + scale.unit
        self.extent = scale.extent
        self.mass = counts / max(len(values), 1)
        self.info = information(counts)
        self.scale = scale

    def encode(self, values):
        """First and last position of each number, outwards where it lies between two of them.

        What is no number has those of the root.
        """
        ranges = np.tile(np.array(self.range_of(()), dtype=np.int32), (len(values), 1))
        values = np.asarray(values)
        if has_numbers(values):
            known = np.ones(len(values), dtype=bool)
        else:
            known = np.array([is_number(value) for value in values], dtype=bool)
        if self.n_leaves > 0:
            numbers = np.clip(values[known].astype(np.float64), self.left[0], self.left[-1])
            ranges[known, 0] = np.searchsorted(self.left, numbers, side="right") - 1
            ranges[known, 1] = np.searchsorted(self.left, numbers, side="left")
        return ranges

    def cell(self, lo, hi):
        """The interval from the value at position `lo` to that at `hi`."""
        return () if hi == self.n_leaves else (float(self.left[lo]), float(self.left[hi]))

    def range_of(self, cell):
        """First and last position that a cell covers."""
        if not cell:
            return 0, self.n_leaves
        return tuple(int(place) for place in np.searchsorted(self.left, cell))

    def label(self, cell):
        return interval_label(*cell) if cell else ROOT

    def read(self, label, lo):
        """The interval that a label stands for, given a value in it; None if there is no such."""
        is_interval = label.startswith("[") and label.endswith("]")
        try:
            low, high = map(float, label[1:-1].split(", ") if is_interval else [label, label])
        except ValueError:
            return None
        return (low, high) if low <= self.left[lo] <= high else None

    def loss_of(self, cell):
        """What a value loses that is released as a cell."""
        if not cell:
            return 1.0
        low, high = cell
        return self.scale.share(low, high + self.scale.unit) if low < high else 0.0

    def middle(self, cell):
        """The number in the middle of a cell; of the root nothing is known."""
        low, high = cell or (np.nan, np.nan)
        return low + (high - low) / 2


class Scale:
    """How wide a column of numbers is.

    A number is as wide as the least step to the next one: 1 if all are integers, otherwise 0.
    """

    def __init__(self, values):
        values = np.asarray(values, dtype=np.float64)
        self.unit = float(np.all(values == np.floor(values)))
        self.extent = float(np.ptp(values)) + self.unit if len(values) else 1.0

    def share(self, low, high):
        """What numbers lose that may be anywhere from `low` to below `high`."""
        return float(min((high - low) / self.extent, 1.0)) if self.extent > 0 else 1.0
