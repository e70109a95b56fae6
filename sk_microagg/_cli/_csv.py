"""Tables in CSV files: all cells as text, exactly as they are in the file."""

import csv
import gzip
import io
from contextlib import contextmanager
from itertools import chain, islice, repeat

import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._header import check_header, holds_names, made_names
from sk_microagg._utils._csv import CSVError, opened_csv

ROWS_AT_A_TIME = 50_000


def read_csv(path, *, sep, is_compressed, header):
    """Read a table from a CSV file or a pipe.

    Unlike pandas, it neither fills rows that are too short nor changes duplicate names.

    Parameters
    ----------
    path : str
        The file.

    sep : str or None
        Separator of cells; None for a comma, unless that looks wrong.

    is_compressed : bool
        Whether it is a gzip file.

    header : {"check", "given", "none", "none or made"}
        What is known about its header.

    Returns
    -------
    cells : pyarrow.Table
        The cells, as text.
    """
    try:
        with opened_csv(path, sep=sep or ",", is_compressed=is_compressed) as rows:
            cells = _read_rows(rows, path, sep, header)
    except CSVError as error:
        raise CommandError(str(error)) from error
    if header == "check":
        check_header(path, cells)
    return cells


def _read_rows(rows, path, sep, header):
    n_blank, first = next(((n, row) for n, row in enumerate(rows) if row), (0, None))
    if first is None:
        raise CommandError(f"{path} is empty.")
    n_columns = len(first)
    if sep is None and n_columns == 1:
        _check_separator(path, first[0])
    # Blank lines are skipped, unless there is one column: then its cell is missing.
    records = (row or [""] for row in rows if row or n_columns == 1)
    if holds_names(first, header):
        names = first
    else:
        names = made_names(n_columns)
        records = chain(repeat([""], n_blank if n_columns == 1 else 0), [first], records)
    chunks = [[] for _ in names]
    while batch := list(islice(_of_length(n_columns, records, rows, path), ROWS_AT_A_TIME)):
        for chunk, column in zip(chunks, zip(*batch, strict=True), strict=True):
            chunk.append(pa.array(column, pa.string()))
    return pa.Table.from_arrays([pa.chunked_array(c, pa.string()) for c in chunks], names=names)


def _check_separator(path, cell):
    for other in (";", "\t"):
        if other in cell:
            # The message does not quote the cell, which may be a whole record.
            raise CommandError(
                f"{path} has one column, and {other!r} in its first row: is it --sep {other!r}? If "
                "not, say --sep ','."
            )


def _of_length(n_cells, records, rows, path):
    for record in records:
        if len(record) != n_cells:
            raise CommandError(
                f"{path}, line {rows.line_num}: a row has {len(record)} cells, but the first row "
                f"has {n_cells}."
            )
        yield record


def write_csv(cells, path, *, sep, is_compressed):
    """Write a CSV file; nulls and NaN are empty cells.

    Parameters
    ----------
    cells : pyarrow.Table
        The table.

    path : path
        The file.

    sep : str or None
        Separator of cells; None for a comma.

    is_compressed : bool
        Whether to write a gzip file.
    """
    columns = [_without_nan(column) for column in cells.columns]
    cells = pa.Table.from_arrays(columns, names=cells.column_names)
    # Before Python 3.13, the csv module does not quote carriage returns.
    quoting = csv.QUOTE_ALL if _has_carriage_return(cells) else csv.QUOTE_MINIMAL
    with _opened(path, is_compressed) as file:
        writer = csv.writer(file, delimiter=sep or ",", lineterminator="\n", quoting=quoting)
        writer.writerow(cells.column_names)
        for batch in cells.to_batches(max_chunksize=ROWS_AT_A_TIME):
            columns = [column.to_pylist() for column in batch.columns]
            writer.writerows(zip(*columns, strict=True))


def _without_nan(column):
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _has_carriage_return(cells):
    return any("\r" in name for name in cells.column_names) or any(
        pc.any(pc.match_substring(column, "\r")).as_py()
        for column in cells.columns
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    )


@contextmanager
def _opened(path, is_compressed):
    with open(path, "wb") as binary:
        if is_compressed:
            # Without name and time, so that the same release has the same bytes.
            with (
                gzip.GzipFile("", "wb", fileobj=binary, mtime=0) as compressed,
                io.TextIOWrapper(compressed, encoding="utf-8", newline="") as file,
            ):
                yield file
        else:
            with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
                yield file
