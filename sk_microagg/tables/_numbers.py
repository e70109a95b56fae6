"""Columns of numbers: one coordinate each.

They are standardized together with the ranks of ordinal values, by the scaler that
:class:`MicroAggregator` uses. A missing value lies in the middle, and is told apart by a coordinate
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sk_microagg._utils._decimals import Decimals
from sk_microagg._utils._places import NO_NUMBER, TOO_LARGE, check_cells, no_numbers
from sk_microagg._utils._rounding import Rounding, finer_than, rounding_of_numbers
from sk_microagg._utils._tables import kind_of
from sk_microagg._utils._typing import Floats, Series
from sk_microagg._utils._validation import LARGEST_VALUE, check_range
from sk_microagg.tables._columns import Line, Survey, Treatment
from sk_microagg.tables._dates import UNITS_OF_DATES
from sk_microagg.tables._frames import import_pandas


@dataclass(frozen=True)
class NumberFacts:
    """What some numbers show."""

    decimals: Decimals
    low: float
    high: float

    @classmethod
    def merged(cls, parts: Sequence[NumberFacts]) -> NumberFacts:
        """What several parts show together."""
        decimals = Decimals.merged([part.decimals for part in parts])
        return cls(decimals, min(part.low for part in parts), max(part.high for part in parts))


class NumberColumn(Line):
    """A column of numbers.

    Averages are released with `decimals`: "auto" for as many as hide the values, None for all.
    """

    kind = "number"

    @classmethod
    def _look_at(cls, cells: Series, treatment: Treatment) -> tuple[NumberFacts, Series | None]:
        if cells.dtype != object and kind_of(cells) != cls.kind:
            raise ValueError(
                f"Column {cells.name!r} of X holds integers of 2**53 or more, which floats do not "
                "distinguish: name it in `categorical`, or convert it to text."
            )
        values = floats_of(cells)
        # What has one decimal has many more if it is converted from 4 bytes to 8.
        is_narrow = getattr(cells.dtype, "itemsize", 8) < 8 and _cell_type(cells) is float
        decimals = Decimals.of_part(values.astype(np.float32) if is_narrow else values)
        known = values[~np.isnan(values)]
        facts = NumberFacts(decimals, known.min(initial=np.inf), known.max(initial=-np.inf))
        return facts, type(cells)(values, name=cells.name) if treatment.has_intervals else None

    def __init__(self, survey: Survey, treatment: Treatment, k: int = 1) -> None:
        decimals = treatment.decimals
        self.name = survey.like.name
        if decimals in UNITS_OF_DATES:
            raise ValueError(
                f"decimals={decimals!r} for column {self.name!r} is a unit of dates, but the "
                "column holds numbers."
            )
        check_range(np.array([survey.facts.low, survey.facts.high]), f"Column {self.name!r} of X")
        self.own_decimals = survey.facts.decimals.fewest()
        if _cell_type(survey.like) is int and decimals != "auto":
            # Integers are rounded once: 5.45 is 5, and not 5.5 and then 6.
            decimals = 0 if decimals is None else min(decimals, 0)
        self._asked = decimals
        self.rounding = Rounding(self.own_decimals if decimals == "auto" else decimals)

    def find_rounding(self, numbers: Floats, spread: float) -> None:
        auto = rounding_of_numbers(numbers, self.own_decimals, spread)
        if self._asked == "auto":
            self.rounding = auto
        elif finer_than(auto, self._asked):
            self.finer_than = auto

    def numbers(self, cells: Series) -> Floats:
        return floats_of(cells)

    def rounded(self, averages: Floats) -> Floats:
        decimals = self.rounding.decimals
        # Adding zero turns -0.0 into 0.0.
        return averages if decimals is None else np.round(averages, decimals) + 0.0

    def released(self, averages: Floats, like: Series) -> Series:
        pandas = import_pandas()
        cell, rounded = _cell_type(like), self.rounded(averages)
        if cell is int and like.dtype != object:
            # Rounded to hundreds, say, a number may exceed its type.
            limits = np.iinfo(getattr(like.dtype, "numpy_dtype", like.dtype))
            rounded = np.clip(rounded, limits.min, limits.max)
        if cell is float and isinstance(like.dtype, np.dtype) and like.dtype.kind == "f":
            return pandas.Series(rounded.astype(like.dtype), name=self.name)
        write: Any = {int: round, float: float}.get(cell) or self._decimal_writer(like)
        cells = [None if np.isnan(value) else write(value) for value in rounded.tolist()]
        return pandas.Series(cells, dtype=like.dtype, name=self.name)

    def _decimal_writer(self, like: Series) -> Callable[[float], Decimal]:
        """Return what writes a float as a Decimal, without digits that its type has no room for."""
        digits = None if self.rounding.decimals is None else max(self.rounding.decimals, 0)
        room = getattr(getattr(like.dtype, "pyarrow_dtype", None), "scale", None)
        if room is not None:
            digits = room if digits is None else min(digits, room)
        return lambda value: Decimal(repr(value) if digits is None else f"{value:.{digits}f}")


def floats_of(column: Series) -> Floats:
    """The cells as floats; raise an error unless all that are known are finite numbers."""
    about = f"Column {column.name!r} of X"
    values = _as_floats(column)
    if values is None:
        is_bad = no_numbers(column.tolist())
        advice = "The column must hold numbers, as it did in fit."
        known = int(column.notna().sum())
        check_cells(is_bad, about, NO_NUMBER, n_cells=known, advice=advice, column=column.name)
        raise ValueError(f"{about} holds no numbers. {advice}")
    check_cells(
        np.abs(values) > LARGEST_VALUE,
        about,
        TOO_LARGE,
        n_cells=int(np.sum(~np.isnan(values))),
        advice=f"Numbers must be finite and at most {LARGEST_VALUE:.3g}.",
        column=column.name,
    )
    return values


def _as_floats(column: Series) -> Floats | None:
    """The cells as floats; None if they are no numbers, since the message of NumPy quotes one."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None


def _cell_type(column: Series) -> type:
    """The type of the numbers in a column: int, float or Decimal."""
    pandas = import_pandas()
    if pandas.api.types.is_integer_dtype(column.dtype):
        return int
    if "decimal" in str(column.dtype):
        return Decimal
    if column.dtype == object:
        known = column.dropna()
        if all(isinstance(cell, Decimal) for cell in known):
            return Decimal
        return int if pandas.api.types.infer_dtype(known) == "integer" else float
    return float
