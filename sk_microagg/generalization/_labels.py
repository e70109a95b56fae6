"""The text of cells in a generalized table."""

import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_microagg._utils._tables import MISSING

ROOT = MISSING
INTERVAL = re.compile(r"\[([^,\[\]()]+), ([^,\[\]()]+)([\])])")


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def label_of(value: Any) -> str:
    """A value as text. Equal numbers give equal text, whatever their type."""
    if not is_number(value) or isinstance(value, Integral):
        return str(value)
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)


def interval_label(low: float, high: float) -> str:
    return interval_text(label_of(low), label_of(high))


def interval_text(low: str, high: str) -> str:
    """The text of an interval, given that of its ends."""
    return low if low == high else f"[{low}, {high}]"


def interval_of_label(label: str) -> tuple[str, str, bool] | None:
    """The texts of both ends of an interval, and whether it contains the upper one.

    None if the label is that of a single value.
    """
    found = INTERVAL.fullmatch(label)
    return (found[1], found[2], found[3] == "]") if found else None


def bin_label(low: float, high: float) -> str:
    return f"[{label_of(low)}, {label_of(high)})"
