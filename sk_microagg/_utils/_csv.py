"""The one reader of CSV files: the same rules for all files, and errors that name file and line."""

import csv
import gzip
import io
import zlib
from contextlib import contextmanager, nullcontext
from itertools import chain

BYTE_ORDER_MARK = "\ufeff"
BYTES_CHECKED = 65_536


class CSVError(ValueError):
    """A file is not CSV; the message names the file, and the line where there is one.

    Examples
    --------
    >>> from sk_microagg._utils._csv import CSVError
    >>> str(CSVError("table.csv, line 3: unexpected end of data."))
    'table.csv, line 3: unexpected end of data.'
    """


@contextmanager
def opened_csv(source, *, sep=",", is_compressed=False):
    """Open a CSV file.

    It is text in UTF-8, with or without a byte order mark. Cells that contain a separator, a quote
    or the end of a line are in double quotes, and quotes within them are doubled.

    Parameters
    ----------
    source : str, path or text file
        The file. It is opened once, so it may be a pipe.

    sep : str, default=","
        Separator of cells.

    is_compressed : bool, default=False
        Whether it is a gzip file; for paths only.

    Yields
    ------
    rows : csv.reader
        The rows as lists of text, [] for a blank line; `line_num` is the number of lines read.
    """
    name = source_name(source)
    rows = None
    try:
        with _opened(source, name, is_compressed) as text:
            lines = chain([next(text, "").removeprefix(BYTE_ORDER_MARK)], text)
            rows = csv.reader(lines, delimiter=sep, strict=True)
            yield rows
    except csv.Error as error:
        raise CSVError(f"{name}, line {rows.line_num}: {error}.") from error
    except UnicodeDecodeError as error:
        raise CSVError(f"{name} is not text in UTF-8: {error.reason}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CSVError(f"{name} is not a whole gzip file: {error}.") from error


def read_csv_rows(source, *, sep=","):
    r"""Read all rows of a CSV file that are not blank.

    Parameters
    ----------
    source : str, path or text file
        The file.

    sep : str, default=","
        Separator of cells.

    Returns
    -------
    rows : list of list of str
        The rows.

    Examples
    --------
    >>> import io
    >>> from sk_microagg._utils._csv import read_csv_rows
    >>> read_csv_rows(io.StringIO('a,b\n\n1,"2,5"\n'))
    [['a', 'b'], ['1', '2,5']]
    """
    with opened_csv(source, sep=sep) as rows:
        return [row for row in rows if row]


def source_name(source):
    """Name of a CSV file, given by its path or open, for messages."""
    return getattr(source, "name", "the file") if hasattr(source, "read") else source


@contextmanager
def _opened(source, name, is_compressed):
    """The text of a file."""
    if hasattr(source, "read"):
        yield source
        return
    with (
        open(source, "rb", buffering=BYTES_CHECKED) as binary,
        gzip.GzipFile(fileobj=binary) if is_compressed else nullcontext(binary) as file,
    ):
        if b"\0" in file.peek(BYTES_CHECKED):
            raise CSVError(f"{name} is not a CSV file: it holds binary data.")
        with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
            yield text
