"""Anonymity of a released table."""

from __future__ import annotations

from typing import Any

import numpy as np

from sk_microagg._utils._tables import as_table, columns_of
from sk_microagg._utils._typing import Labels, TableLike


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


def is_on_dask(table: object) -> bool:
    """Whether a table is one of Dask, whose rows may be too many for one machine."""
    return type(table).__module__.startswith("dask.")


def row_classes(table: Any, name: str) -> Labels:
    """Number the classes of equal rows from 0; return the class of each row.

    If all columns are numeric, classes are in lexicographic order. `name` is the table's name in
    messages.
    """
    columns = columns_of(table, name)
    classes = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        codes = codes_of(column)
        # Renumbered after every column, so that the products stay far below overflow.
        _, classes = np.unique(classes * (codes.max() + 1) + codes, return_inverse=True)
    return classes


def classes_of(labels_or_release: Any, name: str) -> Labels:
    """Number from 0 the groups that labels name, or the classes of equal rows of a release."""
    table = as_table(labels_or_release)
    if len(np.shape(table)) != 1:
        return row_classes(table, name)
    labels = np.asarray(labels_or_release)
    if not np.issubdtype(labels.dtype, np.integer):
        raise TypeError(
            f"{name} of shape {labels.shape} and type {labels.dtype} must be integers, the group "
            "of each record, or a table with a row per record."
        )
    return np.unique(labels, return_inverse=True)[1]


def codes_of(column: Any) -> Labels:
    """Number the distinct values of a column from 0."""
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return np.unique(column, return_inverse=True)[1]
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(_key(value), len(numbers)) for value in values])


def _key(value: Any) -> Any:
    """The value as a key of a dict: NaN differs from itself, so a sentinel stands for it."""
    return _NAN if isinstance(value, float | np.floating) and np.isnan(value) else value


_NAN = object()
