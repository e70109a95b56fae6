"""Parquet folders as Dask DataFrames whose parts all have the same types."""

from os import fspath

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from fsspec.core import url_to_fs
from pyarrow import dataset

# Size of the parts of a Parquet folder, in its files and, where many cells share few values, in
# memory: small enough for workers with little of it.
PART_BYTES = 64 * 2**20
PART_BYTES_IN_MEMORY = 2 * PART_BYTES

# Size of a cell in memory: numbers and dates, and text or any other object.
NUMBER_BYTES, OBJECT_BYTES = 8, 64


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
