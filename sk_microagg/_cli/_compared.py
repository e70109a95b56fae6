"""Columns of a release, read as those of the original, so that their values can be compared."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg._utils._validation import LARGEST_VALUE
from sk_microagg.files._column_kinds import column_of_text
from sk_microagg.files._columns import Column
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import RequestError
from sk_microagg.files._table import Table, declared_by, read_as

# The ends are separated as the notation of the column says.
INTERVAL = re.compile(r"\[(.+?)[,;] (.+)[\])]")

ONE_DAY = np.timedelta64(1, "D")

# Means of columns that agree as a whole differ by less than this, in standard deviations.
LARGEST_MEAN_CHANGE = 0.1

# A release of means has a slope of exactly 1, a shuffled one a slope around 0.
SMALLEST_SLOPE = 0.5

# In standard errors of the slope of shuffled rows: the least distance of 1 from 0 at which the two
# cases can be distinguished, and the largest deviation that is attributed to chance.
SMALLEST_POWER = 5.0
LARGEST_CHANCE = 5.0


def compared_columns(original: Table, release: Any, names: list, declared: Declared) -> list:
    columns = original.columns(names, declared, is_strict=True)
    return [(old, read_as(old, release)) for old in columns]


def middles(old: Column, new: Column, format: Format) -> np.ndarray | None:
    """The middles of intervals in a released column of text, as `comparable_values` of the other.

    None if a cell is neither one of its values nor an interval of them.
    """
    if old.notation is None or new.notation is not None:
        return None
    ends = [_ends(text) for text in new.values]
    cells = pa.chunked_array([pa.array([end[at] for end in ends], pa.string()) for at in (0, 1)])
    if old.kind == "number":
        format = replace(format, decimal=old.notation.decimal)
    for declared in declared_by(old):
        with suppress(RequestError):
            column = column_of_text(cells, old.name, format, declared, is_strict=True)
            if column.kind != old.kind:
                return None
            low, high = comparable_values(column).reshape(2, -1)
            return (low + high) / 2
    return None


def _ends(text: str) -> tuple:
    """The ends of an interval; a single value is both."""
    found = INTERVAL.fullmatch(text or "")
    return (found[1], found[2]) if found else (text, text)


def known_to_intruder(original: Table, release: Any, pairs: list) -> tuple:
    """Columns of two tables such that their values can be compared."""
    before, after = {}, {}
    for old, new in pairs:
        name = old.name
        if are_comparable(old, new):
            released = comparable_values(new)
        else:
            released = middles(old, new, release.format)
        if released is None:
            before[name], after[name] = (t.as_text([name])[name] for t in (original, release))
        else:
            before[name], after[name] = comparable_values(old), released
    return pd.DataFrame(before), pd.DataFrame(after)


def compared_as_text(pairs: list, before: pd.DataFrame) -> list:
    """Columns whose distances are unknown to the intruder that is simulated."""
    return [
        old.name
        for old, new in pairs
        if old.notation is not None and new.kind != "empty" and before[old.name].dtype == object
    ]


def are_comparable(old: Column, new: Column) -> bool:
    """Whether values of both columns are numbers, dates or ordinal values."""
    return old.kind == new.kind and old.kind in ("number", "date", "ordinal")


def comparable_values(column: Column) -> np.ndarray:
    """The values of a column, dates as numbers of days, ordinals as ranks."""
    if column.kind == "date":
        return (column.values - np.datetime64(0, "D")) / ONE_DAY
    return column.values if column.notation is None else column.numbers


def rows_correspond(before: pd.DataFrame, after: pd.DataFrame, numeric: list) -> Any:
    """Whether rows of a release seem to be in the order of the original."""
    correspond = _numbers_correspond(
        before[numeric].to_numpy(dtype=np.float64), after[numeric].to_numpy(dtype=np.float64)
    )
    if correspond is None:
        correspond = not any(_is_shuffled(before[name], after[name]) for name in before)
    return correspond


def _numbers_correspond(X: np.ndarray, release: Any) -> bool | None:
    """Whether released numbers correspond to the original ones; None if that is undecidable.

    The mean of a group is the conditional mean of its members. So the regression of the original on
    the release has slope 1, whatever the sizes of the groups and the information loss. If the rows
    were shuffled, the slope is random, with mean 0 and a known variance.
    """
    is_fit = np.all((np.abs(X) <= LARGEST_VALUE) & (np.abs(release) <= LARGEST_VALUE), axis=0)
    X, release = X[:, is_fit], release[:, is_fit]
    spreads, means = X.std(axis=0), X.mean(axis=0)
    varies = (np.ptp(X, axis=0) > 0) & (np.ptp(release, axis=0) > 0)
    agrees = np.abs(release.mean(axis=0) - means) <= LARGEST_MEAN_CHANGE * spreads
    columns = varies & agrees
    if not columns.any():
        return None
    X = (X - means)[:, columns] / spreads[columns]
    release = (release - release.mean(axis=0))[:, columns] / spreads[columns]
    released_squares = np.sum(release**2)
    slope = np.sum(X * release) / released_squares
    # Variance of the sum of products of rows, over all orders of one of the two tables.
    variance = np.sum((X.T @ X) * (release.T @ release)) / (len(X) - 1)
    standard_error = np.sqrt(variance) / released_squares
    if standard_error * SMALLEST_POWER > 1:
        return None
    return bool(slope >= SMALLEST_SLOPE or slope > LARGEST_CHANCE * standard_error)


def _is_shuffled(before: pd.DataFrame, after: pd.DataFrame) -> Any:
    """Whether two columns hold the same values equally often, but not row by row."""
    codes, _ = pd.factorize(pd.concat([before, after], ignore_index=True))
    old, new = np.split(codes + 1, 2)  # 0 stands for missing
    n_values = codes.max() + 2
    counts = [np.bincount(column, minlength=n_values) for column in (old, new)]
    return np.array_equal(counts[0], counts[1]) and not np.array_equal(old, new)
