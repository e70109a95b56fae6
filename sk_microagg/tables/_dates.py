"""Columns of dates, times, durations or periods: one coordinate each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from sk_microagg._utils._rounding import Rounding, finest_step
from sk_microagg._utils._tables import as_typed, kind_of
from sk_microagg._utils._typing import Array, Booleans, Floats, Series
from sk_microagg.tables._columns import Line, Survey, Treatment
from sk_microagg.tables._frames import import_pandas, is_missing

NANOSECONDS = {
    "D": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}

# What dates may be rounded to, by the names of the units.
NAMES = "day", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond"
UNITS_OF_DATES = dict(zip(NAMES, NANOSECONDS.values(), strict=True))

NAME_OF_UNIT = {length: name for name, length in UNITS_OF_DATES.items()}

# Steps of averages, in nanoseconds.
STEPS = np.array(sorted(NANOSECONDS.values()) + [10**n * NANOSECONDS["D"] for n in range(1, 5)])

# The first and the last day that Python has, in years 1 and 9999, as days since 1970.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896

# Floats represent all integers up to this one. Larger ones, of nanoseconds, are counted from a
# multiple of about 13 days, which reveals nobody's date.
EXACT = 2**53
COARSE = 2**50


@dataclass(frozen=True)
class DateFacts:
    """What some dates show: the lengths of their ticks and steps, the largest date and their sum.

    Lengths and sums are in nanoseconds, or in periods. Python's integers have room for any sum.
    """

    tick: int
    step: int
    largest: int
    total: int

    @classmethod
    def of_part(cls, ticks: Array, tick: int) -> DateFacts:
        """What some known dates show."""
        lengths = [length for length in NANOSECONDS.values() if tick and length % tick == 0]
        whole = [length for length in lengths if not np.any(ticks % (length // tick))]
        largest = max(map(abs, (int(ticks.min()), int(ticks.max())))) if len(ticks) else 0
        # In two halves, whose sums have room in 64 bits.
        total = (int(np.sum(ticks >> 32)) << 32) + int(np.sum(ticks & 0xFFFFFFFF))
        unit = tick or 1
        return cls(tick, max(whole) if whole else tick, largest * unit, total * unit)

    @classmethod
    def merged(cls, parts: Sequence[DateFacts]) -> DateFacts:
        """What several parts show together."""
        tick, step = (min(getattr(part, name) for part in parts) for name in ("tick", "step"))
        largest, total = max(part.largest for part in parts), sum(part.total for part in parts)
        return cls(tick, step, largest, total)


class DateColumn(Line):
    """A column of dates, times, durations or periods.

    Their averages are multiples of `decimals`, such as "day" or "minute". None stands for the
    longest unit of which all dates are multiples, and "auto" or a number for one that hides the
    dates. Periods are released as periods.
    """

    kind = "date"

    @classmethod
    def _look_at(cls, cells: Series, treatment: Treatment) -> tuple[DateFacts, Series | None]:
        missing = is_missing(cells)
        if missing.all():  # Of objects, nothing tells what they are.
            no_ticks = np.empty(len(cells), dtype=np.int64), NANOSECONDS["D"]
            ticks, tick = no_ticks if cells.dtype == object else ticks_of(cells)
        else:
            if treatment.has_intervals:
                days_of_dates(cells)  # Raise an error for what has no calendar.
            ticks, tick = ticks_of(cells)
        facts = DateFacts.of_part(ticks[~missing], tick)
        return facts, cells if treatment.has_intervals else None

    def __init__(self, survey: Survey, treatment: Treatment, k: int = 1) -> None:
        facts, unit = survey.facts, treatment.decimals
        self.name = survey.like.name
        tick, own_step = facts.tick, facts.step
        wanted = UNITS_OF_DATES.get(unit) if tick else None
        if wanted is not None and wanted < tick:
            raise ValueError(
                f"decimals={unit!r} for column {self.name!r} is a shorter unit than its type has."
            )
        self.step = wanted or own_step
        kind = getattr(survey.like.dtype, "pyarrow_dtype", None)
        self._is_time_of_day = str(kind).startswith("time") and not str(kind).startswith("timest")
        self._is_asked = wanted is not None or unit is None
        # In steps: of which they are all multiples, and of which averages will be.
        self._own = max(own_step // self.step, 1) if tick else 1
        self._multiple, self._rest, self._reason = 1, 0, ""
        # A round number near to large ones, from which differences are exact as floats.
        self.origin = 0
        if tick and facts.largest >= EXACT * self.step:
            self.origin = facts.total // (survey.n_known * self.step * COARSE) * COARSE

    @property
    def rounding(self) -> Rounding:
        """How averages are rounded."""
        return self._rounding(self._multiple, self._reason)

    def find_rounding(self, numbers: Floats, spread: float) -> None:
        length, reason = finest_step(numbers, spread, self._lengths())
        multiple = max(round(length), self._own)
        reason = reason if multiple > self._own else ""
        if not self._is_asked:
            self._multiple, self._reason = multiple, reason
            # Dates that are all at ten o'clock have means at ten o'clock.
            rests = (np.rint(numbers[~np.isnan(numbers)]).astype(np.int64) + self.origin) % multiple
            self._rest = int(rests[0]) if len(rests) and (rests == rests[0]).all() else 0
        elif multiple > 1:
            self.finer_than = self._rounding(multiple, reason)

    def _lengths(self) -> Any:
        """What averages may be multiples of, in steps."""
        if not self.step:
            return 10.0 ** np.arange(5)
        longest = NANOSECONDS["h"] if self._is_time_of_day else STEPS[-1]
        return STEPS[(self.step <= STEPS) & (longest >= STEPS)] / self.step

    def _rounding(self, multiple: int, reason: str) -> Rounding:
        if self.step == 0:
            unit = "period" if multiple == 1 else f"{multiple} periods"
        else:
            length = multiple * self.step
            n_days = length // NANOSECONDS["D"]
            unit = NAME_OF_UNIT.get(length) or f"{n_days} days"
        return Rounding(unit, reason)

    def numbers(self, cells: Series) -> Floats:
        """The dates as floats, in steps, with NaN where one is missing."""
        missing = is_missing(cells)
        if missing.all():
            return np.full(len(cells), np.nan)
        ticks: Any
        tick: Any
        ticks, tick = ticks_of(cells) if kind_of(cells) == "date" else (None, None)
        if tick is None or (tick == 0) != (self.step == 0):
            raise ValueError(f"Column {self.name!r} of X must hold dates, as it did in fit.")
        if tick == self.step:
            values = (ticks - self.origin).astype(np.float64)
        else:
            values = ticks.astype(np.float64)
            values *= tick / self.step if tick > self.step else 1.0
            values /= self.step / tick if tick < self.step else 1.0
            values -= self.origin
        return np.where(missing, np.nan, values)

    def rounded(self, averages: Floats) -> Floats:
        steps = np.rint(np.where(np.isnan(averages), 0.0, averages)).astype(np.int64) + self.origin
        rounded = self._rounded(steps, 1) if self._multiple > 1 else steps
        return np.where(np.isnan(averages), np.nan, (rounded - self.origin).astype(np.float64))

    def released(self, averages: Floats, like: Series) -> Series:
        """Averages as dates of the type of a column, rounded to whole steps."""
        _, tick = ticks_of(like)
        missing = np.isnan(averages)
        steps = np.rint(np.where(missing, 0.0, averages)).astype(np.int64) + self.origin
        if self._multiple > 1:
            steps = self._rounded(steps, max(self.step // tick, 1) if tick else 1)
        if self._is_time_of_day:  # Before midnight, it is not rounded up to the next day.
            per_day = NANOSECONDS["D"] // self.step
            steps = np.where(steps < per_day, steps, steps - self._multiple)
        ticks = steps * (self.step // tick) if tick else steps
        return dates_like(ticks, missing, like)

    def _rounded(self, steps: Array, ticks_per_step: int) -> Array:
        """Multiples that are near, none of them beyond the calendar or the numbers of its type."""
        multiple, rest = self._multiple, self._rest
        near = (steps - rest + multiple // 2) // multiple * multiple + rest
        most = (2**63 - 1) // ticks_per_step
        low, high = -most, most
        if self.step:
            per_day = NANOSECONDS["D"] // self.step
            low, high = max(low, FIRST_DAY * per_day), min(high, LAST_DAY * per_day)
        is_within = (steps >= low) & (steps <= high)
        lowest = -((rest - low) // multiple) * multiple + rest
        highest = (high - rest) // multiple * multiple + rest
        return np.where(is_within, np.clip(near, lowest, highest), near)


def ticks_of(column: Series) -> tuple[Array, int]:
    """Dates as whole numbers of a unit."""
    kind = column.dtype
    if "period" in str(kind):
        return np.where(is_missing(column), 0, column.array.asi8), 0
    if hasattr(kind, "pyarrow_dtype"):
        return _ticks_of_arrow(column)
    if kind.kind == "O":
        return ticks_of(as_typed(column))
    if getattr(kind, "tz", None) is not None:
        column = column.dt.tz_localize(None)
    values = column.to_numpy()
    unit = np.datetime_data(values.dtype)[0]
    return np.where(np.isnat(values), 0, values.astype(np.int64)), NANOSECONDS[unit]


def dates_like(ticks: Array, missing: Booleans, like: Series) -> Series:
    """Dates of the type of a column, from whole numbers of its unit."""
    pandas = import_pandas()
    kind = like.dtype
    if "period" in str(kind):
        cells = pandas.arrays.PeriodArray(np.where(missing, pandas.NaT._value, ticks), dtype=kind)
        return pandas.Series(cells, name=like.name)
    if hasattr(kind, "pyarrow_dtype"):
        return _arrow_dates_like(ticks, missing, like)
    if kind.kind == "O":
        typed = as_typed(like)
        dates = dates_like(ticks, missing, typed)
        is_day = isinstance(like.dropna().iloc[0], date) and typed.dtype.kind == "M"
        cells = dates.dt.date if is_day and not hasattr(like.dropna().iloc[0], "hour") else dates
        return cells.astype(object).where(~missing, None)
    naive = kind if isinstance(kind, np.dtype) else np.dtype(f"M8[{kind.unit}]")
    values = ticks.astype(np.int64).view(f"{naive.kind}8[{np.datetime_data(naive)[0]}]").copy()
    values[missing] = "NaT"
    dates = pandas.Series(values, name=like.name)
    if naive is kind:
        return dates.astype(kind)
    # Of an hour that occurs twice, the second; where the clock jumps, right after it.
    zone = dates.dt.tz_localize(
        kind.tz, ambiguous=np.zeros(len(dates), dtype=bool), nonexistent="shift_forward"
    )
    return zone.astype(kind)


def _ticks_of_arrow(column: Series) -> tuple[Array, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.dtype.pyarrow_dtype
    cells = pa.array(column.array)
    if getattr(kind, "tz", None) is not None:
        cells = pc.local_timestamp(cells)
    days = pa.types.is_date32(kind)
    ticks = cells.cast(pa.int32() if days or pa.types.is_time32(kind) else pa.int64())
    unit = "D" if days else getattr(kind, "unit", "ms")
    return ticks.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), NANOSECONDS[unit]


def _arrow_dates_like(ticks: Array, missing: Booleans, like: Series) -> Series:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = like.dtype.pyarrow_dtype
    is_short = pa.types.is_date32(kind) or pa.types.is_time32(kind)
    cells = pa.array(ticks, pa.int64(), mask=missing).cast(pa.int32() if is_short else pa.int64())
    if getattr(kind, "tz", None) is None:
        cells = cells.cast(kind)
    else:
        naive = cells.cast(pa.timestamp(kind.unit))
        cells = pc.assume_timezone(naive, kind.tz, ambiguous="latest", nonexistent="latest")
    return pd.Series(pd.arrays.ArrowExtensionArray(cells), name=like.name)


def days_of_dates(column: Series) -> Floats:
    """Dates as days since 1970, NaN where one is missing; an error for what has no calendar."""
    kind = column.dtype
    if getattr(kind, "kind", "") == "O" and not hasattr(kind, "pyarrow_dtype"):
        kind = as_typed(column).dtype
    arrow = str(getattr(kind, "pyarrow_dtype", ""))
    if not (arrow.startswith(("timestamp", "date")) or getattr(kind, "kind", "") == "M"):
        raise TypeError(
            f"Column {column.name!r} of X holds times of day, durations or periods, for which "
            "there are no intervals: convert them to numbers, to dates, or to text."
        )
    ticks, tick = ticks_of(column)
    return np.where(is_missing(column), np.nan, ticks * (tick / NANOSECONDS["D"]))
