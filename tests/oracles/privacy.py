"""Figures of one group in plain loops, with fractions."""

import math
from collections import Counter
from fractions import Fraction


def distinct(values):
    return len(set(values))


def entropy(values):
    """Exponential of the entropy."""
    shares = [count / len(values) for count in Counter(values).values()]
    return math.exp(-math.fsum(share * math.log(share) for share in shares))


def recursive(values, l):  # noqa: E741
    """Frequency of the most frequent value over that of the l-th and all rarer ones."""
    counts = sorted(Counter(values).values(), reverse=True)
    rare = sum(counts[l - 1 :])
    return Fraction(counts[0], rare) if rare else math.inf


def largest_share(values):
    """Share of the most frequent value."""
    return Fraction(max(Counter(values).values()), len(values))


def added_up(values, units):
    """What each unit contributes."""
    sums = Counter()
    for value, unit in zip(values, units, strict=True):
        sums[unit] += Fraction(value)
    return list(sums.values())


def sum_of_largest(values, units):
    """Sum of the largest value of each unit."""
    largest = {}
    for value, unit in zip(values, units, strict=True):
        largest[unit] = max(largest.get(unit, 0), Fraction(value))
    return sum(largest.values())


def dominance(values, n):
    """Share of the n largest values in the sum."""
    total = sum(map(Fraction, values))
    return sum(map(Fraction, sorted(values)[-n:])) / total if total else Fraction(0)


def p_percent(values):
    """All but the two largest values, in percent of the largest."""
    *others, _, largest = [0, *sorted(map(Fraction, values))]
    return 100 * sum(others) / largest if largest else math.inf


def shares(values, among):
    counts = Counter(values)
    return {value: Fraction(counts[value], len(values)) for value in among}


def equal(values, table):
    """Half the sum of the absolute differences between shares."""
    here, there = shares(values, set(table)), shares(table, set(table))
    return sum(abs(here[value] - there[value]) for value in there) / 2


def ordered(values, table):
    """Mean absolute difference between cumulative shares, the last one left out."""
    steps = sorted(set(table))
    here, there = shares(values, steps), shares(table, steps)
    total = ahead = Fraction(0)
    for value in steps:
        ahead += here[value] - there[value]
        total += abs(ahead)
    return total / (len(steps) - 1) if len(steps) > 1 else Fraction(0)


def tree(values, table, nested):
    """The costs of Li, Li and Venkatasubramanian, added up over the nodes.

    The tree is of nested dicts and lists; every value is a leaf.
    """
    here, there = shares(values, set(table)), shares(table, set(table))

    def height(node):
        return 1 + max(map(height, children(node))) if children(node) else 0

    def extra(node):
        if not children(node):
            return here.get(node, 0) - there.get(node, 0)
        return sum(map(extra, children(node)))

    def cost(node):
        extras = [extra(child) for child in children(node)]
        surplus = sum(e for e in extras if e > 0)
        deficit = -sum(e for e in extras if e < 0)
        own = Fraction(height(node), height(nested)) * min(surplus, deficit)
        return own + sum(map(cost, children(node)))

    return cost(nested)


def children(node):
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []
