"""Parameters as text, shortened to one line."""

import reprlib

import numpy as np

from sk_microagg.report._names import shown_name

LONGEST = 240
SHORT = reprlib.Repr()
SHORT.maxlist, SHORT.maxother, SHORT.maxstring = 12, 80, 80


def describe(value):
    """A value as text."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} instance"
    text = repr(value) if hasattr(value, "get_params") else SHORT.repr(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def describe_parameter(name, value):
    """A parameter as text; if it contains values of the table, only the columns."""
    if holds_values(name, value):
        return "given for " + ", ".join(map(shown_name, value))
    return describe(value)


def holds_values(name, value):
    """Whether a parameter contains values of the table: hierarchies, or ordinal values in order."""
    return name in ("hierarchies", "ordinal") and isinstance(value, dict) and len(value) > 0
