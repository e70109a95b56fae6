"""Builders under constraints as published, with a plain scan of all records for every query."""

import math

import numpy as np
from oracles.partition import centroid, groups_of, labels_of, squared_distances
from oracles.pool import ScanPool


def shortfall(rules, members):
    return rules.shortfalls(np.zeros(len(members), dtype=int), np.array(members))[0]


def merge(X, labels, rules):
    """Soria-Comas et al. 2015, algorithm 1: the worst group and its nearest one, until none is."""
    groups = groups_of(labels)
    missing = [shortfall(rules, members) for members in groups]
    while True:
        # Groups without members have been merged into others.
        alive = [number for number, members in enumerate(groups) if len(members)]
        if not any(missing[number] for number in alive):
            return labels_of(groups)
        worst = min(alive, key=lambda number: (-missing[number], len(groups[number]), number))
        others = [number for number in alive if number != worst]
        centroids = np.array([centroid(X, groups[number]) for number in others])
        distances = squared_distances(centroids, centroid(X, groups[worst]))
        pair = (worst, others[int(np.argmin(distances))])
        kept, emptied = sorted(pair, key=lambda number: (-len(groups[number]), number))
        groups[kept] = np.sort(np.concatenate([groups[kept], groups[emptied]]))
        groups[emptied] = groups[emptied][:0]
        missing[kept] = shortfall(rules, groups[kept])


def k_anonymity_first(X, k, rules):
    """Algorithm 2, without merging."""
    pool, labels, n_groups = ScanPool(X), np.full(len(X), -1), 0
    previous = None
    while pool.size:
        if previous is None:
            first = previous = pool.farthest(pool.centroid())
        else:
            first, previous = pool.farthest(X[previous]), None
        members = group_around(pool, first, k, rules)
        pool.remove(members)
        labels[members] = n_groups
        n_groups += 1
    return labels


def group_around(pool, first, k, rules):
    if pool.size < 2 * k:
        return list(pool.records)
    by_distance = list(pool.around(first, pool.size))
    members = by_distance[:k]
    missing = shortfall(rules, members)
    for record in by_distance[k:]:
        if missing == 0:
            break
        replaced = [[*members[:place], record, *members[place + 1 :]] for place in range(k)]
        figures = [shortfall(rules, group) for group in replaced]
        if min(figures) < missing:
            missing = min(figures)
            members = replaced[figures.index(missing)]
    return members


def t_closeness_first(X, k, values, t):
    """Algorithm 3, without merging."""
    n = len(X)
    size = max(k, math.ceil(n / (2 * (n - 1) * t + 1)))
    if n % size > n // size:
        size += (n % size) // (n // size)
    by_value = sorted(range(n), key=lambda record: (values[record], record))
    middle = [(size - 1) // 2, size // 2]
    extra = [middle[group % 2] for group in range(n % size)]
    strata = []
    for number in range(size):
        length = n // size + extra.count(number)
        strata.append(by_value[:length])
        by_value = by_value[length:]
    pool, labels, first = ScanPool(X), np.full(n, -1), None
    for group in range(n // size):
        first = pool.farthest(pool.centroid() if group % 2 == 0 else X[first])
        members = []
        for number, stratum in enumerate(strata):
            stratum.sort(key=lambda record: (squared_distances(X[record], X[first]), record))
            n_taken = 2 if extra[group : group + 1] == [number] else 1
            members += stratum[:n_taken]
            del stratum[:n_taken]
        pool.remove(members)
        labels[members] = group
    return labels


def t_closeness_first_until_met(X, k, values, t, n_values, rules):
    """Algorithm 3 with more and more strata, until three quarters of the groups are good."""
    n = len(X)
    published = max(k, math.ceil(n / (2 * (n - 1) * t + 1)))
    if n % published > n // published:
        published += (n % published) // (n // published)
    most = n / 2 if t == 0 else min((n_values - 1) / (2 * t), n / 2)
    size = published
    while True:
        built = t_closeness_first(X, math.ceil(size), values, t)
        groups = range(built.max() + 1)
        is_good = [shortfall(rules, np.flatnonzero(built == group)) == 0 for group in groups]
        size *= math.sqrt(2)
        if np.mean(is_good) >= 0.75 or size > math.sqrt(2) * most:
            return built
