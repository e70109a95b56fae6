"""The refiners as described: all groups and all pairs, without any shortcuts.

The first part of a group that is split keeps its number; the other parts are numbered after all
existing groups. Dissolving a group does not change the order of the others.
"""

import math

import numpy as np
from oracles.builders import cbfs
from oracles.partition import (
    centroid,
    group_sse,
    groups_of,
    labels_of,
    squared_distances,
    sst,
    sum_sse,
    total_sse,
)

# A gain below this share of the squared error may be rounding error.
MIN_GAIN_SHARE = 1e-12


def split_large_groups(X, labels, k):
    groups = groups_of(labels)
    for number in range(len(groups)):
        if len(groups[number]) >= 2 * k:
            groups[number], *others = split(X, groups[number], k)
            groups += others
    return labels_of(groups)


def split(X, members, k):
    labels = cbfs(X[members], k, growth="nc")
    return [members[labels == number] for number in range(max(labels) + 1)]


def decompose(X, labels, k):
    groups = groups_of(labels)
    centroids = centroids_of(X, groups)
    errors = [group_sse(X, members) for members in groups]
    min_gain = MIN_GAIN_SHARE * sst(X)
    for number in sorted(range(len(groups)), key=lambda number: (-errors[number], number)):
        if len(groups[number]) >= 2 * k:
            continue
        after = dissolve(X, groups, centroids, number, full=4 * k - 1)
        if after is None:
            continue
        touched = [i for i in range(len(groups)) if after[i] is not groups[i]]
        gain = sum_sse(X, [groups[i] for i in touched]) - sum_sse(X, [after[i] for i in touched])
        if gain > min_gain:
            groups = after
            centroids = centroids_of(X, groups)
    return split_large_groups(X, labels_of(groups), k)


def dissolve(X, groups, centroids, number, full=math.inf):
    """Move each record of a group to the nearest other group; None if all others are full."""
    groups, centroids = list(groups), centroids.copy()
    leaving, groups[number] = groups[number], groups[number][:0]
    centroids[number] = np.inf
    for record in leaving:
        distances = squared_distances(centroids, X[record])
        distances[[len(members) >= full for members in groups]] = np.inf
        target = np.argmin(distances)
        if distances[target] == np.inf:
            return None
        groups[target] = np.sort(np.append(groups[target], record))
        centroids[target] = centroid(X, groups[target])
    return groups


def centroids_of(X, groups):
    return np.array([centroid(X, members) for members in groups])


def shrink(X, labels, k):
    groups = groups_of(labels)
    centroids = centroids_of(X, groups)
    min_gain = MIN_GAIN_SHARE * sst(X)
    for number in range(len(groups)):
        while len(groups[number]) > k:
            gain, record, target = best_removal(X, groups, centroids, number)
            if not gain > min_gain:
                break
            groups[number] = np.setdiff1d(groups[number], record)
            groups[target] = np.sort(np.append(groups[target], record))
            for changed in (number, target):
                centroids[changed] = centroid(X, groups[changed])
    return split_large_groups(X, labels_of(groups), k)


def best_removal(X, groups, centroids, number):
    best = (-math.inf, None, None)
    m = len(groups[number])
    for record in groups[number]:
        distances = squared_distances(centroids, X[record])
        own, distances[number] = distances[number], np.inf
        target = np.argmin(distances)
        t = len(groups[target])
        gain = m / (m - 1) * own - t / (t + 1) * distances[target]
        if gain > best[0]:
            best = (gain, record, target)
    return best


def decompose_shrink(X, labels, k):
    while True:
        before = labels
        labels = shrink(X, decompose(X, labels, k), k)
        if np.array_equal(before, labels):
            return labels


def local_search(X, labels, k):
    groups = groups_of(split_large_groups(X, labels, k))
    targets = set(range(len(groups)))
    while targets:
        changed = set()
        for a in sorted(targets):
            for b in range(len(groups)):
                if b == a or (b in targets and b < a):
                    continue
                groups[a], groups[b], improved = improve_pair(X, groups[a], groups[b], k)
                if improved:
                    changed |= {a, b}
        targets = changed
    return labels_of(groups)


