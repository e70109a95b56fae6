"""Releases: Dask DataFrames or Parquet folders with one file per partition."""

from contextlib import contextmanager, nullcontext
from os import fspath

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from fsspec.core import url_to_fs
from pyarrow import dataset

from sk_microagg._utils._validation import check_count
from sk_microagg._utils._writing import released_folder, written_whole
from sk_microagg.metrics import anonymity_level

# Size of the parts of a Parquet folder, in its files and, where many cells share few values, in
# memory: small enough for workers with little of it.
PART_BYTES = 64 * 2**20
PART_BYTES_IN_MEMORY = 2 * PART_BYTES

# Size of a cell in memory: numbers and dates, and text or any other object.
NUMBER_BYTES, OBJECT_BYTES = 8, 64


class Release:
    """Where released rows go, and how they are written and checked.

    A subclass may write rows differently or check more. Nothing is released if a step fails.

    Parameters
    ----------
    path : path or None, default=None
        A Parquet folder to write to; None to release a Dask DataFrame.

    npartitions : int or None, default=None
        Number of partitions; None for those of the table.

    readers_of : path or None, default=None
        The original table: those who cannot read it cannot read the folder.
    """

    def __init__(self, path=None, npartitions=None, readers_of=None):
        check_count("npartitions", npartitions, or_none=True)
        self.path = path
        self.npartitions = npartitions
        self.readers_of = readers_of

    def draft(self):
        """Context of all work: gives a folder that gets its name on success, or None."""
        if self.path is None:
            return nullcontext()
        return released_folder(self.path, self.readers_of)

    def write(self, frame, folder, parts):
        """Write the rows, if there is a folder.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
            The rows.

        folder : path or None
            The draft.

        parts : Parts
            The original table.

        Returns
        -------
        written : dask.dataframe.DataFrame
            The rows as they were written.
        """
        if self.npartitions is not None:
            frame = frame.repartition(npartitions=self.npartitions)
        return frame if folder is None else write(frame, folder, parts.has_index())

    def check(self, written, classes, k):
        """Raise unless the rows are k-anonymous.

        Parameters
        ----------
        written : dask.dataframe.DataFrame
            The rows as they were written.

        classes : dask.dataframe.DataFrame
            Those of their columns in which equal rows are a class: the quasi-identifiers, and the
            stratum if there are strata.

        k : int
            The level of anonymity that was promised.

        Returns
        -------
        level : int
            The level of anonymity, at least `k`.
        """
        level = anonymity_level(classes)
        if level < k:
            raise RuntimeError(
                f"A row of the release occurs {level} times, fewer than k={k}: it was not "
                "released. Does X give the same rows each time that it is computed?"
            )
        return level


def write(frame, folder, keep_index):
    """Write a Dask DataFrame into a folder as Parquet files; return it as read from there."""
    put = dask.delayed(_write_part, pure=False)
    dask.compute(
        *(
            put(part, path_of_part(folder, number), keep_index)
            for number, part in enumerate(frame.to_delayed())
        )
    )
    for leftover in folder.glob(".*"):  # of a worker that was killed
        leftover.unlink()
    return read(folder)


def path_of_part(folder, number):
    """Path of the file of a part; other programs read files in the order of their names."""
    return folder / f"part.{number:06d}.parquet"


def _write_part(frame, path, keep_index):
    with written_by_worker(path) as draft:
        frame.to_parquet(draft, index=keep_index)


def read(folder):
    """Read the Dask DataFrame that was written into a folder."""
    return dd.read_parquet(folder, blocksize=None)  # one partition per file, however large


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


def read_parquet(path):
    """Read a Parquet file, or a folder of them.

    Where integers or truth values are missing, Dask gives them another type in some parts than it
    promises. Such columns get a type of pandas that has room for missing values.

    Parameters
    ----------
    path : path
        The file or folder.

    Returns
    -------
    frame : dask.dataframe.DataFrame
        The table.
    """
    blocksize = _part_bytes(path)
    frame = dd.read_parquet(fspath(path), blocksize=blocksize)
    types = {name: dtype for name, dtype in frame.dtypes.items() if _lacks_room(dtype)}
    incomplete = _with_missing(path, types)
    if not incomplete:
        return frame
    frame = dd.read_parquet(
        fspath(path), blocksize=blocksize, arrow_to_pandas={"types_mapper": _type_with_room}
    )
    return frame.astype({name: types[name] for name in types if name not in incomplete})


def _part_bytes(path):
    """Size of the parts in the files, which say how large these and how many the rows are."""
    files = _files_of(path)
    n_rows = n_bytes = 0
    for fragment in files.get_fragments():
        for group in map(fragment.metadata.row_group, range(fragment.metadata.num_row_groups)):
            n_rows += group.num_rows
            n_bytes += group.total_byte_size
    is_number = [pa.types.is_primitive(kind) for kind in files.schema.types]
    in_memory = n_rows * sum(NUMBER_BYTES if one else OBJECT_BYTES for one in is_number)
    return int(min(PART_BYTES, PART_BYTES_IN_MEMORY * n_bytes / max(in_memory, 1))) or PART_BYTES


def schema_of(path):
    """The types of the columns of a Parquet file or folder, as the files have them."""
    return _files_of(path).schema


def _files_of(path):
    files, root = url_to_fs(fspath(path))
    return dataset.dataset(root, filesystem=files, format="parquet")


def _lacks_room(dtype):
    return isinstance(dtype, np.dtype) and dtype.kind in "biu"


def _type_with_room(kind):
    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_integer(kind):
        sign = "U" if pa.types.is_unsigned_integer(kind) else ""
        return pd.api.types.pandas_dtype(f"{sign}Int{kind.bit_width}")
    return None


def _with_missing(path, names):
    """Those of some columns in which values may be missing, by what the files say of themselves."""
    if not names:
        return set()
    found = set()
    for fragment in _files_of(path).get_fragments():
        for group in range(fragment.metadata.num_row_groups):
            row_group = fragment.metadata.row_group(group)
            for number in range(row_group.num_columns):
                column = row_group.column(number)
                known = column.statistics
                if known is None or not known.has_null_count or known.null_count:
                    found.add(column.path_in_schema)
    return found & {*names}
