"""Paths in the arguments of a command: the kind of file, and whether it may be written."""

import os
from pathlib import Path

from sk_microagg._cli._errors import CommandError

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def suffix_of(path):
    """The suffix of a table, in lower case, including that of the compression."""
    name = Path(path).name.lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise CommandError(f"{path}: the name of a table must end in {', '.join(SUFFIXES)}.")


def suffix_of_input(path):
    """The suffix of a table that is read; a file without a name, as a pipe, is CSV."""
    try:
        suffix = suffix_of(path)
    except CommandError:
        if _is_nameless(Path(path)):
            return ".csv"
        raise
    if suffix == ".parquet" and not Path(path).is_file():
        raise CommandError(
            f"{path} is not a file: Parquet cannot be read from a pipe, but CSV can be."
        )
    return suffix


def _is_nameless(path):
    """Whether a path is a pipe, or a file that the shell has opened."""
    return path == Path("/dev/stdin") or path.parent == Path("/dev/fd") or path.is_fifo()


def check_exists(path, *, may_be_folder=False):
    """Raise unless a path can be read."""
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


def _is_same(path, other):
    try:
        return path.samefile(other)
    except OSError:  # One does not exist, but links may lead to the same place.
        return os.path.realpath(path) == os.path.realpath(other)
