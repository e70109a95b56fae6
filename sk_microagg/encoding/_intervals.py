"""Numbers, dates or ordinal values as intervals, whose ends tell nobody's value."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._tables import text_of_day
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels, Series
from sk_microagg.encoding._dates import DateColumn, days_of_dates
from sk_microagg.encoding._ordinals import OrdinalColumn
from sk_microagg.generalization._domain import Cover, DateDomain, NumberDomain
from sk_microagg.generalization._grid import Grid, SharedGrid
from sk_microagg.generalization._labels import ROOT, interval_text, label_of


def values_for_intervals(column: Any, cells: Series) -> Floats:
    """Numbers, days or ranks. Rare ordinal values have ranks of their own: none becomes an end."""
    if isinstance(column, OrdinalColumn):
        return column.all_ranks(cells)
    return days_of_dates(cells) if isinstance(column, DateColumn) else column.values(cells)


def make_domain(
    column: Any, values: Floats, k: int, units: Array | None, counts: Labels | None = None
) -> NumberDomain:
    """The domain of the known values of a column, whose ends are safe.

    If `counts` are given, values are different and in order, and these many people have each.
    """
    is_ordinal = isinstance(column, OrdinalColumn)
    grid = (SharedGrid if is_ordinal else Grid)(k, units=units)
    if counts is not None:
        grid.count = lambda places, n_numbers: counts  # type: ignore[method-assign]
    if is_ordinal:
        return NumberDomain(values, grid, unit=1.0)
    return (DateDomain if isinstance(column, DateColumn) else NumberDomain)(values, grid)


def text_of_cover(column: Any, cover: Cover, is_closed: bool = True) -> str:
    """An interval as text, in the values of the column."""
    if not cover:
        return ROOT
    write: Callable[[Any], str] = text_of_day if isinstance(column, DateColumn) else label_of
    if isinstance(column, OrdinalColumn):
        cover = tuple(column.order[np.searchsorted(column.ranks, rank)] for rank in cover)
    low, high = map(write, cover)
    return interval_text(low, high) if is_closed else f"[{low}, {high})"


def group_intervals(
    column: Any, cells: Series, labels: Labels, n_groups: int, k: int, units: Array | None
) -> tuple[Series, Floats]:
    """The interval of each group as text, "*" if a value is missing, and the loss of each.

    The loss is the width as a share of the range of all these intervals, as KAIM measures it.
    """
    values = values_for_intervals(column, cells)
    known = ~np.isnan(values)
    domain = make_domain(column, values[known], k, take_units(units, known))
    low, high, is_complete = extremes(values, labels, n_groups)
    covers = [
        domain.cover(*domain.range_of((lowest, highest))) if complete else ()
        for lowest, highest, complete in zip(low, high, is_complete, strict=True)
    ]
    shown = NumberDomain([end for cover in covers for end in cover], unit=domain.unit)
    texts = [text_of_cover(column, cover) for cover in covers]
    losses = np.array([*map(shown.loss_of, covers)])
    return type(cells)(texts, dtype=object, name=cells.name), losses


def extremes(values: Floats, labels: Labels, n_groups: int) -> tuple[Floats, Floats, Booleans]:
    """The smallest and largest known value of each group, and whether all are known."""
    known = ~np.isnan(values)
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, labels[known], values[known])
    np.maximum.at(high, labels[known], values[known])
    return low, high, np.bincount(labels[~known], minlength=n_groups) == 0
