"""The text of cells in a generalized table."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_microagg._utils._tables import MISSING

ROOT = MISSING


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


def ends_of_label(label: str) -> list[str]:
    """The texts of both ends of an interval; twice the text of a single value."""
    is_interval = label.startswith("[") and label.endswith("]")
    return label[1:-1].split(", ") if is_interval else [label, label]


def bin_label(low: float, high: float) -> str:
    return f"[{label_of(low)}, {label_of(high)})"
