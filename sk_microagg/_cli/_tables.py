"""Tables in files: the cells as they are, and their values."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sk_microagg._cli._csv import read_csv, write_csv
from sk_microagg._cli._errors import CommandError, one_line, reason
from sk_microagg._cli._paths import check_exists, suffix_of, suffix_of_input
from sk_microagg._cli._values import (
    known_of_type,
    known_text,
    values_of_text,
    values_of_type,
    without_missing,
)
from sk_microagg._utils._files import released_file


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes
    ----------
    cells : pyarrow.Table
        The cells as they are in the file, for columns that are released unchanged.

    is_text : bool
        Whether cells are text that has to be parsed.
    """

    cells: pa.Table
    is_text: bool

    def values(self, columns):
        """Values of the cells of some columns.

        Parameters
        ----------
        columns : list of str
            Their names.

        Returns
        -------
        values : pandas.DataFrame
            Numbers, with NaN where one is missing, or text.
        """
        values_of = values_of_text if self.is_text else values_of_type
        return pd.DataFrame({name: values_of(self.cells[name], name) for name in columns})

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
            cells = (without_missing(cells) if self.is_text else cells).to_pylist()
            text[name] = [None if cell is None else str(cell) for cell in cells]
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
        return (known_text if self.is_text else known_of_type)(self.cells[name])

    def with_released(self, release, kept):
        """The kept columns of the table, with released cells in some of them.

        Parameters
        ----------
        release : pandas.DataFrame
            The released cells, under the names of their columns.

        kept : list of str
            Names of the columns to keep.

        Returns
        -------
        cells : pyarrow.Table
            The table.
        """
        cells = self.cells.select(kept)
        for place, name in enumerate(kept):
            if name in release:
                cells = cells.set_column(place, name, pa.array(release[name]))
        # Metadata may be true of the original only, or disclose what was dropped.
        fields = [field.remove_metadata() for field in cells.schema]
        columns = [_without_unused_categories(column) for column in cells.columns]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def read_table(path, sep, header="check"):
    """Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : str
        The file.

    sep : str or None
        Separator of the cells of a .csv file.

    header : {"check", "given", "none", "none or made"}, default="check"
        What is known about the header of a CSV file.

    Returns
    -------
    table : Table
        The table, which has at least one row and different names of columns.
    """
    check_exists(path)
    suffix = suffix_of_input(path)
    try:
        if suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                cells = file.read()
        else:
            cells = read_csv(path, **_csv_settings(suffix, sep), header=header)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {reason(error)}.") from error
    except pa.ArrowException as error:
        raise CommandError(f"{path} is not a Parquet file: {one_line(error)}") from error
    for name, n_times in Counter(cells.column_names).items():
        if n_times > 1:
            raise CommandError(f"{path} has {n_times} columns named {name!r}.")
    if 0 in cells.shape:
        raise CommandError(f"{path} has no records.")
    return Table(cells, suffix != ".parquet")


def write_table(cells, path, sep, readers_of=None):
    """Write a table; the file appears only when it is complete.

    Parameters
    ----------
    cells : pyarrow.Table
        The table.

    path : str
        The file. Its suffix determines the format.

    sep : str or None
        Separator of the cells of a .csv file.

    readers_of : str or None
        Another file: those who cannot read it cannot read the table.
    """
    suffix = suffix_of(path)
    try:
        with released_file(path, readers_of) as draft:
            if suffix == ".parquet":
                pq.write_table(cells, draft)
            else:
                write_csv(cells, draft, **_csv_settings(suffix, sep))
    except (OSError, pa.ArrowException) as error:
        raise CommandError(f"{path} cannot be written: {reason(error)}.") from error


def _without_unused_categories(column):
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


def _csv_settings(suffix, sep):
    is_compressed = suffix.endswith(".gz")
    return {"sep": "\t" if suffix.startswith(".tsv") else sep, "is_compressed": is_compressed}
