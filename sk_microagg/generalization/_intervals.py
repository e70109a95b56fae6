"""Columns that are released as intervals, such as "[20, 29]": their ends and midpoints."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from sk_microagg._utils._dates import day_of_text, is_date, number_of_date
from sk_microagg._utils._tables import cells_of, has_numbers, missing_cells
from sk_microagg._utils._typing import Floats
from sk_microagg.generalization._labels import interval_of_label, is_number


def ends_of_intervals(
    column: Any, are_dates: bool = False
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Ends of the intervals in a released column."""
    if has_numbers(column):
        numbers = np.asarray(column, dtype=np.float64)
        return numbers, numbers
    known = np.flatnonzero(~missing_cells(column))
    cells = cells_of(column)
    ends_of = {}
    low, high = np.full(len(cells), np.nan), np.full(len(cells), np.nan)
    for place in known:
        cell = cells[place]
        if cell not in ends_of:
            ends_of[cell] = _ends(cell, day_of_text if are_dates else _number)
        if ends_of[cell] is None:
            return None, None
        low[place], high[place] = ends_of[cell]
    return low, high


def with_midpoints(column: Any) -> Any:
    """A released column with the middle of each interval; the column itself if it has none."""
    cells = cells_of(column)
    if not any(isinstance(cell, str) and interval_of_label(cell) for cell in cells):
        return column
    for are_dates in (False, True):
        low, high = ends_of_intervals(column, are_dates)
        if low is not None and high is not None:
            return (low + high) / 2
    return column


def _ends(cell: Any, parse: Callable[[str], float | None]) -> Any:
    if not isinstance(cell, str):
        number = float(cell) if is_number(cell) else None
        if is_date(cell):
            number = number_of_date(cell)[0]
        return None if number is None else (number, number)
    low, high, _ = interval_of_label(cell) or (cell, cell, True)
    ends = parse(low), parse(high)
    return None if None in ends else ends


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
