"""Groups, centroids and squared errors in the arithmetic of the package, in plain NumPy.

All sums run in order, record after record and column after column, so that they round as in the
kernel: `cumsum` adds one by one, `sum` does not. Members of a group are in ascending order.
"""

import numpy as np


def squared_distances(points, point):
    """Of every point to one, or pairwise where the shapes broadcast."""
    return ((np.asarray(points) - point) ** 2).cumsum(axis=-1)[..., -1]


def centroid(X, members):
    """Through deviations from the lowest member; of no members, infinitely far from all."""
    if len(members) == 0:
        return np.full(X.shape[1], np.inf)
    return _centroid(X[np.sort(members)])


def _centroid(rows):
    return rows[0] + (rows - rows[0]).cumsum(axis=0)[-1] / len(rows)


def group_sse(X, members):
    if len(members) == 0:
        return 0.0
    rows = X[np.sort(members)]
    return squared_distances(rows, _centroid(rows)).cumsum()[-1]


def total_sse(X, labels):
    return sum_sse(X, groups_of(labels))


def sum_sse(X, groups):
    """One group after the other, in the order given."""
    total = 0.0
    for members in groups:
        total += group_sse(X, members)
    return total


def sst(X):
    return group_sse(X, np.arange(len(X)))


def groups_of(labels):
    """The members of groups 0, 1, ..., the highest label."""
    return [np.flatnonzero(labels == number) for number in range(max(labels) + 1)]


def labels_of(groups):
    """Groups without members are left out, the others keep their order."""
    labels = np.empty(sum(map(len, groups)), dtype=int)
    for number, members in enumerate(filter(len, groups)):
        labels[members] = number
    return labels


def canonical(labels):
    """Groups numbered as they first occur: equal for equal partitions."""
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]
