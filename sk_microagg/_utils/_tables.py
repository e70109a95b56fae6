"""Tables as arrays, lists or DataFrames, column by column."""

import importlib
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils import check_array

from sk_microagg._utils._deadline import warn_user
from sk_microagg._utils._typing import Booleans

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
    """Whether a table is a list of rows of which some are masked arrays."""
    return isinstance(X, list | tuple) and any(map(np.ma.isMaskedArray, X))


def is_frame(table: object) -> bool:
    """Whether a table is a DataFrame of pandas or polars."""
    return hasattr(table, "columns") and (hasattr(table, "iloc") or hasattr(table, "get_columns"))


def is_arrow(table: Any) -> bool:
    """Whether a table is one of pyarrow."""
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


def check_report_extra() -> None:
    """Raise an ImportError that names the extra if a report cannot be written without it."""
    for module in ("matplotlib", "jinja2"):
        import_extra(module, "report", "A report")


def is_date(cell: object) -> bool:
    """Whether a cell is a date, with or without a time of day."""
    return isinstance(cell, date | np.datetime64)


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
    texts = {value for value in values if isinstance(value, str)}
    if len({folded(text) for text in texts}) < len(texts):
        warn_of_spellings(words)


def warn_of_spellings(words: str) -> None:
    """Warn that a column, named by `words`, has texts that are written differently; quote none."""
    warn_user(
        f"{words} has values that differ only in case, spaces or the form of letters: they count "
        "as different values, or people. Write them alike.",
    )


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
