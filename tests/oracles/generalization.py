"""Generalization in plain Python, as described in the publications.

A node of a tree is the tuple of labels from below the root down to it, an interval the pair of its
ends. The root is the empty tuple, and so is a missing value. A record is a tuple of nodes, one per
column. Sums run over columns in order, so that they round as in the kernel and ties are the same.
"""

import itertools
import math
from functools import cache

import numpy as np

ROOT = ()


def share(part, whole):
    return part / whole if whole > 0 else 0.0


def entropies(counts):
    """-p log p for the frequency p of each leaf."""
    p = np.asarray(counts, dtype=float) / max(sum(counts), 1)
    return 0.0 - p * np.log(np.where(p > 0, p, 1.0))


class Column:
    """One column: `cells` are its values, None where one is missing; `c` is "own" or a number."""

    def __init__(self, cells, weight, c):
        self.values = [cell for cell in cells if cell is not None]
        self.weight, self.c = weight, c
        # They are asked of the same few nodes again and again.
        self.content, self.info = cache(self.content), cache(self.info)

    def content(self, node):
        """Info(v) + c, the denominator of a rate."""
        if self.c != "own":
            return self.info(node) + self.c
        p = self.mass(node)
        return self.info(node) + (-p * math.log(p) if 0 < p < 1 else 0.0)

    def covering(self, first, last):
        """The node above the leaves at two positions; the position after all leaves is missing."""
        if last == len(self.leaves):
            return ROOT
        return self.join(self.leaves[first], self.leaves[last])


class TreeColumn(Column):
    """Categories; `tree` is what is below the root, nested dicts and lists."""

    def __init__(self, cells, tree, weight=1.0, c="own"):
        super().__init__(cells, weight, c)
        self.leaves = paths_of(tree)
        self.leaf_of = {leaf[-1]: leaf for leaf in self.leaves}
        counts = [self.values.count(leaf[-1]) for leaf in self.leaves]
        entropy, frequency = entropies(counts), np.array(counts) / max(sum(counts), 1)
        self.places, self.infos, self.masses = {}, {}, {}
        for node in {leaf[:depth] for leaf in self.leaves for depth in range(len(leaf) + 1)}:
            places = [i for i, leaf in enumerate(self.leaves) if leaf[: len(node)] == node]
            self.places[node] = places
            self.infos[node] = float(np.sum(entropy[places]))
            self.masses[node] = float(np.sum(frequency[places]))
        self.infos.update(dict.fromkeys(self.leaves, 0.0))

    def node(self, cell):
        return ROOT if cell is None else self.leaf_of[cell]

    def join(self, one, other):
        """The lowest node that is above both, or one of them."""
        n_common = 0
        for label, other_label in zip(one, other, strict=False):
            if label != other_label:
                break
            n_common += 1
        return one[:n_common]

    def loss(self, node):
        if node == ROOT:
            return self.weight
        if self.leaf_of.get(node[-1]) == node:
            return 0.0
        return self.weight * (len(self.places[node]) / len(self.leaves))

    def info(self, node):
        return self.infos.get(node, 0.0)

    def mass(self, node):
        return self.masses.get(node, 0.0)

    def positions(self, node):
        if node == ROOT:
            return 0, len(self.leaves)
        return self.places[node][0], self.places[node][-1]


def paths_of(tree, above=ROOT):
    """The leaves below a node, depth first."""
    paths = []
    for label in tree:
        below = tree[label] if isinstance(tree, dict) else None
        path = (*above, label)
        paths += paths_of(below, path) if below else [path]
    return paths


def ends_if_shared(values, k):
    """Lower and upper ends for the search: the value itself, if one beyond is shared by k records.

    Any other has no end: its interval is the root.
    """
    shared = [value for value in set(values) if values.count(value) >= k]
    low = {value: value if any(v <= value for v in shared) else -math.inf for value in values}
    high = {value: value if any(v >= value for v in shared) else math.inf for value in values}
    return low, high


class NumberColumn(Column):
    """Numbers, generalized to intervals; with `k`, only between numbers that k records share.

    A node is the pair of the smallest and the largest value in it, wherever the interval ends.
    """

    def __init__(self, cells, weight=1.0, c="own", k=None):
        super().__init__(cells, weight, c)
        distinct = sorted(set(self.values))
        own = {value: value for value in distinct}
        self.low, self.high = ends_if_shared(self.values, k) if k else (own, own)
        self.leaves = [(value, value) for value in distinct]
        self.place = {value: place for place, value in enumerate(distinct)}
        self.unit = 1.0 if all(value == math.floor(value) for value in distinct) else 0.0
        lows = [end for end in self.low.values() if end > -math.inf]
        highs = [end for end in self.high.values() if end < math.inf]
        self.extent = max(highs) + self.unit - min(lows) if lows and highs else 1.0
        counts = [self.values.count(value) for value in distinct]
        self.info_before = [0.0, *np.cumsum(entropies(counts))]
        self.mass_before = [0.0, *np.cumsum(np.array(counts) / max(sum(counts), 1))]

    def node(self, cell):
        return ROOT if cell is None else (cell, cell)

    def join(self, one, other):
        if ROOT in (one, other):
            return ROOT
        return min(one[0], other[0]), max(one[1], other[1])

    def loss(self, node):
        if node == ROOT:
            return self.weight
        low, high = self.low[node[0]], self.high[node[1]]
        if math.inf in (-low, high):
            return self.weight
        return 0.0 if low == high else self.weight * ((high + self.unit - low) / self.extent)

    def info(self, node):
        return 0.0 if node and node[0] == node[1] else self._between(self.info_before, node)

    def mass(self, node):
        return self._between(self.mass_before, node)

    def _between(self, before, node):
        low, high = self.positions(node)
        return before[min(high + 1, len(self.leaves))] - before[low]

    def positions(self, node):
        if node == ROOT:
            return 0, len(self.leaves)
        return self.place[node[0]], self.place[node[1]]


