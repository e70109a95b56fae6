"""Columns of dates, times, durations or periods: one coordinate each."""

from datetime import date
from typing import Any

import numpy as np

from sk_microagg._utils._tables import as_typed, import_extra, kind_of
from sk_microagg._utils._typing import Array, Booleans, Floats, Series
from sk_microagg.encoding._frames import is_missing

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

# Floats represent all integers up to this one. Larger ones, of nanoseconds, are counted from a
# multiple of about 13 days, which reveals nobody's date.
EXACT = 2**53
COARSE = 2**50


class DateColumn:
    """A column of dates, times, durations or periods.

    They are released in steps of `unit`, as "day" or "minute"; anything else stands for the longest
    unit of which all dates are multiples. Periods are released as periods.
    """

    kind = "date"

    def __init__(self, column: Series, unit: Any = "auto") -> None:
        self.name = column.name
        ticks, tick = ticks_of(column)
        ticks = ticks[~is_missing(column)]
        wanted = UNITS_OF_DATES.get(unit) if tick else None
        if wanted is not None and wanted < tick:
            raise ValueError(
                f"decimals={unit!r} for column {self.name!r} is a shorter unit than its type has."
            )
        lengths = [length for length in NANOSECONDS.values() if tick and length % tick == 0]
        whole = [length for length in lengths if not np.any(ticks % (length // tick))]
        self.step = wanted or (max(whole) if whole else tick)
        self.origin = self._near(ticks // (self.step // tick)) if tick and len(ticks) else 0

    @staticmethod
    def _near(steps: Array) -> int:
        """A round number near to large ones, from which differences are exact as floats."""
        if np.abs(steps).max() < EXACT:
            return 0
        return int(steps.mean() // COARSE) * COARSE

    def values(self, column: Series) -> Floats:
        """The dates as floats, in steps, with NaN where one is missing."""
        if is_missing(column).all():
            return np.full(len(column), np.nan)
        ticks: Any
        tick: Any
        ticks, tick = ticks_of(column) if kind_of(column) == "date" else (None, None)
        if tick is None or (tick == 0) != (self.step == 0):
            raise ValueError(f"Column {self.name!r} of X must hold dates, as it did in fit.")
        if tick == self.step:
            values = (ticks - self.origin).astype(np.float64)
        else:
            values = ticks.astype(np.float64)
            values *= tick / self.step if tick > self.step else 1.0
            values /= self.step / tick if tick < self.step else 1.0
            values -= self.origin
        return np.where(is_missing(column), np.nan, values)

    def released(self, values: Floats, like: Series) -> Series:
        """Averages as dates of the type of a column, rounded to whole steps."""
        _, tick = ticks_of(like)
        missing = np.isnan(values)
        steps = np.rint(np.where(missing, 0.0, values)).astype(np.int64) + self.origin
        ticks = steps * (self.step // tick) if tick else steps
        return dates_like(ticks, missing, like)


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
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
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
