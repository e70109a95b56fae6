"""Numbers with missing values in plain loops: points, and what groups are released as."""

import math


def known_of(values):
    return [value for value in values if not math.isnan(value)]


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    center = mean(values)
    return mean([(value - center) ** 2 for value in values])


def coarse_moments(known):
    """Mean and deviation to few digits: steps of at least what one value can change.

    The deviation is a power of the eighth root of 2, or of 2, 4 or 16 if one value makes up more
    than half of it. The mean is a multiple of a power of 2 of at least an eighth of that.
    """
    center, deviation = mean(known), math.sqrt(variance(known))
    largest = max(abs(value - center) for value in known)
    share = largest**2 / (len(known) * deviation**2)
    base = 2 ** (1 / 8)
    if share > 0.5:
        base = next(base for base in (2, 4, 16) if base == 16 or (1 - share) * base**2 >= 1)
    tolerance = min(math.sqrt(base), math.sqrt(2))
    exponent = math.floor(math.log(deviation / tolerance, base)) - 1
    while base**exponent * tolerance < deviation * (1 - 1e-12):
        exponent += 1
    scale = base**exponent
    step = 2.0 ** math.ceil(math.log2(max(scale / 8, largest / len(known))))
    return round(center / step) * step, scale


def place_and_scale(known, has_missing):
    """Where missing values lie, and what differences are divided by: coarse if there are some."""
    if max(known) == min(known):
        return known[0], 1.0
    if not has_missing:
        return mean(known), math.sqrt(variance(known))
    center, scale = coarse_moments(known)
    return center + scale * coarse_moments([(value - center) / scale for value in known])[0], scale


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
        center, spread, place = mean(known), 1.0, 0.0
        if max(known) > min(known):
            spread = math.sqrt(variance(known))
            if share > 0:
                center, spread = coarse_moments(known)
                place, _ = coarse_moments([(value - center) / spread for value in known])
        # With the known values at variance 1, their total variance is (1 - share)(1 + share).
        unit = math.sqrt(1 - share**2)
        first.append(
            [(place if math.isnan(value) else (value - center) / spread) / unit for value in column]
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
