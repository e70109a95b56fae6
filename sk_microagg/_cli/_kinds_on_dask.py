"""The columns of Parquet tables on Dask: their types, and in words what is released of them."""

import pyarrow as pa

from sk_microagg._cli._dates import DateNotation
from sk_microagg._cli._format import Format
from sk_microagg._cli._kinds import Column
from sk_microagg._cli._numbers import NumberNotation
from sk_microagg._cli._released import describe_averages
from sk_microagg._cli._typed import check_type, column_of_type
from sk_microagg.encoding._kinds import NANOSECONDS

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
    aggregator : DaskTableAggregator
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
