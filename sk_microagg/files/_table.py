"""Tables in files: the cells as they are, and their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sk_microagg._utils._writing import released_file
from sk_microagg.files._cells import Column, without_missing
from sk_microagg.files._column_kinds import column_of_text, column_of_type
from sk_microagg.files._csv_files import read_csv, write_csv
from sk_microagg.files._declared import Declared
from sk_microagg.files._excel_files import read_xlsx, write_xlsx
from sk_microagg.files._format import (
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
from sk_microagg.files._messages import Option, RequestError, one_line
from sk_microagg.files._written import (
    known_of_type,
    with_type,
    without_unused_categories,
    written_columns,
)


@dataclass(frozen=True)
class Table:
    """A table as it was read."""

    cells: pa.Table
    is_text: bool
    format: Format = field(default_factory=Format)
    style: FileStyle = field(default_factory=FileStyle)

    def columns(
        self, names: list[str], declared: Declared | None = None, *, is_strict: bool = False
    ) -> list[Column]:
        """Some columns, with their kinds and values; if it is strict, raise if one is not clear."""
        declared = declared or Declared()
        return [
            column_of_text(self.cells[name], name, self.format, declared, is_strict=is_strict)
            if self._is_parsed(name)
            # Parquet tables have the same release on Dask, where decimals are not known.
            else column_of_type(
                self.cells[name], name, self.format, declared, rounds_floats=self.is_text
            )
            for name in names
        ]

    def values(
        self, names: list[str], declared: Declared | None = None, *, is_strict: bool = False
    ) -> pd.DataFrame:
        """Numbers, also of dates and ordinals, with NaN where one is missing, or text."""
        columns = self.columns(names, declared, is_strict=is_strict)
        return pd.DataFrame({c.name: c.numbers if c.notation else c.values for c in columns})

    def as_text(self, columns: list[str]) -> pd.DataFrame:
        """The cells of some columns as text without spaces around it, None for missing values."""
        text = {}
        for name, cells in zip(columns, self.cells.select(columns), strict=True):
            cells = self._without_missing(name) if self._is_parsed(name) else cells
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
        """The texts of a column, null where they are missing."""
        return without_missing(self.cells[name], self.format.missing)


def read_table(path: str, format: Format | None = None) -> Table:
    """Read a CSV, Excel or Parquet file with at least one row and different names of columns."""
    format = format or Format()
    check_exists(path)
    suffix = suffix_of_input(path)
    style = FileStyle()
    name = name_of_input(path)
    try:
        if suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                cells = file.read()
        elif suffix == ".xlsx":
            cells, style = read_xlsx(path, format)
        else:
            cells, style = read_csv(path, format, **_csv_settings(suffix, format))
    except OSError as error:
        raise cannot_read(name, error) from error
    except pa.ArrowException as error:
        text = "{path} is not a Parquet file: {why}"
        raise RequestError("no_parquet", text, path=name, why=one_line(error)) from error
    for column, n_times in Counter(cells.column_names).items():
        if n_times > 1:
            text = "{path} has {n_times} columns named {name!r}: names of columns must differ."
            facts = {"path": name, "n_times": n_times, "name": column}
            raise RequestError("same_names", text, column, **facts)
    if 0 in cells.shape:
        raise RequestError("no_records", "{path} has no records.", path=name)
    return Table(cells, suffix != ".parquet", format, style)


def write_table(
    cells: pa.Table,
    path: str,
    format: Format | None = None,
    style: FileStyle | None = None,
    readers_of: str | None = None,
    commit: Callable[[Path], None] | None = None,
) -> None:
    """Write a table, whose suffix determines the format; it appears when it is complete.

    Those who cannot read another file, if one is named, cannot read the table. `commit` is called
    with the complete draft, before that is renamed.
    """
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
