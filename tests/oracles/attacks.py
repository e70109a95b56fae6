"""Attacks on releases in plain loops."""

from itertools import permutations

import numpy as np
from scipy.optimize import linear_sum_assignment


def least_cost(costs, sizes):
    """Cost of the best assignment by trying all of them; for a handful of records."""
    copies = [row for row, size in enumerate(sizes) for _ in range(size)]
    return min(
        sum(costs[record][row] for record, row in enumerate(order))
        for order in set(permutations(copies))
    )


def assignment(costs, sizes):
    """The row of each record: one column per copy of a row, so that each takes one record."""
    copies = np.repeat(np.arange(len(sizes)), sizes)
    return copies[linear_sum_assignment(np.asarray(costs)[:, copies])[1]]


def expected_links(X, own, linked):
    """Share of the records linked to their own row, if equal records are exchanged at random."""
    expected = 0.0
    for i, record in enumerate(X):
        equal = [j for j, other in enumerate(X) if tuple(other) == tuple(record)]
        expected += sum(linked[j] == own[i] for j in equal) / len(equal)
    return expected / len(X)


def densest(values, tolerance):
    """The value with the most values near it, the lowest of several; None if there is none."""
    counts = {v: sum(abs(v - other) <= tolerance for other in values) for v in sorted(values)}
    return max(counts, key=counts.get, default=None)


def share_guessed(X, release, place, tolerance):
    """Share of the values guessed by the nearest row in all other columns, and by none of them."""

    def others(row):
        return tuple(value for j, value in enumerate(row) if j != place)

    guessed = blind = 0
    for record in X:
        nearest = min(
            sorted(set(map(others, release))),
            key=lambda row: sum((a - b) ** 2 for a, b in zip(others(record), row, strict=True)),
        )
        guess = densest([row[place] for row in release if others(row) == nearest], tolerance)
        guessed += abs(guess - record[place]) <= tolerance
        blind += abs(densest([row[place] for row in release], tolerance) - record[place]) <= (
            tolerance
        )
    return guessed / len(X), blind / len(X)
