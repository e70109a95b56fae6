"""What kind of values a column holds: decided here for encoders, tables on Dask and KAIM."""

from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Series

# From here on, floats cannot represent all integers. Such integers are codes, not measurements.
SMALLEST_CODE = 2**53

# What kinds of cells are in a table of points: those that it lacks are of the kind of others.
KIND_IN_TABLES = {
    "code": "category",
    "decimal": "number",
    "duration": "date",
    "period": "date",
    "time": "category",
}

BOOLEANS = (bool, np.bool_)
DATES = (date, np.datetime64)
DURATIONS = (timedelta, np.timedelta64)


def kind_of(column: Series) -> str:
    """The kind of a column of pandas by its type, and by its cells if these are objects."""
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
    if _is_date_type(kind):
        return "date"
    if types.is_object_dtype(kind):
        found = kind_of_cells(column.dropna().to_numpy())
        found = KIND_IN_TABLES.get(found, found)
        return "category" if found == "date" and not _has_type_for_dates(column) else found
    return "category"


def kind_of_cells(cells: Any) -> str:
    """The kind of an array of known cells: one of those in a table, or one that they stand for."""
    if cells.dtype.kind in "iuf":
        return "code" if cells.dtype.kind in "iu" and _holds_codes(cells) else "number"
    types = set(map(type, cells))
    if not types:
        return "category"
    if any(issubclass(one, BOOLEANS) for one in types):
        return "boolean" if _are_all(types, BOOLEANS) else "category"  # True equals 1.
    if _are_all(types, (time, *DURATIONS)):
        return "duration" if _are_all(types, DURATIONS) else "time"
    # To NumPy, a duration is an integer.
    if (_are_all(types, Real) and np.timedelta64 not in types) or types == {Decimal}:
        if any(map(_is_code, cells)):
            return "code"
        return "decimal" if types == {Decimal} else "number"
    if _are_all(types, DATES):
        return "date"
    return "period" if {one.__name__ for one in types} == {"Period"} else "category"


def _are_all(types: Iterable[type], those: Any) -> bool:
    return all(issubclass(one, those) for one in types)


def is_categorical(column: Series) -> bool:
    """Whether a pandas column has a type that lists its categories."""
    return hasattr(column.dtype, "categories") and hasattr(column.dtype, "ordered")


def _is_date_type(kind: Any) -> bool:
    """Whether a type of pandas is for dates, times, durations or periods."""
    if "period" in str(kind) or getattr(kind, "kind", "") in ("m", "M"):
        return True
    arrow = str(getattr(kind, "pyarrow_dtype", ""))
    return arrow.startswith(("timestamp", "date", "time", "duration"))


def _has_type_for_dates(column: Series) -> bool:
    """Whether date objects have a common type: those of several time zones have not."""
    try:
        return as_typed(column).dtype != object
    except (TypeError, ValueError):
        return False


def as_typed(column: Series) -> Series:
    """A column of date objects with a type for dates; a ValueError if no type has room for all."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    typed = pandas.Series(column.array, name=column.name).infer_objects()
    if typed.dtype == object:
        typed = pandas.to_datetime(typed).dt.as_unit("us")
    return typed


def _holds_codes(values: Any) -> bool:
    """Whether a column or an array of integers holds some that floats do not distinguish."""
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu":
        values = np.asarray(values)
        return bool(len(values)) and (
            int(values.max()) >= SMALLEST_CODE or int(values.min()) <= -SMALLEST_CODE
        )
    return any(map(_is_code, values.dropna().unique().tolist()))


def _is_code(cell: Any) -> bool:
    """Whether a cell is an integer that floats do not distinguish from others."""
    return isinstance(cell, Integral | Decimal) and bool(abs(cell) >= SMALLEST_CODE)  # type: ignore[operator]
