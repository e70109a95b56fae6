"""Whether a file is still what was read."""

import os

from sk_microagg._cli._errors import CommandError


def state_of(path):
    """Return what changes when a file does; raise CommandError if there is no such file."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    return state.st_mtime_ns, state.st_size, state.st_ino
