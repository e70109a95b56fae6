"""Attacks on weighted means by lists of the values and of the sampling weights that are possible.

A weighted mean is a sum of weights times values. The attacker knows nobody in the table, but which
values a column may have, and the weights: they are released, or form a published list.
"""

from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

AGES, INCOMES = np.arange(18.0, 90.0), np.arange(1000.0, 6000.0, 100.0)
VALUES = {"age": AGES, "income": INCOMES}

# Of more members than this, the values of some, and the weights of some, are only tried near the
# mean: a second solution that is found is one of all, so that no value is wrongly called unknown.
MOST_FREE, N_NEAR = 4, 3

# Relative: what rounding of floats may add to a sum.
EPSILON = 4e-15


def survey(n, seed, n_weights=None):
    """People with calibrated weights, or with design weights of a list; also this list."""
    rng = np.random.default_rng(seed)
    weights = rng.lognormal(3, 0.6, n)
    design = None
    if n_weights is not None:
        sampled, population = rng.integers(50, 400, n_weights), rng.integers(2000, 90000, n_weights)
        design = np.round(population / sampled, 6)
        weights = rng.choice(design, n)
    people = {name: rng.choice(values, n) for name, values in VALUES.items()}
    return pd.DataFrame({**people, "w": weights}), design


def sums_of(weights, mean, values):
    """All sums of weights times values; of many weights, some only with values near the mean."""
    near = values[np.argsort(np.abs(values - mean))[:N_NEAR]]
    sums = np.zeros(1)
    for number, weight in enumerate(weights):
        allowed = values if number < MOST_FREE // 2 else near
        sums = np.add.outer(sums, weight * allowed).ravel()
    return np.sort(sums)


def computed_values(weights, mean, half, values):
    """By member, the only value that it can have, given the weighted mean to within `half`."""
    total, found = weights.sum(), np.full(len(weights), np.nan)
    slack = total * (half + abs(mean) * EPSILON)
    for member, own in enumerate(weights):
        others = np.delete(weights, member)
        first, second = (sums_of(part, mean, values) for part in (others[::2], others[1::2]))
        possible = []
        for value in values[np.argsort(np.abs(values - mean))]:
            target = total * mean - own * value - first
            low, high = (np.searchsorted(second, target + sign * slack) for sign in (-1, 1))
            if (high > low).any():
                possible.append(value)
            if len(possible) > 1:
                break
        if len(possible) == 1:
            found[member] = possible[0]
    return found


def weights_on_list(design, size, mean, n_digits=4):
    """The weights of a group whose mean is released with few digits; None if several may be."""
    n_free = min(size, 5)
    fixed = np.full(size - n_free, design[np.argmin(np.abs(design - mean))])
    sets = design[np.array([*combinations_with_replacement(range(len(design)), n_free)])]
    half = 0.5 * 10.0 ** (np.floor(np.log10(mean)) + 1 - n_digits) + mean * EPSILON
    means = (sets.sum(axis=1) + fixed.sum()) / size
    fitting = np.flatnonzero(np.abs(means - mean) <= half)
    return np.sort(np.append(sets[fitting[0]], fixed)) if len(fitting) == 1 else None


def shares_computed(table, release, labels, k, steps, design=None):
    """Of the people in groups of k, shares whose age, income, and both ("row") are computed.

    Means are rounded to `steps`, by column. Weights are those of the release; given a `design`,
    these are means of weights of this list.
    """
    n_people, n_right = 0, dict.fromkeys([*VALUES, "row"], 0)
    for _, rows in release.groupby(labels):
        if len(rows) != k:
            continue
        n_people += k
        truth, weights = table.loc[rows.index], rows["w"].to_numpy()
        if design is not None:  # Values belong to weights, not to rows.
            truth, weights = truth.sort_values("w"), weights_on_list(design, k, weights[0])
        if weights is None:
            continue
        right = []
        for name, values in VALUES.items():
            found = computed_values(weights, rows[name].iloc[0], steps[name] / 2, values)
            right.append(found == truth[name].to_numpy())
            n_right[name] += int(right[-1].sum())
        n_right["row"] += int(np.all(right, axis=0).sum())
    return {name: n / n_people for name, n in n_right.items()}


def steps_of(aggregator):
    """To what the means of a release are rounded."""
    return {name: 10.0 ** -aggregator.rounding_[name].decimals for name in VALUES}
