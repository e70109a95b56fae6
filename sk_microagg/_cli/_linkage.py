"""What an intruder who knows the original values compares."""

import numpy as np
import pandas as pd

from sk_microagg._cli._compared import with_middles

ONE_DAY = np.timedelta64(1, "D")


def known_to_intruder(original, release, pairs):
    """Columns of two tables such that their values can be compared.

    Parameters
    ----------
    original, release : Table
        The tables.

    pairs : list of tuple of Column
        Columns of both, as `compared_columns` has them.

    Returns
    -------
    before, after : pandas.DataFrame
        Numbers where the original has numbers, dates or ordinal values and the release has some,
        too, or intervals of some, of which the middle is taken; otherwise text.
    """
    before, after = {}, {}
    for old, new in pairs:
        name = old.name
        released = new if are_comparable(old, new) else with_middles(old, new, release.format)
        if released is None:
            before[name], after[name] = (t.as_text([name])[name] for t in (original, release))
        else:
            before[name], after[name] = map(comparable_values, (old, released))
    return pd.DataFrame(before), pd.DataFrame(after)


def compared_as_text(pairs, before):
    """Columns whose distances are unknown to the intruder that is simulated.

    Parameters
    ----------
    pairs : list of tuple of Column
        Columns of both tables.

    before : pandas.DataFrame
        What is compared of the original, as `known_to_intruder` returns it.

    Returns
    -------
    names : list of str
        Columns of numbers, dates or ordinal values, of which the release has something else.
    """
    return [
        old.name
        for old, new in pairs
        if old.notation is not None and new.kind != "empty" and before[old.name].dtype == object
    ]


def are_comparable(old, new):
    """Whether values of both columns are numbers, dates or ordinal values."""
    return old.kind == new.kind and old.kind in ("number", "date", "ordinal")


def comparable_values(column):
    """The values of a column, dates as numbers of days, whatever unit they are written in."""
    if column.kind != "date":
        return column.values
    return (column.notation.moments(column.values) - np.datetime64(0, "D")) / ONE_DAY
