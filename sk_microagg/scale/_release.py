"""Releases as Parquet folders, one file per partition."""

import dask
import dask.dataframe as dd

from sk_microagg.scale._files import written_by_worker


def write(frame, folder, keep_index):
    """Write a Dask DataFrame into a folder, as Parquet; return it as it is there."""
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
    """Name of the file of a part: others read files in the order of their names."""
    return folder / f"part.{number:06d}.parquet"


def _write_part(frame, path, keep_index):
    with written_by_worker(path) as draft:
        frame.to_parquet(draft, index=keep_index)


def read(folder):
    """The Dask DataFrame that was written into a folder."""
    return dd.read_parquet(folder, blocksize=None)  # a file is a partition, however large
