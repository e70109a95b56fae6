"""The least squared error of all partitions, and the linear program behind the bound."""

from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import linprog


def squared_errors_of(tables, groups):
    """SSE of groups of one size in tables of one shape: (n_tables, n_groups)."""
    rows = tables[:, groups] - tables[:, groups[:, :1]]
    rows = rows - rows.mean(axis=2, keepdims=True)
    return np.einsum("tgij,tgij->tg", rows, rows)


@cache
def admissible_groups(n, k, largest=None):
    """All groups of k to 2k - 1 of n records, by size."""
    sizes = range(k, min(largest or 2 * k - 1, n) + 1)
    return {size: np.array(list(combinations(range(n), size))) for size in sizes}


def least_squared_errors(tables, k):
    """The SSE of the best k-partition of each of several tables, by dynamic programming.

    `tables` has shape (n_tables, n_samples, n_features); at least k records, few.
    """
    n = tables.shape[1]
    groups, costs = [], []
    for members in admissible_groups(n, k).values():
        groups += [sum(1 << int(record) for record in group) for group in members]
        costs.append(squared_errors_of(tables, members))
    costs = np.hstack(costs)
    groups = np.array(groups)
    by_lowest = [np.flatnonzero((groups & -groups) == 1 << record) for record in range(n)]
    least = np.full((1 << n, len(tables)), np.inf)
    least[0] = 0.0
    for subset in range(1, 1 << n):
        numbers = by_lowest[(subset & -subset).bit_length() - 1]
        numbers = numbers[groups[numbers] & subset == groups[numbers]]
        totals = least[subset ^ groups[numbers]] + costs[:, numbers].T
        least[subset] = totals.min(axis=0, initial=np.inf)
    return least[-1]


def value_of_program(X, k):
    """The largest sum of duals such that those of no group of k records exceed its SSE."""
    groups = admissible_groups(len(X), k, k)[k]
    costs = squared_errors_of(X[None], groups)[0]
    rows = np.zeros((len(groups), len(X)))
    np.put_along_axis(rows, groups, 1.0, axis=1)
    unit = costs.max() or 1.0
    result = linprog(-np.ones(len(X)), A_ub=rows, b_ub=costs / unit, bounds=(None, None))
    return -result.fun * unit
