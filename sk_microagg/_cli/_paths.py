"""Paths in the arguments of a command: the kind of file, and whether it may be written."""

import os
from pathlib import Path

from sk_microagg._cli._errors import CommandError, bad_input_as_command_error
from sk_microagg._utils._writing import check_page_name

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet")

# Formats in which columns have types. They are read from files only.
TITLES = {".parquet": "Parquet", ".xlsx": "Excel"}

# The name of standard input and standard output, which are CSV.
STANDARD = "-"


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
