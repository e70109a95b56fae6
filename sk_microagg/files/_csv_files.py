"""Tables in CSV files: all cells as text, exactly as they are in the file."""

import csv
import gzip
import io
import re
import sys
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from sk_microagg._utils._csv import CSVError, EncodingError, opened_csv
from sk_microagg._utils._places import RowNames, cells_in_words, in_rows
from sk_microagg.files._format import (
    Contents,
    FileStyle,
    Format,
    is_file,
    is_standard,
    name_of_input,
)
from sk_microagg.files._messages import Message, Option, RequestError, one_line

ROWS_AT_A_TIME = 50_000

# With quotes or zero bytes, pyarrow may read other cells, and it skips blank lines silently.
NOT_FOR_ARROW = b'"', b"\0", b"\n\n", b"\n\r", b"\r\r"

MADE_NAME = re.compile(r"c([1-9]\d*)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT")


def read_csv(path: str, format: Format, *, sep: str | None, is_compressed: bool) -> Contents:
    """Read a CSV file, a pipe or standard input: the cells as text, and how lines are written.

    Unlike pandas, it neither fills rows that are too short nor changes duplicate names. Without a
    separator, it is a comma, unless that looks wrong.
    """
    source = sys.stdin.buffer if is_standard(path) else path
    path = name_of_input(path)
    try:
        with opened_csv(
            source, sep=sep or ",", is_compressed=is_compressed, encoding=format.encoding
        ) as rows:
            is_plain = not is_compressed and format.encoding == "utf-8" and is_file(path)
            cells, numbers = _read_rows(rows, path, sep, format.header, is_plain=is_plain)
    except EncodingError as error:
        text = "{why} Name its encoding by {parameter}, such as latin-1, cp1252 or utf-16."
        if format.encoding != Format.encoding:
            text = "{why} Name another encoding by {parameter}, or leave it out for utf-8."
        parameter = Option("encoding")
        raise RequestError("encoding", text, why=one_line(error), parameter=parameter) from error
    except CSVError as error:
        raise RequestError("no_csv", "{why}", why=str(error)) from error
    lines = RowNames("in line", numbers)
    doubts = check_header(path, cells, lines) if format.header == "check" else ()
    return Contents(cells, FileStyle(rows.has_mark, rows.line_end), lines, doubts)


def _read_rows(
    rows: Any, path: str, sep: str | None, header: str, *, is_plain: bool
) -> tuple[pa.Table, Sequence[int]]:
    """The cells of all rows, which have as many as there are names, and the lines of these rows."""
    records = _numbered(rows)
    line, first = next(records, (1, None))
    if first is None:
        raise RequestError("empty_file", "{path} is empty.", path=path)
    n_columns = len(first)
    if sep is None and n_columns == 1:
        _check_separator(path, first[0])
    has_names = holds_names(first, header)
    if has_names:
        names = first
        while names[-2:] == ["", ""]:  # One column without a name is a column; several end lines.
            names.pop()
    else:
        names = made_names(n_columns)
        records = chain([(line, first)], records)
    if is_plain and len(names) == n_columns:
        cells = _read_by_arrow(path, sep or ",", n_columns)
        if cells is not None:
            lines = range(1 + has_names, 1 + len(cells))
            return cells.slice(has_names).rename_columns(names), lines
    chunks: list[list[pa.Array]] = [[] for _ in names]
    numbers = array("q")
    complete = _of_length(names, records, numbers, path)
    while batch := list(islice(complete, ROWS_AT_A_TIME)):
        for chunk, column in zip(chunks, zip(*batch, strict=True), strict=True):
            chunk.append(pa.array(column, pa.string()))
    columns = [pa.chunked_array(chunk, pa.string()) for chunk in chunks]
    return pa.Table.from_arrays(columns, names=names), numbers


