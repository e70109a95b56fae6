"""Columns of a release, read as those of the original, so that their values can be compared."""

import re
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from sk_microagg._cli._declared import Declared
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._kinds import DECLARED, column_of_text

# The ends are separated as the notation of the column says.
INTERVAL = re.compile(r"\[(.+?)[,;] (.+)[\])]")


def compared_columns(original, release, names, declared):
    """Columns of both tables.

    Parameters
    ----------
    original, release : Table
        The tables.

    names : list of str
        Columns that both have.

    declared : Declared
        What the user says about them.

    Returns
    -------
    pairs : list of tuple of Column
        Each column of the original with the released one. Both have the same kind, unless released
        values are generalized, or written in another way; then the released ones are text.
    """
    columns = original.columns(names, declared, is_strict=True)
    return [(old, _read_as(old, release)) for old in columns]


def with_middles(old, new, format):
    """A released column of text with the middle of each interval.

    Parameters
    ----------
    old, new : Column
        The column of the original, and the released one, which are not of the same kind.

    format : Format
        How text is written.

    Returns
    -------
    column : Column or None
        A column of the kind of the original; None if a cell is neither one of its values nor an
        interval of them.
    """
    if old.notation is None or new.notation is not None:
        return None
    ends = [_ends(text) for text in new.values]
    cells = pa.chunked_array([pa.array([end[at] for end in ends], pa.string()) for at in (0, 1)])
    if old.kind == "number":
        marks = {"decimal": old.notation.decimal, "thousands": old.notation.thousands or None}
        format = replace(format, **marks)
    for declared in _declared_by(old):
        with suppress(CommandError):
            column = column_of_text(cells, old.name, format, declared, is_strict=True)
            low, high = column.values.reshape(2, -1)
            return replace(column, values=(low + high) / 2) if column.kind == old.kind else None
    return None


def _read_as(old, table):
    """A column of a table as the kind that it has in the original, or as it is recognized."""
    for declared in _declared_by(old):
        with suppress(CommandError):
            return table.columns([old.name], declared, is_strict=True)[0]
    return table.columns([old.name])[0]


def _declared_by(old):
    """What a column of the original says about the released one, maybe in two ways."""
    if old.kind not in DECLARED:
        return []
    said = Declared(kinds={old.name: old.kind})
    if old.kind == "ordinal":
        return [replace(said, orders={old.name: old.notation.levels})]
    if old.kind == "date":
        # A pattern cannot be read by itself if there are time zones, or if the release has types.
        return [replace(said, date_patterns={old.name: old.notation.pattern}), said]
    return [said]


def _ends(text):
    """The ends of an interval; a single value is both."""
    found = INTERVAL.fullmatch(text or "")
    return (found[1], found[2]) if found else (text, text)
