"""Released values as cells of the table that is written."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._tables import MISSING
from sk_microagg.files._cells import Column
from sk_microagg.files._number_notation import NumberNotation
from sk_microagg.files._ordinal_notation import OrdinalNotation
from sk_microagg.files._typed_columns import cells_of_type

# Further digits tell of rounding errors only, even of groups of a thousand records.
DECIMALS_OF_SHARES = 6


def written_columns(release, column, format, is_text, original):
    """What is released for a column, as it is written.

    Parameters
    ----------
    release : pandas.DataFrame
        The released values: one column, or several of shares.

    column : Column
        The column.

    format : Format
        How numbers are written.

    is_text : bool
        Whether shares are written as text, rather than as numbers.

    original : pyarrow.ChunkedArray or None
        The original cells of a column with a type, if released categories are to have it.

    Returns
    -------
    written : dict
        Cells by the names of their columns.
    """
    if column.notation is not None:
        return {column.name: written_cells(release[column.name], column)}
    written = {}
    for name, values in release.items():
        if is_numeric(values):
            type = None if is_text else pa.float64()
            notation = NumberNotation(DECIMALS_OF_SHARES, decimal=format.decimal)
            share = Column(name, "share", "", None, notation, type)
            written[name] = written_cells(values.round(DECIMALS_OF_SHARES), share)
        elif original is not None:
            written[name] = _cells_of_categories(column.values, original, values)
        else:
            written[name] = written_cells(values, column)
    return written


def written_cells(values, column):
    """Released values as they are written.

    Parameters
    ----------
    values : pandas.Series
        The values, rounded.

    column : Column
        The column.

    Returns
    -------
    cells : pyarrow.Array
        Text, or the type of the column.
    """
    if is_numeric(values) and column.type is not None:
        return cells_of_type(values.to_numpy(dtype=np.float64), column)
    if column.notation is None or (column.notation.is_plain and not is_numeric(values)):
        return pa.array(values, pa.string(), from_pandas=True)
    write = column.notation.text if is_numeric(values) else lambda t: _label(t, column.notation)
    codes, unique = pd.factorize(values)
    texts = np.array([*map(write, unique), None], dtype=object)
    return pa.array(texts[codes], pa.string())


def is_numeric(values):
    """Whether released values are numbers."""
    return values.dtype.kind in "iuf"


def _label(text, notation):
    """A generalized number, as an interval, in the notation of its column."""
    ends = text[1:-1].split(", ") if text.startswith("[") else [text]
    try:
        ends = [float(end) for end in ends]
    except ValueError:  # the root of the hierarchy
        return text
    notation = notation.unpadded()
    if notation.decimals == 0:
        ends = [np.floor(ends[0]), *map(np.ceil, ends[1:])]
    if isinstance(notation, OrdinalNotation):
        ends = notation.around(ends)
        if ends is None:
            return MISSING
    parts = [notation.text(end) for end in ends]
    return f"[{notation.separator.join(parts)}]" if len(set(parts)) > 1 else parts[0]


def _cells_of_categories(texts, cells, released):
    """Released categories in the type of their column: original cells with the same text."""
    place_of = {text: len(texts) - 1 - place for place, text in enumerate(reversed(texts))}
    codes, different = pd.factorize(released)
    places = np.array([*(place_of[text] for text in different), -1])[codes]
    taken = cells.unify_dictionaries().take(pa.array(places, mask=places < 0))
    return without_unused_categories(taken)


def without_unused_categories(column):
    """The column without categories that no record has, which may disclose other people's."""
    if not pa.types.is_dictionary(column.type):
        return column
    column = column.unify_dictionaries().combine_chunks()
    used = pc.unique(column.indices).drop_null().sort()
    return pa.DictionaryArray.from_arrays(
        pc.index_in(column.indices, used).cast(column.type.index_type),
        column.dictionary.take(used),
        ordered=column.type.ordered,
    )


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
