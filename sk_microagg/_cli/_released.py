"""Released values as cells of the table that is written, and in words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg import TableAggregator
from sk_microagg._cli._kinds import Column
from sk_microagg._cli._numbers import NumberNotation
from sk_microagg._cli._typed import cells_of_type


def describe(column, release, estimator):
    """Describe a column: its name, its kind, how that was recognized, and what is released.

    Parameters
    ----------
    column : Column
        The column.

    release : pandas.DataFrame or None
        What is released for it, in one column or several; None if all its values are missing.

    estimator : TableAggregator or KAIM
        The estimator that made the release.

    Returns
    -------
    about : dict
        Text by "name", "kind", "recognized" and "released".
    """
    if release is None:
        released = "empty cells"
    elif not isinstance(estimator, TableAggregator):
        of_one = "common value" if column.notation is None else "interval"
        released = f"{of_one}, or * for any value"
    elif column.notation is not None:
        empty = ", empty where most are missing" if _is_incomplete(release) else ""
        released = _mean_in_words(column) + empty
    else:
        released = _category_in_words(column, release, estimator)
    return {
        "name": column.name,
        "kind": column.kind,
        "recognized": column.how,
        "released": released,
    }


def _category_in_words(column, release, estimator):
    if estimator.categories == "shares":
        first, *others = release.columns
        more = f" and {len(others)} more" if others else ""
        return f"one column of shares per value, {first}{more}"
    if estimator.categories == "generalize":
        has_tree = column.name in (estimator.hierarchies or {})
        return f"{'lowest common node' if has_tree else 'common value'}, or * for any value"
    empty = ", empty where most are missing or rare" if _is_incomplete(release) else ""
    return f"most frequent value{empty}"


def _is_incomplete(release):
    return bool(release.isna().to_numpy().any())


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


def released_by_column(released, columns, estimator):
    """What is released for each column: one column, or one for each category with its share.

    Parameters
    ----------
    released : pandas.DataFrame
        What the estimator returned.

    columns : list of Column
        The columns that it anonymized.

    estimator : TableAggregator or KAIM
        The estimator.

    Returns
    -------
    release : dict
        A DataFrame by the name of each column.
    """
    names = {column.name: [column.name] for column in columns}
    if getattr(estimator, "categories", None) == "shares":
        names = {name: list(rows.columns) for name, rows in estimator._released.items()}
    return {name: released[parts] for name, parts in names.items()}


def cells_of_categories(texts, cells, released):
    """Released categories in the type of their column, as cells that have these values.

    Parameters
    ----------
    texts : ndarray of object
        The values of the column as text, None for missing ones.

    cells : pyarrow.ChunkedArray
        Its cells.

    released : pandas.Series
        Values of the column, as text.

    Returns
    -------
    cells : pyarrow.ChunkedArray
        The cells.
    """
    place_of = {text: len(texts) - 1 - place for place, text in enumerate(reversed(texts))}
    codes, different = pd.factorize(released)
    places = np.array([*(place_of[text] for text in different), -1])[codes]
    return cells.take(pa.array(places, mask=places < 0))


def share_column(name, format, *, is_typed):
    """The column of the shares of a category, as numbers of all digits.

    Parameters
    ----------
    name : str
        Its name.

    format : Format
        How numbers are written.

    is_typed : bool
        Whether they are numbers rather than text.

    Returns
    -------
    column : Column
        The column, without values.
    """
    notation = NumberNotation(decimal=format.decimal)
    return Column(name, "share", "", None, notation, pa.float64() if is_typed else None)


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
