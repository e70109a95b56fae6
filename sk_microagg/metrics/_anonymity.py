"""Anonymity of a released table."""

import numpy as np
from sklearn.utils import check_array


def anonymity_level(release):
    """Smallest number of times that any row of a released table occurs in it.

    A release is k-anonymous if its level is at least k. Rows are compared in all columns, so pass
    the quasi-identifiers only. A missing value equals a missing value.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_samples, n_features)
        The released table: numbers, text or both.

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
    release = check_array(release, dtype=None, ensure_all_finite=False, input_name="release")
    classes = np.zeros(len(release), dtype=np.intp)
    for column in release.T:
        codes = _codes(column)
        # Numbered anew after every column, so that products of two stay far below overflow.
        _, classes = np.unique(classes * (codes.max() + 1) + codes, return_inverse=True)
    return int(np.bincount(classes).min())


def _codes(column):
    """Number the distinct values of a column from 0."""
    if column.dtype != object:
        return np.unique(column, return_inverse=True)[1]
    numbers = {}
    # NaN differs from itself, as a float: as text it does not.
    keys = ("nan" if value != value else value for value in column)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])
