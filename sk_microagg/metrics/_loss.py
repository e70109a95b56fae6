"""Information loss of a partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d

from sk_microagg._utils._statistics import (
    group_means,
    loss_share,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg._utils._typing import TableLike
from sk_microagg._utils._validation import check_records


def sse(X: TableLike, labels: ArrayLike) -> float:
    """Sum of squared distances from each record to the centroid of its group.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    labels : array-like of shape (n_samples,)
        Group of each record.

    Returns
    -------
    sse : float
        The sum of squared errors; 0 if every record equals its group's centroid.

    Examples
    --------
    >>> from sk_microagg.metrics import sse
    >>> sse([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    4.0
    """
    X = check_records(X)
    labels = column_or_1d(labels)
    check_consistent_length(X, labels)
    _, labels = np.unique(labels, return_inverse=True)
    return squared_error(X, group_means(X, labels), labels)


def information_loss(X: TableLike, labels: ArrayLike) -> float:
    """Share of the total sum of squares that is lost when records are replaced by centroids.

    The loss depends on the scale of the columns; it is usually measured on standardized ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The records.

    labels : array-like of shape (n_samples,)
        Group of each record.

    Returns
    -------
    loss : float
        SSE / SST, from 0 (nothing lost) to 1 (as with all records in one group); 0 if all records
        are equal.

    Examples
    --------
    >>> from sk_microagg.metrics import information_loss
    >>> round(information_loss([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 4)
    0.0385
    """
    X = check_records(X)
    return loss_share(sse(X, labels), total_sum_of_squares(X))
