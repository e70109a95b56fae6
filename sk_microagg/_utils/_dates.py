"""Dates, times of day and durations as numbers, and dates as text."""

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

EPOCH = datetime(1970, 1, 1)
SECONDS_PER_DAY, SECONDS_PER_HOUR = 86_400, 3_600

DATE, DAYS, HOURS = "date", "days", "hours"

# The first and the last day that can be written, in days since 1970.
FIRST_DAY = float((datetime.min - EPOCH).days)
LAST_DAY = float((datetime.max - EPOCH).days)


def is_date(cell: object) -> bool:
    """Whether a cell is a date, with or without a time of day."""
    return isinstance(cell, date | np.datetime64)


def is_time(cell: object) -> bool:
    """Whether a cell is a time of day or a duration."""
    return isinstance(cell, time | timedelta | np.timedelta64)


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
