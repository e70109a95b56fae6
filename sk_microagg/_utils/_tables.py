"""Tables as arrays, lists or DataFrames, column by column, and what kind of values these hold."""

import importlib
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._typing import Array, Booleans, Series

DATES = (date, time, timedelta, np.datetime64, np.timedelta64)

# Types of which some values are equal to others.
COUNTED = (Number, np.bool_)

# A missing value in a table of text; also the root of every hierarchy.
MISSING = "*"

EPOCH = datetime(1970, 1, 1)
SECONDS_PER_DAY, SECONDS_PER_HOUR = 86_400, 3_600

DATE, DAYS, HOURS = "date", "days", "hours"

# The first and the last day that can be written, in days since 1970.
FIRST_DAY = float((datetime.min - EPOCH).days)
LAST_DAY = float((datetime.max - EPOCH).days)

# How messages begin, for those who filter them.
SIMILAR = "(Column|The) .* has values that differ only in case"
SPELLINGS = (
    "values that differ only in case, spaces or the form of letters: they count as different "
    "values, or people. Write them alike."
)

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
DAYS_AND_TIMES = (date, np.datetime64)
DURATIONS = (timedelta, np.timedelta64)


def as_table(X: Any) -> Any:
    """The table; Arrow tables as DataFrames, lists and masked arrays as arrays of objects."""
    if is_arrow(X):
        return X.to_pandas()
    if has_masked_rows(X):
        X = np.ma.vstack(X)
    if np.ma.isMaskedArray(X):
        return np.where(np.ma.getmaskarray(X), None, X.data.astype(object))  # type: ignore[call-overload]
    return np.array(X, dtype=object) if isinstance(X, list | tuple) else X


def has_masked_rows(X: object) -> bool:
    return isinstance(X, list | tuple) and any(map(np.ma.isMaskedArray, X))


def is_frame(table: object) -> bool:
    """Whether a table is a DataFrame of pandas or polars."""
    return hasattr(table, "columns") and (hasattr(table, "iloc") or hasattr(table, "get_columns"))


def is_arrow(table: Any) -> bool:
    return hasattr(table, "schema") and hasattr(table, "column_names")


def columns_of(table: Any, name: str) -> list[Any]:
    """Columns of a table, each with its own type: a common one might round large integers."""
    table = as_table(table)
    if is_frame(table) and 0 not in table.shape:
        cells = getattr(table, "iloc", table)
        return [cells[:, j] for j in range(table.shape[1])]
    with dimensions_explained(name):
        return list(check_array(table, dtype=None, ensure_all_finite=False, input_name=name).T)


def column_names(table: Any) -> list[str]:
    """Names of the columns of a table; x0, x1 and so on if they have none."""
    table = as_table(table)
    if is_frame(table):
        return [str(name) for name in table.columns]
    return [f"x{j}" for j in range(len(columns_of(table, "table")))]


def own_names(table: Any) -> list[Any]:
    """Names that a table has for its columns; none for arrays."""
    return list(table.column_names if is_arrow(table) else getattr(table, "columns", []))


@contextmanager
def dimensions_explained(name: str = "X") -> Iterator[None]:
    """Say that a table has rows and columns: the message of scikit-learn quotes all records."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("Expected 2D array"):
            raise
        raise ValueError(
            f"{name} must have two dimensions, rows and columns. Reshape your data: a column is "
            f"{name}.reshape(-1, 1), a record {name}.reshape(1, -1)."
        ) from None


def check_types(types: Iterable[type], name: str) -> None:
    """Raise an error if the cells of a column are booleans and numbers, since True equals 1."""
    counted = [kind for kind in types if issubclass(kind, COUNTED)]
    if len({issubclass(kind, bool | np.bool_) for kind in counted}) > 1:
        raise TypeError(
            f"{name} holds booleans and numbers, of which True equals 1: convert it to one type."
        )


def has_numbers(column: Any) -> bool:
    """Whether a column has a numeric type, with NaN for missing values; objects do not count."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf"


def holds_dates(column: Any) -> bool:
    """Whether a column has a type for dates, times or durations, or holds such objects."""
    if getattr(column.dtype, "kind", "") == "O":
        return any(
            isinstance(cell, DATES) or type(cell).__name__ == "Period" for cell in cells_of(column)
        )
    return has_type_of_dates(column)


def has_type_of_dates(column: Any) -> bool:
    """Whether a column has a type for dates, times or durations."""
    if getattr(column.dtype, "is_temporal", bool)():  # of polars
        return True
    return getattr(column.dtype, "kind", "") in ("m", "M")


