"""The files of a table: their names and formats, and whether they may be written."""

import os
from dataclasses import dataclass
from pathlib import Path

from sk_microagg._utils._formatting import FEWEST_RECORDS, fewest_records
from sk_microagg._utils._writing import check_page_name
from sk_microagg.files._errors import CommandError, bad_input_as_command_error

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet")

# Formats in which columns have types. They are read from files only.
TITLES = {".parquet": "Parquet", ".xlsx": "Excel"}

# The name of standard input and standard output, which are CSV.
STANDARD = "-"

# Texts that mean that a value is missing, whatever the user adds.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "*")


# Files for which the separator of cells is no question.
NOT_SEPARATED = (".tsv", ".tsv.gz", ".xlsx", ".parquet")


def is_standard(path):
    """Whether a path stands for standard input or standard output."""
    return os.fspath(path) == STANDARD


def name_of_input(path):
    """A table that is read, as messages name it."""
    return "standard input" if is_standard(path) else path


def file_of_input(path):
    """The file of a table that is read: those who cannot read it cannot read the release."""
    return "/dev/stdin" if is_standard(path) else path


def suffix_of(path):
    """The suffix of a table, in lower case, including that of the compression."""
    if is_standard(path):
        return ".csv"
    name = Path(path).name.lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise CommandError(f"{path or repr(path)}: a table's name must end in {', '.join(SUFFIXES)}.")


def has_types(path):
    """Whether columns of a table that is written may be numbers or dates, and not only text."""
    return suffix_of(path) in TITLES


def suffix_of_input(path):
    """The suffix of a table that is read; a file without a name, as a pipe, is CSV."""
    try:
        suffix = suffix_of(path)
    except CommandError as error:
        if _is_nameless(Path(path)):
            return ".csv"
        raise CommandError(f"{error} As -, CSV is read from standard input.") from error
    if suffix in TITLES and not Path(path).is_file():
        raise CommandError(
            f"{path} is not a file: {TITLES[suffix]} cannot be read from a pipe, but CSV can be."
        )
    return suffix


def _is_nameless(path):
    """Whether a path is a pipe, or a file that the shell has opened."""
    return path == Path("/dev/stdin") or path.parent == Path("/dev/fd") or path.is_fifo()


def check_exists(path, *, may_be_folder=False):
    """Raise unless a path can be read."""
    if is_standard(path):
        return
    if not path:
        raise CommandError("'' cannot be read: it must be the name of a file, or -.")
    try:
        Path(path).stat()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    if Path(path).is_dir() and not may_be_folder:
        raise CommandError(f"{path} is a folder: only anonymize --engine dask reads those.")


def check_target(path, others, *, force):
    """Raise unless a file may be written; to be called before work that may take long.

    Parameters
    ----------
    path : str
        The file.

    others : list of str
        Other files of the same command, which it must never overwrite.

    force : bool
        Whether it may overwrite any other existing file.
    """
    if is_standard(path):
        return
    target = Path(path)
    for other in others:
        if _is_same(target, Path(other)):
            raise CommandError(f"{path} is the same file as {other}: choose another name.")
    if not target.parent.is_dir():
        raise CommandError(f"{path} cannot be written: {target.parent} is not a folder.")
    if not os.access(target.parent, os.W_OK):
        raise CommandError(f"{path} cannot be written: {target.parent} is write-protected.")
    try:
        target.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
    if target.is_dir():
        raise CommandError(f"{path} is a folder: choose another name, or remove it first.")
    if not force:
        raise CommandError(f"{path} exists: choose another name, or overwrite it with --force.")


def check_report_name(path):
    """Raise unless a report, which is a page of HTML, is named like one."""
    with bad_input_as_command_error():
        check_page_name(path, f"--report {path}")


def _is_same(path, other):
    try:
        return path.samefile(other)
    except OSError:  # One does not exist, but links may lead to the same place.
        return os.path.realpath(path) == os.path.realpath(other)


@dataclass(frozen=True)
class Format:
    """What the user says about the tables."""

    sep: str | None = None
    header: str = "check"
    encoding: str = "utf-8"
    missing: tuple = MISSING
    decimal: str = "."
    thousands: str | None = None
    sheet: str | None = None
    # Fewer records than this may not be told of.
    fewest: int = FEWEST_RECORDS

    @classmethod
    def of(cls, options):
        """Take it from the options of the user."""
        if options.decimal == options.thousands:
            raise CommandError(
                f"--thousands {options.thousands} is the decimal mark as well: name another mark "
                "by --decimal."
            )
        _check_use(options)
        return cls(
            sep=options.sep,
            header=options.header,
            encoding=options.encoding,
            missing=(*MISSING, *(text.strip() for text in options.na)),
            decimal=options.decimal,
            thousands=options.thousands,
            sheet=options.sheet,
            fewest=fewest_records(vars(options).get("k") or 0),
        )


def _check_use(options):
    """Raise if an option is for files of another kind than those of the command."""
    given = vars(options)
    read = [given[name] for name in ("input", "original", "release") if name in given]
    # What explore writes is named later, and may be a .csv file; risk writes no table.
    written = [given.get("output", STANDARD)] if "input" in given else []
    files = [str(path).lower() for path in (*read, *written)]
    if options.sheet is not None and not any(path.endswith(".xlsx") for path in files):
        raise CommandError(f"--sheet {options.sheet} is for Excel files, but {read[0]} is none.")
    if options.sep is not None and all(path.endswith(NOT_SEPARATED) for path in files):
        raise CommandError(
            f"--sep {options.sep!r} is for .csv files: .tsv files have tabs, and others have none."
        )


@dataclass(frozen=True)
class FileStyle:
    """How a file was written, so that a release is written likewise."""

    has_mark: bool = False
    line_end: str = "\n"
    number_formats: dict | None = None
