"""The text of cells in a generalized table."""

from numbers import Integral, Real

import numpy as np

from sk_microagg._utils._tables import MISSING

ROOT = MISSING


def is_number(value):
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def label_of(value):
    """A value as text. Equal numbers give equal text, whatever their type."""
    if not is_number(value) or isinstance(value, Integral):
        return str(value)
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)


def interval_label(low, high):
    return label_of(low) if low == high else f"[{label_of(low)}, {label_of(high)}]"


def bin_label(low, high):
    return f"[{label_of(low)}, {label_of(high)})"
