"""What goes wrong is told in one line."""

from contextlib import contextmanager
from importlib import import_module


class CommandError(Exception):
    """Files, or what is in them, do not do: the user is told in one line, the command exits with 1.

    Examples
    --------
    >>> from sk_microagg._cli._errors import CommandError
    >>> str(CommandError("table.csv is empty."))
    'table.csv is empty.'
    """


def one_line(error):
    """The first line of what an error says; other lines are advice to programmers."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def bad_input_is_told(about=""):
    """Let the user read what the library says of bad input."""
    try:
        yield
    except ValueError as error:
        raise CommandError(about + one_line(error)) from error


def reason(error):
    """Why a file cannot be read or written, without the number of the error and the path."""
    while error.__cause__ is not None:
        error = error.__cause__
    return getattr(error, "strerror", None) or one_line(error)


def require_tables():
    """Raise unless the packages that read and write tables are there."""
    for package in ("pandas", "pyarrow"):
        try:
            import_module(package)
        except ImportError as error:
            raise CommandError(
                f"Reading tables needs {package}: install sk-microagg[table]."
            ) from error
