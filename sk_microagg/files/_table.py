"""Tables in files: the cells as they are, and their values."""

from collections import Counter
from dataclasses import dataclass, field

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sk_microagg._utils._writing import released_file
from sk_microagg.files._cells import without_missing
from sk_microagg.files._column_kinds import column_of_text
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
from sk_microagg.files._typed_columns import column_of_type, known_of_type, with_type
from sk_microagg.files._written import without_unused_categories, written_columns


@dataclass(frozen=True)
class Table:
    """A table as it was read."""

    cells: pa.Table
    is_text: bool
    format: Format = field(default_factory=Format)
    style: FileStyle = field(default_factory=FileStyle)

    def columns(self, names, declared=None, *, is_strict=False):
        """Recognize the kinds of some columns.

        Parameters
        ----------
        names : list of str
            Their names.

        declared : Declared or None, default=None
            What the user says about them.

        is_strict : bool, default=False
            Whether to raise if a kind is not clear.

        Returns
        -------
        columns : list of Column
            The columns, with their values.
        """
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

    def values(self, names, declared=None, *, is_strict=False):
        """Values of the cells of columns as `columns` has them, in a pandas DataFrame.

        They are numbers, with NaN where one is missing, or text.
        """
        columns = self.columns(names, declared, is_strict=is_strict)
        return pd.DataFrame({column.name: column.values for column in columns})

    def as_text(self, columns):
        """The cells of some columns as text, whatever their values.

        Parameters
        ----------
        columns : list of str
            Their names.

        Returns
        -------
        text : pandas.DataFrame
            Text without spaces around it, and None for missing values.
        """
        text = {}
        for name, cells in zip(columns, self.cells.select(columns), strict=True):
            cells = self._without_missing(name) if self._is_parsed(name) else cells
            text[name] = [None if cell is None else str(cell) for cell in cells.to_pylist()]
        return pd.DataFrame(text, index=range(self.cells.num_rows), dtype=object)

    def known(self, name):
        """The cells of a column that are not missing.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        cells : pyarrow.ChunkedArray
            The cells, as text without spaces around it if they are text.
        """
        if self._is_parsed(name):
            return self._without_missing(name).drop_null()
        return known_of_type(self.cells[name])

    def with_released(self, release, columns, kept, *, has_types=False, are_values=False):
        """The kept columns of the table, with released cells in some of them.

        Parameters
        ----------
        release : dict
            For each of the columns that has a known value, by its name, a DataFrame of what is
            released instead.

        columns : list of Column
            The columns.

        kept : list of str
            Names of the columns to keep.

        has_types : bool, default=False
            Whether numbers and dates of columns of text are released as such, and not as text.

        are_values : bool, default=False
            Whether released categories are values of their columns, which keep their types then.

        Returns
        -------
        cells : pyarrow.Table
            The table.
        """
        fields, arrays = [], []
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

    def _is_parsed(self, name):
        return self.is_text and pa.types.is_string(self.cells[name].type)

    def _without_missing(self, name):
        return without_missing(self.cells[name], self.format.missing)


def read_table(path, format=None):
    """Read a table from a CSV, Excel or Parquet file.

    Parameters
    ----------
    path : str
        The file.

    format : Format or None, default=None
        How it is written; None for the usual format.

    Returns
    -------
    table : Table
        The table, which has at least one row and different names of columns.
    """
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


def write_table(cells, path, format=None, style=None, readers_of=None):
    """Write a table; the file appears only when it is complete.

    Parameters
    ----------
    cells : pyarrow.Table
        The table.

    path : str
        The file. Its suffix determines the format.

    format : Format or None, default=None
        How text is written; None for the usual format.

    style : FileStyle or None, default=None
        How the file is written; None for the usual style.

    readers_of : str or None, default=None
        Another file: those who cannot read it cannot read the table.
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


def _csv_settings(suffix, format):
    is_compressed = suffix.endswith(".gz")
    sep = "\t" if suffix.startswith(".tsv") else format.sep
    return {"sep": sep, "is_compressed": is_compressed}
