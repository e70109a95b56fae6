"""Types of arguments: text from the command line, checked and converted."""

import argparse
import csv
from collections.abc import Callable
from typing import Any

from sk_microagg.files._values import NUMBERS, TEXTS


class Once(argparse.Action):
    """Take an option that must not be repeated, where the last one would win silently."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            raise argparse.ArgumentError(self, "it is given twice, but takes one value")
        setattr(namespace, self.dest, values)


def number(kind: str) -> Callable[[str], Any]:
    """What reads a number of a kind from a text, and raises unless it is allowed."""
    known = NUMBERS[kind]

    def read(text: str) -> Any:
        try:
            value: Any = known.convert(text)
        except ValueError:
            value = None
        checked(text, known.allows(value), known.allowed)
        # The l of entropy may have decimals.
        return int(value) if kind == "diversity" and value.is_integer() else value

    return read


def text_of_kind(kind: str) -> Callable[[str], str]:
    """What reads a mark, a separator or an encoding, and raises unless it is allowed."""
    is_allowed, allowed = TEXTS[kind]

    def read(text: str) -> str:
        text = "\t" if (kind, text) == ("separator", "\\t") else text
        return checked(text, is_allowed(text), allowed)

    return read


def texts(text: str) -> list[str]:
    """Texts, separated by commas; a text that contains a comma is in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def checked(value: str, is_allowed: bool, allowed: str) -> str:
    """The value; raise unless it is allowed."""
    if not is_allowed:
        raise argparse.ArgumentTypeError(f"{value!r} must be {allowed}")
    return value
