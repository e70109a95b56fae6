"""How numbers, dates and ordered values are written, so that released ones are written likewise."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._decimals import MOST_DECIMALS, decimals_of
from sk_microagg._utils._statistics import n_people, take_units
from sk_microagg._utils._tables import MISSING
from sk_microagg.files._columns import Texts

# A percent sign, a currency sign, or the code of a currency.
SYMBOL = r"%|‰|\p{Sc}|EUR|USD|GBP|CHF|JPY"

# Also spaces at which no line is broken.
SPACE = "[\\s\u00a0\u202f]*"

# Means of numbers with exponents have at least this many significant digits.
FEWEST_DIGITS = 3

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

# Of a column with more texts, about as many are tried with all of these patterns.
N_TRIED = 200

# What is likely to be a date, but not in the order of ISO.
LIKE_A_DATE = r"^(\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})|\d{4}[./]\d{1,2}[./]\d{1,2})(\s.*)?$"

UNPADDED = re.compile(r"(?<!\d)\d(?!\d)")


class Notation:
    """How values are written: a subclass makes text of numbers, and numbers of values."""

    is_plain = False
    separator = ", "

    def unpadded(self) -> Any:
        """The same for numbers that were not rounded: between dates or ranks there are none."""
        return self


@dataclass(frozen=True)
class NumberNotation(Notation):
    """How the numbers of a column are written; `omitted` is in the file, but not in the release."""

    decimals: int | None = None
    is_padded: bool = False
    decimal: str = "."
    digits: int | None = None
    omitted: str = ""

    @property
    def is_plain(self) -> bool:  # type: ignore[override]
        return self.decimal == "."

    @property
    def rounding(self) -> int | None:
        return self.decimals

    @property
    def separator(self) -> str:  # type: ignore[override]
        return "; " if self.decimal == "," else ", "

    def numbers(self, values: np.ndarray) -> np.ndarray:
        return values

    def text(self, number: float) -> str:
        number = float(number) + 0.0  # never -0.0
        if self.decimals is None and self.digits is not None:
            # Of its shortest text: 2**-24 has more digits, which would round to another number.
            number = float(np.format_float_scientific(number, precision=self.digits - 1))
        digits = repr(abs(number))
        if "e" not in digits or self.decimals is not None:
            digits = np.format_float_positional(abs(number), trim="-")
        whole, _, fraction = digits.partition(".")
        if self.is_padded:
            fraction = fraction.ljust(self.decimals or 0, "0")
        return f"{'-' if number < 0 else ''}{whole}{self.decimal if fraction else ''}{fraction}"

    def unpadded(self) -> NumberNotation:
        """The same without zeros at the end, for numbers that were not rounded."""
        return replace(self, decimals=None, is_padded=False, digits=None)


@dataclass(frozen=True)
class Numbers:
    """The different texts of a column, parsed as numbers where possible."""

    is_number: np.ndarray
    parts: pa.StructArray
    thousands: str
    decimal: str

    @classmethod
    def from_texts(cls, texts: Texts, decimal: str, thousands: str | None) -> Numbers:
        """Take the numbers from texts, which may have a symbol before or after them."""
        parts = pc.extract_regex(texts.unique, _pattern(decimal, thousands))
        digits = pc.binary_join_element_wise(parts.field("whole"), parts.field("fraction"), "")
        has_digits = pc.match_substring_regex(digits, r"\d")
        is_number = pc.and_(parts.is_valid(), has_digits).fill_null(False)
        parts = parts.filter(is_number)
        return cls(is_number.to_numpy(zero_copy_only=False), parts, thousands or "", decimal)

    def part(self, name: str) -> pa.Array:
        """One part of each number, "" where it is absent."""
        return self.parts.field(name)

    @cached_property
    def symbols(self) -> np.ndarray:
        """The symbol of each number, such as '%', with its place before or after it."""
        places = [pc.utf8_trim_whitespace(self.part(name)) for name in ("before", "after")]
        joined = pc.binary_join_element_wise(*places, "number")
        return np.array(joined.to_pylist(), dtype=object)

    def have_one_symbol(self) -> bool:
        return len({*self.symbols}) == 1

    def symbol(self) -> str:
        return self.symbols[0].replace("number", "")

    def have_leading_zeros(self) -> bool:
        """Whether a number has a zero before another digit, as codes have."""
        return _any(pc.match_substring_regex(self.part("whole"), r"^0\d"))

    def have_decimals(self) -> bool:
        """Whether a number has decimals or an exponent."""
        return any(_any(pc.not_equal(self.part(name), "")) for name in ("fraction", "exponent"))

    @cached_property
    def values(self) -> np.ndarray:
        whole = self.part("whole")
        if self.thousands:
            whole = pc.replace_substring(whole, self.thousands, "")
        fraction = pc.replace_substring(self.part("fraction"), self.decimal, ".")
        parts = [self.part("sign"), whole, fraction, self.part("exponent")]
        text = pc.binary_join_element_wise(*parts, "")
        return np.array(text.to_pylist(), dtype=object).astype(np.float64)

    def notation(self) -> NumberNotation:
        """How they are written, for texts that are all numbers with the same symbol."""
        n_decimals = pc.utf8_length(pc.utf8_ltrim(self.part("fraction"), characters=self.decimal))
        ends = pc.min_max(n_decimals).as_py()
        has_exponents = _any(pc.not_equal(self.part("exponent"), ""))
        decimals = None if has_exponents else ends["max"]
        if decimals is not None and decimals > MOST_DECIMALS:
            decimals = decimals_of(self.values)
        is_grouped = self.thousands and _any(pc.match_substring(self.part("whole"), self.thousands))
        symbol, separators = self.symbol(), "thousands separators" if is_grouped else ""
        return NumberNotation(
            decimals,
            decimals is not None and ends["min"] == ends["max"] > 0,
            self.decimal,
            self._most_digits() if has_exponents else None,
            " and ".join(word for word in (symbol, separators) if word),
        )

    def _most_digits(self) -> int:
        """The largest number of significant digits, but enough of them for a mean."""
        written = pc.binary_join_element_wise(self.part("whole"), self.part("fraction"), "")
        digits = pc.replace_substring_regex(written, r"\D", "")
        most = pc.max(pc.utf8_length(pc.utf8_ltrim(digits, characters="0"))).as_py()
        return max(most, FEWEST_DIGITS)


def _pattern(decimal: str, thousands: str | None) -> str:
    mark = re.escape(decimal)
    whole = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d*" if thousands else r"\d*"
    return (
        rf"^(?P<sign>[+-]?)(?P<before>(?:(?:{SYMBOL}){SPACE})?)(?P<whole>{whole})"
        rf"(?P<fraction>(?:{mark}\d*)?)(?P<exponent>(?:[eE][+-]?\d+)?)"
        rf"(?P<after>(?:{SPACE}(?:{SYMBOL}))?)$"
    )


def _any(booleans: pa.Array) -> bool:
    return bool(pc.any(booleans).as_py())


@dataclass(frozen=True)
class DateNotation(Notation):
    """How the dates of a column are written; as numbers, they count units since 1970."""

    unit: str
    pattern: str
    zone: str = ""
    is_padded: bool = True
    decimals = 0

    @property
    def rounding(self) -> str:
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


@dataclass(frozen=True)
class Dates:
    """The different texts of a column parsed as dates where possible."""

    is_date: np.ndarray
    moments: list[datetime]
    notation: DateNotation | None

    @classmethod
    def from_iso(cls, texts: Texts) -> Dates:
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
    def from_pattern(cls, texts: Texts, pattern: str) -> Dates:
        """Take dates from texts that are written by a pattern of `datetime.strptime`."""
        unique = texts.unique.to_pylist()
        parsed = [_parsed(datetime.strptime, text, pattern) for text in unique]
        is_date = np.array([moment is not None for moment in parsed], dtype=bool)
        moments = [moment for moment in parsed if moment is not None]
        is_padded = not any(map(UNPADDED.search, unique))
        notation = DateNotation(_unit_of(pattern), pattern, is_padded=is_padded)
        return cls(is_date, moments, notation)


def likely_patterns(texts: Texts) -> dict[str, Dates]:
    """The common patterns by which most cells are dates, each with these; none if few are."""
    some = texts.unique[:: max(len(texts.unique) // N_TRIED, 1)].to_pylist()
    n_fit = {
        pattern: sum(_parsed(datetime.strptime, text, pattern) is not None for text in some)
        for pattern in PATTERNS
    }
    if not (most := max(n_fit.values())):
        return {}
    likely = [pattern for pattern, n_texts in n_fit.items() if n_texts == most]
    dates = {pattern: Dates.from_pattern(texts, pattern) for pattern in likely}
    n_cells = {pattern: texts.n_cells(each.is_date) for pattern, each in dates.items()}
    most = max(n_cells.values())
    return {p: each for p, each in dates.items() if n_cells[p] == most >= texts.n_known / 2}


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


@dataclass(frozen=True)
class OrdinalNotation(Notation):
    """The values of an ordinal column; as numbers, they are ranks from 0."""

    levels: list
    ranks: np.ndarray
    decimals = 0

    def numbers(self, values: pd.Categorical) -> np.ndarray:
        """The ranks of values, NaN where one is missing."""
        return np.where(values.codes < 0, np.nan, values.codes)

    def text(self, rank: float) -> str:
        return self.levels[int(rank)]

    def around(self, ends: list) -> list | None:
        """The nearest ranks that may be released around an interval, or None."""
        low, high = np.clip(ends, 0, len(self.levels) - 1)
        below, above = self.ranks[self.ranks <= low], self.ranks[self.ranks >= high]
        return [below[-1], above[0]] if len(below) and len(above) else None

    def of_shared(
        self, values: pd.Categorical, k: int, units: np.ndarray | None = None
    ) -> OrdinalNotation:
        """The notation that releases only values that at least `k` people have."""
        is_known = values.codes >= 0
        known = values.codes[is_known].astype(np.intp)
        n_have = n_people(known, len(self.levels), take_units(units, is_known))
        return replace(self, ranks=np.flatnonzero(n_have >= k))


def interval_texts(ends: Any, notation: Any) -> list[str]:
    """Intervals as text in the notation of their column, "*" where ends are missing."""
    notation = notation.unpadded()
    if isinstance(notation, DateNotation):
        ends = ends._replace(low=notation.numbers(ends.low), high=notation.numbers(ends.high))
    keys = [*zip(*(part.tolist() for part in ends), strict=True)]
    texts = {key: _interval_text(key, notation) for key in dict.fromkeys(keys)}
    return [texts[key] for key in keys]


def _interval_text(key: tuple[Any, ...], notation: Any) -> str:
    low, high, is_closed = key
    if low != low:
        return MISSING
    both = [np.floor(low), np.ceil(high)] if notation.decimals == 0 else [low, high]
    if isinstance(notation, OrdinalNotation):
        both = notation.around(both)
        if both is None:
            return MISSING
    parts = [notation.text(end) for end in both]
    if parts[0] == parts[1]:
        return parts[0]
    return f"[{notation.separator.join(parts)}{']' if is_closed else ')'}"
