"""How a release changes columns and the correlations between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sk_microagg._utils._typing import Floats, TableLike
from sk_microagg.metrics._mixed import (
    check_pair,
    column_names,
    correlations,
    standard_deviations,
)

QUARTILES = {
    "lower_quartile_change": 0.25,
    "median_change": 0.5,
    "upper_quartile_change": 0.75,
}
FIELDS = [
    ("name", object),
    *((name, np.float64) for name in ("mean_change", "variance_ratio", *QUARTILES)),
]


def attribute_changes(X: TableLike, release: TableLike) -> NDArray[np.void]:
    """Changes of the mean, variance and quartiles of each column.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    Returns
    -------
    changes : structured ndarray of shape (n_features,)
        One row per column of `X`; it can be passed to `pandas.DataFrame`. Its fields are

        - `name`: name of the column of `X`, or its number;
        - `mean_change`, `lower_quartile_change`, `median_change`, `upper_quartile_change`: released
          minus original, in standard deviations of the original column, or in its own units if it
          is constant;
        - `variance_ratio`: released over original; for a constant column, 1 if it is released as a
          constant and otherwise infinite.

    See Also
    --------
    correlation_change : Changes of the correlations between columns.

    Examples
    --------
    >>> from sk_microagg.metrics import attribute_changes
    >>> X = [[10.0, 1.0], [20.0, 1.0], [30.0, 1.0], [40.0, 1.0]]
    >>> release = [[15.0, 1.0], [15.0, 1.0], [35.0, 1.0], [35.0, 1.0]]
    >>> changes = attribute_changes(X, release)
    >>> changes["mean_change"]
    array([0., 0.])
    >>> changes["variance_ratio"]
    array([0.8, 1. ])
    >>> changes["upper_quartile_change"].round(3)
    array([0.224, 0.   ])
    """
    names = column_names(X)
    X, release = check_pair(X, release)
    spreads, released_spreads = standard_deviations(X), standard_deviations(release)
    is_constant = spreads == 0
    units = np.where(is_constant, 1.0, spreads)

    changes = np.empty(X.shape[1], dtype=FIELDS)
    changes["name"] = names or range(X.shape[1])
    changes["mean_change"] = (release - X).mean(axis=0) / units
    changes["variance_ratio"] = np.where(
        is_constant, np.where(released_spreads > 0, np.inf, 1.0), (released_spreads / units) ** 2
    )
    before, after = (np.quantile(table, [*QUARTILES.values()], axis=0) for table in (X, release))
    for name, moved in zip(QUARTILES, after - before, strict=True):
        changes[name] = moved / units
    return changes


@dataclass(frozen=True)
class CorrelationChange:
    """Differences between the correlations of original and released columns.

    Attributes
    ----------
    mean : float
        Mean of the absolute differences over all pairs of columns.

    largest : float
        The largest of these differences.

    Examples
    --------
    >>> from sk_microagg.metrics import CorrelationChange
    >>> CorrelationChange(mean=0.02, largest=0.1).largest
    0.1
    """

    mean: float
    largest: float


def correlation_change(X: TableLike, release: TableLike) -> CorrelationChange:
    """Changes of the Pearson correlations between columns.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records, all numbers.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The released row of each record, in the same order.

    Returns
    -------
    change : CorrelationChange
        `mean` and `largest` of the absolute differences over all pairs of columns, from 0 to 2. A
        constant column has a correlation of 0 with any other. Both are 0 if there is only one
        column.

    See Also
    --------
    attribute_changes : Changes of single columns.

    Examples
    --------
    >>> from sk_microagg.metrics import correlation_change
    >>> X = [[1.0, 1.0, 5.0], [2.0, 2.0, 3.0], [3.0, 4.0, 2.0], [4.0, 3.0, 1.0]]
    >>> release = [[1.5, 1.5, 4.0], [1.5, 1.5, 4.0], [3.5, 3.5, 1.5], [3.5, 3.5, 1.5]]
    >>> change = correlation_change(X, release)
    >>> round(change.mean, 3), round(change.largest, 3)
    (0.129, 0.2)
    """
    return correlations_of(*check_pair(X, release))


def correlations_of(X: Floats, release: Floats) -> CorrelationChange:
    """Changes of the correlations between columns of arrays."""
    pairs = np.triu_indices(X.shape[1], 1)
    differences = np.abs(correlations(release) - correlations(X))[pairs]
    if not len(differences):
        return CorrelationChange(0.0, 0.0)
    return CorrelationChange(float(differences.mean()), float(differences.max()))
