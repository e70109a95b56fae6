"""Columns of any kind as distances and as released cells, cell by cell in plain Python."""

from collections import Counter
from fractions import Fraction

import numpy as np
from oracles.missing import place_and_scale

from sk_microagg._utils._tables import is_null


def known(cells):
    return [cell for cell in cells if not is_null(cell)]


# Squared distances between all pairs of cells of a column


def distances(cells, distance):
    return np.array([[distance(a, b) for b in cells] for a in cells], dtype=float)


def number_distances(numbers):
    """A number, standardized; what is missing lies at the mean, one step aside: both coarse."""
    values = [float(number) for number in known(numbers)]
    share_missing = 1 - len(values) / len(numbers)
    total = 1 - share_missing**2
    place, scale = place_and_scale(values, share_missing > 0)

    def distance(a, b):
        if is_null(a) and is_null(b):
            return 0.0
        if is_null(a) or is_null(b):
            value = float(b if is_null(a) else a)
            return (((value - place) / scale) ** 2 + 1) / total
        return ((float(a) - float(b)) / scale) ** 2 / total

    return distances(numbers, distance)


def category_distances(cells, k):
    """One indicator per value that k records share, and one for missing ones; variance 1."""
    counts = Counter(known(cells))
    shared = {value for value, count in counts.items() if count >= k}
    events = [[cell in shared and cell == value for cell in cells] for value in shared]
    return event_distances([*events, [is_null(cell) for cell in cells]])


def hierarchy_distances(cells, k, paths):
    """One indicator per node but the root; `paths` has the nodes above each leaf, and itself."""
    nodes = {node for path in paths.values() for node in path}
    events = [[node in paths.get(cell, ()) for cell in cells] for node in nodes]
    deepest = max(len(path) for path in paths.values())
    missing = [is_null(cell) for cell in cells]
    return event_distances(
        [*(event for event in events if sum(event) >= k), *([missing] * deepest)]
    )


def event_distances(events):
    """Number of events of which two records have one, in units of the total variance."""
    events = np.array(events, dtype=float).T
    share = events.mean(axis=0)
    variance = (share * (1 - share)).sum()
    if variance == 0:
        return np.zeros((len(events), len(events)))
    return ((events[:, None] - events[None]) ** 2).sum(axis=2) / variance


# What a group is released as


def mean(group):
    """The mean as a fraction, or None where most values, or all but one, are missing."""
    values = known(group)
    if 2 * len(values) < len(group) or len(values) == 1 < len(group):
        return None
    return sum(map(Fraction, values), Fraction()) / len(values)


def median(group):
    if mean(group) is None:
        return None
    values = sorted(map(Fraction, known(group)))
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def modes(group, table, k):
    """All cells that may be the mode of a group: None for a missing one.

    Of equally frequent ones in the group, these are the most frequent of the table.
    """
    group = [None if is_null(cell) else cell for cell in group]
    table = Counter(None if is_null(cell) else cell for cell in table)
    counts = {
        cell: (count, table[cell])
        for cell, count in Counter(group).items()
        if cell is None or count > 1 or table[cell] >= k
    }
    best = max(counts.values(), default=None)
    return [cell for cell, count in counts.items() if count == best] or [None]


def lowest_common_node(group, paths, root="*"):
    """The first node of the first path, from the leaf upwards, that is in all others."""
    if any(is_null(cell) for cell in group):
        return root
    for node in paths[group[0]]:
        if all(node in paths[cell] for cell in group):
            return node
    return root


def rank_distances(cells, order, k):
    """Ranks, where runs of values that few records share have the rank in their middle."""
    counts = Counter(known(cells))
    is_rare = [0 < counts[value] < k for value in order]
    ranks = {}
    for position, value in enumerate(order):
        first = last = position
        while is_rare[position] and first > 0 and is_rare[first - 1]:
            first -= 1
        while is_rare[position] and last < len(order) - 1 and is_rare[last + 1]:
            last += 1
        ranks[value] = (first + last) / 2
    return number_distances([None if is_null(cell) else ranks[cell] for cell in cells])
