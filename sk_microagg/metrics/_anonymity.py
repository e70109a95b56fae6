"""Anonymity of a released table."""

import numpy as np

from sk_microagg._tables import columns_of


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
    columns = columns_of(release, "release")
    classes = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        codes = _codes(column)
        # Numbered anew after every column, so that products of two stay far below overflow.
        _, classes = np.unique(classes * (codes.max() + 1) + codes, return_inverse=True)
    return int(np.bincount(classes).min())


def _codes(column):
    """Number the distinct values of a column from 0."""
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return np.unique(column, return_inverse=True)[1]
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    numbers = {}
    return np.array([numbers.setdefault(_key(value), len(numbers)) for value in values])


def _key(value):
    """The value as a dict may know it: NaN differs from itself."""
    return _NAN if isinstance(value, float | np.floating) and np.isnan(value) else value


_NAN = object()
