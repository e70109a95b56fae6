"""Releases: Dask DataFrames or Parquet folders with one file per partition."""

from contextlib import nullcontext

import dask
import dask.dataframe as dd

from sk_microagg._utils._files import released_folder
from sk_microagg._utils._validation import check_count
from sk_microagg.metrics import anonymity_level
from sk_microagg.scale._files import written_by_worker


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
