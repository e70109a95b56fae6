"""Classes of equal rows, such as the groups of a release."""

from typing import Any

import numpy as np

from sk_microagg._utils._tables import as_table, columns_of
from sk_microagg._utils._typing import Labels


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
