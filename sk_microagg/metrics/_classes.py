"""Classes of equal rows."""

import numpy as np

from sk_microagg._utils._tables import columns_of


def row_classes(table, name):
    """Class of equal rows that each row of a table is in, numbered from 0.

    Classes of numbers are in the order of their rows, by the first column first. `name` is what the
    table is called in messages.
    """
    columns = columns_of(table, name)
    classes = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        codes = codes_of(column)
        # Numbered anew after every column, so that products of two stay far below overflow.
        _, classes = np.unique(classes * (codes.max() + 1) + codes, return_inverse=True)
    return classes


def codes_of(column):
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
