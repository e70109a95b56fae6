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
from sk_microagg._utils._writing import released_file
from sk_microagg.files._column_kinds import DECLARED, column_of_text, column_of_type
from sk_microagg.files._columns import (
    Column,
    plain_type,
    plain_values,
    texts_of,
    without_missing,
    without_nan,
)
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
from sk_microagg.files._notations import NumberNotation

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
        if self.is_parsed(name):
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

    def present(self, name: str) -> pa.ChunkedArray:
        """The cells of a column, null where one is missing; text without spaces around it."""
        cells = self.cells[name]
        if self.is_parsed(name):
            return without_missing(cells, self.format.missing_in(name))
        return without_nan(cells.cast(plain_type(cells)))

    def known(self, name: str) -> pa.ChunkedArray:
        """The cells of a column that are not missing."""
        return self.present(name).drop_null()

    def as_text(self, columns: list[str]) -> pd.DataFrame:
        """The cells of some columns as text without spaces around it, None for missing values."""
        text = {name: texts_of(self.present(name)) for name in columns}
        return pd.DataFrame(text, index=range(self.cells.num_rows), dtype=object)

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
                column = anonymized[name]
                was_text = self.is_parsed(name) or column.cells.type != plain_type(cells)
                about, is_text = (release[name], column, self.format), was_text and not has_types
                written = written_columns(*about, is_text=is_text, are_values=are_values)
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

    def is_parsed(self, name: str) -> bool:
        """Whether the values of a column are found from its texts."""
        return self.is_text and pa.types.is_string(self.cells[name].type)


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
    release: pa.Table, column: Column, format: Format, *, is_text: bool, are_values: bool
) -> dict:
    """What is released for a column, or its shares, as written; categories as in the original."""
    if column.notation is not None:
        return {column.name: written_cells(release[column.name], column, is_text=is_text)}
    written = {}
    for name, cells in zip(release.column_names, release.columns, strict=True):
        if pa.types.is_floating(cells.type):
            shares = np.round(cells.to_numpy(), DECIMALS_OF_SHARES)
            notation = NumberNotation(DECIMALS_OF_SHARES, decimal=format.decimal)
            written[name] = _text_of(shares, notation.text) if is_text else pa.array(shares)
        elif are_values and not pa.types.is_string(column.cells.type):
            written[name] = _cells_of_categories(column, cells)
        else:
            written[name] = cells
    return written


def written_cells(cells: pa.ChunkedArray, column: Column, *, is_text: bool) -> Any:
    """Released cells as text or in their type."""
    if pa.types.is_dictionary(cells.type):
        return cells.cast(pa.string())
    if pa.types.is_string(cells.type):  # intervals
        return cells
    if is_text:
        values = plain_values(cells)
        numbers = column.notation.numbers(values) if column.kind == "date" else values
        return _text_of(numbers, column.notation.text)
    is_decimal = pa.types.is_decimal(column.cells.type)
    if is_decimal and column.notation.decimals <= column.cells.type.scale:
        return _decimals(cells.to_numpy(), column.cells.type)
    return cells


def _text_of(values: Any, write: Callable) -> pa.Array:
    """Each value as it is written, null where it is missing."""
    codes, unique = pd.factorize(values)
    texts = np.array([*map(write, unique), None], dtype=object)
    return pa.array(texts[codes], pa.string())


def _decimals(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Rounded numbers as decimals; to hundreds, say, a number may exceed its type."""
    largest = Decimal((0, (9,) * kind.precision, -kind.scale))
    digits = max(kind.scale, 0)
    cells = [None if np.isnan(value) else Decimal(f"{value:.{digits}f}") for value in values]
    cells = [cell and max(-largest, min(cell, largest)) for cell in cells]
    return pa.array(cells, kind)


def _cells_of_categories(column: Column, released: pa.ChunkedArray) -> pa.Array:
    """Released categories in the type of their column: original cells with the same text."""
    places = pc.index_in(released, pa.array(column.values, pa.string()), skip_nulls=True)
    return without_unused_categories(column.cells.unify_dictionaries().take(places))


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
