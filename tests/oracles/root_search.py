"""The least reduced cost of the k-sets of each root, by looking at all of them."""

from itertools import combinations

import numpy as np


def squared_distances(X):
    gaps = X[:, None] - X[None]
    return np.einsum("ijk,ijk->ij", gaps, gaps)


def reduced_costs(X, k, prices, cuts, cut_prices):
    """All k-sets with SSE less prices of records, plus prices of cuts around them."""
    distances = squared_distances(X)
    for members in combinations(range(len(X)), k):
        around = sum(
            price for cut, price in zip(cuts, cut_prices, strict=True) if set(members) <= set(cut)
        )
        error = distances[np.ix_(members, members)].sum() / (2 * k)
        yield members, error - prices[list(members)].sum() + around


def least_of_roots(X, k, prices, shift, cuts=(), cut_prices=()):
    """For each record the least reduced cost, at most 0, of the sets of which it is root."""
    distances = squared_distances(X)
    least = np.zeros(len(X))
    for members, value in reduced_costs(X, k, prices, cuts, cut_prices):
        inside = list(members)
        merit = distances[np.ix_(inside, inside)].sum(axis=1) / 2 + k * shift[inside]
        root = inside[int(np.argmin(merit))]
        least[root] = min(least[root], value)
    return least
