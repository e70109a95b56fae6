"""Rows of coordinates, each shared by all records with the same value."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from sk_microagg._utils._typing import Array, Labels


def standardized(rows: Any, counts: Array) -> Any:
    """Rows of coordinates, scaled such that their total variance over all records is 1."""
    share = counts / counts.sum()
    mean = share @ rows
    variance = share @ rows.power(2).sum(axis=1) - mean @ mean
    # Values that differ have a variance of at least one record's share of it.
    if variance <= 0.5 / counts.sum() ** 2:
        return rows[:, :0]
    return rows / np.sqrt(variance)


def sum_of_squares(rows: Any, codes: Labels, labels: Labels, n_rows: int) -> float:
    """Squared distances to the means of groups, from how often each group has each row."""
    n_groups = int(labels.max()) + 1
    ones = np.ones(len(codes))
    counts = coo_array((ones, (labels, codes)), shape=(n_groups, n_rows)).tocsr()
    sums = counts @ rows
    sizes = np.bincount(labels, minlength=n_groups)
    of_means = (sums.power(2).sum(axis=1) / sizes).sum()
    return max(float(rows.power(2).sum(axis=1)[codes].sum() - of_means), 0.0)
