"""CSV files: all cells as text, just as they are in the file."""

import csv
import gzip
import io
import zlib
from contextlib import contextmanager
from itertools import chain, islice, repeat

import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._header import check_header, holds_names, made_names

ROWS_AT_A_TIME = 50_000
BYTES_TO_LOOK_AT = 65_536


def read_csv(path, *, sep, is_compressed, header):
    """Read a CSV file, or what comes out of a pipe.

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

    header : {"check", "given", "none", "none or made"}
        What is known of its header.

    Returns
    -------
    cells : pyarrow.Table
        The cells, as text.
    """
    try:
        # Opened once: a pipe does not give its bytes a second time.
        with (
            open(path, "rb", buffering=BYTES_TO_LOOK_AT) as binary,
            gzip.GzipFile(fileobj=binary) if is_compressed else binary as file,
        ):
            if b"\0" in file.peek(BYTES_TO_LOOK_AT):
                raise CommandError(f"{path} is not a CSV file: it holds binary data.")
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            rows = csv.reader(text, delimiter=sep or ",", strict=True)
            try:
                cells = _read_rows(rows, path, sep, header)
            except csv.Error as error:
                raise CommandError(f"{path}, line {rows.line_num}: {error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not text in UTF-8: {error.reason}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CommandError(f"{path} is not a whole gzip file: {error}.") from error
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
    # Blank lines say nothing, unless there is one column: then its cell is missing.
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
            # The cell is not told: it may be a whole record.
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
