"""Groups of numbers, dates or ordinal values as intervals, whose ends tell nobody's value."""

from typing import Any

import numpy as np

from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._typing import Array, Floats, Labels, Series
from sk_microagg.encoding._dates import DateColumn, days_of_dates
from sk_microagg.encoding._ordinals import OrdinalColumn
from sk_microagg.generalization._domain import Cover, DateDomain, NumberDomain
from sk_microagg.generalization._grid import Grid, SharedGrid
from sk_microagg.generalization._labels import ROOT, interval_text, label_of


class OrdinalDomain(NumberDomain):
    """Ordinal values by their ranks, generalized to the values from one to another."""

    def __init__(self, column: OrdinalColumn, ranks: Floats, grid: Grid) -> None:
        super().__init__(ranks, grid, unit=1.0)
        self._value_at = dict(zip(column.ranks.tolist(), column.order, strict=True))

    def label(self, cover: Cover) -> str:
        """The interval, with values instead of ranks."""
        return interval_text(*(label_of(self._value_at[end]) for end in cover)) if cover else ROOT


def group_intervals(
    column: Any, cells: Series, labels: Labels, n_groups: int, k: int, units: Array | None
) -> tuple[Series, Floats]:
    """The interval of each group as text, "*" if a value is missing, and the loss of each.

    The loss is the width as a share of the range of all these intervals, as KAIM measures it.
    """
    values = days_of_dates(cells) if isinstance(column, DateColumn) else column.values(cells)
    known = ~np.isnan(values)
    own_units = take_units(units, known)
    domain: NumberDomain
    if isinstance(column, OrdinalColumn):
        domain = OrdinalDomain(column, values[known], SharedGrid(k, units=own_units))
    else:
        kind = DateDomain if isinstance(column, DateColumn) else NumberDomain
        domain = kind(values[known], Grid(k, units=own_units))
    covers = _covers(domain, values, labels, n_groups)
    shown = NumberDomain([end for cover in covers for end in cover], unit=domain.unit)
    texts = [domain.label(cover) for cover in covers]
    losses = np.array([*map(shown.loss_of, covers)])
    return type(cells)(texts, dtype=object, name=cells.name), losses


def _covers(domain: NumberDomain, values: Floats, labels: Labels, n_groups: int) -> list[Cover]:
    known = ~np.isnan(values)
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, labels[known], values[known])
    np.maximum.at(high, labels[known], values[known])
    is_complete = np.bincount(labels[~known], minlength=n_groups) == 0
    return [
        domain.cover(*domain.range_of((lowest, highest))) if complete else ()
        for lowest, highest, complete in zip(low, high, is_complete, strict=True)
    ]
