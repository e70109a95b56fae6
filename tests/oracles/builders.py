"""The builders as described, with a plain scan of all records for every query."""

import numpy as np
from oracles.partition import centroid
from oracles.pool import ScanPool


def mdav(X, k, growth="nn", ending="fixed"):
    pool, groups = ScanPool(X), []
    while pool.size >= (2 * k if ending == "fixed" else 3 * k):
        first = pool.farthest(pool.centroid())
        groups.append(take_group(X, pool, first, k, growth))
        groups.append(take_group(X, pool, pool.farthest(X[first]), k, growth))
    if pool.size >= (k if ending == "fixed" else 2 * k):
        groups.append(take_group(X, pool, pool.farthest(pool.centroid()), k, growth))
    if ending == "classic" and pool.size:
        groups.append(pool.records)
    return labels_of(X, groups)


def cbfs(X, k, growth="nn"):
    pool, groups = ScanPool(X), []
    while pool.size >= k:
        groups.append(take_group(X, pool, pool.farthest(pool.centroid()), k, growth))
    return labels_of(X, groups)


def tfrp(X, k, growth="nn", reference="attribute"):
    low, high = X.min(axis=0), X.max(axis=0)
    turns = [high, low]
    if reference == "global":
        turns = [np.full_like(low, X.min()), np.full_like(high, X.max())]
    pool, groups = ScanPool(X), []
    while pool.size >= k:
        groups.append(take_group(X, pool, pool.farthest(turns[len(groups) % 2]), k, growth))
    return labels_of(X, groups)


def dbfs(X, k, growth="nc"):
    pool, groups = ScanPool(X), []
    while pool.size >= 2 * k:
        one_end, other_end = pool.diameter()
        groups.append(take_group(X, pool, one_end, k, growth))
        second = other_end if other_end in pool else pool.farthest(X[one_end])
        groups.append(take_group(X, pool, second, k, growth))
    if pool.size >= k:
        groups.append(take_group(X, pool, pool.diameter()[0], k, growth))
    return labels_of(X, groups)


def gsms(X, k):
    pool, groups = ScanPool(X), []
    while pool.size >= k:
        groups.append(
            min(proposals(pool, k), key=lambda members: gsms_cost(X, members, pool.records))
        )
        pool.remove(groups[-1])
    return labels_of(X, groups)


def proposals(pool, k):
    return [pool.around(record, k) for record in pool.records]


def gsms_cost(X, members, left):
    return sse(X[members]) + sse(X[np.setdiff1d(left, members)])


def take_group(X, pool, first, k, growth):
    if growth == "nn":
        members = pool.around(first, k)
        pool.remove(members)
        return members
    members = [first]
    pool.remove([first])
    while len(members) < k:
        members.extend(pool.nearest(X[members].mean(axis=0), 1))
        pool.remove(members[-1:])
    return np.array(members)


def labels_of(X, groups):
    labels = np.full(len(X), -1)
    for number, members in enumerate(groups):
        labels[members] = number
    centroids = ScanPool([centroid(X, members) for members in groups])
    for record in np.flatnonzero(labels < 0):
        labels[record] = centroids.nearest(X[record], 1)[0]
    return labels


def sse(X):
    return ((X - X.mean(axis=0)) ** 2).sum() if len(X) else 0.0
