"""Files that are there whole or not at all, and folders that go away with whoever uses them."""

import os
import shutil
import tempfile
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import numpy as np


class TemporaryFolder:
    """A folder that is removed when nobody in the process that made it knows it any more.

    A pickled copy, on a worker, knows the path but leaves the folder alone.

    Parameters
    ----------
    inside : path or None
        Where to make it; None for where temporary files go.
    """

    def __init__(self, inside=None):
        try:
            if inside is not None:
                os.makedirs(inside, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix="sk-microagg-", dir=inside))
        except OSError as error:
            raise OSError(
                f"folder={os.fspath(inside)!r} cannot be written: {error.strerror}."
            ) from error
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __fspath__(self):
        return str(self.path)

    def __getstate__(self):
        return {"path": self.path}

    def __truediv__(self, name):
        return self.path / name


@contextmanager
def written_whole(path):
    """A name beside `path` to write to; the file becomes `path` if all went well, or is removed.

    Writing again what another worker has written is harmless.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield draft
        os.replace(draft, path)
    except OSError as error:
        raise OSError(
            f"{path} cannot be written: {error.strerror or error}. Every worker must reach the "
            "folder, and have room in it."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def save(path, array):
    """Write an array."""
    with written_whole(path) as draft, open(draft, "wb") as file:
        np.save(file, array)


def load(path, start=0, stop=None):
    """Read some rows of an array; they come into memory, the others do not."""
    # Mapped, not to read more than is asked for; copied, not to keep the file open.
    return np.array(np.load(path, mmap_mode="r")[start:stop])


@contextmanager
def published(path):
    """A folder beside `path` to fill; it becomes `path` if all went well, or is removed.

    Nothing is there under the name of `path` before it is complete.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"path={str(path)!r} exists: choose another, or remove it first.")
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        draft.mkdir(parents=True)
    except OSError as error:
        raise OSError(f"path={str(path)!r} cannot be written: {error.strerror}.") from error
    try:
        yield draft
        os.rename(draft, path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
