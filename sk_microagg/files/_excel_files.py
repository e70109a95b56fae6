"""Tables in Excel files, through openpyxl."""

import datetime
import io
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa

from sk_microagg._utils._places import RowNames
from sk_microagg.files._csv_files import check_header, holds_names, made_names
from sk_microagg.files._format import Contents, FileStyle, Format
from sk_microagg.files._messages import Option, RequestError, one_line, require

# Formats of new dates; openpyxl has none for columns that it did not read.
DATE_FORMAT, TIME_FORMAT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"

# A format that shows digits, parts of dates and marks, and no words, which may be about one person.
FORMAT_WITHOUT_TEXT = re.compile(r"General|@|[#0?.,%ymdhsE+/: _()$€;-]*")

MOST_ROWS = 1_048_576

# When files were written, as they say: the same release has to be the same file at any time.
WRITTEN = datetime.datetime(1980, 1, 1)

# What a column may hold to be of a type; the first that fits is its type.
TYPES = [
    ((bool,), pa.bool_()),
    ((int,), pa.int64()),
    ((int, float), pa.float64()),
    ((datetime.datetime,), pa.timestamp("us")),
]


def read_xlsx(path: str, format: Format) -> Contents:
    """Read a sheet as columns of numbers, dates, truth values or text, and how Excel shows them."""
    openpyxl = _imported_for(path)
    try:
        book = openpyxl.load_workbook(path, data_only=True)
    except OSError:
        raise
    except Exception as error:  # Broken files raise errors of several libraries.
        text = "{path} is not an Excel file: {why}"
        raise RequestError("no_excel", text, path=path, why=one_line(error)) from error
    rows = _rows(book, path, format)
    if not rows:
        raise RequestError("empty_file", "{path} is empty.", path=path)
    first = [_text(cell.value) for cell in rows[0]]
    has_names = holds_names(first, format.header)
    names = first if has_names else made_names(len(first))
    columns = [[row[place] for row in rows[has_names:]] for place in range(len(names))]
    values = [[cell.value for cell in column] for column in columns]
    numbers, doubts = RowNames("in row", [row[0].row for row in rows[has_names:]]), ()
    if format.header == "check":
        texts = [pa.array(map(_text, column), pa.string()) for column in values]
        doubts = check_header(path, pa.Table.from_arrays(texts, names=names), numbers)
    pairs = zip(names, values, strict=True)
    cells = [_typed(column, format.missing_in(name)) for name, column in pairs]
    found = [_number_format(column, format.fewest) for column in columns]
    style = FileStyle(number_formats=dict(zip(names, found, strict=True)))
    return Contents(pa.Table.from_arrays(cells, names=names), style, numbers, doubts)


def _rows(book: Any, path: str, format: Format) -> list:
    """The rows of the sheet that are not blank, up to the last column that is used.

    In a sheet of one column, a blank row between others is a record whose value is missing.
    """
    if format.sheet is not None and format.sheet not in book.sheetnames:
        facts = {"path": path, "sheets": ", ".join(map(repr, book.sheetnames))}
        text = "{sheet} is not in {path}, which has {sheets}."
        raise RequestError("unknown_sheet", text, sheet=Option("sheet", format.sheet), **facts)
    sheet = book[format.sheet or book.sheetnames[0]]
    rows = [*sheet.iter_rows()]
    filled = [n for n, row in enumerate(rows) if any(cell.value is not None for cell in row)]
    used = [place for n in filled for place, cell in enumerate(rows[n]) if cell.value is not None]
    kept = range(filled[0], filled[-1] + 1) if filled and not any(used) else filled
    return [rows[n][: max(used) + 1] for n in kept]


def _number_format(cells: list, fewest: int) -> str:
    """The most frequent format of a column; it has text in it only if so many cells have it."""
    formats = Counter(cell.number_format for cell in cells if cell.value is not None)
    for found, n_cells in formats.most_common(1):
        if n_cells >= fewest or FORMAT_WITHOUT_TEXT.fullmatch(found):
            return found
    return "General"


def _typed(values: list, missing: tuple) -> pa.Array:
    """The cells of a column as one type; as text if they have several, or some mean missing."""
    known = [value for value in values if value is not None]
    if known and not any(_text(value).strip() in missing for value in known):
        if all(map(_is_midnight, known)):
            days = [None if value is None else value.date() for value in values]
            return pa.array(days, pa.date32())
        for classes, kind in TYPES:
            if all(type(value) in classes for value in known):
                return pa.array(values, kind)
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _is_midnight(value: object) -> bool:
    return isinstance(value, datetime.datetime) and value.time() == datetime.time()


def _text(value: Any) -> str:
    """The text of a cell, as a CSV file would have it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if _is_midnight(value):
        return str(value.date())
    return str(value)


def write_xlsx(cells: pa.Table, path: Path, style: FileStyle) -> None:
    """Write an Excel file with the formats of a style; nulls are empty cells."""
    openpyxl = _imported_for(path)
    if cells.num_rows >= MOST_ROWS:
        text = "An Excel file has at most {most} rows: write CSV or Parquet."
        raise RequestError("too_many_rows", text, most=MOST_ROWS)
    book = openpyxl.Workbook()
    sheet = book.active
    try:
        for place, name in enumerate(cells.column_names, 1):
            _write_cell(sheet.cell(1, place), name, "General")
            number_format = (style.number_formats or {}).get(name, "General")
            for row, value in enumerate(cells[name].to_pylist(), 2):
                _write_cell(sheet.cell(row, place), value, number_format)
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        raise RequestError(
            "control_character",
            "A cell has a control character, which Excel files cannot hold: write CSV or Parquet.",
        ) from error
    with open(path, "wb") as file:
        _save(book, file)


def _save(book: Any, file: Any) -> None:
    """Write a workbook as openpyxl does, without the time of writing."""
    properties = import_module("openpyxl.xml.constants").ARC_CORE
    written = io.BytesIO()
    book.save(written)
    book.properties.created = book.properties.modified = WRITTEN
    with ZipFile(written) as dated, ZipFile(file, "w", ZIP_DEFLATED) as undated:
        for name in dated.namelist():
            content = dated.read(name)
            if name == properties:
                tree = book.properties.to_tree()
                content = import_module("openpyxl.xml.functions").tostring(tree)
            entry = ZipInfo(name, WRITTEN.timetuple()[:6])
            undated.writestr(entry, content, ZIP_DEFLATED)


def _imported_for(path: str | Path) -> ModuleType:
    """The package openpyxl; raise if it is not installed."""
    require(("openpyxl",), "table", f"{path}: Excel")
    return import_module("openpyxl")


def _write_cell(cell: Any, value: Any, number_format: str) -> None:
    if value is None or value != value:
        return
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "s"  # also what looks like a formula
        return
    if number_format in ("General", "@") and isinstance(value, datetime.date):
        number_format = TIME_FORMAT if isinstance(value, datetime.datetime) else DATE_FORMAT
    cell.number_format = number_format
