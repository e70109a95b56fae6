"""CSV files as text in UTF-8, and their rows: the same rules for all files.

Errors name the file, and the line where there is one.
"""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib.resources import files
from typing import Any

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


def content_of_csv(
    source: Any, *, is_compressed: bool = False, encoding: str = "utf-8"
) -> tuple[bytes, bool]:
    """All of a file in UTF-8, which is not checked, and whether it began with a byte order mark."""
    name = source_name(source)
    is_open = hasattr(source, "read")
    with nullcontext(source) if is_open else open(source, "rb") as file:
        content = file.read()
    if isinstance(content, str):
        content = content.encode()
    else:
        try:
            content = gzip.decompress(content) if is_compressed else content
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CSVError(f"{name} is not a whole gzip file: {error}.") from error
        _check_is_text(content[:BYTES_CHECKED], name, encoding)
        if encoding != "utf-8":
            try:
                content = content.decode(encoding).encode()
            except UnicodeError as error:
                raise _not_text(name, encoding, error) from error
    return content.removeprefix(codecs.BOM_UTF8), content.startswith(codecs.BOM_UTF8)


def rows_of_csv(content: bytes, sep: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line in which it begins."""
    reader = csv.reader(_lines(content), delimiter=sep, strict=True)
    line = 1
    try:
        for row in reader:
            # The only cell of a record that is missing is written as "".
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        why = f"{error}: a double quote has no other that closes it"
        why = why if str(error) == "unexpected end of data" else str(error)
        raise CSVError(f"{name}, line {reader.line_num}: {why}.") from error
    except UnicodeError as error:
        raise _not_text(name, "utf-8", error) from error


def line_end_of(content: bytes, sep: str) -> str:
    """How the first row ends: cells in quotes may have ends of other lines."""
    lines = [""]

    def taken() -> Iterator[str]:
        for line in _lines(content):
            lines.append(line)
            yield line

    with suppress(csv.Error, UnicodeError):  # They are raised again by whoever reads the rows.
        next(csv.reader(taken(), delimiter=sep, strict=True), None)
    return "\r\n" if lines[-1].endswith("\r\n") else "\n"


def read_csv_rows(source: Any, *, sep: str = ",") -> list[list[str]]:
    r"""Read all rows of a CSV file that are not blank."""
    content, _ = content_of_csv(source)
    return [row for _, row in rows_of_csv(content, sep, source_name(source))]


def visits_csv() -> bytes:
    """The made-up table of :func:`~sk_microagg.datasets.load_visits`; it imports nothing heavy."""
    return (files("sk_microagg") / "datasets" / "tables" / "visits.csv").read_bytes()


def source_name(source: Any) -> str:
    """Name of a CSV file, given by its path or open, for messages."""
    return getattr(source, "name", "the file") if hasattr(source, "read") else source


def _lines(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _not_text(name: str, encoding: str, error: UnicodeError) -> EncodingError:
    why = getattr(error, "reason", error)
    return EncodingError(f"{name} is not text in {encoding.upper()}: {why}.")


def _check_is_text(beginning: bytes, name: str, encoding: str) -> None:
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
