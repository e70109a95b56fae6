"""Kinds of numbers and texts that settings take: which values are allowed, also in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from sk_microagg._choices import LARGEST_WEIGHT

MOST_DECIMALS = 15


@dataclass(frozen=True)
class Number:
    """A kind of number: how a text becomes one, and which are allowed, also in words."""

    convert: Callable[[Any], Any]
    is_in_range: Callable[[Any], bool]
    allowed: str

    def allows(self, value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        is_whole = self.convert is not int or number.is_integer()
        return is_whole and not math.isnan(number) and self.is_in_range(value)


NUMBERS = {
    "at_least_1": Number(int, lambda value: value >= 1, "an integer of at least 1"),
    "at_least_0": Number(int, lambda value: value >= 0, "an integer of at least 0"),
    "seed": Number(int, lambda value: 0 <= value < 2**32, "an integer from 0 to 2**32 - 1"),
    "jobs": Number(int, lambda value: value != 0, "an integer other than 0"),
    "positive": Number(float, lambda value: 0 < value < math.inf, "a number above 0"),
    "share": Number(float, lambda value: 0 <= value <= 1, "a number from 0 to 1"),
    "share_below_1": Number(float, lambda value: 0 <= value < 1, "a number from 0 to below 1"),
    "positive_share": Number(float, lambda value: 0 < value <= 1, "a number above 0 and at most 1"),
    "diversity": Number(float, lambda value: 1 <= value < math.inf, "a number of at least 1"),
    "weights": Number(
        float,
        lambda value: 0 < value <= LARGEST_WEIGHT,
        f"a number above 0 and at most {LARGEST_WEIGHT:g}",
    ),
    "decimals": Number(
        int,
        lambda value: abs(value) <= MOST_DECIMALS,
        f"an integer from -{MOST_DECIMALS} to {MOST_DECIMALS}",
    ),
}


def _is_mark(text: str) -> bool:
    return len(text) == 1 and not text.isalnum() and text not in '+-"\r\n'


def _is_encoding(text: str) -> bool:
    try:
        "".encode(text)
    except (LookupError, ValueError):
        return False
    return True


# Texts of which not all are allowed: which are, also in words.
TEXTS: dict[str, tuple[Callable[[str], bool], str]] = {
    "mark": (_is_mark, "one character that is neither a letter, a digit nor a sign"),
    "separator": (
        lambda text: len(text) == 1 and text not in '"\r\n',
        "one character, or \\t for a tab",
    ),
    "encoding": (_is_encoding, "an encoding, such as utf-8, latin-1, cp1252 or utf-16"),
}
