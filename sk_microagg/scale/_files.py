"""Files that workers write, for each other and for the model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sk_microagg._utils._typing import Array
from sk_microagg._utils._writing import written_whole

# Size of a cell in memory: numbers and dates, and text or any other object.
NUMBER_BYTES, OBJECT_BYTES = 8, 64


@contextmanager
def written_by_worker(path: Any) -> Iterator[Any]:
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


def save(path: Any, array: Array) -> None:
    array = np.ascontiguousarray(array)
    with written_by_worker(path) as draft, open(draft, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        # Unlike np.save, this notices if there is no room for the last bytes.
        file.write(array.data)


def load(path: Any, start: int = 0, stop: int | None = None) -> Array:
    """Read some rows of an array, without reading the others."""
    # Copied from the memory map, so that the file does not stay open.
    return np.array(np.load(path, mmap_mode="r")[start:stop])
