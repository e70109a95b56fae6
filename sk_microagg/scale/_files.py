"""Files that workers write and read, in folders that all of them must reach."""

from contextlib import contextmanager

import numpy as np

from sk_microagg._utils._files import written_whole


@contextmanager
def written_by_worker(path):
    """As `written_whole`, with an error that says what workers need.

    If a task runs twice, the second worker replaces the file of the first by an equal one.
    """
    try:
        with written_whole(path) as draft:
            yield draft
    except OSError as error:
        raise OSError(
            f"{error} Every worker must reach the folder, and have room in it."
        ) from error


def save(path, array):
    """Write an array."""
    array = np.ascontiguousarray(array)
    with written_by_worker(path) as draft, open(draft, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        # Unlike np.save, this notices if there is no room for the last bytes.
        file.write(array.data)


def load(path, start=0, stop=None):
    """Read some rows of an array, without reading the others."""
    # Copied from the memory map, so that the file does not stay open.
    return np.array(np.load(path, mmap_mode="r")[start:stop])
