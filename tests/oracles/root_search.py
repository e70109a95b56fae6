"""The least reduced cost of the k-sets of each root, by enumeration."""

from itertools import combinations

import numpy as np


def squared_distances(X):
    gaps = X[:, None] - X[None]
    return np.einsum("ijk,ijk->ij", gaps, gaps)


def all_sets(X, k, duals, cuts, cut_duals):
    """All k-sets, the distances within each, and its reduced cost."""
    sets = np.array(list(combinations(range(len(X)), k)))
    within = squared_distances(X)[sets[:, :, None], sets[:, None]]
    values = within.sum(axis=(1, 2)) / (2 * k) - duals[sets].sum(axis=1)
    for cut, dual in zip(cuts, cut_duals, strict=True):
        values += dual * np.isin(sets, cut).all(axis=1)
    return sets, within, values


def reduced_costs(X, k, duals, cuts, cut_duals):
    """All k-sets with SSE, less the duals of records, plus those of cuts that hold the set."""
    sets, _, values = all_sets(X, k, duals, cuts, cut_duals)
    return zip(map(tuple, sets.tolist()), values.tolist(), strict=True)


def least_of_roots(X, k, duals, shift, cuts=(), cut_duals=()):
    """For each record the least reduced cost, at most 0, of the sets of which it is root."""
    sets, within, values = all_sets(X, k, duals, cuts, cut_duals)
    merit = within.sum(axis=2) / 2 + k * shift[sets]
    roots = np.take_along_axis(sets, merit.argmin(axis=1)[:, None], axis=1)[:, 0]
    least = np.zeros(len(X))
    np.minimum.at(least, roots, values)
    return least
