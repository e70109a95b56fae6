"""Files that are there whole or not at all, and folders that go away with whoever uses them.

Until they are complete, nobody but their owner can read them.
"""

import os
import shutil
import tempfile
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import numpy as np

from sk_microagg._utils._permissions import PRIVATE_FILE, PRIVATE_FOLDER, mode_for, open_folder


class TemporaryFolder:
    """A folder that is removed when nobody in the process that made it knows it any more.

    A pickled copy, on a worker, knows the path but leaves the folder alone.

    Parameters
    ----------
    inside : path or None
        Where to make it; None for where temporary files go.

    prefix : str
        What its name begins with.
    """

    def __init__(self, inside, prefix):
        try:
            if inside is not None:
                os.makedirs(inside, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=inside))
        except OSError as error:
            where = inside and os.fspath(inside)
            raise OSError(f"folder={where!r} cannot be written: {error.strerror}.") from error
        self.remove = weakref.finalize(self, remove_folder, self.path)

    @contextmanager
    def removed_on_failure(self):
        """Remove it at once if something goes wrong: nothing of the user's stays behind."""
        try:
            yield self
        except BaseException:
            self.remove()
            raise

    def keep(self):
        """Leave it where it is, for good."""
        self.remove.detach()

    def __getstate__(self):
        return {"path": self.path}

    def __truediv__(self, name):
        return self.path / name


def remove_folder(path):
    """Remove a folder and all in it, if it is there."""
    # Renamed first: a task that is late cannot write into it any more.
    removed = path.with_name(f".{uuid4().hex}")
    with suppress(OSError):
        os.rename(path, removed)
        path = removed
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def written_whole(path):
    """An empty file beside `path` to write to; it becomes `path` if all went well, or is removed.

    Writing again what another worker has written is harmless.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
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


@contextmanager
def released_file(path, readers_of=None):
    """As `written_whole`, but in the end others may read the file: those of `readers_of`."""
    path = Path(path)
    with written_whole(path) as draft:
        mode = mode_for(path, readers_of)
        yield draft
        draft.chmod(mode)


def save(path, array):
    """Write an array."""
    array = np.ascontiguousarray(array)
    with written_whole(path) as draft, open(draft, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        # Not by np.save, which does not notice that the last bytes found no room.
        file.write(array.data)


def load(path, start=0, stop=None):
    """Read some rows of an array; they come into memory, the others do not."""
    # Mapped, not to read more than is asked for; copied, not to keep the file open.
    return np.array(np.load(path, mmap_mode="r")[start:stop])


@contextmanager
def published(path, readers_of=None):
    """A folder beside `path` to fill; it becomes `path` if all went well, or is removed.

    Nothing is there under the name of `path` before it is complete. Then others may read it: those
    of `readers_of`.
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