def cells_of(column: Any) -> list[Any]:
    """The cells of a column as a list of Python objects."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM":
        # Nanoseconds would become integers.
        return np.asarray(column).astype(f"{column.dtype.kind}8[us]").tolist()
    return column.to_list() if hasattr(column, "to_list") else column.tolist()


def missing_cells(column: Any) -> Booleans:
    """Mask of the missing cells of a column: None, NaN, NaT, pandas.NA or "*"."""
    if has_numbers(column):
        return np.isnan(np.asarray(column))
    return np.array([_is_missing(cell) for cell in cells_of(column)], dtype=bool)


def _is_missing(cell: Any) -> bool:
    return cell == MISSING if isinstance(cell, str) else is_null(cell)


def is_null(cell: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas.NA."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import an optional dependency, or name the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module}, which is not installed: pip install 'sk-microagg[{extra}]'"
        ) from error


def check_report_extra(has_analyses: bool = False) -> None:
    """Raise an ImportError that names the extra if a report cannot be written without it."""
    for module in ("matplotlib", "jinja2"):
        import_extra(module, "report", "A report")
    if has_analyses:
        import_extra("statsmodels", "report", "An analysis")


def is_date(cell: object) -> bool:
    """Whether a cell is a date, with or without a time of day."""
    return isinstance(cell, DAYS_AND_TIMES)


def number_of_date(cell: Any) -> tuple[float, str]:
    """A date, a time of day or a duration as a number, and its unit."""
    if hasattr(cell, "start_time"):  # a period
        cell = cell.start_time
    if isinstance(cell, np.datetime64 | np.timedelta64):
        cell = cell.astype(f"{cell.dtype.kind}8[us]").item()
    if isinstance(cell, timedelta):
        return cell.total_seconds() / SECONDS_PER_DAY, DAYS
    if isinstance(cell, time):
        seconds = cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond / 1e6
        return seconds / SECONDS_PER_HOUR, HOURS
    if not isinstance(cell, datetime):
        return float(cell.toordinal() - EPOCH.toordinal()), DATE
    # As a clock on the wall shows it.
    return (cell.replace(tzinfo=None) - EPOCH).total_seconds() / SECONDS_PER_DAY, DATE


def day_of_text(text: str) -> float | None:
    """An ISO date, with or without a time, in days since 1970; None if it is none."""
    try:
        return number_of_date(datetime.fromisoformat(text))[0]
    except ValueError:
        return None


def text_of_day(days: float) -> str:
    """Days since 1970 as an ISO date, with a time unless it is midnight."""
    moment = EPOCH + timedelta(days=days)
    return moment.isoformat() if moment.time() != time() else moment.date().isoformat()


def warn_of_similar_values(words: str, values: Iterable[Any]) -> None:
    """Warn if texts of a column, named by `words`, are equal but for case, spaces and forms."""
    if are_similar(values):
        warn_of_spellings(words)


def are_similar(values: Iterable[Any]) -> bool:
    """Whether some texts are equal but for case, spaces and Unicode forms."""
    texts = {value for value in values if isinstance(value, str)}
    return len({folded(text) for text in texts}) < len(texts)


def warn_of_spellings(words: str) -> None:
    """Warn that a column, named by `words`, has texts that are written differently; quote none."""
    warn_user(f"{words} has {SPELLINGS}")


def texts_of(column: Any) -> set[str]:
    """The different texts of a Series or array of any type."""
    if getattr(column.dtype, "kind", "O") not in "biufcmM":
        # Others say what is wrong with cells that have no hash, or are lists or structs of Arrow.
        with suppress(TypeError, NotImplementedError):
            values = column.unique() if hasattr(column, "unique") else column.tolist()
            return {value for value in values if isinstance(value, str)}
    return set()


def folded(text: str) -> str:
    """The text without differences in case, spaces and Unicode forms."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


def exact_kind_of(column: Any, known: Array) -> str:
    """The kind of a column of any container, given its known cells: one that `kind_of` returns.

    Those of durations and times of day are told apart, as they have no intervals, and categories
    with an order are categories.
    """
    if is_categorical(column):
        return "category"
    found = kind_of_cells(known)
    if found in ("duration", "time"):
        return found
    return "category" if found == "period" else KIND_IN_TABLES.get(found, found)


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
    if _are_all(types, DAYS_AND_TIMES):
        return "date"
    return "period" if {one.__name__ for one in types} == {"Period"} else "category"


def _are_all(types: Iterable[type], those: Any) -> bool:
    return all(issubclass(one, those) for one in types)


def is_categorical(column: Series) -> bool:
    """Whether a pandas column has a type that lists its categories."""
    return hasattr(column.dtype, "categories") and hasattr(column.dtype, "ordered")


def _is_date_type(kind: Any) -> bool:
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
