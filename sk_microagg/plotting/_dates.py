"""Dates, times and durations as numbers that can be drawn."""

from datetime import UTC

import numpy as np

from sk_microagg._utils._dates import number_of_date
from sk_microagg._utils._tables import cells_of, holds_dates, missing_cells


def numbers_of_dates(column):
    """A column of dates as numbers, and their unit.

    Parameters
    ----------
    column : Series or ndarray
        The column.

    Returns
    -------
    numbers : ndarray of shape (n_cells,) or None
        Days since 1970 for dates, days for durations, hours for times of day; NaN for missing ones.
        None if the column does not hold dates, or holds several of these.

    unit : {"date", "days", "hours"} or None
        The unit.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_microagg.plotting._dates import numbers_of_dates
    >>> numbers_of_dates(pd.Series(pd.to_datetime(["1970-01-02 12:00", None])))
    (array([1.5, nan]), 'date')
    """
    if not holds_dates(column):
        return None, None
    known = np.flatnonzero(~missing_cells(column))
    cells = cells_of(column)
    pairs = [number_of_date(cells[place]) for place in known]
    units = {unit for _, unit in pairs}
    if len(units) != 1:
        return None, None
    numbers = np.full(len(cells), np.nan)
    numbers[known] = [number for number, _ in pairs]
    return numbers, units.pop()


def date_axis(axis):
    """Let an axis of days since 1970 show dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    # With at least 3 ticks, Matplotlib would find none for 25 to 35 months, and warn of it.
    locator = AutoDateLocator(minticks=2, maxticks=5)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC, show_offset=False))
