"""Risk and utility, value by value and pair by pair."""

import math
from itertools import combinations


def rows_of(table):
    return [tuple(map(float, row)) for row in table]


def columns_of(table):
    return [list(column) for column in zip(*rows_of(table), strict=True)]


def mean(values):
    return math.fsum(values) / len(values)


def deviation(values):
    if min(values) == max(values):
        return 0.0
    center = mean(values)
    return math.sqrt(mean([(value - center) ** 2 for value in values]))


def linkage(X, release, scaled_X, scaled_release):
    """`linked`, `expected_matches` and `expected_if_linked`.

    Released rows are distinguished as they were released, and distances are those of scaled rows.
    """
    own = rows_of(release)
    scaled = dict(zip(own, rows_of(scaled_release), strict=True))
    n_linked, n_expected = 0, 0.0
    for record, released in zip(rows_of(scaled_X), own, strict=True):
        nearest, least = None, math.inf
        for row in sorted(set(own)):
            distance = 0.0
            for a, b in zip(record, scaled[row], strict=True):
                distance += (a - b) ** 2
            if distance < least:
                nearest, least = row, distance
        if nearest == released:
            n_linked += 1
            n_expected += 1 / own.count(released)
    return n_linked / len(X), n_expected / len(X), len(set(own)) / len(X)


def shares_in_interval(X, release, width):
    shares = []
    for column, released in zip(columns_of(X), columns_of(release), strict=True):
        reach = width * deviation(column)
        pairs = zip(column, released, strict=True)
        shares.append(sum(abs(a - b) <= reach for a, b in pairs) / len(column))
    return shares


def shares_in_ranks(X, release, share):
    """Records between two values, where those that equal either count half."""
    shares = []
    for column, released in zip(columns_of(X), columns_of(release), strict=True):
        n_disclosed = 0
        for original, value in zip(column, released, strict=True):
            low, high = min(original, value), max(original, value)
            n_between = 0.0
            for other in column:
                if low < other < high:
                    n_between += 1
                elif low < high and other in (low, high):
                    n_between += 0.5
            n_disclosed += n_between <= share * len(column) + 1e-9
        shares.append(n_disclosed / len(column))
    return shares


def share_of_unique(table):
    rows = [tuple(row) for row in table]
    return sum(rows.count(row) == 1 for row in rows) / len(rows)


def quantile(values, share):
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (above - below) * (place - math.floor(place))


def changes(X, release):
    """A dict for each column."""
    rows = []
    for column, released in zip(columns_of(X), columns_of(release), strict=True):
        unit, spread = deviation(column), deviation(released)
        ratio = (spread / unit) ** 2 if unit else math.inf if spread else 1.0
        unit = unit or 1.0
        row = {"mean_change": (mean(released) - mean(column)) / unit, "variance_ratio": ratio}
        for name, share in (("lower_quartile", 0.25), ("median", 0.5), ("upper_quartile", 0.75)):
            moved = quantile(released, share) - quantile(column, share)
            row[f"{name}_change"] = moved / unit
        rows.append(row)
    return rows


def correlation(a, b):
    if deviation(a) == 0 or deviation(b) == 0:
        return 0.0
    center_a, center_b = mean(a), mean(b)
    covariance = mean([(x - center_a) * (y - center_b) for x, y in zip(a, b, strict=True)])
    return covariance / (deviation(a) * deviation(b))


def correlation_changes(X, release):
    """Mean and largest difference."""
    columns = list(zip(columns_of(X), columns_of(release), strict=True))
    differences = [
        abs(correlation(a, b) - correlation(released_a, released_b))
        for (a, released_a), (b, released_b) in combinations(columns, 2)
    ]
    return (mean(differences), max(differences)) if differences else (0.0, 0.0)
