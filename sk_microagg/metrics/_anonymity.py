"""Anonymity of a released table."""

import numpy as np

from sk_microagg.metrics._classes import row_classes


def anonymity_level(release):
    """Smallest number of times that any row of a released table occurs in it.

    A release is k-anonymous if its level is at least k. Rows are compared in all columns, so pass
    the quasi-identifiers only. A missing value equals another of the same kind.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_samples, n_features)
        The released table: numbers, text or both. Of a dask DataFrame, the workers do the counting.

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
    if type(release).__module__.startswith("dask."):
        from sk_microagg.scale._release import distributed_anonymity_level

        return distributed_anonymity_level(release)
    return int(np.bincount(row_classes(release, "release")).min())


def uniqueness(table):
    """Share of the rows of a table that occur in it only once.

    Whoever knows such a row of a population knows whose it is. Rows are compared in all columns, so
    pass the quasi-identifiers only. A missing value equals another of the same kind.

    Parameters
    ----------
    table : array-like or DataFrame of shape (n_samples, n_features)
        Any table, original or released: numbers, text or both.

    Returns
    -------
    share : float
        From 0, where every row has a twin, to 1, where no row has one.

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
