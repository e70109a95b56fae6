"""Files and folders that appear only when they are complete, and temporary folders.

Until they are complete, only their owner can read them.
"""

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from uuid import uuid4

from sk_microagg._utils._typing import FilePath

# Times that the removal of a folder is tried.
MOST_REMOVALS = 5

# Modes of drafts, and of files that only their owner needs.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

SUFFIXES_OF_REPORTS = (".html", ".htm", ".json")


class TemporaryFolder:
    """A folder that goes with the last reference to it; a pickled copy has only the path."""

    def __init__(self, inside: FilePath | None, prefix: str) -> None:
        try:
            if inside is not None:
                os.makedirs(inside, exist_ok=True)
            parent = Path(inside or tempfile.gettempdir()).absolute()
            self.path = parent / f"{prefix}{uuid4().hex}"
            # Before the folder is there: a signal may end the process in between.
            self.remove = weakref.finalize(self, remove_folder, self.path)
            self.path.mkdir(PRIVATE_FOLDER)
        except OSError as error:
            where = inside and os.fspath(inside)
            raise OSError(f"folder={where!r} cannot be written: {error.strerror}.") from error

    @contextmanager
    def removed_on_failure(self):
        """Remove it as soon as something fails: no data of the user stay behind."""
        try:
            yield self
        except BaseException:
            self.remove()
            raise

    def keep(self):
        """Never remove it."""
        self.remove.detach()

    def __getstate__(self):
        return {"path": self.path}

    def __truediv__(self, name):
        return self.path / name


def remove_folder(path):
    """Remove a folder with its contents, if it exists."""
    # Renamed first, so that no late task can write into it.
    removed = path.with_name(f".{uuid4().hex}")
    with suppress(OSError):
        os.rename(path, removed)
        path = removed
    # A task that was about to write when it was renamed may still leave a file.
    for _ in range(MOST_REMOVALS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            break


@contextmanager
def written_whole(path: FilePath) -> Iterator[Path]:
    """Give a draft to write to, next to `path`; rename it to `path` on success, else remove it."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
        yield draft
        os.replace(draft, path)
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            draft.unlink()


@contextmanager
def released_file(path: FilePath, readers_of: FilePath | None = None) -> Iterator[Path]:
    """As `written_whole`, but the complete file is readable by those who can read `readers_of`."""
    path = Path(path)
    with written_whole(path) as draft:
        mode = mode_for(path, readers_of)
        yield draft
        draft.chmod(mode)


@contextmanager
def released_folder(path, readers_of=None):
    """As `released_file`, for a folder to fill that must not exist."""
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"path={str(path)!r} exists: choose another, or remove it first.")
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        draft.mkdir(PRIVATE_FOLDER, parents=True)
    except OSError as error:
        raise OSError(f"path={str(path)!r} cannot be written: {error.strerror}.") from error
    try:
        mode = mode_for(path, readers_of)
        yield draft
        open_folder(draft, mode)
        os.rename(draft, path)
    finally:
        remove_folder(draft)


def mode_for(path: Path, readers_of: FilePath | None = None) -> int:
    """Mode of a file that is about to be written.

    It is the mode that the system gives to new files there, without permissions that `readers_of`,
    or the file that is replaced, does not grant. The owner can always read and write the file.
    """
    mode, group = _given_by_the_system(path)
    replaced = [path] if path.exists() else []
    for found in replaced + _files_named(readers_of):
        for status in _status_of_all_in(found):
            mode &= _granted(status, group) | PRIVATE_FILE
    return mode


def open_folder(folder, mode):
    """Set the mode of all files in a private folder, and then that of the folder itself."""
    # Those who may read a file may enter its folder.
    folder_mode = PRIVATE_FOLDER | mode | (mode & 0o444) >> 2 | folder.stat().st_mode & stat.S_ISGID
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(folder_mode if path.is_dir() else mode)
    folder.chmod(folder_mode)


def _given_by_the_system(path):
    """Mode and group of new files next to a path, from an empty one."""
    probe = path.with_name(f".{path.name}.{uuid4().hex}")
    os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        status = probe.stat()
    finally:
        probe.unlink()
    return stat.S_IMODE(status.st_mode), status.st_gid


def _files_named(name):
    """The paths that a name or pattern stands for; none if it is not on this machine."""
    if name is None:
        return []
    return [name] if os.path.exists(name) else glob(os.fspath(name))


def _status_of_all_in(path):
    yield os.stat(path)
    for inside in Path(path).rglob("*"):
        if inside.exists():  # not a broken link
            yield inside.stat()


def _granted(status, group):
    """The permissions that a file grants to its owner, to the members of a group and to others."""
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        # Those who may enter a folder can read files in it.
        mode = (mode & 0o111) << 2 | mode & 0o222
    if status.st_gid != group:
        # Members of one group may be others to the other group.
        both = mode >> 3 & mode & 0o7
        mode = mode & 0o700 | both << 3 | both
    return mode


def check_page_name(path: FilePath, named: str, *, is_card: bool = False) -> None:
    """Raise unless a report or a card is named like a page, like JSON or, a card, like Markdown."""
    suffix = Path(path).suffix.lower()
    if suffix in SUFFIXES_OF_REPORTS or (is_card and suffix == ".md"):
        return
    if is_card:
        raise ValueError(
            f"{named} must end in .html, .htm, .md or .json: cards are written as HTML, Markdown "
            "or JSON. A browser prints them as PDF."
        )
    raise ValueError(
        f"{named} must end in .html, .htm or .json: reports are written as HTML or JSON. A browser "
        "prints them as PDF."
    )
