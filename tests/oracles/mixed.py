"""Distances between records and released rows with columns of any kind, in plain loops."""

import math
from collections import Counter

from oracles.missing import known_of, place_and_scale

SHARE_OF_CATEGORIES = 0.75


def is_missing(cell):
    return cell is None or cell != cell


def distance_of_numbers(column):
    """Squared distance of two cells of a column of numbers; NaN is missing."""
    known = known_of(column)
    share = 1 - len(known) / len(column)
    center, scale = place_and_scale(known, share > 0)

    def distance(a, b):
        if math.isnan(a) and math.isnan(b):
            return 0.0
        a_or_mean, b_or_mean = (center if math.isnan(cell) else cell for cell in (a, b))
        flag = share > 0 and math.isnan(a) != math.isnan(b)
        return (((a_or_mean - b_or_mean) / scale) ** 2 + flag) / (1 - share**2)

    return distance


def distance_of_categories(column):
    """Squared distance of two cells of a column of categories; None is missing."""
    counts = Counter(None if is_missing(cell) else cell for cell in column)
    scale = 1 - sum((n / len(column)) ** 2 for n in counts.values())
    is_binary = len(counts) == 2 and None not in counts

    def distance(a, b):
        a, b = (None if is_missing(cell) else cell for cell in (a, b))
        if a == b or scale == 0:
            return 0.0
        unseen = sum(cell not in counts for cell in (a, b))
        assert unseen < 2, "no record is compared with another release"
        far = 2.0 if unseen == 0 else 0.5 if is_binary else 1.0
        return SHARE_OF_CATEGORIES * far / scale

    return distance


def linkage(X, release, distances):
    """`linked` and `expected_matches`, given a distance for each column."""
    own = [tuple(None if is_missing(cell) else cell for cell in row) for row in release]
    rows = list(dict.fromkeys(own))
    n_linked, n_expected = 0, 0.0
    for record, released in zip(X, own, strict=True):

        def far(row, record=record):
            cells = zip(distances, record, row, strict=True)
            return sum(d(a, math.nan if b is None and a != b else b) for d, a, b in cells)

        if min(rows, key=far) == released:
            n_linked += 1
            n_expected += 1 / own.count(released)
    return n_linked / len(X), n_expected / len(X)


def loss(X, release, distances):
    """Squared distances to the released rows, as a share of half the mean of those of all pairs."""
    lost = sum(
        d(a, b)
        for record, row in zip(X, release, strict=True)
        for d, a, b in zip(distances, record, row, strict=True)
    )
    pairs = sum(
        d(a, b)
        for record in X
        for other in X
        for d, a, b in zip(distances, record, other, strict=True)
    )
    return lost / (pairs / (2 * len(X)))
