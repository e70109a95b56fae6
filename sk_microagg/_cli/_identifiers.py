"""Columns that come out unchanged and may tell who somebody is."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

LARGEST_SHARE = 0.9
N_LINES = 5

# Distinct values that are counted exactly in a table on Dask; of more, so many are a fair sample.
N_KEYS = 100_000


def warn_of_identifiers(names, progress):
    """Point at columns that may tell who somebody is.

    Parameters
    ----------
    names : list of str
        Their names.

    progress : ProgressLine
        Where to say so.
    """
    for name in names[:N_LINES]:
        progress.say(
            f"sk-microagg: warning: column {name!r} comes out unchanged, with a different value in "
            "almost every row; use --drop, or name it in --columns"
        )
    if len(names) > N_LINES:
        progress.say(f"sk-microagg: warning: and {len(names) - N_LINES} more")


def identifiers(table, columns):
    """Columns in which almost all known values differ, as numbers of people do.

    Parameters
    ----------
    table : Table
        The table.

    columns : list of str
        Columns that come out unchanged.

    Returns
    -------
    names : list of str
        Those in which more than nine tenths of the known values are distinct.
    """
    return [name for name in columns if _tells_apart(*_count_distinct(table.known(name)))]


def _tells_apart(n_distinct, n_known):
    return n_known > 1 and n_distinct > LARGEST_SHARE * n_known


def _count_distinct(known):
    try:
        return pc.count_distinct(known).as_py(), len(known)
    except pa.ArrowNotImplementedError:  # lists, for example
        return len({str(cell) for cell in known.to_pylist()}), len(known)


def identifiers_on_dask(frame, columns):
    """The same for a table that may be larger than memory.

    Values are told apart by 64 bits. Beyond `N_KEYS` distinct ones, those with the smallest keys
    stand for all: they are a random sample of the values, with all occurrences of each.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    columns : list of str
        Columns that come out unchanged.

    Returns
    -------
    names : list of str
        Those in which more than nine tenths of the known values are distinct.
    """
    import dask

    if not columns:
        return []
    count, merge = dask.delayed(_count_keys, pure=False), dask.delayed(_merged, pure=False)
    counts = [count(part, columns) for part in frame[columns].to_delayed()]
    while len(counts) > 1:
        counts = [merge(counts[i : i + 4]) for i in range(0, len(counts), 4)]
    [by_column] = dask.compute(*counts)
    return [
        name
        for name, (keys, counts) in zip(columns, by_column, strict=True)
        if _tells_apart(len(keys), counts.sum())
    ]


def _count_keys(frame, columns):
    by_column = []
    for name in columns:
        known = frame[name].dropna()
        if known.dtype == object:  # which may hold what has no hash, as lists
            known = known.map(str)
        keys = pd.util.hash_pandas_object(known, index=False).to_numpy()
        keys, counts = np.unique(keys, return_counts=True)
        by_column.append((keys[:N_KEYS], counts[:N_KEYS]))
    return by_column


def _merged(parts):
    """What several parts count together: the smallest keys of all are the smallest of one."""
    by_column = []
    for one_column in zip(*parts, strict=True):
        keys, places = np.unique(np.concatenate([k for k, _ in one_column]), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([n for _, n in one_column]))
        by_column.append((keys[:N_KEYS], counts[:N_KEYS]))
    return by_column
