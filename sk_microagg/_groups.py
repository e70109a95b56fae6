"""What labels say about records: sizes, means and squared errors of the groups."""

import numpy as np

from sk_microagg._kernels import Pool


def group_sizes(labels):
    """Number of records in each group, for labels numbered from 0."""
    return np.bincount(labels)


def group_means(X, labels):
    """Mean of the records of each group, shape (n_groups, n_features).

    Deviations from one member are averaged, not the values: a column that is constant in a group
    keeps its value to the last digit, and a large offset costs no accuracy.
    """
    sizes = group_sizes(labels)
    member = np.empty(len(sizes), dtype=np.intp)
    member[labels] = np.arange(len(labels))
    means = np.empty((len(sizes), X.shape[1]))
    for j in range(X.shape[1]):
        column = X[:, j].astype(np.float64, copy=False)
        base = column[member]
        means[:, j] = base + np.bincount(labels, weights=column - base[labels]) / sizes
    return means


def share_of_total(squared_errors, X):
    """Squared errors as a share of the total sum of squares of X; 0 where that is 0."""
    one_group = np.zeros(len(X), dtype=np.intp)
    total = squared_error(X, group_means(X, one_group), one_group)
    return squared_errors / total if total > 0 else 0.0


def squared_error(X, centers, labels):
    """Sum of squared distances from each record to the centre that its label names."""
    total = 0.0
    for j in range(X.shape[1]):
        deviation = X[:, j] - centers[labels, j]
        total += float(deviation @ deviation)
    return total


def nearest_center(X, centers):
    """Index of the centre nearest to each record; of several, the lowest."""
    return Pool(centers).nearest_each(X)
