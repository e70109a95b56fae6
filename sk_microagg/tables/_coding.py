"""A whole table: what is learned of its columns, and rows as numbers that travel to their groups.

A category travels as a number: those that have a coordinate are the first ones. A fitted model has
no more of the others than was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._formatting import in_a_list
from sk_microagg._utils._rounding import Rounding, Spread, about_finer
from sk_microagg._utils._statistics import Members, without_single
from sk_microagg._utils._tables import kind_of
from sk_microagg._utils._typing import Array, DataFrame, Floats, Labels, Series
from sk_microagg.tables._categories import CategoryColumn
from sk_microagg.tables._columns import Column, Survey, Treatment
from sk_microagg.tables._coordinates import Coordinates
from sk_microagg.tables._dates import DateColumn
from sk_microagg.tables._domain import IntervalEnds
from sk_microagg.tables._forms import (
    Averages,
    Form,
    MeanWeights,
    ReleasedIntervals,
    Shares,
    make_form,
)
from sk_microagg.tables._hierarchical import HierarchyColumn
from sk_microagg.tables._numbers import NumberColumn
from sk_microagg.tables._ordinals import OrdinalColumn
from sk_microagg.tables._values import prototype_of

KINDS: dict[str, type[Column]] = {
    "number": NumberColumn,
    "ordinal": OrdinalColumn,
    "date": DateColumn,
    "boolean": CategoryColumn,
    "category": CategoryColumn,
    "hierarchy": HierarchyColumn,
}


def find_treatments(
    columns: Mapping[Any, Series],
    kinds: Mapping[Any, str],
    orders: Mapping[Any, Sequence[Any]],
    hierarchies: Mapping[Any, Any],
    decimals: Mapping[Any, Any],
    has_intervals: bool = False,
) -> dict[Any, Treatment]:
    """How each column is treated, given columns or their prototypes."""
    treatments = {}
    for name, column in columns.items():
        kind = kinds.get(name)
        if name in hierarchies or name in orders:
            kind = "hierarchy" if name in hierarchies else "ordinal"
        elif kind is None:
            kind = kind_of(prototype_of(column) if column.dtype == object else column)
        treatments[name] = Treatment(
            kind, decimals.get(name, "auto"), orders.get(name), hierarchies.get(name), has_intervals
        )
    return treatments


def survey_table(
    table: DataFrame,
    treatments: Mapping[Any, Treatment],
    keys: Array | None = None,
    most: float = np.inf,
) -> dict[Any, Survey]:
    """Look at some rows, of which `keys` say whose they are."""
    return {
        name: KINDS[treatment.kind].survey(table[name], treatment, keys, most)
        for name, treatment in treatments.items()
    }


def merge_surveys(
    parts: Sequence[Mapping[Any, Survey]], treatments: Mapping[Any, Treatment], most: float = np.inf
) -> dict[Any, Survey]:
    """What several parts show together, in their order."""
    return {
        name: KINDS[treatment.kind].merge([part[name] for part in parts], most)
        for name, treatment in treatments.items()
    }


@dataclass(frozen=True)
class TableCoding:
    """What is known of the columns of a whole table, and the forms in which they are released."""

    k: int
    n_rows: int
    forms: dict[Any, Form]
    weight: Any = None
    weight_form: MeanWeights | None = field(default=None, repr=False)

    @classmethod
    def from_surveys(
        cls,
        surveys: Mapping[Any, Survey],
        treatments: Mapping[Any, Treatment],
        k: int,
        numbers: str = "mean",
        categories: str = "mode",
        weight: Any = None,
    ) -> Self:
        """Make all columns, and the forms that users want; `weight` is a column of mean weights."""
        forms, n_rows = {}, 0
        for name, treatment in treatments.items():
            survey, kind = surveys[name], KINDS[treatment.kind]
            n_rows = survey.n_known + survey.n_missing
            has_order = treatment.order is not None and not treatment.has_intervals
            if not survey.n_known and not has_order and kind is not HierarchyColumn:
                kind = CategoryColumn
            column = kind.from_survey(survey, treatment, k)
            forms[name] = make_form(column, survey, treatment, k, numbers, categories)
        return cls(k, n_rows, forms, weight, None if weight is None else MeanWeights(weight))

    @property
    def columns(self) -> list[Any]:
        """An object per column, of the class for its kind."""
        return [form.column for form in self.forms.values()]

    def encode(self, table: DataFrame) -> Floats:
        """The numbers that travel, NaN where a value is missing."""
        return np.column_stack([form.numbers(table[name]) for name, form in self.forms.items()])

    def fit_space(
        self,
        numbers: Floats,
        weights: Mapping[Any, float] | tuple[()] = (),
        units: Array | None = None,
        n_records: int | None = None,
    ) -> Coordinates:
        """The space in which records are compared, fitted on some of `n_records`."""
        shares = any(isinstance(form, Shares) for form in self.forms.values())
        return Coordinates(self.columns, self.k, dict(weights), numbers, units, shares, n_records)

    @property
    def n_released(self) -> int:
        """Number of values in a released row as it travels."""
        return sum(form.width for form in self.forms.values()) + (self.weight is not None)

    def averages(self, numbers: Floats, members: Members) -> Floats:
        """What each group is released as, as numbers."""
        averages = [
            form.averages(numbers[:, place], members)
            for place, form in enumerate(self.forms.values())
        ]
        if self.weight_form is not None and members.weights is not None:
            averages.append(self.weight_form.averages(members.weights, members))
        return np.column_stack(averages)

    def averaged(self, numbers: Floats) -> list[Floats]:
        """The columns that are released as averages."""
        forms = enumerate(self.forms.values())
        return [numbers[:, place] for place, form in forms if isinstance(form, Averages)]

    def without_single(self, numbers: Floats, labels: Labels, units: Array | None) -> list[Floats]:
        """The columns that are released as averages, without the only known values of groups."""
        return [without_single(own, labels, units) for own in self.averaged(numbers)]

    def find_roundings(
        self, numbers: Sequence[Floats], spread: Spread, weight: Any
    ) -> dict[Any, Rounding]:
        """Find how averages are rounded, given numbers of each column and deviations in groups.

        Warn of averages that are finer than "auto" would make them; with a weight, refuse them.
        """
        averaged = [form.column for form in self.forms.values() if isinstance(form, Averages)]
        for column, own, deviation in zip(averaged, numbers, spread.deviations(), strict=True):
            column.find_rounding(own, deviation)
        finer = {column.name: column.finer_than for column in averaged if column.finer_than}
        if finer and weight is not None:
            names = in_a_list([f"{name!r} ({rounding})" for name, rounding in finer.items()])
            raise ValueError(
                f"decimals must not be finer than 'auto' if there is a weight, here {weight!r}, "
                "since weights tell apart whose values are in a mean. It is finer for "
                f"{names}."
            )
        if finer:
            warn_user(about_finer(finer))
        return {column.name: column.rounding for column in averaged if column.rounding}

    def rounded(self, averages: Floats) -> Floats:
        """What groups are released as, without digits that the release does not show."""
        averages, place = averages.copy(), 0
        for form in self.forms.values():
            if isinstance(form, Averages):
                averages[:, place] = form.column.rounded(averages[:, place])
            place += form.width
        return averages

    def shown(self, averages: Floats) -> tuple[Array, ...]:
        """The values that groups are released as, column by column."""
        parts = _by_column(averages, [form.width for form in self.forms.values()])
        pairs = zip(self.forms.values(), parts, strict=False)
        return tuple(form.shown(part) for form, part in pairs)

    def released(self, shown: Sequence[Array]) -> ReleasedTable:
        """What a model keeps: no categories but those that are released."""
        pairs = zip(self.forms.items(), shown, strict=True)
        forms = {name: (form.width, form.released(own)) for (name, form), own in pairs}
        if self.weight_form is not None:
            forms[self.weight] = 1, self.weight_form.released(np.empty(0))
        return ReleasedTable(forms)

    def losses(self, table: DataFrame, averages: Floats, labels: Labels) -> Floats:
        """The mean loss of the cells of each column, for intervals and common nodes.

        Missing cells lose nothing.
        """
        parts = _by_column(averages, [form.width for form in self.forms.values()])
        pairs = zip(self.forms.items(), parts, strict=False)
        return np.array(
            [
                np.where(table[name].isna(), 0.0, form.losses(part)[labels]).mean()
                for (name, form), part in pairs
            ]
        )


def spread_of(columns: Sequence[Floats], labels: Labels) -> Spread:
    """Deviations within groups, column by column."""
    spreads = [Spread.within(column[:, None], labels) for column in columns]
    squares, counts = (
        np.concatenate([np.empty(0), *(getattr(each, name) for each in spreads)])
        for name in ("squares", "counts")
    )
    return Spread(squares, counts)


@dataclass(frozen=True)
class ReleasedTable:
    """What a model holds of the columns beyond the space of their points, each with its width."""

    forms: dict[Any, tuple[int, Any]]

    @property
    def n_released(self) -> int:
        """Number of values in a released row as it travels."""
        return sum(width for width, _ in self.forms.values())

    def empty(self) -> dict[Any, DataFrame]:
        """The released columns without any cells."""
        return self.cells(np.empty((0, self.n_released)))

    def ends(self, averages: Floats) -> dict[Any, IntervalEnds]:
        """By the name of each column that is released as intervals, their ends."""
        parts = _by_column(averages, [width for width, _ in self.forms.values()])
        pairs = zip(self.forms.items(), parts, strict=True)
        return {
            name: form.ends(part)
            for (name, (_, form)), part in pairs
            if isinstance(form, ReleasedIntervals)
        }

    def cells(self, averages: Floats) -> dict[Any, DataFrame]:
        """By the name of each column, the released cells: a column, or one per share."""
        parts = _by_column(averages, [width for width, _ in self.forms.values()])
        pairs = zip(self.forms.items(), parts, strict=True)
        return {name: form.cells(part) for (name, (_, form)), part in pairs}


def _by_column(averages: Floats, widths: list[int]) -> list[Floats]:
    """The values of each column in released rows, which have one value each, or several."""
    ends = np.cumsum(widths)
    pairs = zip(ends - widths, widths, strict=True)
    return [
        averages[:, start] if width == 1 else averages[:, start : start + width]
        for start, width in pairs
    ]
