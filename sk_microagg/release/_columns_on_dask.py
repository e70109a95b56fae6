"""The columns of Parquet tables on Dask: their types, and in words what is released of them."""

import dask
import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg.encoding._kinds import NANOSECONDS
from sk_microagg.files._column_kinds import Column
from sk_microagg.files._date_notation import DateNotation
from sk_microagg.files._format import Format
from sk_microagg.files._number_notation import NumberNotation
from sk_microagg.files._typed_columns import check_type, column_of_type
from sk_microagg.release._cautions import is_identifier, names_people
from sk_microagg.release._summary import describe_averages

WORDS = {
    "D": "day",
    "h": "hour",
    "m": "minute",
    "s": "second",
    "ms": "millisecond",
    "us": "microsecond",
    "ns": "nanosecond",
}
UNITS = {NANOSECONDS[unit]: word for unit, word in WORDS.items()}

# Up to this number of distinct values, the count is exact; beyond, it is estimated from a sample of
# this size.
N_KEYS = 100_000


def types_of(frame, schema, names):
    """The types of columns in the files.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    schema : pyarrow.Schema
        The types in the files. An index without a name, and what is in names of folders only, are
        not there.

    names : list of str
        The columns.

    Returns
    -------
    types : dict
        By the name of each column, its type; none that cannot be anonymized.
    """
    types = {}
    for name in names:
        if name in schema.names:
            kind = schema.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        else:
            kind = pa.Schema.from_pandas(frame._meta[[name]], preserve_index=False).field(0).type
        check_type(name, kind)
        types[name] = kind
    return types


def columns_of_first_part(frame, types, declared):
    """Columns of numbers and dates with the values of the first partition, to look for codes in."""
    names = [
        name
        for name, kind in types.items()
        if name not in declared.kinds and (pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
    ]
    rows = frame[names].partitions[0].compute()
    cells = pa.Table.from_pandas(rows, preserve_index=False)
    return [
        column_of_type(cells[name], name, Format(), declared, rounds_floats=False) for name in names
    ]


def decimals_of_types(types, declared):
    """Decimals of the means of numbers: as the user says, or as in memory, where floats have all.

    Parameters
    ----------
    types : dict
        By the name of each column, its type.

    declared : Declared
        What the user says.

    Returns
    -------
    decimals : dict
        By the name of each column, a number of decimals or None.
    """
    decimals = {}
    for name, kind in types.items():
        decimals[name] = declared.decimals_of(name)
        if decimals[name] is None and pa.types.is_integer(kind):
            decimals[name] = 0
        if decimals[name] is None and pa.types.is_decimal(kind):
            decimals[name] = kind.scale
    return decimals


def describe_on_dask(aggregator, types, declared, n_missing):
    """Describe columns: their names, kinds, how these were recognized, and what is released.

    Parameters
    ----------
    aggregator : DaskMicroAggregator
        The fitted estimator.

    types : dict
        By the name of each column, its type.

    declared : Declared
        What the user says.

    n_missing : dict
        By the name of each column, how many released cells are missing.

    Returns
    -------
    columns : list of dict
        Text by "name", "kind", "recognized" and "released", for each column.
    """
    columns = []
    for encoded in aggregator._space._columns:
        name = encoded.name
        how = "declared with --categorical" if name in declared.kinds else f"type {types[name]}"
        column = Column(name, encoded.kind, how, None, _notation(encoded))
        about = describe_averages(column, is_incomplete=n_missing[name] > 0)
        if encoded.kind == "ordinal":
            about["released"] = "shared value next to the mean rank"
        if n_missing[name] == aggregator.n_rows_:
            about["released"] = "empty cells"
        columns.append(about)
    return columns


def _notation(encoded):
    if encoded.kind == "number":
        return NumberNotation(encoded.decimals)
    if encoded.kind == "date":
        return DateNotation(UNITS.get(encoded.step, "period"), "")
    return None


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
