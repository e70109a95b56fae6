"""Errors that the user reads, in one line each."""

from contextlib import contextmanager
from importlib import import_module


class CommandError(Exception):
    """An error in files or their contents: the command prints it in one line and exits with 1."""


def one_line(error):
    """The first line of an error message; further lines are advice to programmers."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def bad_input_as_command_error(about=""):
    """Report bad input in the words of the library, after the words `about`."""
    try:
        yield
    except ValueError as error:
        raise CommandError(about + one_line(error)) from error


def reason(error):
    """Why a file cannot be read or written, without the error number and the path."""
    while error.__cause__ is not None:
        error = error.__cause__
    return getattr(error, "strerror", None) or one_line(error)


def require_tables():
    """Raise unless the packages that read and write tables are installed."""
    for package in ("pandas", "pyarrow"):
        try:
            import_module(package)
        except ImportError as error:
            raise CommandError(
                f"Reading tables needs {package}: install sk-microagg[table]."
            ) from error


def require_dask():
    """Raise unless Dask is installed."""
    try:
        for module in ("dask", "dask.dataframe"):
            import_module(module)
    except ImportError as error:
        raise CommandError("--engine dask needs Dask: install sk-microagg[dask].") from error
