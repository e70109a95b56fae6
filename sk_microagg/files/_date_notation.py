"""How dates are written in a column, so that released dates are written likewise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from sk_microagg.files._cells import Texts

EPOCH = datetime(1970, 1, 1)

# What a mean is rounded to, the longest first.
UNITS = {
    "day": timedelta(days=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}

ISO = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:(?P<sep>[T ])\d\d:\d\d(?P<second>:\d\d(?P<fraction>\.\d{1,9})?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?"
)

# Patterns of dates that are recognized where the user says that there are dates.
DAYS = [
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
]
TIMES = ["", " %H:%M", " %H:%M:%S"]
PATTERNS = [day + time for time in TIMES for day in DAYS]

# What is likely to be a date, but not in the order of ISO.
LIKE_A_DATE = r"^(\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})|\d{4}[./]\d{1,2}[./]\d{1,2})(\s.*)?$"

UNPADDED = re.compile(r"(?<!\d)\d(?!\d)")


@dataclass(frozen=True)
class DateNotation:
    """How the dates of a column are written; as numbers, they count units since 1970."""

    unit: str
    pattern: str
    zone: str = ""
    is_padded: bool = True
    decimals = 0
    is_plain = False
    separator = ", "

    @property
    def rounding(self) -> str:
        """What means are rounded to."""
        return self.unit

    def text(self, number: float) -> str:
        """A number of units as the date that it stands for."""
        moment = EPOCH + round(number) * UNITS[self.unit]
        # On some systems, strftime does not pad years, and nowhere can it leave out zeros.
        pattern = self.pattern.replace("%Y", f"{moment.year:04d}")
        if not self.is_padded:
            pattern = pattern.replace("%d", str(moment.day)).replace("%m", str(moment.month))
        digits = {"millisecond": 3, "microsecond": 6}.get(self.unit, 0)
        fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
        return moment.strftime(pattern) + fraction + self.zone

    def numbers(self, moments: np.ndarray) -> np.ndarray:
        """Dates as numbers of units, NaN where one is missing."""
        # In two parts: floats have no room for all microseconds.
        size = UNITS[self.unit] // UNITS["microsecond"]
        whole, rest = np.divmod(moments.astype("datetime64[us]").astype(np.int64), size)
        return np.where(np.isnat(moments), np.nan, whole + rest / size)

    def moments(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of units as an array of dates, without a date where a number is NaN."""
        missing = np.isnan(numbers)
        microseconds = np.where(missing, 0, numbers) * (UNITS[self.unit] // UNITS["microsecond"])
        moments = microseconds.astype(np.int64).astype("datetime64[us]")
        moments[missing] = "NaT"
        return moments

    def unpadded(self) -> DateNotation:
        """The same: dates between two units do not exist."""
        return self


@dataclass(frozen=True)
class Dates:
    """The different texts of a column parsed as dates where possible."""

    is_date: np.ndarray
    moments: list[datetime]
    notation: DateNotation | None

    @classmethod
    def of_iso(cls, texts: Texts) -> Dates:
        """Take ISO dates and times from texts."""
        if not texts.matches(r"^\d{4}-\d\d-\d\d").any():
            return cls(np.zeros(len(texts.unique), dtype=bool), [], None)
        matches: list[Any] = [ISO.fullmatch(text) for text in texts.unique.to_pylist()]
        parsed = [match and _parsed(datetime.fromisoformat, match[0]) for match in matches]
        is_date = np.array([moment is not None for moment in parsed], dtype=bool)
        matches = [m for m, is_one in zip(matches, is_date, strict=True) if is_one]
        moments = [moment for moment in parsed if moment is not None]
        if not moments or len({moment.tzinfo is None for moment in moments}) > 1:
            return cls(is_date, moments, None)
        moments, zone = _in_one_zone(moments, matches)
        separators = {match["sep"] for match in matches} - {None}
        pattern = "%Y-%m-%d"
        if separators:
            has_seconds = any(match["second"] for match in matches)
            pattern += max(separators) + "%H:%M" + (":%S" if has_seconds else "")
        n_digits = max(len(match["fraction"] or "") - 1 for match in matches)
        unit = _unit_of(pattern)
        if n_digits > 0:
            unit = "millisecond" if n_digits <= 3 else "microsecond"
        return cls(is_date, moments, DateNotation(unit, pattern, zone))

    @classmethod
    def of_pattern(cls, texts: Texts, pattern: str) -> Dates:
        """Take dates from texts that are written by a pattern of `datetime.strptime`."""
        unique = texts.unique.to_pylist()
        parsed = [_parsed(datetime.strptime, text, pattern) for text in unique]
        is_date = np.array([moment is not None for moment in parsed], dtype=bool)
        moments = [moment for moment in parsed if moment is not None]
        is_padded = not any(map(UNPADDED.search, unique))
        notation = DateNotation(_unit_of(pattern), pattern, is_padded=is_padded)
        return cls(is_date, moments, notation)

    def values(self) -> np.ndarray:
        """The dates as an array."""
        return np.array(self.moments, dtype="datetime64[us]")


def fitting_patterns(texts: Texts) -> Iterator[tuple[str, Dates]]:
    """The common patterns by which all texts are dates, each with these dates."""
    first = texts.unique[0].as_py()
    for pattern in PATTERNS:
        if _parsed(datetime.strptime, first, pattern) is None:
            continue
        dates = Dates.of_pattern(texts, pattern)
        if dates.is_date.all():
            yield pattern, dates


def _parsed(parse: Callable[..., datetime], *arguments: str) -> datetime | None:
    """A date, or None if there is none in a text."""
    try:
        return parse(*arguments)
    except ValueError:
        return None


def _unit_of(pattern: str) -> str:
    """What dates of a pattern are multiples of."""
    if "%S" in pattern:
        return "second"
    return "minute" if "%H" in pattern or "%I" in pattern else "day"


def _in_one_zone(moments: list[datetime], matches: list[Any]) -> tuple[list[datetime], str]:
    """The same moments without time zones, and what to write after each of them."""
    if moments[0].tzinfo is None:
        return moments, ""
    zones = {match["zone"] for match in matches}
    if len({moment.utcoffset() for moment in moments}) == 1:
        return [moment.replace(tzinfo=None) for moment in moments], min(zones)
    zone = "Z" if "Z" in zones else "+00:00"
    return [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments], zone
