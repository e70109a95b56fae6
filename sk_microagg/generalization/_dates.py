"""Columns of dates, which are generalized to intervals of days since 1970."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._dates import (
    FIRST_DAY,
    LAST_DAY,
    day_of_text,
    is_date,
    number_of_date,
    text_of_day,
)
from sk_microagg._utils._typing import Array, Codes, Floats, Labels
from sk_microagg.generalization._domain import MidpointDomain, NumberDomain
from sk_microagg.generalization._grid import Grid
from sk_microagg.generalization._labels import ROOT, interval_text


def are_dates(values: Sequence[Any]) -> bool:
    """Whether there are values, and all are dates."""
    return len(values) > 0 and all(map(is_date, values))


def days_of(values: Iterable[Any]) -> Array:
    """Days since 1970, None for all that is no date."""
    return np.array(
        [number_of_date(value)[0] if is_date(value) else None for value in values], dtype=object
    )


class DateDomain(NumberDomain):
    """A column of dates, as days since 1970, that are generalized to intervals."""

    def __init__(
        self, values: Sequence[float] | Floats, grid: Grid | None = None, unit: float | None = None
    ) -> None:
        super().__init__(values, None if grid is None else _Calendar(grid), unit)

    def encode(self, values: Any) -> Codes:
        """First and last position of each date, as for numbers."""
        return super().encode(days_of(values))

    def label(self, cover: tuple[float, ...]) -> str:
        """The interval in ISO dates."""
        return interval_text(*map(text_of_day, cover)) if cover else ROOT

    def _number(self, text: str) -> float | None:
        return day_of_text(text)

    def midpoint(self, cover: tuple[float, ...]) -> None:
        """None: the middle of an interval is text, as dates are."""

    def _of_midpoints(self, midpoints: list[float]) -> "DateDomain":
        return DateMidpointDomain(midpoints, unit=self.unit)


class DateMidpointDomain(DateDomain, MidpointDomain):
    """Dates that are released as midpoints. Any other date counts as the nearest of them."""


class _Calendar:
    """A grid without ends that are no dates, before the year 1 or after 9999."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def ends(self, numbers: Floats, counts: Labels) -> tuple[Floats, Floats]:
        low, high = self._grid.ends(numbers, counts)
        return np.where(low < FIRST_DAY, -np.inf, low), np.where(high > LAST_DAY, np.inf, high)
