"""Sizes, means and squared errors of groups; duplicates among records."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._kernels import Partition
from sk_microagg._utils._typing import Floats, Labels


def group_sizes(labels: Labels) -> Labels:
    """Return the number of records in each group, for labels numbered from 0."""
    return np.bincount(labels)


def group_means(X: ArrayLike, labels: Labels) -> Floats:
    """Return the mean of each group, shape (n_groups, n_features), for labels numbered from 0."""
    X = np.asarray(X, dtype=np.float64)
    sizes = group_sizes(labels)
    first = np.empty(len(sizes), dtype=np.intp)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    means = np.empty((len(sizes), X.shape[1]))
    # As in Partition, deviations from one member are averaged: a column that is constant in a group
    # keeps its value to the last digit, and a large offset costs no accuracy.
    for j in range(X.shape[1]):
        base = X[first, j]
        total = np.bincount(labels, X[:, j] - base[labels], len(sizes))
        means[:, j] = base + total / sizes
    return means


def total_sum_of_squares(X: Floats) -> float:
    """Return the sum of squared distances between the records and their mean."""
    return Partition(X, np.zeros(len(X), dtype=np.intp), len(X)).sse


def share_of_total(squared_errors: float, X: Floats) -> float:
    """Return squared errors as a share of the total sum of squares of X; 0 if that is 0.

    The share can exceed 1 if the centers are not the means of these records.
    """
    total = total_sum_of_squares(X)
    return squared_errors / total if total > 0 else 0.0


def loss_share(sse: float, total: float) -> float:
    """Return the information loss of groups replaced by their means; 0 if the total is 0.

    It is at most 1, also in the presence of rounding errors.
    """
    return min(float(sse / total), 1.0) if total > 0 else 0.0


def mean_squared_errors(X: Floats, labels: Labels) -> Floats:
    """Return the mean squared distance to the centroid of each group, with labels from 0."""
    gaps = X - group_means(X, labels)[labels]
    return np.bincount(labels, np.einsum("ij,ij->i", gaps, gaps)) / np.bincount(labels)


def squared_error(X: Floats, centers: Floats, labels: Labels) -> float:
    """Return the sum of squared distances between the records and the centers of their labels."""
    total = 0.0
    for j in range(X.shape[1]):
        deviation = X[:, j] - centers[labels, j]
        # Not by BLAS, whose threads would compete with those working on other blocks.
        total += float(np.einsum("i,i->", deviation, deviation))
    return total


def twins_of(X: Floats) -> Labels:
    """Return a number shared by identical records, or -1 for a unique record."""
    _, number, count = distinct_records(X)
    return np.where(count[number] > 1, number, -1)


def distinct_records(X: Floats) -> tuple[Labels, Labels, Labels]:
    """Return the first of each set of equal records, the set of each record, and their sizes."""
    # Mostly a single column tells all records apart, which takes a third of the time to see.
    if len(np.unique(X[:, 0])) == len(X):
        return np.arange(len(X)), np.arange(len(X)), np.ones(len(X), dtype=np.intp)
    # Adding 0 turns -0.0 into 0.0.
    rows = np.ascontiguousarray(X + 0.0)
    if X.shape[1] > 1:  # A single column of numbers is sorted much faster than one of bytes.
        rows = rows.view(np.dtype((np.void, X.itemsize * X.shape[1])))
    _, first, number, count = np.unique(
        rows.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    return first, number, count
