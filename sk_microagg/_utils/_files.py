"""Files and folders that appear only when they are complete, and temporary folders.

Until they are complete, only their owner can read them.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from sk_microagg._utils._permissions import PRIVATE_FILE, PRIVATE_FOLDER, mode_for, open_folder
from sk_microagg._utils._typing import FilePath

# Times that the removal of a folder is tried.
MOST_REMOVALS = 5


class TemporaryFolder:
    """A folder that is removed when the last reference to it is gone.

    Only the process that made the folder removes it: a pickled copy knows the path and no more.

    Parameters
    ----------
    inside : path or None
        The folder to make it in; None for that of temporary files.

    prefix : str
        The beginning of its name.
    """

    def __init__(self, inside, prefix):
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
    """Give a folder to fill, next to `path`; rename it to `path` on success, else remove it.

    The complete folder is readable by those who can read `readers_of`.
    """
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
