"""Power weights in the middle of what records allow, one wall at a time."""

import math

LONGEST_STEP = 0.9
MOST_AT_A_CUT = 16
SWEEPS_PER_ROUND = 4


def center_weights(walls, weights, n_rounds, groups=None):
    """As the kernel, from a dict: (group, other) -> most that other may be above group."""
    weights = list(weights)
    n_groups = len(weights)
    for _ in range(n_rounds):
        for first in range(1, n_groups):
            around = [(a, b) for a, b in sorted(walls) if b < first <= a]
            if around and max(around)[0] - first < MOST_AT_A_CUT:
                step = _step(*_slacks(walls, weights, around))
                weights[first:] = [weight + step for weight in weights[first:]]
        for group in [*range(n_groups)] * SWEEPS_PER_ROUND:
            around = [(a, b) for a, b in sorted(walls) if a == group]
            weights[group] += _step(*_slacks(walls, weights, around))
    for group in range(n_groups) if groups is None else groups:
        below, above = _slacks(walls, weights, [(a, b) for a, b in sorted(walls) if a == group])
        room = min(below, default=0.0) + min(above, default=0.0)
        if room > 0:
            low = weights[group] - min(below) + room / 4
            weights[group] = shortest_between(low, weights[group] + min(above) - room / 4)
    return weights


def _slacks(walls, weights, around):
    """How far the first weights of some pairs may fall and rise against the second ones."""
    below = [weights[a] - weights[b] + walls[a, b] for a, b in around]
    above = [walls[b, a] - (weights[a] - weights[b]) for a, b in around]
    return below, above


def _step(below, above):
    """From the middle, one step of Newton's method to the largest product of all slacks."""
    if not below or min(below) + min(above) <= 0:
        return 0.0
    unit = min(below) + min(above)
    middle = (min(above) - min(below)) / 2
    slope = curvature = 0.0
    for b, a in zip(below, above, strict=True):
        slope += unit / (b + middle) - unit / (a - middle)
        curvature += (unit / (b + middle)) ** 2 + (unit / (a - middle)) ** 2
    newton = max(unit * (slope / curvature), -LONGEST_STEP * unit / 2)
    return middle + min(newton, LONGEST_STEP * unit / 2)


def shortest_between(low, high):
    if low <= 0 <= high:
        return 0.0
    power = 2.0 ** math.ceil(math.log2(max(high, -low)) + 1)
    for _ in range(100):
        multiple = math.ceil(low / power) * power
        if multiple <= high:
            return multiple
        power /= 2
    return low
