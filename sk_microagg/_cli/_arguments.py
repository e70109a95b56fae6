"""Types of arguments: text from the command line, checked and converted."""

import argparse
import csv
import math
from collections.abc import Callable
from typing import Any


class Once(argparse.Action):
    """Take an option that must not be repeated, where the last one would win silently."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "it is given twice, but must name one column")
        setattr(namespace, self.dest, values)


# Numbers that options take: how they are read, which of them are allowed, and in words.
NUMBERS: dict[str, tuple[Callable, Callable[[Any], bool], str]] = {
    "at_least_1": (int, lambda value: value >= 1, "an integer of at least 1"),
    "at_least_0": (int, lambda value: value >= 0, "an integer of at least 0"),
    "seed": (int, lambda value: 0 <= value < 2**32, "an integer from 0 to 2**32 - 1"),
    "jobs": (int, lambda value: value != 0, "an integer other than 0"),
    "positive": (float, lambda value: 0 < value < math.inf, "a number above 0"),
    "share": (float, lambda value: 0 <= value <= 1, "a number from 0 to 1"),
    "share_below_1": (float, lambda value: 0 <= value < 1, "a number from 0 to below 1"),
    "positive_share": (float, lambda value: 0 < value <= 1, "a number above 0 and at most 1"),
    "diversity": (float, lambda value: 1 <= value < math.inf, "a number of at least 1"),
}


def number(kind: str) -> Callable[[str], Any]:
    """What reads a number of a kind from a text, and raises unless it is allowed."""
    convert, is_allowed, allowed = NUMBERS[kind]

    def read(text: str) -> Any:
        try:
            value: Any = convert(text)
        except ValueError:
            value = None
        checked(text, value is not None and is_allowed(value), allowed)
        # The l of entropy may have decimals.
        return int(value) if kind == "diversity" and value.is_integer() else value

    return read


def separator(text: str) -> str:
    text = {"\\t": "\t"}.get(text, text)
    return checked(text, len(text) == 1 and text not in '"\r\n', "one character, or \\t for a tab")


def mark(text: str) -> str:
    """The decimal mark, or what separates thousands."""
    is_mark = len(text) == 1 and not text.isalnum() and text not in '+-"\r\n'
    return checked(text, is_mark, "one character that is neither a letter, a digit nor a sign")


def encoding(text: str) -> str:
    """An encoding of text that Python knows."""
    try:
        "".encode(text)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be an encoding, such as utf-8, latin-1, cp1252 or utf-16"
        ) from None
    return text


def texts(text: str) -> list[str]:
    """Texts, separated by commas; a text that contains a comma is in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def checked(value: str, is_allowed: bool, allowed: str) -> str:
    """The value; raise unless it is allowed."""
    if not is_allowed:
        raise argparse.ArgumentTypeError(f"{value!r} must be {allowed}")
    return value
