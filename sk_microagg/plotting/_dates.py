"""Dates, times and durations as numbers that can be drawn."""

from datetime import UTC, datetime, time, timedelta

import numpy as np

from sk_microagg._utils._tables import cells_of, holds_dates, missing_cells

EPOCH = datetime(1970, 1, 1)
SECONDS_PER_DAY, SECONDS_PER_HOUR = 86_400, 3_600

DATES, DAYS, HOURS = "date", "days", "hours"


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
    pairs = [_number_of(cells[place]) for place in known]
    units = {unit for _, unit in pairs}
    if len(units) != 1:
        return None, None
    numbers = np.full(len(cells), np.nan)
    numbers[known] = [number for number, _ in pairs]
    return numbers, units.pop()


def _number_of(cell):
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
        return float(cell.toordinal() - EPOCH.toordinal()), DATES
    # As a clock on the wall shows it.
    return (cell.replace(tzinfo=None) - EPOCH).total_seconds() / SECONDS_PER_DAY, DATES


def date_axis(axis):
    """Let an axis of days since 1970 show dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=5)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC, show_offset=False))
