"""The kinds of columns that have a type: those of Parquet files, and most of Excel files."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._formatting import decimals_of
from sk_microagg.encoding._kinds import SMALLEST_CODE
from sk_microagg.files._cells import Column
from sk_microagg.files._column_kinds import column_of_text
from sk_microagg.files._date_notation import UNITS, DateNotation
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.files._number_notation import NumberNotation

PATTERNS = {"day": "%Y-%m-%d", "minute": "%Y-%m-%d %H:%M"}


def column_of_type(cells, name, format, declared, *, rounds_floats=True):
    """Recognize the kind of a column by its type.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        The column.

    name : str
        Its name.

    format : Format
        How cells of text are written, if the user says that they are numbers or dates.

    declared : Declared
        What the user says.

    rounds_floats : bool, default=True
        Whether means of floats are rounded to the decimals of the column.

    Returns
    -------
    column : Column
        The column.
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    kind = cells.type
    check_type(name, kind)
    if not len(cells.drop_null()):
        return Column(name, "empty", "all cells are missing", _categories(cells), type=kind)
    wanted = declared.kinds.get(name)
    if wanted == "category":
        return Column(name, "category", "declared as categories", _categories(cells))
    is_fit = {
        "number": pa.types.is_integer(kind) or pa.types.is_floating(kind),
        "date": pa.types.is_timestamp(kind) or pa.types.is_date(kind),
        None: True,
    }
    if not is_fit.get(wanted, False):
        return column_of_text(_text(cells), name, format, declared, is_strict=True)
    if wanted == "date" and name in declared.date_patterns:
        _refuse_pattern(name, declared.date_patterns[name], kind)
    column = _by_type(cells, name, is_declared=wanted is not None)
    if pa.types.is_floating(kind) and not rounds_floats:
        return replace(column, notation=NumberNotation())
    return column


def check_type(name, kind):
    """Raise if a column has a type that cannot be anonymized."""
    if pa.types.is_nested(kind) or "binary" in str(kind):
        text = "Column {name!r} has type {type}, which cannot be anonymized: {advice}."
        facts = {"name": name, "type": kind, "advice": (Option("drop_it", column=name),)}
        raise RequestError("type", text, name, **facts)


def _refuse_pattern(name, pattern, kind):
    """A pattern says how text is read, and would have no effect."""
    raise RequestError(
        "needless_pattern",
        "{date}: the column holds dates already, of type {type}, and no text to read by a pattern: "
        "{advice}.",
        name,
        date=Option("date", pattern, name),
        type=kind,
        advice=(Option("no_pattern", Option("date", column=name)),),
    )


def _by_type(cells, name, *, is_declared):
    kind = cells.type
    how = f"type {kind}"
    if pa.types.is_integer(kind):
        ends = pc.min_max(cells).as_py().values()
        if max(map(abs, ends)) >= SMALLEST_CODE and not is_declared:
            how = "some are integers of 2**53 or more, as codes are"
            return Column(name, "category", how, _categories(cells))
        return Column(name, "number", how, cells.to_numpy(), NumberNotation(0), kind)
    if pa.types.is_floating(kind):
        values = cells.to_numpy()
        return Column(name, "number", how, values, NumberNotation(decimals_of(values)), kind)
    if pa.types.is_decimal(kind):
        values = cells.cast(pa.float64()).to_numpy()
        return Column(name, "number", how, values, NumberNotation(kind.scale), kind)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _dates(cells, name, how)
    is_boolean = pa.types.is_boolean(kind)
    return Column(name, "boolean" if is_boolean else "category", how, _categories(cells))


def _dates(cells, name, how):
    moments = cells.cast(pa.timestamp("us", getattr(cells.type, "tz", None)), safe=False)
    microseconds = moments.cast(pa.int64()).combine_chunks()
    known = microseconds.drop_null().to_numpy()
    sizes = {unit: size // UNITS["microsecond"] for unit, size in UNITS.items()}
    unit = next(unit for unit, size in sizes.items() if not np.any(known % size))
    notation = DateNotation(unit, PATTERNS.get(unit, "%Y-%m-%d %H:%M:%S"))
    values = microseconds.to_numpy(zero_copy_only=False) / sizes[unit]
    return Column(name, "date", how, values, notation, cells.type)


def with_type(column):
    """The column with the type that its numbers or dates have in files with types.

    Parameters
    ----------
    column : Column
        The column.

    Returns
    -------
    column : Column
        The column. Numbers with a symbol, ordinals and categories remain text.
    """
    if column.type is not None or not isinstance(column.notation, NumberNotation | DateNotation):
        return column
    if column.kind == "date":
        is_day = column.notation.unit == "day"
        return replace(column, type=pa.date32() if is_day else pa.timestamp("us"))
    if column.notation.prefix or column.notation.suffix:
        return column
    return replace(column, type=pa.int64() if column.notation.decimals == 0 else pa.float64())


def cells_of_type(values, column):
    """Released numbers in the type that the column had.

    Parameters
    ----------
    values : ndarray of float
        The numbers, rounded, with NaN where one is missing.

    column : Column
        The column.

    Returns
    -------
    cells : pyarrow.Array
        The cells.
    """
    if column.kind == "date":
        size = UNITS[column.notation.unit] // UNITS["microsecond"]
        moments = pa.array(values, from_pandas=True).cast(pa.int64())
        zone = getattr(column.type, "tz", None)
        moments = pc.multiply(moments, size).cast(pa.timestamp("us", zone))
        return moments.cast(column.type)
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


def _decimals(values, kind):
    """Rounded numbers as decimals; to hundreds, say, a number may exceed its type."""
    largest = Decimal((0, (9,) * kind.precision, -kind.scale))
    digits = max(kind.scale, 0)
    cells = [None if np.isnan(value) else Decimal(f"{value:.{digits}f}") for value in values]
    cells = [cell and max(-largest, min(cell, largest)) for cell in cells]
    return pa.array(cells, kind)


def known_of_type(cells):
    """The cells of a typed column that are not missing."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    known = cells.drop_null()
    return known.filter(pc.invert(pc.is_nan(known))) if pa.types.is_floating(known.type) else known


def _text(cells):
    return pa.chunked_array([pa.array(_categories(cells), pa.string())])


def _categories(cells):
    values = np.empty(len(cells), dtype=object)
    values[:] = [None if cell is None else str(cell) for cell in cells.to_pylist()]
    return values
