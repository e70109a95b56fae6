"""The one reader of CSV files: the same rules for all files, and errors that name file and line."""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import Any

BYTE_ORDER_MARK = "\ufeff"
BYTES_CHECKED = 65_536

# The first bytes of files that are often taken for CSV. Those of gzip cannot begin a text in UTF-8;
# the others can be the name of a column, but only binary files have zero bytes as well.
MARK_OF_GZIP = b"\x1f\x8b"
MARKS_OF_BINARY_FILES = {
    b"PK\x03\x04": "a zip file: if it is of Excel, name it .xlsx",
    b"PAR1": "a Parquet file: name it .parquet",
    b"%PDF": "a PDF file",
}


class CSVError(ValueError):
    """A file is not CSV; the message names the file, and the line where there is one."""


class EncodingError(CSVError):
    """A file is not text in the encoding in which it was read."""


@dataclass(frozen=True)
class Rows:
    """The rows of a CSV file, and how its lines are written."""

    reader: object
    has_mark: bool
    line_end: str

    def __iter__(self):
        return self.reader

    @property
    def line_num(self):
        return self.reader.line_num


@contextmanager
def opened_csv(
    source: Any, *, sep: str = ",", is_compressed: bool = False, encoding: str = "utf-8"
) -> Iterator[Any]:
    """Open a CSV file; it may begin with a byte order mark and have cells in double quotes."""
    name = source_name(source)
    rows: Any = None
    try:
        with _opened(source, name, is_compressed, encoding) as text:
            first = next(text, "")
            has_mark = first.startswith(BYTE_ORDER_MARK)
            lines = _lines_of_first_row(first.removeprefix(BYTE_ORDER_MARK), text, sep)
            rows = Rows(
                csv.reader(chain(lines, text), delimiter=sep, strict=True),
                has_mark,
                "\r\n" if lines[-1].endswith("\r\n") else "\n",
            )
            yield rows
    except csv.Error as error:
        why = f"{error}: a double quote has no other that closes it"
        why = why if str(error) == "unexpected end of data" else error
        raise CSVError(f"{name}, line {rows.line_num}: {why}.") from error
    except UnicodeError as error:
        why = getattr(error, "reason", error)
        raise EncodingError(f"{name} is not text in {encoding.upper()}: {why}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CSVError(f"{name} is not a whole gzip file: {error}.") from error


def _lines_of_first_row(first: str, text: Iterator[str], sep: str) -> list[str]:
    """The lines up to the end of the first row: cells in quotes may have ends of other lines."""
    lines = [first]

    def taken() -> Iterator[str]:
        yield first
        for line in text:
            lines.append(line)
            yield line

    with suppress(csv.Error):  # It is raised again by whoever reads the rows.
        next(csv.reader(taken(), delimiter=sep, strict=True), None)
    return lines


def read_csv_rows(source: Any, *, sep: str = ",") -> list[list[str]]:
    r"""Read all rows of a CSV file that are not blank."""
    with opened_csv(source, sep=sep) as rows:
        return [row for row in rows if row]


def visits_csv() -> bytes:
    """The made-up table of :func:`~sk_microagg.datasets.load_visits`; it imports nothing heavy."""
    return (files("sk_microagg") / "datasets" / "tables" / "visits.csv").read_bytes()


def source_name(source: Any) -> str:
    """Name of a CSV file, given by its path or open, for messages."""
    return getattr(source, "name", "the file") if hasattr(source, "read") else source


@contextmanager
def _opened(source, name, is_compressed, encoding):
    is_open = hasattr(source, "read")
    if is_open and not isinstance(source, io.BufferedIOBase):
        yield source
        return
    with (
        nullcontext(source) if is_open else open(source, "rb", buffering=BYTES_CHECKED) as binary,
        gzip.GzipFile(fileobj=binary) if is_compressed else nullcontext(binary) as file,
    ):
        _check_is_text(file.peek(BYTES_CHECKED), name, encoding)
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        try:
            yield text
        finally:
            text.detach()  # Files that were open before stay open.


def _check_is_text(beginning, name, encoding):
    if beginning.startswith(MARK_OF_GZIP):
        raise CSVError(f"{name} is not a CSV file, but a gzip file: name it .gz.")
    if b"\0" not in beginning:
        return
    for mark, what in MARKS_OF_BINARY_FILES.items():
        if beginning.startswith(mark):
            raise CSVError(f"{name} is not a CSV file, but {what}.")
    # In UTF-16 and UTF-32, every other character has a zero byte.
    if b"\0" in "a".encode(encoding):
        return
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise EncodingError(f"{name} is not text in {encoding.upper()}, but in UTF-16.")
    even, odd = beginning[::2], beginning[1::2]
    for letters, zeros, kind in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        n_letters = sum(chr(letter).isalnum() for letter in letters if letter < 128)
        if 2 * zeros.count(0) > len(zeros) and 2 * n_letters > len(letters):
            raise EncodingError(f"{name} is not text in {encoding.upper()}, but maybe in {kind}.")
    raise CSVError(f"{name} is not a CSV file: it holds binary data.")
