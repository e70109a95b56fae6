"""Numbers with missing values in plain loops: points, and what groups are released as."""

import math


def known_of(values):
    return [value for value in values if not math.isnan(value)]


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    center = mean(values)
    return mean([(value - center) ** 2 for value in values])


def standardized_points(X):
    """Rows of coordinates: standardized columns, then one for each with missing values.

    Columns of which at most one value is known stay out, if others of the column are missing.
    """
    first, second = [], []
    for column in zip(*X, strict=True):
        known = known_of(column)
        share = 1 - len(known) / len(column)
        if share > 0 and len(known) <= 1:
            first.append([0.0] * len(column))
            continue
        spread = math.sqrt(variance(known)) if max(known) > min(known) else 1.0
        # With the known values at variance 1, their total variance is (1 - share)(1 + share).
        unit = math.sqrt(1 - share**2)
        center = mean(known)
        first.append(
            [0.0 if math.isnan(value) else (value - center) / spread / unit for value in column]
        )
        if share > 0:
            second.append([math.isnan(value) / unit for value in column])
    return [list(row) for row in zip(*first, *second, strict=True)]


def released(X, labels):
    """The row for each group: means of the known values, NaN where these are too few."""
    rows = []
    for group in sorted(set(labels)):
        members = [row for row, label in zip(X, labels, strict=True) if label == group]
        row = []
        for column in zip(*members, strict=True):
            known = known_of(column)
            n_missing = len(column) - len(known)
            is_hidden = n_missing > len(known) or (len(known) == 1 and n_missing > 0)
            row.append(math.nan if is_hidden else mean(known))
        rows.append(row)
    return rows
