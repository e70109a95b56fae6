"""Tables in CSV files: all cells as text, exactly as they are in the file."""

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from sk_microagg._utils._csv import (
    CSVError,
    EncodingError,
    content_of_csv,
    line_end_of,
    rows_of_csv,
)
from sk_microagg._utils._places import RowNames, cells_in_words, in_rows
from sk_microagg.files._columns import without_nan
from sk_microagg.files._format import (
    Contents,
    FileStyle,
    Format,
    is_standard,
    name_of_input,
)
from sk_microagg.files._messages import Message, Option, RequestError, one_line

ROWS_AT_A_TIME = 50_000

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
        content, has_mark = content_of_csv(
            source, is_compressed=is_compressed, encoding=format.encoding
        )
        cells, lines = _read_cells(content, path, sep, format.header)
    except EncodingError as error:
        text = "{why} Name its encoding by {parameter}, such as latin-1, cp1252 or utf-16."
        if format.encoding != Format.encoding:
            text = "{why} Name another encoding by {parameter}, or leave it out for utf-8."
        parameter = Option("encoding")
        raise RequestError("encoding", text, why=one_line(error), parameter=parameter) from error
    except CSVError as error:
        raise RequestError("no_csv", "{why}", why=str(error)) from error
    rows = RowNames("in line", lines)
    doubts = check_header(path, cells, rows) if format.header == "check" else ()
    return Contents(cells, FileStyle(has_mark, line_end_of(content, sep or ",")), rows, doubts)


def _read_cells(
    content: bytes, path: str, sep: str | None, header: str
) -> tuple[pa.Table, np.ndarray | list[int]]:
    """The cells of all rows, which have as many as there are names, and the lines of these rows."""
    rows = rows_of_csv(content, sep or ",", path)
    line, first = next(rows, (1, None))
    if first is None:
        raise RequestError("empty_file", "{path} is empty.", path=path)
    n_columns = len(first)
    if sep is None and n_columns == 1:
        _check_separator(path, first[0])
    has_names = holds_names(first, header)
    names = first if has_names else made_names(n_columns)
    while has_names and names[-2:] == ["", ""]:
        names.pop()  # One column without a name is a column; several end lines.
    if len(names) == n_columns:
        found = _read_by_arrow(content, sep or ",", n_columns)
        if found is not None:
            cells, lines = found
            return cells.slice(has_names).rename_columns(names), lines[has_names:]
    return _cells_of_rows([*rows] if has_names else [(line, first), *rows], names, path)


def _read_by_arrow(content: bytes, sep: str, n_columns: int) -> tuple[pa.Table, np.ndarray] | None:
    """The cells of all rows, and the lines of these; None if the rows have to be looked at."""
    if b"\0" in content or not sep.isascii():
        return None
    characters = np.frombuffer(content, dtype=np.uint8)
    quotes = np.flatnonzero(characters == ord('"')) if b'"' in content else np.empty(0, np.intp)
    if not _are_around_cells(quotes, characters, sep):
        return None
    names = made_names(n_columns)
    has_quotes = len(quotes) > 0
    try:
        cells = arrow_csv.read_csv(
            pa.BufferReader(content),
            arrow_csv.ReadOptions(column_names=names),
            arrow_csv.ParseOptions(
                delimiter=sep,
                quote_char='"' if has_quotes else False,
                newlines_in_values=has_quotes,
            ),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        return None
    lines = _lines_of_rows(content, characters, quotes)
    return (cells, lines) if len(cells) == len(lines) else None


def _are_around_cells(quotes: np.ndarray, characters: np.ndarray, sep: str) -> bool:
    """Whether all quotes are around cells, or doubled in them; Arrow takes others as they are."""
    if not len(quotes) or len(quotes) % 2:
        return not len(quotes)
    is_beside = np.isin(np.arange(256), [*sep.encode(), *b'"\r\n'])
    around = np.pad(characters, 1, constant_values=ord("\n"))
    return bool(is_beside[around[quotes[::2]]].all() and is_beside[around[quotes[1::2] + 2]].all())


def _lines_of_rows(content: bytes, characters: np.ndarray, quotes: np.ndarray) -> np.ndarray:
    """The lines in which rows begin that are not blank."""
    ends = np.flatnonzero(characters == ord("\n"))
    if b"\r" in content:
        returns = np.flatnonzero(characters == ord("\r"))
        alone = returns[np.append(characters, 0)[returns + 1] != ord("\n")]
        ends = np.sort(np.append(ends, alone))
    is_end_of_row = np.searchsorted(quotes, ends) % 2 == 0
    starts = np.append(0, ends[is_end_of_row] + 1)
    lines = np.append(0, np.flatnonzero(is_end_of_row) + 1) + 1
    is_row = starts < len(characters)
    is_row[is_row] = ~np.isin(characters[starts[is_row]], [*b"\r\n"])
    return lines[is_row]


def _cells_of_rows(
    rows: list[tuple[int, list[str]]], names: list[str], path: str
) -> tuple[pa.Table, np.ndarray | list[int]]:
    """The cells of rows with as many as names: some programs end rows with separators.

    Raise if rows have other numbers of cells.
    """
    n_cells = len(names)
    n_named = next((n for n in range(n_cells, 0, -1) if names[n - 1]), n_cells)
    lines = [line for line, _ in rows]
    ragged = [
        place for place, (_, row) in enumerate(rows) if len(row) < n_named or any(row[n_cells:])
    ]
    if ragged:
        more = f"more or fewer cells than the first row, which has {n_cells}"
        what = f"has {more}", f"have {more}"
        found = cells_in_words(ragged, len(lines), what, RowNames("in line", lines), "row")
        raise RequestError("ragged_rows", "{path}: {found}.", path=path, found=found)
    cells = zip(*((row + [""] * n_cells)[:n_cells] for _, row in rows), strict=True)
    columns = [pa.chunked_array([column], pa.string()) for column in cells]
    columns = columns or [pa.chunked_array([], pa.string()) for _ in names]
    return pa.Table.from_arrays(columns, names=names), lines


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
    columns = [without_nan(column) for column in cells.columns]
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
