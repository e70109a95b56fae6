"""What labels say about records: sizes, means and squared errors of the groups; and twins."""

import numpy as np

from sk_microagg._kernels import Partition


def group_sizes(labels):
    """Number of records in each group, for labels numbered from 0."""
    return np.bincount(labels)


def group_means(X, labels):
    """Mean of the records of each group, shape (n_groups, n_features), for labels from 0."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    return Partition(X, labels, int(group_sizes(labels).min())).all_centroids()


def total_sum_of_squares(X):
    """Sum of squared distances from all records to their common mean."""
    return Partition(X, np.zeros(len(X), dtype=np.intp), len(X)).sse


def share_of_total(squared_errors, X):
    """Squared errors as a share of the total sum of squares of X; 0 where that is 0.

    From centers that are not the means of these records, the share can be above 1.
    """
    total = total_sum_of_squares(X)
    return squared_errors / total if total > 0 else 0.0


def loss_share(sse, total):
    """Information loss of groups that become their means; 0 where the total is 0.

    It is at most 1, whatever rounding says.
    """
    return min(float(sse / total), 1.0) if total > 0 else 0.0


def squared_error(X, centers, labels):
    """Sum of squared distances from each record to the center that its label names."""
    total = 0.0
    for j in range(X.shape[1]):
        deviation = X[:, j] - centers[labels, j]
        # Not by BLAS, whose threads would get in the way of those that work on other blocks.
        total += float(np.einsum("i,i->", deviation, deviation))
    return total


def twins_of(X):
    """A number that identical records share, or -1 for a record that is like no other."""
    # Adding 0 makes one zero of the two.
    rows = np.ascontiguousarray(X + 0.0).view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel()
    _, number, count = np.unique(rows, return_inverse=True, return_counts=True)
    return np.where(count[number] > 1, number, -1)
