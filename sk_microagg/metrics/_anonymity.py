"""Anonymity of a released table."""

from __future__ import annotations

import numpy as np

from sk_microagg._utils._typing import TableLike
from sk_microagg.metrics._classes import is_on_dask, row_classes


def anonymity_level(release: TableLike) -> int:
    """Smallest number of times that any row of a released table occurs in it.

    A release is k-anonymous if its level is at least k. Rows are compared in all columns, so pass
    the quasi-identifiers only. Missing values of one kind are equal.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_samples, n_features)
        The released table: numbers, text or both. The rows of a Dask DataFrame are counted by its
        workers.

    Returns
    -------
    level : int
        Size of the smallest class of equal rows.

    Examples
    --------
    >>> from sk_microagg.metrics import anonymity_level
    >>> anonymity_level([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [3.0, 4.0]])
    2
    """
    if is_on_dask(release):
        from sk_microagg.metrics._on_dask import anonymity_level_on_dask  # Dask is an extra.

        return anonymity_level_on_dask(release)
    return int(np.bincount(row_classes(release, "release")).min())


def uniqueness(table: TableLike) -> float:
    """Share of the rows of a table that occur in it only once.

    If the table covers a whole population, such a row identifies a person. Rows are compared in all
    columns, so pass the quasi-identifiers only. Missing values of one kind are equal.

    Parameters
    ----------
    table : array-like or DataFrame of shape (n_samples, n_features)
        Any table, original or released: numbers, text or both.

    Returns
    -------
    share : float
        From 0, where every row occurs at least twice, to 1, where no row does.

    See Also
    --------
    anonymity_level : At least 2 if and only if the share is 0.

    Examples
    --------
    >>> from sk_microagg.metrics import uniqueness
    >>> uniqueness([[30, "Bonn"], [30, "Bonn"], [30, "Ulm"], [41, "Ulm"]])
    0.5
    """
    sizes = np.bincount(row_classes(table, "table"))
    return float(np.count_nonzero(sizes == 1) / sizes.sum())
