"""Columns of values with an order, on a line by their ranks.

Values that fewer than k records share are not to be known to a fitted model, unless a user names
them. It finds their place among the known ones.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from typing import Any

import numpy as np

from sk_microagg._utils._places import check_cells
from sk_microagg._utils._tables import is_categorical
from sk_microagg._utils._typing import Floats, Series
from sk_microagg.tables._columns import Line, Survey, Treatment
from sk_microagg.tables._frames import import_pandas, with_room
from sk_microagg.tables._values import factorize


class OrdinalColumn(Line):
    """A column of values with an order, represented by their ranks.

    Values in `order` may be released, and have `ranks` among all values: those that at least k
    people share, or all if they are given, lowest first. Others lie halfway between the next ones.
    Averages are values of `order`, which are not rounded.
    """

    kind = "ordinal"

    @classmethod
    def _look_at(cls, cells: Series, treatment: Treatment) -> tuple[None, Series]:
        order = treatment.order
        if order is None:
            return None, cells
        known = {*order}
        if len(known) < len(order):
            raise ValueError(f"ordinal[{cells.name!r}]={list(order)!r} must hold each value once.")
        codes, different = factorize(cells)
        is_lacking = np.array([value not in known for value in different] + [False])
        if is_lacking.any():
            check_cells(
                is_lacking[codes],
                f"ordinal[{cells.name!r}]",
                ("has a value that it lacks", "have values that it lacks"),
                n_cells=int(np.sum(codes >= 0)),
                advice="It must hold all values of the column, lowest first.",
                column=cells.name,
            )
        return None, cells

    def __init__(self, survey: Survey, treatment: Treatment, k: int) -> None:
        self.name = survey.like.name
        self._is_given = treatment.order is not None
        self._is_sorted = treatment.order is None and survey.categories is None
        values = values_in_order(survey, treatment)
        known = survey.as_categories().known
        n_have = dict(zip(known, survey.n_people().tolist(), strict=True))
        n_rows = dict(zip(known, survey.as_categories().counts[:-1].tolist(), strict=True))
        counts = np.array([n_have.get(value, 0) for value in values], dtype=np.intp)
        may_be_known = (counts == 0) | (counts >= k) | self._is_given
        self.ranks = np.flatnonzero(may_be_known).astype(np.float64)
        self.order = [values[rank] for rank in np.flatnonzero(may_be_known)]
        self._rank_of = dict(zip(self.order, self.ranks.tolist(), strict=True))
        ends = np.array([-1.0, *self.ranks, len(values)])
        self._between = (ends[:-1] + ends[1:]) / 2
        # Its type may list them although no group is released as one.
        may_be_empty = survey.categories is not None and survey.like.dtype.ordered
        self._listed = {
            value
            for value in self.order
            if n_rows.get(value, 0) >= k or (may_be_empty and not n_rows.get(value))
        }

    def numbers(self, cells: Series) -> Floats:
        """The ranks as floats, with NaN where a value is missing or has no place in the order."""
        if is_categorical(cells):
            codes, different = cells.cat.codes.to_numpy(), list(cells.dtype.categories)
        else:
            codes, different = factorize(cells)
        if self._is_given or not (self._is_sorted or is_categorical(cells)):
            ranks = [self._rank_of.get(value, np.nan) for value in different]
        elif self._is_sorted:
            ranks = [self._rank_by_value(value) for value in different]
        else:
            ranks = self._ranks_by_neighbors(different)
        return np.array([*ranks, np.nan])[codes]

    def _rank_by_value(self, value: Any) -> float:
        if value in self._rank_of:
            return self._rank_of[value]
        try:
            return self._between[bisect(self.order, value)]
        except TypeError:
            return np.nan

    def _ranks_by_neighbors(self, categories: Iterable[Any]) -> list[float]:
        """Ranks of categories in their order, by the last one before them that is known."""
        ranks, n_before = [], 0
        for category in categories:
            if category in self._rank_of:
                ranks.append(self._rank_of[category])
                n_before = self.order.index(category) + 1
            else:
                ranks.append(self._between[n_before])
        return ranks

    def rounded(self, averages: Floats) -> Floats:
        if not self.order:
            return np.full(len(averages), np.nan)
        nearest = [
            rank if np.isnan(rank) else self._rank_of[self._nearest(rank)] for rank in averages
        ]
        return np.array(nearest, dtype=np.float64)

    def released(self, averages: Floats, like: Series) -> Series:
        """Values whose rank is nearest to some averages, the lower one of two, as a column.

        It has the type of `like`, where that has room for what is missing.
        """
        cells = [
            None if np.isnan(value) or not self.order else self._nearest(value)
            for value in averages
        ]
        if is_categorical(like):
            shown, known = self._listed | {*cells}, [*like.dtype.categories]
            known += [value for value in self.order if value not in known]
            categories = [value for value in known if value in self._rank_of and value in shown]
            kind = import_pandas().CategoricalDtype(categories, ordered=like.dtype.ordered)
        else:
            kind = like.dtype if None not in cells else with_room(like.iloc[:0]).dtype
        return import_pandas().Series(cells, dtype=kind, name=self.name)

    def _nearest(self, value: float) -> Any:
        return self.order[np.argmin(np.abs(self.ranks - value))]


def values_in_order(survey: Survey, treatment: Treatment) -> list[Any]:
    """All values that the table has or may have, lowest first."""
    if treatment.order is not None:
        return list(treatment.order)
    if survey.categories is not None:
        return list(survey.categories)
    try:
        return sorted(survey.as_categories().known.tolist())
    except TypeError as error:
        raise TypeError(
            f"ordinal names column {survey.like.name!r}, whose values cannot be sorted: it must be "
            f"a dict with all of them, lowest first. {error}"
        ) from error
