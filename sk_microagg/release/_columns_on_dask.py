"""The columns of Parquet tables on Dask: their types, and in words what is released of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from dask.base import compute
from dask.delayed import delayed

from sk_microagg.encoding._kinds import NANOSECONDS
from sk_microagg.files._cells import Column
from sk_microagg.files._column_kinds import check_type, column_of_type
from sk_microagg.files._date_notation import DateNotation
from sk_microagg.files._declared import Declared
from sk_microagg.files._format import Format
from sk_microagg.files._number_notation import NumberNotation
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


def types_of(frame: Any, schema: pa.Schema, names: Sequence[str]) -> dict:
    """The types of columns; an index without a name, and names of folders, are not in the files."""
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


def columns_of_first_part(frame: Any, types: dict, declared: Declared) -> list[Column]:
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


def decimals_of_types(types: dict, declared: Declared) -> dict:
    """Decimals of the means of numbers: as the user says, or as in memory."""
    decimals = {}
    for name, kind in types.items():
        decimals[name] = declared.decimals_of(name)
        if decimals[name] is None and pa.types.is_integer(kind):
            decimals[name] = 0
        if decimals[name] is None and pa.types.is_decimal(kind):
            decimals[name] = kind.scale
    return decimals


def describe_on_dask(
    aggregator: Any, types: dict, declared: Declared, n_missing: dict
) -> list[dict]:
    """Columns in words; `n_missing` says how many released cells of each are missing."""
    columns = []
    for encoded in aggregator._space._columns:
        name = encoded.name
        how = "declared as categories" if name in declared.kinds else f"type {types[name]}"
        column = Column(name, encoded.kind, how, None, _notation(encoded))
        about = describe_averages(column, is_incomplete=n_missing[name] > 0)
        if encoded.kind == "ordinal":
            about["released"] = "shared value next to the mean rank"
        if n_missing[name] == aggregator.n_rows_:
            about["released"] = "empty cells"
        columns.append(about)
    return columns


def _notation(encoded: Any) -> NumberNotation | DateNotation | None:
    if encoded.kind == "number":
        return NumberNotation(encoded.decimals)
    if encoded.kind == "date":
        return DateNotation(UNITS.get(encoded.step, "period"), "")
    return None


def count_on_dask(frame: Any, columns: Sequence[str]) -> dict:
    """How often each distinct known value of a column occurs, for up to `N_KEYS` of them.

    Values are compared by hashes of 64 bits, their keys. Beyond `N_KEYS` distinct ones, those with
    the smallest keys are a random sample of the values, with all occurrences of each.
    """
    if not columns:
        return {}
    count, merge = delayed(_count_keys, pure=False), delayed(_merged, pure=False)
    counts = [count(part, columns) for part in frame[columns].to_delayed()]
    while len(counts) > 1:
        counts = [merge(counts[i : i + 4]) for i in range(0, len(counts), 4)]
    [by_column] = compute(*counts)
    return {name: counts for name, (_, counts) in zip(columns, by_column, strict=True)}


def identifiers_on_dask(counts: dict, columns: Sequence[str]) -> list[str]:
    """As `identifiers`, given the counts of distinct values."""
    return [name for name in columns if is_identifier(len(counts[name]), counts[name].sum())]


def several_rows_on_dask(counts: dict, columns: Sequence[str]) -> dict[str, str]:
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


def _count_keys(frame: pd.DataFrame, columns: Sequence[str]) -> list:
    by_column = []
    for name in columns:
        known = frame[name].dropna()
        if known.dtype == object:  # It may hold objects without a hash, as lists.
            known = known.map(str)
        keys = pd.util.hash_pandas_object(known, index=False).to_numpy()
        keys, counts = np.unique(keys, return_counts=True)
        by_column.append((keys[:N_KEYS], counts[:N_KEYS]))
    return by_column


def _merged(parts: Sequence[list]) -> list:
    """Merge the counts of several parts, for the smallest keys of all."""
    by_column = []
    for one_column in zip(*parts, strict=True):
        keys, places = np.unique(np.concatenate([k for k, _ in one_column]), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate([n for _, n in one_column]))
        by_column.append((keys[:N_KEYS], counts[:N_KEYS]))
    return by_column
