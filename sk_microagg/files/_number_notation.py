"""How numbers are written in a column, so that released numbers are written likewise."""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._formatting import MOST_DECIMALS

# A percent sign, a currency sign, or the code of a currency.
SYMBOL = r"%|‰|\p{Sc}|EUR|USD|GBP|CHF|JPY"

# Also spaces at which no line is broken.
SPACE = "[\\s\u00a0\u202f]*"

# Means of numbers with exponents have at least this many significant digits.
FEWEST_DIGITS = 3


@dataclass(frozen=True)
class NumberNotation:
    """How the numbers of a column are written."""

    decimals: int | None = None
    is_padded: bool = False
    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    digits: int | None = None

    @property
    def is_plain(self):
        """Whether numbers are written as Python does."""
        return (self.decimal, self.thousands, self.prefix, self.suffix) == (".", "", "", "")

    @property
    def separator(self):
        """What separates the ends of an interval."""
        return "; " if "," in (self.decimal, self.thousands) else ", "

    def text(self, number):
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
            fraction = fraction.ljust(self.decimals, "0")
        if self.thousands:
            whole = f"{int(whole):,}".replace(",", self.thousands)
        sign = "-" if number < 0 else ""
        mark = self.decimal if fraction else ""
        return f"{sign}{self.prefix}{whole}{mark}{fraction}{self.suffix}"

    def unpadded(self):
        """The same without zeros at the end, for numbers that were not rounded."""
        return NumberNotation(None, False, self.decimal, self.thousands, self.prefix, self.suffix)


@dataclass(frozen=True)
class Numbers:
    """The different texts of a column as numbers, as far as they are some."""

    is_number: np.ndarray
    parts: pa.StructArray
    thousands: str
    decimal: str

    @classmethod
    def of(cls, texts, decimal, thousands):
        """Take the numbers from texts, which may have a symbol before or after them."""
        parts = pc.extract_regex(texts.unique, _pattern(decimal, thousands))
        digits = pc.binary_join_element_wise(parts.field("whole"), parts.field("fraction"), "")
        has_digits = pc.match_substring_regex(digits, r"\d")
        is_number = pc.and_(parts.is_valid(), has_digits).fill_null(False)
        parts = parts.filter(is_number)
        return cls(is_number.to_numpy(zero_copy_only=False), parts, thousands or "", decimal)

    def part(self, name):
        """One part of each number, "" where it is absent."""
        return self.parts.field(name)

    def symbols(self):
        """The different symbols of the numbers, such as '%', each with its place; '' for none."""
        places = [pc.utf8_trim_whitespace(self.part(name)) for name in ("before", "after")]
        return pc.unique(pc.binary_join_element_wise(*places, "number")).to_pylist()

    def have_leading_zeros(self):
        """Whether a number has a zero before another digit, as codes have."""
        return _any(pc.match_substring_regex(self.part("whole"), r"^0\d"))

    def have_decimals(self):
        """Whether a number has decimals or an exponent."""
        return any(_any(pc.not_equal(self.part(name), "")) for name in ("fraction", "exponent"))

    def values(self):
        """The numbers, as an array of floats."""
        whole = self.part("whole")
        if self.thousands:
            whole = pc.replace_substring(whole, self.thousands, "")
        fraction = pc.replace_substring(self.part("fraction"), self.decimal, ".")
        parts = [self.part("sign"), whole, fraction, self.part("exponent")]
        text = pc.binary_join_element_wise(*parts, "")
        return np.array(text.to_pylist(), dtype=object).astype(np.float64)

    def notation(self):
        """How they are written, for texts that are all numbers with the same symbol."""
        n_decimals = pc.utf8_length(pc.utf8_ltrim(self.part("fraction"), characters=self.decimal))
        ends = pc.min_max(n_decimals).as_py()
        has_exponents = _any(pc.not_equal(self.part("exponent"), ""))
        decimals = None if has_exponents or ends["max"] > MOST_DECIMALS else ends["max"]
        is_grouped = self.thousands and _any(pc.match_substring(self.part("whole"), self.thousands))
        return NumberNotation(
            decimals,
            decimals is not None and ends["min"] == ends["max"] > 0,
            self.decimal,
            self.thousands if is_grouped else "",
            self._most_frequent("before"),
            self._most_frequent("after"),
            self._most_digits() if has_exponents else None,
        )

    def _most_digits(self):
        """The largest number of significant digits, but enough of them for a mean."""
        written = pc.binary_join_element_wise(self.part("whole"), self.part("fraction"), "")
        digits = pc.replace_substring_regex(written, r"\D", "")
        most = pc.max(pc.utf8_length(pc.utf8_ltrim(digits, characters="0"))).as_py()
        return max(most, FEWEST_DIGITS)

    def _most_frequent(self, name):
        """The most frequent text of a part: spaces between symbol and number may differ."""
        counts = pc.value_counts(self.part(name)).to_pylist()
        return max(counts, key=lambda count: count["counts"])["values"]


def _pattern(decimal, thousands):
    mark = re.escape(decimal)
    whole = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d*" if thousands else r"\d*"
    return (
        rf"^(?P<sign>[+-]?)(?P<before>(?:(?:{SYMBOL}){SPACE})?)(?P<whole>{whole})"
        rf"(?P<fraction>(?:{mark}\d*)?)(?P<exponent>(?:[eE][+-]?\d+)?)"
        rf"(?P<after>(?:{SPACE}(?:{SYMBOL}))?)$"
    )


def _any(booleans):
    return bool(pc.any(booleans).as_py())