def improve_pair(X, a, b, k):
    """Return two groups after their best moves, and whether there were any."""
    improved = False
    error = group_sse(X, a) + group_sse(X, b)
    while True:
        gain, from_a, from_b = best_move(X, a, b, k)
        if not gain > MIN_GAIN_SHARE * error:
            return a, b, improved
        next_a = np.sort(np.append(np.delete(a, from_a), b[from_b]))
        next_b = np.sort(np.append(np.delete(b, from_b), a[from_a]))
        next_error = group_sse(X, next_a) + group_sse(X, next_b)
        if not next_error < error:
            return a, b, improved
        a, b, error, improved = next_a, next_b, next_error, True


def best_move(X, a, b, k):
    """Return the largest gain of a swap or a shift, and the places of what leaves each group."""
    from_a, from_b = centroid(X, a), centroid(X, b)
    a_own, a_other = squared_distances(X[a], from_a), squared_distances(X[a], from_b)
    b_own, b_other = squared_distances(X[b], from_b), squared_distances(X[b], from_a)
    between = squared_distances(X[a][:, None], X[b])
    swaps = (a_own - a_other)[:, None] + (b_own - b_other) + (1 / len(a) + 1 / len(b)) * between
    x, y = np.unravel_index(np.argmax(swaps), swaps.shape)
    best = swaps[x, y], [x], [y]
    for giver, taker, own, other in ((a, b, a_own, a_other), (b, a, b_own, b_other)):
        m, t = len(giver), len(taker)
        if m > k and t < 2 * k - 1:
            shifts = m / (m - 1) * own - t / (t + 1) * other
            x = np.argmax(shifts)
            if shifts[x] > best[0]:
                best = (shifts[x], [x], []) if giver is a else (shifts[x], [], [x])
    return best


def no_pair_improves(X, labels, k):
    groups = groups_of(labels)
    return not any(
        improve_pair(X, groups[a], groups[b], k)[2] for b in range(len(groups)) for a in range(b)
    )


def exchange_costs(X, labels, twins=True):
    """[A, B]: the minimum of d²(x, centroid of B) − d²(x, centroid of A) over the records x of A.

    With `twins=False`, records are not sent to groups that hold an identical record.
    """
    groups = groups_of(labels)
    centroids = centroids_of(X, groups)
    costs = np.full((len(groups), len(groups)), np.inf)
    row = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    holds = np.zeros((len(X), len(groups)), dtype=bool)
    holds[row, labels] = True
    for number, members in enumerate(groups):
        distances = squared_distances(X[members][:, None], centroids)
        excess = distances - distances[:, [number]]
        excess[:, number] = np.inf
        if not twins:
            excess[holds[row[members]]] = np.inf
        costs[number] = excess.min(axis=0)
    return costs


def with_dummy(costs, labels, k):
    """Add a dummy node: it sends to groups that may lose a record, and receives from others."""
    sizes = np.bincount(labels)
    costs = np.pad(costs, (0, 1), constant_values=np.inf)
    costs[-1, :-1][sizes > k] = 0.0
    costs[:-1, -1][sizes < 2 * k - 1] = 0.0
    return costs


def minimum_cycle_mean(costs):
    """Return the minimum mean arc cost of a cycle, by Karp's algorithm; inf without a cycle."""
    n = len(costs)
    # walks[m, v]: the cost of the cheapest walk of m arcs that ends at v, from any start.
    walks = np.zeros((n + 1, n))
    for m in range(n):
        walks[m + 1] = (walks[m][:, None] + costs).min(axis=0)
    walks = walks[:, np.isfinite(walks[n])]
    if walks.size == 0:
        return math.inf
    means = (walks[n] - walks[:n]) / np.arange(n, 0, -1)[:, None]
    return means.max(axis=0).min()


def negative_cycle_free(X, labels, k=None, tolerance=MIN_GAIN_SHARE):
    """Whether no cycle has a negative cost; with k, also no path that changes two sizes."""
    costs = exchange_costs(X, labels)
    if k is not None:
        costs = with_dummy(costs, labels, k)
    return minimum_cycle_mean(costs) >= -tolerance * total_sse(X, labels)


def power_assign(X, centroids, weights):
    return np.argmin(squared_distances(X[:, None], centroids) - weights, axis=1)
