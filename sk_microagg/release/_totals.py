"""What mean weights do to the weighted totals of columns that are released unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sk_microagg._utils._formatting import in_a_list, percent, shown
from sk_microagg.files._messages import Message, Option

# A larger relative change of a total is a warning.
LARGEST_CHANGE = 0.02

# A warning names at most this many columns.
MOST_NAMES = 5

# Of a column of numbers, there is one sum; of others, one for each value.
Sums = dict[str, pd.Series]


class ChangedTotal(NamedTuple):
    """The weighted total of a column, or of the records with one of its values."""

    column: str
    value: Any
    before: float
    after: float

    @property
    def change(self) -> float:
        """The change as a share of the total before; infinite if that was 0."""
        difference = abs(self.after - self.before)
        return difference / abs(self.before) if self.before else np.inf if difference else 0.0

    def to_dict(self) -> dict:
        """The facts for programs."""
        return self._asdict() | {"change": self.change if np.isfinite(self.change) else None}

    def in_words(self) -> str:
        what = f"total of {shown(self.column)}"
        if self.value is not None:
            what = f"count of {shown(self.column)}={shown(str(self.value))}, which changes most"
        before, after = map(_with_thousands, (self.before, self.after))
        return f"weighted {what}: {before} before, {after} after ({_in_percent(self.change)})"


def _in_percent(change: float) -> str:
    return percent(change, digits=1) if np.isfinite(change) else "from 0"


def _with_thousands(total: float) -> str:
    return f"{total:,.0f}" if abs(total) >= 1000 else f"{total:.4g}"


def with_columns(table: pd.DataFrame, columns: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
    """A table with some columns replaced, whatever their names are: no keyword can be any text."""
    table = table.copy()
    for name, values in columns.items():
        table[name] = values
    return table


def weighted_sums(columns: pd.DataFrame, weights: Any) -> Sums:
    """Of each column of numbers, the weighted total; of others, the weights by value."""
    weights, sums = pd.Series(np.asarray(weights, dtype=np.float64)), {}
    for name, column in columns.items():
        if pd.api.types.is_numeric_dtype(column.dtype):
            products = np.asarray(column.astype(np.float64)) * weights
            sums[name] = pd.Series([np.nansum(products)], index=[None])
        else:
            cells = pd.Series(column.astype(object).to_numpy())
            sums[name] = weights[cells.notna()].groupby(cells[cells.notna()].map(str)).sum()
    return sums


def added(parts: Iterable[Sums]) -> Sums:
    """The sums of all rows, given those of parts of the table."""
    together: dict[str, list] = {}
    for part in parts:
        for name, sums in part.items():
            together.setdefault(name, []).append(sums)
    return {
        name: pd.concat(listed).groupby(level=0, dropna=False).sum()
        for name, listed in together.items()
    }


def changed_totals(before: Sums, after: Sums) -> list[ChangedTotal]:
    """By column, the total that changes most."""
    changes = []
    for name, sums in before.items():
        totals = [
            ChangedTotal(name, None if pd.isna(value) else value, *map(float, pair))
            for value, *pair in zip(sums.index, sums, after[name].reindex(sums.index), strict=True)
        ]
        if totals:
            changes.append(max(totals, key=lambda total: total.change))
    return changes


def warn_of_changed_totals(changes: Sequence[ChangedTotal], progress: Any) -> None:
    """Warn if totals of columns that are released unchanged are no longer those of the table."""
    large = [each for each in changes if each.change > LARGEST_CHANGE]
    if not large:
        return
    large.sort(key=lambda each: -each.change)
    names = [shown(each.column) for each in large[:MOST_NAMES]]
    names += [f"{len(large) - MOST_NAMES} more"] if len(large) > MOST_NAMES else []
    worst = _in_percent(large[0].change)
    text = (
        "mean weights change the weighted totals of columns that come out unchanged: {names} (up "
        "to {worst}). If weights identify no one, {advice}"
    )
    advice = (Option("weight_release", "keep"),)
    progress.warn(Message("totals", text, names=in_a_list(names), worst=worst, advice=advice))
