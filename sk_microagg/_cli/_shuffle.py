"""Rows in random order, so that their positions do not show to whom they belong."""

import os

import numpy as np
import pyarrow as pa


def shuffled(cells):
    """A table with its rows in random order.

    The operating system draws the order: it cannot be computed from a seed, nor from numbers that
    are drawn before or after it.

    Parameters
    ----------
    cells : pyarrow.Table
        The table.

    Returns
    -------
    cells : pyarrow.Table
        The table in another order.
    """
    order = np.argsort(random_numbers(len(cells)))
    columns = [_taken(column, order) for column in cells.unify_dictionaries().columns]
    return pa.Table.from_arrays(columns, names=cells.column_names)


def _taken(column, order):
    kind = column.type
    if not pa.types.is_dictionary(kind) or kind.ordered:
        return column.take(order)
    # A dictionary may be in the order in which its values first occurred.
    return column.cast(kind.value_type).take(order).dictionary_encode().cast(kind)


def random_numbers(n_numbers):
    """Integers of 64 bits from the operating system."""
    return np.frombuffer(os.urandom(8 * n_numbers), dtype=np.uint64)
