"""What kind of values a column holds."""

from decimal import Decimal
from numbers import Integral

import numpy as np

from sk_microagg._utils._extras import import_extra
from sk_microagg._utils._typing import Series
from sk_microagg.encoding._dates import as_typed
from sk_microagg.encoding._frames import is_categorical

# From here on, floats cannot represent all integers. Such integers are codes, not measurements.
SMALLEST_CODE = 2**53

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
    return any(
        isinstance(cell, Integral | Decimal) and abs(cell) >= SMALLEST_CODE
        for cell in column.dropna().unique().tolist()
    )
