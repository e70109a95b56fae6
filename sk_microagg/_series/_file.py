"""The state of a series as a file, with its secret in another; who may write it, and when.

The file of the secret also holds the random number of the last release, so that an older state in
the place of a newer one is noticed.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hmac import compare_digest
from json import JSONDecodeError
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from sk_microagg._series._state import BYTES_OF_SECRET, SeriesState
from sk_microagg._series._tables import SERIES
from sk_microagg._utils._estimator import __version__
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import FilePath
from sk_microagg._utils._writing import PRIVATE_FILE, written_whole

# Grows whenever a state is kept in another form.
FORMAT = 2

# Whose key says which secret a state belongs to.
NOBODY = "\0"


def key_path(path: FilePath) -> Path:
    """The file with the secret of a state."""
    return Path(path).with_name(f"{Path(path).name}.key")


def save_state(state: SeriesState, path: FilePath) -> None:
    """Replace the file of the state as a whole; only its owner can read it.

    Raise unless the releases that the file knows are the first ones of this state.
    """
    path = Path(path)
    known = _known_numbers(state, path)
    if state.numbers[: len(known)] != known:
        raise ValueError(
            f"{path} knows releases that this series does not: it was continued elsewhere. Load it "
            "again, and release again; do not publish what this series has released since."
        )
    if not key_path(path).exists() or _read_key(path)[0] != state.secret:
        _write_private(key_path(path), state.secret)
    _write_private(path, to_bytes(state))
    # Last: until now, the state before is as good.
    _write_private(key_path(path), state.secret + bytes.fromhex(state.numbers[-1]))


def restore_state(state: SeriesState, path: FilePath) -> None:
    """Put a state into the place of a later one, or nothing before the first release."""
    path = Path(path)
    if state.n_releases:
        _write_private(key_path(path), state.secret + bytes.fromhex(state.numbers[-1]))
        _write_private(path, to_bytes(state))
    else:
        path.unlink()
        key_path(path).unlink()


def load_state(path: FilePath) -> SeriesState:
    """Read what `save_state` wrote; raise if that is no state, or if its secret is another one."""
    arrow, parquet = _arrow()
    damages = BadZipFile, KeyError, UnicodeDecodeError, JSONDecodeError, arrow.ArrowException
    path = Path(path)
    secret, number = _read_key(path)
    try:
        with ZipFile(path) as archive:
            about = json.loads(archive.read("state.json"))
            _check_format(about, path)
            people, groups, owners, rows = (
                parquet.read_table(io.BytesIO(archive.read(f"{name}.parquet")))
                for name in ("people", "groups", "owners", "rows")
            )
    except damages as error:
        raise ValueError(f"{path} is not the state of a series, or is damaged.") from error
    state = SeriesState(
        secret,
        about["settings"],
        about["releases"],
        np.array(people["key"].to_pylist(), dtype=object),
        people["group"].to_numpy(),
        people["mark"].to_numpy(),
        people["followed"].to_numpy(),
        groups,
        np.array(owners["key"].to_pylist(), dtype=object),
        rows,
        about["draft"],
        about["kinds"],
    )
    if not compare_digest(state.key(NOBODY), about["check"]):
        raise ValueError(f"{key_path(path)} is not the secret of {path}.")
    if number and number not in state.numbers:
        raise ValueError(
            f"{path} is older than {key_path(path)}: a release that was made since would not be "
            "known. Restore the last state, not a backup from before that release."
        )
    return state


def to_bytes(state: SeriesState) -> bytes:
    """A state without its secret, as a file."""
    arrow, parquet = _arrow()
    people = {
        "key": state.keys.tolist(),
        "group": state.groups,
        "mark": state.marks,
        "followed": state.are_followed,
    }
    about = {
        "format": FORMAT,
        "written_by": __version__,
        "releases": state.numbers,
        "settings": state.settings,
        "kinds": state.kinds,
        "draft": state.draft,
        "check": state.key(NOBODY),
    }
    tables = {
        "people": arrow.table(people),
        "groups": state.centroids,
        "owners": arrow.table({"key": state.owners.tolist()}),
        "rows": state.rows,
    }
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("state.json", json.dumps(about))
        for name, table in tables.items():
            content = io.BytesIO()
            parquet.write_table(table, content)
            archive.writestr(f"{name}.parquet", content.getvalue())
    return file.getvalue()


@contextmanager
def locked_state(path: FilePath) -> Iterator[None]:
    """Keep other processes from continuing a series; raise BlockingIOError if one does already."""
    path = Path(path)
    name = path.with_name(f"{path.name}.lock")
    file = _open_locked(name, path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that is open.
            name.unlink()
        os.close(file)


def _open_locked(name: Path, path: Path) -> int:
    """Open and lock a file, which the process that had the lock before may just remove."""
    while True:
        file = os.open(name, os.O_CREAT | os.O_RDWR, PRIVATE_FILE)
        is_locked = _lock(file)
        with suppress(FileNotFoundError):
            if is_locked and os.path.samestat(os.fstat(file), os.stat(name)):
                return file
        os.close(file)
        if not is_locked:
            raise BlockingIOError(f"{path} is in use: another process continues this series.")


def _lock(file: int) -> bool:
    """Lock an open file; return whether that was possible."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _known_numbers(state: SeriesState, path: Path) -> list[str]:
    """The numbers of the releases that the file of a state knows, or its key without that file."""
    if path.exists():
        before = load_state(path)
        if not compare_digest(before.secret, state.secret):
            raise ValueError(f"{path} is the state of another series: choose another name.")
        return before.numbers
    if not key_path(path).exists():
        return []
    if _is_unused_key(path):
        return []
    secret, number = _read_key(path)
    if not compare_digest(secret, state.secret):
        raise ValueError(
            f"{key_path(path)} is the secret of another series, whose state is missing: restore "
            "it, or choose another name."
        )
    if number in state.numbers:
        return state.numbers[: state.numbers.index(number) + 1]
    return [number]


def _read_key(path: Path) -> tuple[bytes, str]:
    """The secret of a state, and the number of the last release; none before the first one."""
    content = key_path(path).read_bytes()
    return content[:BYTES_OF_SECRET], content[BYTES_OF_SECRET:].hex()


def _is_unused_key(path: Path) -> bool:
    """Whether a key is left over from a first release that was not made."""
    return key_path(path).stat().st_size == BYTES_OF_SECRET


def check_no_series(path: FilePath) -> None:
    """Raise if releases of a series were made, by its state or, where that is missing, its key."""
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path} exists: a series is begun only once.")
    if key_path(path).exists() and not _is_unused_key(path):
        raise ValueError(
            f"{key_path(path)} exists, but {path} is missing: restore the state that belongs to it."
        )


def _check_format(about: dict[str, Any], path: Path) -> None:
    if about.get("format") != FORMAT:
        writer = about.get("written_by", "an earlier version")
        raise ValueError(
            f"{path} was written by sk_microagg {writer} in format {about.get('format', 1)}, but "
            f"this is sk_microagg {__version__}, which reads format {FORMAT}: continue the series "
            "with the version that wrote it."
        )


def _write_private(path: Path, content: bytes) -> None:
    """Replace a file that only its owner can read."""
    with written_whole(path) as draft, open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _arrow() -> tuple[Any, Any]:
    return import_extra("pyarrow", "table", SERIES), import_extra(
        "pyarrow.parquet", "table", SERIES
    )