def column_of(cells, tree, weight=1.0, c="own"):
    """`tree` is "numbers", "shared or nothing", "flat" for a root above all values, or nested."""
    if isinstance(tree, str) and tree != "flat":
        return NumberColumn(cells, weight, c, 2 if tree == "shared or nothing" else None)
    if isinstance(tree, str) and tree == "flat":
        tree = sorted({cell for cell in cells if cell is not None})
    return TreeColumn(cells, tree, weight, c)


def records_of(columns, cells):
    nodes = [[column.node(cell) for cell in c] for column, c in zip(columns, cells, strict=True)]
    return list(zip(*nodes, strict=True))


# Records, and the nodes that cover groups


def join(columns, one, other):
    return tuple(c.join(a, b) for c, a, b in zip(columns, one, other, strict=True))


def center(columns, records):
    merged, *others = records
    for record in others:
        merged = join(columns, merged, record)
    return merged


def loss(columns, nodes):
    total = 0.0
    for column, node in zip(columns, nodes, strict=True):
        total += column.loss(node)
    return total


def lost(columns, record, nodes, n_known):
    """Loss of a group with one more record: known cells lose, missing ones do not."""
    total = 0.0
    merged = join(columns, record, nodes)
    for column, cell, new, n in zip(columns, record, merged, n_known, strict=True):
        total += (n + (cell != ROOT)) * column.loss(new)
    return total


def ncp(columns, record, nodes, n_known, size):
    """D(t, G): the loss of G with t, minus the loss of G without it."""
    total = 0.0
    merged = join(columns, record, nodes)
    for column, cell, old, new, n in zip(columns, record, nodes, merged, n_known, strict=True):
        total += (n + (cell != ROOT)) * column.loss(new)
        total -= n * column.loss(old)
    return total


def entropy(columns, record, nodes, n_known, size):
    """D(t, G) = D(t, s) + |G| D(g, s), for s = LCA(t, g)."""
    total = 0.0
    merged = join(columns, record, nodes)
    for column, t, g, s in zip(columns, record, nodes, merged, strict=True):
        info = column.info(s)
        to_itself = share(info, column.content(s))
        of_record = share(info, column.content(t)) + to_itself
        of_center = share(info, column.content(g)) + to_itself
        total += column.weight * (of_record + size * of_center)
    return total


DISTANCES = {"ncp": ncp, "entropy": entropy}


def nearest(columns, records, rows, nodes, n_known, size, distance):
    """The row with the smallest D; for ncp, with the smallest loss, which gives the same."""
    if distance == "ncp":
        return min(rows, key=lambda row: (lost(columns, records[row], nodes, n_known), row))
    return min(rows, key=lambda row: (entropy(columns, records[row], nodes, n_known, size), row))


def known_cells(records):
    """Number of known cells in each column."""
    return [sum(cell != ROOT for cell in cells) for cells in zip(*records, strict=True)]


def describe(columns, records):
    """What distances depend on: the nodes, the numbers of known cells, and the size of a group."""
    return center(columns, records), known_cells(records), len(records)


def farthest(columns, records, rows, record):
    return min(rows, key=lambda row: (-loss(columns, join(columns, records[row], record)), row))


def greedy(columns, records, k, order, distance="ncp", seeds="random"):
    """Group of each record: seeds with their k - 1 nearest records, then the remaining records."""
    order = [int(row) for row in order]
    left, groups, last = set(order), [], order[0]
    while len(left) >= k:
        if seeds == "farthest":
            last = farthest(columns, records, left, records[last])
        else:
            last = next(row for row in order if row in left)
        members = [last]
        left.remove(last)
        while len(members) < k:
            group = describe(columns, [records[row] for row in members])
            members.append(nearest(columns, records, left, *group, distance))
            left.remove(members[-1])
        groups.append(members)
    for row in order:
        if row in left:
            costs = [
                DISTANCES[distance](
                    columns, records[row], *describe(columns, [records[m] for m in members])
                )
                for members in groups
            ]
            groups[costs.index(min(costs))].append(row)
    labels = np.empty(len(records), dtype=int)
    for number, members in enumerate(groups):
        labels[members] = number
    return labels


