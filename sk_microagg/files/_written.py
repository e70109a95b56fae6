"""Released values as cells of the table that is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._tables import MISSING
from sk_microagg.files._cells import Column
from sk_microagg.files._format import Format
from sk_microagg.files._notations import NumberNotation, OrdinalNotation

# Further digits tell of rounding errors only, even of groups of a thousand records.
DECIMALS_OF_SHARES = 6


def written_columns(
    release: pd.DataFrame,
    column: Column,
    format: Format,
    is_text: bool,
    original: pa.ChunkedArray | None,
) -> dict:
    """What is released for a column, or its shares, as written; categories as in the original."""
    if column.notation is not None:
        return {column.name: written_cells(release[column.name], column)}
    written = {}
    for name, values in release.items():
        if values.dtype.kind == "f":
            type = None if is_text else pa.float64()
            notation = NumberNotation(DECIMALS_OF_SHARES, decimal=format.decimal)
            share = Column(name, "share", "", values.to_numpy(), notation, type)
            written[name] = written_cells(values.round(DECIMALS_OF_SHARES), share)
        elif original is not None:
            written[name] = _cells_of_categories(column.values, original, values)
        else:
            written[name] = written_cells(values, column)
    return written


def written_cells(values: pd.Series, column: Column) -> pa.Array:
    """Released values as text or in the column's type; in generalized text, ranks are numbers."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    elif values.dtype.kind in "iufM":
        if column.type is not None:
            return _cells_of_type(values.to_numpy(), column)
        are_dates = values.dtype.kind == "M"
        numbers = column.notation.numbers(values.to_numpy()) if are_dates else values
        return _text_of(numbers, column.notation.text)
    elif column.notation is not None and not column.notation.is_plain:
        return _text_of(values, lambda text: _label(text, column.notation))
    return pa.array(values, pa.string(), from_pandas=True)


def _text_of(values: Any, write: Callable) -> pa.Array:
    """Each value as it is written, null where it is missing."""
    codes, unique = pd.factorize(values)
    texts = np.array([*map(write, unique), None], dtype=object)
    return pa.array(texts[codes], pa.string())


def with_type(column: Column) -> Column:
    """The column with the type of its numbers or dates in files with types; others remain text."""
    if column.type is not None or column.kind not in ("number", "date"):
        return column
    if column.kind == "date":
        is_day = column.notation.unit == "day"
        return replace(column, type=pa.date32() if is_day else pa.timestamp("us"))
    return replace(column, type=pa.int64() if column.notation.decimals == 0 else pa.float64())


def _cells_of_type(values: np.ndarray, column: Column) -> pa.Array:
    """Released numbers or dates in the type that the column had."""
    if column.kind == "date":
        zone = getattr(column.type, "tz", None)
        moments = pa.array(values.astype("datetime64[us]"), from_pandas=True).cast(pa.int64())
        return moments.cast(pa.timestamp("us", zone)).cast(column.type)
    values = values.astype(np.float64)
    room = getattr(column.type, "scale", 0)
    if not pa.types.is_floating(column.type) and column.notation.decimals > room:
        return pa.array(values, from_pandas=True)
    if pa.types.is_decimal(column.type):
        return _decimals(values, column.type)
    if pa.types.is_integer(column.type):
        # Rounded to hundreds, say, a number may exceed its type.
        limits = np.iinfo(column.type.to_pandas_dtype())
        values = np.clip(values, limits.min, limits.max)
    return pa.array(values, from_pandas=True).cast(column.type)


def _decimals(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Rounded numbers as decimals; to hundreds, say, a number may exceed its type."""
    largest = Decimal((0, (9,) * kind.precision, -kind.scale))
    digits = max(kind.scale, 0)
    cells = [None if np.isnan(value) else Decimal(f"{value:.{digits}f}") for value in values]
    cells = [cell and max(-largest, min(cell, largest)) for cell in cells]
    return pa.array(cells, kind)


def known_of_type(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells of a typed column that are not missing."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    known = cells.drop_null()
    return known.filter(pc.invert(pc.is_nan(known))) if pa.types.is_floating(known.type) else known


def _label(text: str, notation: Any) -> str:
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


def _cells_of_categories(
    texts: np.ndarray, cells: pa.ChunkedArray, released: pd.Series
) -> pa.Array:
    """Released categories in the type of their column: original cells with the same text."""
    place_of = {text: len(texts) - 1 - place for place, text in enumerate(reversed(texts))}
    codes, different = pd.factorize(released)
    places = np.array([*(place_of[text] for text in different), -1])[codes]
    taken = cells.unify_dictionaries().take(pa.array(places, mask=places < 0))
    return without_unused_categories(taken)


def without_unused_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
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


def shuffled(cells: pa.Table) -> pa.Table:
    """A table with its rows in an order that the system draws: no seed computes it."""
    order = np.argsort(random_numbers(len(cells)))
    columns = [_taken(column, order) for column in cells.unify_dictionaries().columns]
    return pa.Table.from_arrays(columns, names=cells.column_names)


def _taken(column: pa.ChunkedArray, order: np.ndarray) -> pa.ChunkedArray:
    kind = column.type
    if not pa.types.is_dictionary(kind) or kind.ordered:
        return column.take(order)
    # A dictionary may be in the order in which its values first occurred.
    return column.cast(kind.value_type).take(order).dictionary_encode().cast(kind)


def random_numbers(n_numbers: int) -> np.ndarray:
    """Integers of 64 bits from the operating system."""
    return np.frombuffer(os.urandom(8 * n_numbers), dtype=np.uint64)
