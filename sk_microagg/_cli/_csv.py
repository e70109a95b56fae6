"""CSV files: all cells as text, just as they are in the file."""

import csv
import gzip
import io
import zlib
from contextlib import contextmanager
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._cli._errors import CommandError

ROWS_AT_A_TIME = 50_000
BYTES_TO_LOOK_AT = 65_536


def read_csv(path, *, sep, is_compressed):
    """Read a CSV file.

    The csv module reads it, since pandas fills rows that are too short, and mends names that occur
    twice.

    Parameters
    ----------
    path : str
        The file.

    sep : str or None
        What separates cells; None for a comma, unless that looks wrong.

    is_compressed : bool
        Whether it is a gzip file.

    Returns
    -------
    cells : pyarrow.Table
        The cells, as text.
    """
    open_file = gzip.open if is_compressed else open
    try:
        with open_file(path, "rb") as file:
            if b"\0" in file.read(BYTES_TO_LOOK_AT):
                raise CommandError(f"{path} is not a CSV file: it holds binary data.")
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=sep or ",", strict=True)
            try:
                return _read_rows(rows, path, sep)
            except csv.Error as error:
                raise CommandError(f"{path}, line {rows.line_num}: {error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not text in UTF-8: {error.reason}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CommandError(f"{path} is not a whole gzip file: {error}.") from error


def _read_rows(rows, path, sep):
    names = next((row for row in rows if row), None)
    if names is None:
        raise CommandError(f"{path} is empty.")
    # Blank lines say nothing, unless there is one column: then its cell is missing.
    records = (row or [""] for row in rows if row or len(names) == 1)
    if sep is None and len(names) == 1:
        _check_separator(path, names[0])
    chunks = [[] for _ in names]
    while batch := list(islice(_of_length(len(names), records, rows, path), ROWS_AT_A_TIME)):
        for chunk, column in zip(chunks, zip(*batch, strict=True), strict=True):
            chunk.append(pa.array(column, pa.string()))
    return pa.Table.from_arrays([pa.chunked_array(c, pa.string()) for c in chunks], names=names)


def _check_separator(path, header):
    for other in (";", "\t"):
        if other in header:
            raise CommandError(
                f"{path} has one column, {header!r}: is it --sep {other!r}? If not, say --sep ','."
            )


def _of_length(n_cells, records, rows, path):
    for record in records:
        if len(record) != n_cells:
            raise CommandError(
                f"{path}, line {rows.line_num}: a row has {len(record)} cells, but the header has "
                f"{n_cells}."
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
        What separates cells; None for a comma.

    is_compressed : bool
        Whether it is to be a gzip file.
    """
    columns = [_without_nan(column) for column in cells.columns]
    cells = pa.Table.from_arrays(columns, names=cells.column_names)
    # Before Python 3.13, the csv module does not see that a carriage return needs quotes.
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
            # Neither name nor time in the file: the same release is the same bytes.
            with (
                gzip.GzipFile("", "wb", fileobj=binary, mtime=0) as compressed,
                io.TextIOWrapper(compressed, encoding="utf-8", newline="") as file,
            ):
                yield file
        else:
            with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
                yield file
