"""Releases: Dask DataFrames or Parquet folders with one file per partition."""

from collections.abc import Iterable
from contextlib import nullcontext
from os import fspath
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from fsspec.core import url_to_fs
from pyarrow import dataset

from sk_microagg._utils._typing import DataFrame, FilePath
from sk_microagg._utils._validation import check_count
from sk_microagg._utils._writing import released_folder
from sk_microagg.metrics import anonymity_level
from sk_microagg.scale._files import NUMBER_BYTES, OBJECT_BYTES, written_by_worker

# Size of the parts of a Parquet folder, in its files and, where many cells share few values, in
# memory: small enough for workers with little of it.
PART_BYTES = 64 * 2**20
PART_BYTES_IN_MEMORY = 2 * PART_BYTES


class Release:
    """Where released rows go, and how they are written and checked.

    A subclass may write rows differently or check more. Nothing is released if a step fails. Those
    who cannot read the file `readers_of` cannot read the folder.
    """

    def __init__(
        self,
        path: FilePath | None = None,
        npartitions: int | None = None,
        readers_of: FilePath | None = None,
    ) -> None:
        check_count("npartitions", npartitions, or_none=True)
        self.path = path
        self.npartitions = npartitions
        self.readers_of = readers_of

    def draft(self) -> Any:
        """Context of all work: gives a folder that gets its name on success, or None."""
        if self.path is None:
            return nullcontext()
        return released_folder(self.path, self.readers_of)

    def check_names(self, frame: Any) -> None:
        """Raise unless all columns have names that Parquet files can have, if any are written."""
        for name in [] if self.path is None else frame.columns:
            if not isinstance(name, str):
                raise TypeError(
                    f"X has a column named {name!r}: to be written to `path`, names must be str."
                )

    def write(self, frame: Any, folder: Any, parts: Any) -> Any:
        """Return the rows as they were written, if there is a folder."""
        if self.npartitions is not None:
            frame = frame.repartition(npartitions=self.npartitions)
        return frame if folder is None else write(frame, folder, parts.table.has_index())

    def check(self, written: Any, classes: Any, k: int) -> int:
        """Return the level of anonymity of classes of equal rows; raise if it is below k."""
        level = anonymity_level(classes)
        if level < k:
            raise RuntimeError(
                f"A row of the release occurs {level} times, fewer than k={k}: it was not "
                "released. Does X give the same rows each time that it is computed?"
            )
        return level


def write(frame: Any, folder: Path, keep_index: bool) -> Any:
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


def path_of_part(folder: Path, number: int) -> Path:
    """Path of the file of a part; other programs read files in the order of their names."""
    return folder / f"part.{number:06d}.parquet"


def _write_part(frame: DataFrame, path: Path, keep_index: bool) -> None:
    with written_by_worker(path) as draft:
        frame.to_parquet(draft, index=keep_index)


def read(folder: FilePath) -> Any:
    """Read the Dask DataFrame that was written into a folder."""
    return dd.read_parquet(folder, blocksize=None)  # one partition per file, however large


def read_parquet(path: FilePath) -> Any:
    """Read a Parquet file, or a folder of them.

    Where integers or truth values are missing, Dask gives them another type in some parts than it
    promises. Such columns get a type of pandas that has room for missing values.
    """
    blocksize = _part_bytes(path)
    frame = dd.read_parquet(fspath(path), blocksize=blocksize)
    plain = {name: dtype for name, dtype in frame.dtypes.items() if isinstance(dtype, np.dtype)}
    types = {name: dtype for name, dtype in plain.items() if dtype.kind in "biu"}
    incomplete = _with_missing(path, types)
    if not incomplete:
        return frame
    frame = dd.read_parquet(
        fspath(path), blocksize=blocksize, arrow_to_pandas={"types_mapper": _type_with_room}
    )
    return frame.astype({name: types[name] for name in types if name not in incomplete})


def _part_bytes(path: FilePath) -> int:
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


def schema_of(path: FilePath) -> Any:
    """The types of the columns of a Parquet file or folder, as the files have them."""
    return _files_of(path).schema


def _files_of(path: FilePath) -> Any:
    files, root = url_to_fs(fspath(path))
    return dataset.dataset(root, filesystem=files, format="parquet")


def _type_with_room(kind: Any) -> Any:
    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_integer(kind):
        sign = "U" if pa.types.is_unsigned_integer(kind) else ""
        return pd.api.types.pandas_dtype(f"{sign}Int{kind.bit_width}")
    return None


def _with_missing(path: FilePath, names: Iterable[Any]) -> set[Any]:
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
