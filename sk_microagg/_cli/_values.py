"""Values of cells: numbers, categories or missing."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._cli._errors import CommandError

MISSING = pa.array(["", "NA", "NaN", "nan", "null", "NULL", "?", "*"])

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
INTEGER = r"^[+-]?\d+$"
LEADING_ZERO = r"^[+-]?0\d"

# From here on, floats cannot represent all integers. Such integers are codes, not measurements.
SMALLEST_CODE = 2**53


def values_of_text(cells, name):
    """Values of a column of text: numbers if all known cells are numbers, otherwise categories.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        The text. Spaces around it are ignored.

    name : str
        Name of the column, for messages.

    Returns
    -------
    values : ndarray
        Integers if nothing is missing, floats with NaN, or objects with None.
    """
    cells = without_missing(cells)
    known = cells.drop_null()
    if not len(known) or not _all_match(known, NUMBER) or _any_match(known, LEADING_ZERO):
        return _categories(cells)
    numbers = np.array(cells.fill_null("nan").to_pylist(), dtype=object).astype(np.float64)
    if not _all_match(known, INTEGER):
        return numbers
    if np.nanmax(np.abs(numbers)) >= SMALLEST_CODE:
        return _categories(cells)
    return numbers if cells.null_count else numbers.astype(np.int64)


def known_text(cells):
    """The cells of a column of text that are not missing."""
    return without_missing(cells).drop_null()


def without_missing(cells):
    """The cells without spaces around them, null where they are missing."""
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(cells, MISSING), None, cells)


def known_of_type(cells):
    """The cells of a typed column that are not missing."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    known = cells.drop_null()
    return known.filter(pc.invert(pc.is_nan(known))) if pa.types.is_floating(known.type) else known


def values_of_type(cells, name):
    """Values of a typed column.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        The column.

    name : str
        Its name, for messages.

    Returns
    -------
    values : ndarray
        Numbers, with NaN where one is missing, or objects with None.
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    kind = cells.type
    if pa.types.is_integer(kind):
        known = cells.drop_null()
        ends = pc.min_max(known).as_py().values() if len(known) else [0]
        if max(map(abs, ends)) >= SMALLEST_CODE:
            return _categories(cells)
        return cells.to_numpy()
    if pa.types.is_floating(kind):
        return cells.to_numpy()
    if pa.types.is_decimal(kind):
        return cells.cast(pa.float64()).to_numpy()
    if pa.types.is_nested(kind) or "binary" in str(kind):
        raise CommandError(
            f"Column {name!r} has type {kind}, which cannot be anonymized: drop it with --drop, or "
            "choose others with --columns."
        )
    return _categories(cells)


def _categories(cells):
    values = np.empty(len(cells), dtype=object)
    values[:] = [None if cell is None else str(cell) for cell in cells.to_pylist()]
    return values


def _all_match(cells, pattern):
    return pc.all(pc.match_substring_regex(cells, pattern)).as_py()


def _any_match(cells, pattern):
    return pc.any(pc.match_substring_regex(cells, pattern)).as_py()


def why_no_numbers(values):
    """Why a column does not hold numbers without missing values; None if it does.

    Parameters
    ----------
    values : pandas.Series
        The column.

    Returns
    -------
    why : str or None
        The reason.
    """
    if values.dtype.kind not in "iuf":
        return "holds categories"
    return "has missing values" if values.isna().any() else None
