"""The file that a report is written to: whether it can be, and how."""

import os
from pathlib import Path

from sk_microagg._utils._files import released_file
from sk_microagg._utils._pages import check_page_name
from sk_microagg._utils._typing import FilePath


def check_file(path: Path) -> None:
    """Raise before any work is done if a report cannot be written."""
    named = f"path={str(path)!r}"
    if path.is_dir():
        raise IsADirectoryError(f"{named} is a folder: it must be the name of a file.")
    check_page_name(path, named)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{named} cannot be written: there is no folder {str(path.parent)!r}."
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"{named} cannot be written: the folder {str(path.parent)!r} is read-only."
        )


def write_page(page: str, path: Path, readers_of: FilePath | None) -> None:
    """Write a report, complete or not at all."""
    try:
        with released_file(path, readers_of) as draft:
            draft.write_text(page, encoding="utf-8")
    except OSError as error:
        raise OSError(f"path={str(path)!r} cannot be written: {_reason(error)}.") from error


def _reason(error: OSError) -> str:
    cause = error.__cause__ or error
    return getattr(cause, "strerror", None) or str(cause)
