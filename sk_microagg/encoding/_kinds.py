"""What kind of values a column holds."""

from datetime import date

import numpy as np

from sk_microagg._utils._tables import SMALLEST_CODE, import_extra, is_code
from sk_microagg._utils._typing import Array, Booleans, Series
from sk_microagg.encoding._frames import is_categorical, is_missing

# What pandas says of the cells of a column of objects.
KIND_OF_OBJECTS = {
    "boolean": "boolean",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "date": "date",
    "datetime": "date",
    "datetime64": "date",
    "timedelta": "date",
    "timedelta64": "date",
    "period": "date",
}

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
UNITS_OF_DATES = {
    "day": NANOSECONDS["D"],
    "hour": NANOSECONDS["h"],
    "minute": NANOSECONDS["m"],
    "second": NANOSECONDS["s"],
    "millisecond": NANOSECONDS["ms"],
    "microsecond": NANOSECONDS["us"],
    "nanosecond": NANOSECONDS["ns"],
}


def kind_of(column: Series) -> str:
    """The kind of a column by its type, and by its cells if these are objects."""
    types = import_extra("pandas", "table", "A table of columns of any kind").api.types
    kind = column.dtype
    if is_categorical(column):
        return "ordinal" if kind.ordered else "category"
    if types.is_bool_dtype(kind):
        return "boolean"
    if types.is_complex_dtype(kind):
        raise TypeError(f"Column {column.name!r} of X holds complex numbers: it must not.")
    if types.is_numeric_dtype(kind):
        return "category" if types.is_integer_dtype(kind) and _holds_codes(column) else "number"
    if is_date_type(kind):
        return "date"
    if types.is_object_dtype(kind):
        found = KIND_OF_OBJECTS.get(types.infer_dtype(column, skipna=True), "category")
        is_category = (found == "number" and _holds_codes(column)) or (
            found == "date" and not _has_type_for_dates(column)
        )
        return "category" if is_category else found
    return "category"


def is_date_type(kind):
    """Whether a type of pandas is for dates, times, durations or periods."""
    if "period" in str(kind):
        return True
    if getattr(kind, "kind", "") in ("m", "M"):
        return True
    arrow = str(getattr(kind, "pyarrow_dtype", ""))
    return arrow.startswith(("timestamp", "date", "time", "duration"))


def _has_type_for_dates(column):
    """Whether date objects have a common type: those of several time zones have not."""
    try:
        return as_typed(column).dtype != object
    except ValueError:
        return False


def _holds_codes(column):
    """Whether a column of numbers holds integers that floats do not distinguish."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
        values = column.to_numpy()
        return bool(len(values)) and (
            int(values.max()) >= SMALLEST_CODE or int(values.min()) <= -SMALLEST_CODE
        )
    return any(map(is_code, column.dropna().unique().tolist()))


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


def as_typed(column: Series) -> Series:
    """A column of date objects with a type for dates; a ValueError if no type has room for all."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    typed = pandas.Series(column.array, name=column.name).infer_objects()
    if typed.dtype == object:
        typed = pandas.to_datetime(typed).dt.as_unit("us")
    return typed


def _ticks_of_arrow(column):
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


def _arrow_dates_like(ticks, missing, like):
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
