"""Rates of missing values."""

from __future__ import annotations

import numpy as np

from sk_microagg._utils._tables import columns_of, missing_cells
from sk_microagg._utils._typing import Booleans, TableLike


def value_missing_rate(X: TableLike) -> float:
    """Share of the cells of a table that are missing.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The table. None, NaN, pandas.NA and "*" are missing.

    Returns
    -------
    rate : float
        The share, from 0 to 1.

    Examples
    --------
    >>> from sk_microagg.metrics import value_missing_rate
    >>> value_missing_rate([["a", 1], ["b", None], [None, None], ["a", 2]])
    0.375
    """
    return float(np.mean(_missing(X)))


def record_missing_rate(X: TableLike) -> float:
    """Share of the records of a table that have a missing value.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The table. None, NaN, pandas.NA and "*" are missing.

    Returns
    -------
    rate : float
        The share, from 0 to 1.

    Examples
    --------
    >>> from sk_microagg.metrics import record_missing_rate
    >>> record_missing_rate([["a", 1], ["b", None], [None, None], ["a", 2]])
    0.5
    """
    return float(np.mean(_missing(X).any(axis=1)))


def _missing(X: TableLike) -> Booleans:
    return np.column_stack([missing_cells(column) for column in columns_of(X, "X")])
