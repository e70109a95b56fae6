"""Tables in files: the cells as they are, their values, and released ones as they are written."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sk_microagg._utils._places import POSITIONS, RowNames
from sk_microagg._utils._tables import MISSING
from sk_microagg._utils._writing import released_file
from sk_microagg.files._column_kinds import DECLARED, column_of_text, column_of_type
from sk_microagg.files._csv_files import read_csv, write_csv
from sk_microagg.files._excel_files import read_xlsx, write_xlsx
from sk_microagg.files._format import (
    Contents,
    Declared,
    FileStyle,
    Format,
    cannot_read,
    cannot_write,
    check_exists,
    is_standard,
    name_of_input,
    suffix_of,
    suffix_of_input,
)
from sk_microagg.files._messages import Message, Option, RequestError, one_line, raise_together
from sk_microagg.files._notations import Column, NumberNotation, OrdinalNotation, without_missing

# Further digits tell of rounding errors only, even of groups of a thousand records.
DECIMALS_OF_SHARES = 6


@dataclass(frozen=True)
class Table:
    """A table as it was read."""

    cells: pa.Table
    is_text: bool
    format: Format = field(default_factory=Format)
    style: FileStyle = field(default_factory=FileStyle)
    rows: RowNames = POSITIONS
    doubts: tuple[Message, ...] = ()

    def columns(
        self, names: list[str], declared: Declared | None = None, *, is_strict: bool = False
    ) -> list[Column]:
        """Some columns, with their kinds and values; if it is strict, raise if some are not clear.

        What is wrong is said of all of them at once.
        """
        columns, errors = [], []
        for name in names:
            try:
                columns.append(self._column(name, declared or Declared(), is_strict=is_strict))
            except RequestError as error:
                errors.append(error)
        raise_together(errors)
        return columns

    def _column(self, name: str, declared: Declared, *, is_strict: bool) -> Column:
        about: Any = (self.cells[name], name, self.format, declared)
        if self._is_parsed(name):
            return column_of_text(*about, is_strict=is_strict, rows=self.rows)
        # Parquet tables have the same release on Dask, where decimals are not known.
        return column_of_type(*about, rounds_floats=self.is_text, rows=self.rows)

    def take(self, places: np.ndarray) -> "Table":
        """Some rows of the table, which keep their names."""
        return replace(self, cells=self.cells.take(places), rows=self.rows.take(places))

    def values(
        self, names: list[str], declared: Declared | None = None, *, is_strict: bool = False
    ) -> pd.DataFrame:
        """Numbers, also of dates and ordinals, with NaN where one is missing, or text."""
        return values_of(self.columns(names, declared, is_strict=is_strict))

    def as_text(self, columns: list[str]) -> pd.DataFrame:
        """The cells of some columns as text without spaces around it, None for missing values."""
        text = {}
        for name, cells in zip(columns, self.cells.select(columns), strict=True):
            cells = self._without_missing(name) if self._is_parsed(name) else without_nan(cells)
            text[name] = [None if cell is None else str(cell) for cell in cells.to_pylist()]
        return pd.DataFrame(text, index=range(self.cells.num_rows), dtype=object)

    def known(self, name: str) -> pa.ChunkedArray:
        """The cells of a column that are not missing; text without spaces around it."""
        if self._is_parsed(name):
            return self._without_missing(name).drop_null()
        return known_of_type(self.cells[name])

    def with_released(
        self,
        release: dict,
        columns: list[Column],
        kept: list[str],
        *,
        has_types: bool = False,
        are_values: bool = False,
    ) -> pa.Table:
        """The kept columns, with released cells in those whose names `release` maps to tables.

        If it has types, numbers and dates of columns of text are released as such. If released
        categories are values of their columns, these keep their types.
        """
        fields: list[pa.Field] = []
        arrays: list[pa.Array] = []
        anonymized = {column.name: column for column in columns}
        for name in kept:
            cells = self.cells[name]
            if name not in anonymized:
                fields.append(self.cells.field(name).remove_metadata())
                arrays.append(without_unused_categories(cells))
            elif name not in release:
                fields.append(pa.field(name, cells.type))
                arrays.append(pa.nulls(len(cells), cells.type))
            else:
                column = with_type(anonymized[name]) if has_types else anonymized[name]
                is_text = self._is_parsed(name) and not has_types
                original = None if self._is_parsed(name) or not are_values else cells
                written = written_columns(release[name], column, self.format, is_text, original)
                fields += [pa.field(part, cells.type) for part, cells in written.items()]
                arrays += written.values()
        names = [field.name for field in fields]
        for name, n_times in Counter(names).items():
            if n_times > 1:
                text = (
                    "{categories} makes a column named {name!r}, and there is another one: rename "
                    "that."
                )
                shares = Option("categories", "shares")
                raise RequestError("name_of_share", text, name, name=name, categories=shares)
        # Metadata may be true of the original only, or disclose what was dropped.
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def _is_parsed(self, name: str) -> bool:
        """Whether the values of a column are found from its texts."""
        return self.is_text and pa.types.is_string(self.cells[name].type)

    def _without_missing(self, name: str) -> pa.ChunkedArray:
        return without_missing(self.cells[name], self.format.missing_in(name))


def values_of(columns: Sequence[Column]) -> pd.DataFrame:
    """Numbers, also of dates and ordinals, with NaN where one is missing, or text."""
    return pd.DataFrame({c.name: c.numbers if c.notation else c.values for c in columns})


def read_as(old: Column, table: Table) -> Column:
    """A column of a release as the kind that it has in the original, or as it is recognized."""
    for declared in declared_by(old):
        with suppress(RequestError):
            return table.columns([old.name], declared, is_strict=True)[0]
    return table.columns([old.name])[0]


def declared_by(old: Column) -> list[Declared]:
    """What a column of an original says about the released one, maybe in two ways."""
    if old.kind not in DECLARED:
        return []
    said = Declared(kinds={old.name: old.kind})
    if old.kind == "ordinal":
        return [replace(said, orders={old.name: old.notation.levels})]
    if old.kind == "date":
        # A pattern cannot be read by itself if there are time zones, or if the release has types.
        return [replace(said, date_patterns={old.name: old.notation.pattern}), said]
    return [said]


def read_table(path: str, format: Format | None = None) -> Table:
    """Read a CSV, Excel or Parquet file with at least one row and different names of columns."""
    format = format or Format()
    check_exists(path)
    suffix = suffix_of_input(path)
    name = name_of_input(path)
    try:
        if suffix == ".parquet":
            cells = _read_parquet(path)
            found = Contents(cells, FileStyle(), RowNames("in row", range(1, len(cells) + 1)))
        elif suffix == ".xlsx":
            found = read_xlsx(path, format)
        else:
            found = read_csv(path, format, **_csv_settings(suffix, format))
    except OSError as error:
        raise cannot_read(name, error) from error
    except pa.ArrowException as error:
        text = "{path} is not a Parquet file: {why}"
        raise RequestError("no_parquet", text, path=name, why=one_line(error)) from error
    cells = found.cells
    for column, n_times in Counter(cells.column_names).items():
        if n_times > 1:
            text = "{path} has {n_times} columns named {name!r}: names of columns must differ."
            facts = {"path": name, "n_times": n_times, "name": column}
            raise RequestError("same_names", text, column, **facts)
    if 0 in cells.shape:
        raise RequestError("no_records", "{path} has no records.", path=name)
    return Table(cells, suffix != ".parquet", format, found.style, found.rows, found.doubts)


def _read_parquet(path: str) -> pa.Table:
    """The cells of a Parquet file, or of the files in a folder one after the other."""
    if Path(path).is_dir():
        return pq.read_table(path)
    with pq.ParquetFile(path) as file:
        return file.read()


def write_table(
    cells: pa.Table,
    path: str,
    format: Format | None = None,
    style: FileStyle | None = None,
    readers_of: str | None = None,
    commit: Callable[[Path], None] | None = None,
) -> None:
    """Write a complete table, for readers of another file; `commit` gets the draft before that."""
    format, style = format or Format(), style or FileStyle()
    suffix = suffix_of(path)
    settings = _csv_settings(suffix, format)
    try:
        if is_standard(path):
            write_csv(cells, path, format.encoding, style, **settings)
            return
        with released_file(path, readers_of) as draft:
            if suffix == ".parquet":
                pq.write_table(cells, draft)
            elif suffix == ".xlsx":
                write_xlsx(cells, draft, style)
            else:
                write_csv(cells, draft, format.encoding, style, **settings)
            if commit is not None:
                commit(draft)
    except UnicodeEncodeError as error:
        text = (
            "{path} cannot be written in {encoding}, which lacks a character of the release: name "
            "another one by {parameter}."
        )
        facts = {"encoding": format.encoding, "parameter": Option("encoding")}
        raise RequestError("lacks_character", text, path=path, **facts) from error
    except BrokenPipeError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise cannot_write(path, error) from error


def _csv_settings(suffix: str, format: Format) -> dict[str, Any]:
    """How a CSV file is separated and compressed, by its suffix."""
    is_compressed = suffix.endswith(".gz")
    sep = "\t" if suffix.startswith(".tsv") else format.sep
    return {"sep": sep, "is_compressed": is_compressed}


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
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return without_nan(cells).drop_null()


def without_nan(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells with null instead of NaN: both are missing."""
    if not pa.types.is_floating(cells.type):
        return cells
    return pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)


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
