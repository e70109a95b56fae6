"""Columns that are released as intervals, such as "[20, 29]": their ends, and counts in bins."""

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from sk_microagg._utils._dates import day_of_text, is_date, number_of_date
from sk_microagg._utils._tables import cells_of, has_numbers, missing_cells
from sk_microagg._utils._typing import Floats
from sk_microagg.generalization._labels import is_number

INTERVAL = re.compile(r"\[([^,\[\]()]+), ([^,\[\]()]+)[\])]")


def ends_of_intervals(
    column: Any, are_dates: bool = False
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Ends of the intervals in a released column.

    Parameters
    ----------
    column : Series or ndarray
        The column: intervals as text, or single values, which are both ends of their own.

    are_dates : bool, default=False
        Whether they are ISO dates, and not numbers.

    Returns
    -------
    low, high : ndarray of shape (n_cells,) or None
        The ends, in days since 1970 if they are dates; NaN for missing values and "*". None if a
        cell is anything else.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.plotting._intervals import ends_of_intervals
    >>> ends_of_intervals(np.array(["[20, 29]", "34", "*"], dtype=object))
    (array([20., 34., nan]), array([29., 34., nan]))
    """
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


def _ends(cell: Any, parse: Callable[[str], float | None]) -> Any:
    if not isinstance(cell, str):
        number = float(cell) if is_number(cell) else None
        if is_date(cell):
            number = number_of_date(cell)[0]
        return None if number is None else (number, number)
    found = INTERVAL.fullmatch(cell)
    ends = [parse(text) for text in (found.groups() if found else (cell, cell))]
    return None if None in ends else tuple(ends)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def count_in_bins(low: Floats, high: Floats, edges: Floats, are_integers: bool) -> Floats:
    """Number of intervals in each bin; one that covers several counts in each by what it covers.

    Parameters
    ----------
    low, high : ndarray of shape (n_intervals,)
        Ends of the intervals, which may be equal. What lies outside of all bins counts in the
        outermost ones.

    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins.

    are_integers : bool
        Whether an interval covers the integers from end to end.

    Returns
    -------
    counts : ndarray of shape (n_bins,)
        The counts, which need not be integers.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.plotting._intervals import count_in_bins
    >>> low, high = np.array([0.0, 1.0]), np.array([3.0, 1.0])
    >>> count_in_bins(low, high, np.array([-0.5, 1.5, 3.5]), are_integers=True)
    array([1.5, 0.5])
    """
    is_point = low == high
    places = np.digitize(low[is_point], edges[1:-1])
    counts = np.bincount(places, minlength=len(edges) - 1).astype(np.float64)
    intervals, n_equal = np.unique(
        np.column_stack([low, high])[~is_point], axis=0, return_counts=True
    )
    half = 0.5 if are_integers else 0.0
    covered = np.clip(intervals + np.array([-half, half]), edges[0], edges[-1])
    overlaps = np.minimum(covered[:, 1:], edges[1:]) - np.maximum(covered[:, :1], edges[:-1])
    overlaps = np.maximum(overlaps, 0.0)
    totals = overlaps.sum(axis=1)
    is_outside = totals == 0
    places = np.digitize(intervals[is_outside].mean(axis=1), edges[1:-1])
    counts += np.bincount(places, weights=n_equal[is_outside], minlength=len(counts))
    return counts + (n_equal[~is_outside] / totals[~is_outside]) @ overlaps[~is_outside]


def with_midpoints(column: Any) -> Any:
    """A released column with the middle of each interval; the column itself if it has none."""
    cells = cells_of(column)
    if not any(isinstance(cell, str) and INTERVAL.fullmatch(cell) for cell in cells):
        return column
    for are_dates in (False, True):
        low, high = ends_of_intervals(column, are_dates)
        if low is not None and high is not None:
            return (low + high) / 2
    return column