def _numbered(rows: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line in which it begins."""
    line = 1
    for row in rows:
        # The only cell of a record that is missing is written as "".
        if row:
            yield line, row
        line = rows.line_num + 1


def _read_by_arrow(path: str, sep: str, n_columns: int) -> pa.Table | None:
    """The cells of all rows, as pyarrow reads them many times faster; None if it may differ.

    It does not say in which lines rows are, which is clear only if there are no blank ones.
    """
    with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        if any(content.find(mark) >= 0 for mark in NOT_FOR_ARROW):
            return None
        if content[:4].removeprefix(BOM_UTF8).startswith((b"\r", b"\n")):
            return None
    names = made_names(n_columns)
    try:
        with open(path, "rb") as file:  # Arrow cannot open a name that is not Unicode.
            return arrow_csv.read_csv(
                file,
                arrow_csv.ReadOptions(column_names=names),
                arrow_csv.ParseOptions(delimiter=sep, quote_char=False),
                arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
    except pa.ArrowInvalid:
        return None


def _check_separator(path: str, cell: str) -> None:
    """Raise if the only cell of the first row has another separator in it."""
    for other in (";", "\t", "|"):
        if other in cell:
            # The message does not quote the cell, which may be a whole record.
            text = (
                "{path} has one column, and {found!r} in its first row: is it {sep}? If not, say "
                "{comma}."
            )
            facts = {"sep": Option("sep", other), "comma": Option("sep", ",")}
            raise RequestError("separator", text, path=path, found=other, **facts)


def _of_length(
    names: list[str], records: Iterable[tuple[int, list[str]]], lines: Any, path: str
) -> Iterator[list[str]]:
    """The records, with as many cells as names: some programs end rows with separators.

    The lines are noted. If records have other numbers of cells, raise after the last one.
    """
    n_cells = len(names)
    n_named = next((n for n in range(n_cells, 0, -1) if names[n - 1]), n_cells)
    ragged = []
    for line, record in records:
        lines.append(line)
        if len(record) != n_cells:
            if len(record) < n_named or any(record[n_cells:]):
                ragged.append(len(lines) - 1)
            record = (record + [""] * n_cells)[:n_cells]
        yield record
    if ragged:
        more = f"more or fewer cells than the first row, which has {n_cells}"
        what = f"has {more}", f"have {more}"
        found = cells_in_words(ragged, len(lines), what, RowNames("in line", lines), "row")
        raise RequestError("ragged_rows", "{path}: {found}.", path=path, found=found)


def write_csv(
    cells: pa.Table,
    path: str | Path,
    encoding: str,
    style: FileStyle,
    *,
    sep: str | None,
    is_compressed: bool,
) -> None:
    """Write a CSV file, or standard output; nulls and NaN are empty cells."""
    columns = [_without_nan(column) for column in cells.columns]
    cells = pa.Table.from_arrays(columns, names=cells.column_names)
    # Before Python 3.13, the csv module does not quote carriage returns.
    quoting: Any = csv.QUOTE_ALL if _has_carriage_return(cells) else csv.QUOTE_MINIMAL
    if style.has_mark and encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    with _opened(path, is_compressed, encoding) as file:
        writer = csv.writer(
            file, delimiter=sep or ",", lineterminator=style.line_end, quoting=quoting
        )
        writer.writerow(cells.column_names)
        for batch in cells.to_batches(max_chunksize=ROWS_AT_A_TIME):
            columns = [column.to_pylist() for column in batch.columns]
            writer.writerows(zip(*columns, strict=True))


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _has_carriage_return(cells: pa.Table) -> bool:
    return any("\r" in name for name in cells.column_names) or any(
        pc.any(pc.match_substring(column, "\r")).as_py()
        for column in cells.columns
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    )


@contextmanager
def _opened(path: str | Path, is_compressed: bool, encoding: str) -> Iterator[io.TextIOWrapper]:
    if is_standard(path):
        sys.stdout.flush()
        file = io.TextIOWrapper(sys.stdout.buffer, encoding=encoding, newline="")
        try:
            yield file
            file.flush()
        finally:
            file.detach()
        return
    with open(path, "wb") as binary:
        if is_compressed:
            # Without name and time, so that the same release has the same bytes.
            with (
                gzip.GzipFile("", "wb", fileobj=binary, mtime=0) as compressed,
                io.TextIOWrapper(compressed, encoding=encoding, newline="") as file,
            ):
                yield file
        else:
            with io.TextIOWrapper(binary, encoding=encoding, newline="") as file:
                yield file


def made_names(n_columns: int) -> list[str]:
    """Names for the columns of a file without a header."""
    return [f"c{number}" for number in range(1, n_columns + 1)]


def holds_names(row: list[str], header: str) -> bool:
    """Whether the first row is a header; with "none or made", only if it holds `made_names`."""
    if header == "none or made":
        matches = [MADE_NAME.fullmatch(cell) for cell in row]
        numbers = [int(match[1]) for match in matches if match]
        return len(numbers) == len(row) and numbers == sorted(set(numbers))
    return header != "none"


def header_of_release(header: str) -> str:
    """What is known about a release's header: without one in the original, it has `made_names`."""
    return "none or made" if header == "none" else header


def check_header(path: str, cells: pa.Table, rows: RowNames) -> tuple[Message, ...]:
    """Raise if the first row looks like a record, which would be released as names of columns.

    A single name that is also a value of its column is doubtful only.
    """
    names = [name.strip() for name in cells.column_names]
    columns = [pc.utf8_trim_whitespace(column) for column in cells.columns]
    occurs = [_places_of(name, column) for name, column in zip(names, columns, strict=True)]
    odd = {place for place, name in enumerate(names) if _is_number_or_date(name)}
    again = {place for place, found in enumerate(occurs) if len(found)}
    alike = {
        place
        for place, (name, column) in enumerate(zip(names, columns, strict=True))
        if again and _has_usual_shape(name, column)
    }
    suspicious = sorted(odd | again | alike)
    facts = {
        "path": path,
        "n_columns": len(names),
        "none": Option("header", "none"),
        "given": Option("header", "given"),
    }
    if odd or len(suspicious) > 1 or len(suspicious) == len(names):
        # Messages quote no cell, which may belong to a person.
        in_columns = in_rows(suspicious, RowNames("in column", range(1, len(names) + 1)))
        later = np.unique(np.concatenate(occurs))
        raise RequestError(
            "no_header",
            "{path} seems to have no header: {in_columns} of {n_columns}, its first row holds a "
            "number, a date or what later rows hold{later}. If that row is a record, say {none}, "
            "which names the columns c1, c2, ...; if it holds names, say {given}.",
            in_columns=in_columns,
            later=f", {in_rows(later, rows)}" if len(later) else "",
            **facts,
        )
    what = "holds the name of the column", "hold the name of the column"
    text = "{path}: in column {place} of {n_columns}, {found}. If the first row is a record, say "
    text += "{none}, or its values are released as names; if it holds names, say {given}."
    return tuple(
        Message(
            "doubtful_header",
            text,
            cells.column_names[place],
            place=place + 1,
            found=cells_in_words(occurs[place], len(cells), what, rows),
            **facts,
        )
        for place in suspicious
    )


def _places_of(name: str, column: pa.ChunkedArray) -> np.ndarray:
    """The rows of a column that hold its name."""
    if not name:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(pc.equal(column, name).fill_null(False).to_numpy())


def _has_usual_shape(name: str, column: pa.ChunkedArray) -> bool:
    """Whether a name with a digit is written as most cells of its column are, as Zoe017 is."""
    if not any(map(str.isdigit, name)):
        return False
    shapes = pc.replace_substring_regex(column, r"\pL+", "a")
    shapes = pc.replace_substring_regex(shapes, r"\d+", "9")
    shape = re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", name))
    return 2 * pc.sum(pc.equal(shapes, shape)).as_py() > len(column)


def _is_number_or_date(cell: str) -> bool:
    """Whether a text is a number or a date, whatever the marks."""
    if not any(map(str.isdigit, cell)):
        return False
    if not any(map(str.isalpha, cell)) or TIME.match(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True
