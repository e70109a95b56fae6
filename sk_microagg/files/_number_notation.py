"""How numbers are written in a column, so that released numbers are written likewise."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._formatting import MOST_DECIMALS
from sk_microagg.files._cells import Texts

# A percent sign, a currency sign, or the code of a currency.
SYMBOL = r"%|‰|\p{Sc}|EUR|USD|GBP|CHF|JPY"

# Also spaces at which no line is broken.
SPACE = "[\\s\u00a0\u202f]*"

# Means of numbers with exponents have at least this many significant digits.
FEWEST_DIGITS = 3


@dataclass(frozen=True)
class NumberNotation:
    """How the numbers of a column are written; `omitted` is in the file, but not in the release."""

    decimals: int | None = None
    is_padded: bool = False
    decimal: str = "."
    digits: int | None = None
    omitted: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as Python does."""
        return self.decimal == "."

    @property
    def rounding(self) -> int | None:
        """What means are rounded to."""
        return self.decimals

    @property
    def separator(self) -> str:
        """What separates the ends of an interval."""
        return "; " if self.decimal == "," else ", "

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """The numbers of values, which are some."""
        return values

    def text(self, number: float) -> str:
        """A number as it is written in the column."""
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
    def of(cls, texts: Texts, decimal: str, thousands: str | None) -> Numbers:
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

    def symbols(self) -> list[str]:
        """The different symbols of the numbers, such as '%', each with its place; '' for none."""
        places = [pc.utf8_trim_whitespace(self.part(name)) for name in ("before", "after")]
        return pc.unique(pc.binary_join_element_wise(*places, "number")).to_pylist()

    def symbol(self) -> str:
        """The symbol of all numbers, or ""."""
        return self.symbols()[0].replace("number", "")

    def have_leading_zeros(self) -> bool:
        """Whether a number has a zero before another digit, as codes have."""
        return _any(pc.match_substring_regex(self.part("whole"), r"^0\d"))

    def have_decimals(self) -> bool:
        """Whether a number has decimals or an exponent."""
        return any(_any(pc.not_equal(self.part(name), "")) for name in ("fraction", "exponent"))

    def values(self) -> np.ndarray:
        """The numbers, as an array of floats."""
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
        decimals = None if has_exponents or ends["max"] > MOST_DECIMALS else ends["max"]
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
    """The regular expression for numbers."""
    mark = re.escape(decimal)
    whole = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d*" if thousands else r"\d*"
    return (
        rf"^(?P<sign>[+-]?)(?P<before>(?:(?:{SYMBOL}){SPACE})?)(?P<whole>{whole})"
        rf"(?P<fraction>(?:{mark}\d*)?)(?P<exponent>(?:[eE][+-]?\d+)?)"
        rf"(?P<after>(?:{SPACE}(?:{SYMBOL}))?)$"
    )


def _any(booleans: pa.Array) -> bool:
    """Whether one of some Arrow booleans is true."""
    return bool(pc.any(booleans).as_py())
