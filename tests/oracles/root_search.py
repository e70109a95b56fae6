"""The least reduced cost of the k-sets of each root, by enumeration."""

from itertools import combinations

import numpy as np


def squared_distances(X):
    gaps = X[:, None] - X[None]
    return np.einsum("ijk,ijk->ij", gaps, gaps)


def reduced_costs(X, k, duals, cuts, cut_duals):
    """All k-sets with SSE less the duals of records, plus the duals of cuts around them."""
    distances = squared_distances(X)
    for members in combinations(range(len(X)), k):
        around = sum(
            dual for cut, dual in zip(cuts, cut_duals, strict=True) if set(members) <= set(cut)
        )
        error = distances[np.ix_(members, members)].sum() / (2 * k)
        yield members, error - duals[list(members)].sum() + around


def least_of_roots(X, k, duals, shift, cuts=(), cut_duals=()):
    """For each record the least reduced cost, at most 0, of the sets of which it is root."""
    distances = squared_distances(X)
    least = np.zeros(len(X))
    for members, value in reduced_costs(X, k, duals, cuts, cut_duals):
        inside = list(members)
        merit = distances[np.ix_(inside, inside)].sum(axis=1) / 2 + k * shift[inside]
        root = inside[int(np.argmin(merit))]
        least[root] = min(least[root], value)
    return least
