"""Who may read an output: its owner until it is complete, then those who can read the input."""

import os
import stat
from glob import glob
from pathlib import Path
from uuid import uuid4

# Modes of drafts, and of files that only their owner needs.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def mode_for(path, readers_of=None):
    """Mode of a file that is about to be written.

    It is the mode that the system gives to new files there, without permissions that `readers_of`,
    or the file that is replaced, does not grant. The owner can always read and write the file.

    Parameters
    ----------
    path : Path
        The file.

    readers_of : path or None
        A file, a folder with its contents, or a pattern of such names. Those who cannot read all
        of it cannot read `path`.

    Returns
    -------
    mode : int
        The permission bits.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from sk_microagg._utils._permissions import mode_for
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "table.csv"
    ...     table.touch(mode=0o600)
    ...     oct(mode_for(Path(folder) / "release.csv", readers_of=table))
    '0o600'
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
