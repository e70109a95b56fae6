"""The last steps of a distributed release: its level of anonymity, and its way to disk."""

from math import isfinite
from numbers import Real

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from sk_microagg._utils._files import written_whole

# Parts whose rows are counted together.
PARTS_AT_A_TIME = 8


def distributed_anonymity_level(frame):
    """Smallest number of times that any row of a Dask DataFrame occurs in it.

    Rows are told apart by 64 bits. That any two of a billion different rows share theirs happens
    once in forty times, and does harm only if one of these two occurs too rarely.
    """
    n_shares = -(-frame.npartitions // PARTS_AT_A_TIME)
    count = dask.delayed(_count_rows, pure=False, nout=n_shares)
    counts = [count(part, n_shares) for part in frame.to_delayed()]
    least = dask.delayed(_least_count, pure=False)
    levels = dask.compute(*(least([part[share] for part in counts]) for share in range(n_shares)))
    levels = [level for level in levels if level is not None]
    if not levels:
        raise ValueError("release has 0 sample(s): at least 1 is needed.")
    return min(levels)


def _count_rows(frame, n_shares):
    """Distinct rows and how often each occurs, in shares by their keys."""
    frame = frame.apply(told_apart)
    keys, counts = np.unique(
        pd.util.hash_pandas_object(frame, index=False).to_numpy(), return_counts=True
    )
    edges = [(share << 64) // n_shares for share in range(1, n_shares)]
    starts = np.searchsorted(keys, np.array(edges, dtype=np.uint64))
    return list(zip(np.split(keys, starts), np.split(counts, starts), strict=True))


def told_apart(column):
    """A column whose hashes tell apart what is different: of objects, 1 and "1" have the same."""
    return column.map(_as_text).astype(object) if column.dtype == object else column


def _as_text(cell):
    if isinstance(cell, Real):
        # 1, 1.0 and True are the same; large integers keep all their digits.
        return f"number {int(cell) if isfinite(cell) and cell == int(cell) else float(cell)}"
    return f"{type(cell).__name__} {cell}"


def _least_count(counts):
    keys, places = np.unique(np.concatenate([keys for keys, _ in counts]), return_inverse=True)
    if not len(keys):
        return None
    return int(np.bincount(places, weights=np.concatenate([n for _, n in counts])).min())


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
    with written_whole(path) as draft:
        frame.to_parquet(draft, index=keep_index)


def read(folder):
    """The Dask DataFrame that was written into a folder."""
    return dd.read_parquet(folder, blocksize=None)  # a file is a partition, however large
