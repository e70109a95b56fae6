"""What an intruder who knows the original values compares."""

import numpy as np
import pandas as pd

from sk_microagg._utils._tables import has_numbers
from sk_microagg.generalization._intervals import with_midpoints

ONE_DAY = np.timedelta64(1, "D")


def known_to_intruder(original, release, names):
    """Columns of two tables such that their values can be compared.

    Parameters
    ----------
    original, release : Table
        The tables.

    names : list of str
        Columns that both have.

    Returns
    -------
    before, after : pandas.DataFrame
        Numbers where the original has numbers or dates and the release has some, too, or intervals
        of some, of which the middle is taken; otherwise text.
    """
    before, after = {}, {}
    pairs = zip(names, original.columns(names), release.columns(names), strict=True)
    for name, old, new in pairs:
        numbers = _numbers(old) if old.kind in ("number", "date") else None
        released = None if numbers is None else _numbers(new)
        if released is None:
            numbers, released = (table.as_text([name])[name] for table in (original, release))
        before[name], after[name] = numbers, released
    return pd.DataFrame(before), pd.DataFrame(after)


def _numbers(column):
    """A column as numbers, dates as numbers of days; None if it is text."""
    if column.kind == "date":
        return (column.notation.moments(column.values) - np.datetime64(0, "D")) / ONE_DAY
    values = with_midpoints(column.values)
    return values if has_numbers(values) else None
