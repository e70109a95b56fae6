"""Released values as cells of the table that is written, and in words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg._cli._typed import cells_of_type


def describe(column, release):
    """Describe a column: its name, its kind, how that was recognized, and what is released.

    Parameters
    ----------
    column : Column
        The column.

    release : pandas.DataFrame
        The released values, under the names of their columns.

    Returns
    -------
    about : dict
        Text by "name", "kind", "recognized" and "released".
    """
    if column.kind == "empty":
        released = "empty cells"
    elif is_numeric(release[column.name]):
        released = _mean_in_words(column)
    elif column.notation is not None:
        released = "interval, or * for any value"
    else:
        released = "common value, or * for any value"
    return {
        "name": column.name,
        "kind": column.kind,
        "recognized": column.how,
        "released": released,
    }


def _mean_in_words(column):
    if column.kind == "ordinal":
        return "value of the mean rank"
    if column.kind == "date":
        return f"mean, rounded to {column.notation.unit}s"
    decimals = column.notation.decimals
    if decimals is None:
        return "mean"
    if decimals == 0:
        return "mean, rounded to integers"
    if decimals < 0:
        return f"mean, rounded to multiples of {10**-decimals}"
    return f"mean, rounded to {decimals} decimal{'s' if decimals > 1 else ''}"


def with_decimals(column, declared):
    """The column, with the number of decimals that the user wants, if it holds numbers.

    Parameters
    ----------
    column : Column
        The column.

    declared : Declared
        What the user says.

    Returns
    -------
    column : Column
        The column.
    """
    decimals = declared.decimals_of(column.name)
    if decimals is None or column.kind != "number":
        return column
    return replace(column, notation=replace(column.notation, decimals=decimals, is_padded=False))


def rounded_release(released, columns):
    """The released values, with means rounded to the precision of their columns.

    Parameters
    ----------
    released : pandas.DataFrame
        The released values: means, or text.

    columns : list of Column
        The columns.

    Returns
    -------
    release : pandas.DataFrame
        The release. Groups can only merge.
    """
    release = {}
    for column in columns:
        if column.kind == "empty":
            continue
        values = released[column.name]
        if is_numeric(values) and column.notation.decimals is not None:
            decimals = column.notation.decimals
            # Adding zero turns -0.0 into 0.0.
            values = values.astype(np.float64).round(decimals) + 0.0
            if decimals <= 0 and not values.isna().any():
                values = values.astype(np.int64)
        release[column.name] = values
    return pd.DataFrame(release)


def written_cells(values, column):
    """Released values as they are written.

    Parameters
    ----------
    values : pandas.Series
        The values, rounded.

    column : Column
        The column.

    Returns
    -------
    cells : pyarrow.Array
        Text, or the type of the column.
    """
    if is_numeric(values) and column.type is not None:
        return cells_of_type(values.to_numpy(dtype=np.float64), column)
    if column.notation is None or (column.notation.is_plain and not is_numeric(values)):
        return pa.array(values, pa.string(), from_pandas=True)
    write = column.notation.text if is_numeric(values) else lambda t: _label(t, column.notation)
    codes, unique = pd.factorize(values)
    texts = np.array([*map(write, unique), None], dtype=object)
    return pa.array(texts[codes], pa.string())


def is_numeric(values):
    """Whether released values are numbers."""
    return values.dtype.kind in "iuf"


def _label(text, notation):
    """A generalized number, as an interval, in the notation of its column."""
    ends = text[1:-1].split(", ") if text.startswith("[") else [text]
    try:
        ends = [float(end) for end in ends]
    except ValueError:  # the root of the hierarchy
        return text
    notation = notation.unpadded()
    if notation.decimals == 0:
        ends = [np.floor(ends[0]), *map(np.ceil, ends[1:])]
    parts = [notation.text(end) for end in ends]
    return f"[{notation.separator.join(parts)}]" if len(set(parts)) > 1 else parts[0]