# Partitions


def group_cost(columns, records):
    """Loss of the known cells of a group."""
    total = 0.0
    if records:
        for j, (column, node) in enumerate(zip(columns, center(columns, records), strict=True)):
            total += sum(record[j] != ROOT for record in records) * column.loss(node)
    return total


def partition_cost(columns, records, labels):
    groups = {}
    for record, label in zip(records, labels, strict=True):
        groups.setdefault(int(label), []).append(record)
    return math.fsum(group_cost(columns, members) for members in groups.values())


def loss_rate(columns, records, labels, n_dropped=0):
    """ILossRate: the mean loss per cell, where a dropped record loses all of its cells."""
    of_a_record = sum(column.weight for column in columns)
    total = partition_cost(columns, records, labels) + of_a_record * n_dropped
    return total / ((len(records) + n_dropped) * of_a_record)


def nearest_center(columns, record, centers):
    """The group whose loss a record raises least; of those that cover it, the least loss."""

    def key(number):
        merged = join(columns, record, centers[number])
        rise = 0.0
        for column, new, old in zip(columns, merged, centers[number], strict=True):
            rise += column.loss(new) - column.loss(old)
        return merged != centers[number], rise, loss(columns, centers[number]), number

    return min(range(len(centers)), key=key)


class PlainPartition:
    """A plain `RangePartition`: it stores members, and computes everything else from scratch."""

    def __init__(self, columns, records, labels, k):
        self.columns, self.records, self.k = columns, records, k
        self.groups = [[] for _ in range(max(max(labels) + 1, len(records) // k))]
        for row, label in enumerate(labels):
            self.groups[label].append(row)

    @property
    def numbers(self):
        return [number for number, members in enumerate(self.groups) if members]

    @property
    def n_free(self):
        return len(self.groups) - len(self.numbers)

    @property
    def larger(self):
        return [number for number in self.numbers if len(self.groups[number]) > self.k]

    def labels(self):
        number = {group: i for i, group in enumerate(self.numbers)}
        return [number[self.group(row)] for row in range(len(self.records))]

    def group(self, row):
        return next(number for number, members in enumerate(self.groups) if row in members)

    def center(self, number):
        return center(self.columns, [self.records[row] for row in self.groups[number]])

    def cost(self, rows):
        return group_cost(self.columns, [self.records[row] for row in rows])

    def move(self, row, number):
        self.groups[self.group(row)].remove(row)
        self.groups[number] = sorted([*self.groups[number], row])

    def swap(self, one, other):
        source, target = self.group(one), self.group(other)
        self.move(one, target)
        self.move(other, source)

    def create(self, rows):
        number = self.groups.index([])
        for row in rows:
            self.move(row, number)
        return number

    def split(self, number, parts):
        members = np.array(self.groups[number])
        return [number] + [self.create(members[parts == p]) for p in range(1, max(parts) + 1)]

    def dissolve(self, number):
        if (2 * self.k - 1) * (len(self.numbers) - 1) < len(self.records):
            return []
        rows = list(self.groups[number])
        for row in rows:
            self.move(row, self.nearest_groups(row, 1, 2 * self.k - 1)[0])
        return sorted({self.group(row) for row in rows})

    def nearest_groups(self, row, m, full):
        """The other groups with fewer than `full` records in which a record costs least."""
        rises = [
            (self.cost([*self.groups[number], row]) - self.cost(self.groups[number]), number)
            for number in self.numbers
            if row not in self.groups[number] and len(self.groups[number]) < full
        ]
        return [number for _, number in sorted(rises)[:m]]

    def excess(self, number):
        members = self.groups[number]
        without = sorted((self.cost([r for r in members if r != row]), row) for row in members)
        return [row for _, row in without[: max(len(members) - self.k, 0)]]

    def distill(self, first):
        """From the excess of the 16 nearest groups, or of four times as many if it is too small."""
        m, spare = 16, []
        while len(spare) < self.k - 1:
            near = [*self.nearest_groups(first, m, math.inf), self.group(first)]
            spare = sorted({row for g in near for row in self.excess(g)} - {first})
            m *= 4
        made = [first]
        while len(made) < self.k:
            group = describe(self.columns, [self.records[row] for row in made])
            made.append(nearest(self.columns, self.records, spare, *group, "ncp"))
            spare.remove(made[-1])
        sources = sorted({self.group(row) for row in made})
        return self.create(made), sources

    def best_gain(self):
        """The largest gain of a move or a swap that leaves groups of k to 2k - 1 records."""
        gains = [0.0]
        for a, b in itertools.permutations(self.numbers, 2):
            source, target = self.groups[a], self.groups[b]
            before = self.cost(source) + self.cost(target)
            for one in source:
                without = [row for row in source if row != one]
                if len(without) >= self.k and len(target) < 2 * self.k - 1:
                    gains.append(before - self.cost(without) - self.cost([*target, one]))
                for other in target:
                    rest = [row for row in target if row != other]
                    gains.append(before - self.cost([*without, other]) - self.cost([*rest, one]))
        return max(gains)
