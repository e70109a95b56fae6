"""Columns of Dask tables that may identify people."""

import dask
import numpy as np
import pandas as pd

from sk_microagg._cli._identifiers import is_identifier, names_people

# Up to this number of distinct values, the count is exact; beyond, it is estimated from a sample of
# this size.
N_KEYS = 100_000


def count_on_dask(frame, columns):
    """Count the distinct values of some columns of a table that may be larger than memory.

    Values are compared by hashes of 64 bits, their keys. Beyond `N_KEYS` distinct ones, those with
    the smallest keys are a random sample of the values, with all occurrences of each.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    columns : list of str
        Names of the columns.

    Returns
    -------
    counts : dict
        By name, how often each of the distinct known values occurs, for up to `N_KEYS` of them.
    """
    if not columns:
        return {}
    count, merge = dask.delayed(_count_keys, pure=False), dask.delayed(_merged, pure=False)
    counts = [count(part, columns) for part in frame[columns].to_delayed()]
    while len(counts) > 1:
        counts = [merge(counts[i : i + 4]) for i in range(0, len(counts), 4)]
    [by_column] = dask.compute(*counts)
    return {name: counts for name, (_, counts) in zip(columns, by_column, strict=True)}


def identifiers_on_dask(counts, columns):
    """As `identifiers`, given the counts of distinct values."""
    return [name for name in columns if is_identifier(len(counts[name]), counts[name].sum())]


def several_rows_on_dask(counts, columns):
    """As `several_rows`, given the counts of distinct values."""
    lines = {}
    for name in columns:
        n_people, n_rows = len(counts[name]), int(counts[name].sum())
        if names_people(n_people, n_rows):
            lines[name] = (
                f"{n_people} people have {n_rows} rows"
                if n_people < N_KEYS
                else f"people have {n_rows / n_people:.2g} rows on average"
            )
    return lines


def _count_keys(frame, columns):
    by_column = []
    for name in columns:
        known = frame[name].dropna()
        if known.dtype == object:  # It may hold objects without a hash, as lists.
            known = known.map(str)
        keys = pd.util.hash_pandas_object(known, index=False).to_numpy()
        keys, counts = np.unique(keys, return_counts=True)
        by_column.append((keys[:N_KEYS], counts[:N_KEYS]))
    return by_column


def _merged(parts):
    """Merge the counts of several parts, for the smallest keys of all."""
    by_column = []
    for one_column in zip(*parts, strict=True):
        keys, places = np.unique(np.concatenate([k for k, _ in one_column]), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([n for _, n in one_column]))
        by_column.append((keys[:N_KEYS], counts[:N_KEYS]))
    return by_column
