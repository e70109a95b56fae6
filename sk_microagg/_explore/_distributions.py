"""Distributions of columns as numbers that the page draws, which show no single record.

A user looks at many previews, and what differs between two of them must not tell of single records
either. So the original is counted in the same bins for every k, and all counts are rounded.
"""

from dataclasses import replace

import numpy as np

from sk_microagg._cli._in_memory import with_dates
from sk_microagg._cli._written import written_cells
from sk_microagg._utils._tables import DATE, FIRST_DAY, LAST_DAY, text_of_day
from sk_microagg.plotting._distributions import compare_columns
from sk_microagg.plotting._panels import Bars, Note

# A bin or bar of the original stands for this many people at least. It does not depend on k, since
# what is shown for one k and not for another would tell how many people there are.
FEWEST = 5

DIGITS_OF_SHARES = 6

# Larger numbers are written with an exponent.
LARGEST_PLAIN = 1e15


def distributions(before, after, columns, units=None, hidden=()):
    """Count the values of columns before and after.

    Parameters
    ----------
    before, after : pandas.DataFrame
        Values of the columns in the records and in the release.

    columns : list of Column
        The columns.

    units : ndarray of int or None, default=None
        Who each record belongs to.

    hidden : collection of str, default=()
        Names of columns whose categories are not shown.

    Returns
    -------
    drawn : list of dict
        For each column a histogram, bars or a note, as the page expects it.
    """
    names = [column.name for column in columns]
    pair = [
        _as_drawn(before[names], [*map(_with_all_levels, columns)]),
        _as_drawn(after[names], columns),
    ]
    are_categories = [
        number for number, column in enumerate(columns) if column.kind in ("category", "ordinal")
    ]
    compared = compare_columns(*pair, names, FEWEST, are_categories, units, is_fixed=True)
    return [_as_json(one, len(before), one.name in hidden) for one in compared]


def _with_all_levels(column):
    """An ordinal column that writes each value as it is: those that are released depend on k."""
    if column.kind != "ordinal":
        return column
    ranks = np.arange(len(column.notation.levels))
    return replace(column, notation=replace(column.notation, ranks=ranks))


def _as_drawn(frame, columns):
    """A table in which dates are dates, and ordinals are written as in a release."""
    frame = with_dates(frame, columns)
    for column in columns:
        if column.kind == "ordinal":
            texts = written_cells(frame[column.name], column).to_pylist()
            frame[column.name] = np.array(texts, dtype=object)
    return frame


def _as_json(drawn, n_records, is_hidden):
    if isinstance(drawn, Note):
        return {"type": "note", "text": drawn.text}
    if isinstance(drawn, Bars) and is_hidden:
        return {"type": "note", "text": "not drawn: its values may name people"}
    if not isinstance(drawn, Bars) and not np.isfinite(drawn.edges).all():
        return {"type": "note", "text": "the range is too large to be drawn"}
    pair = {"before": drawn.before, "after": drawn.after}
    shares = {name: _rounded(shares, n_records) for name, shares in pair.items()}
    if isinstance(drawn, Bars):
        return {"type": "bars", "categories": list(map(str, drawn.categories)), **shares}
    return {
        "type": "histogram",
        "positions": drawn.edges.tolist(),
        "edges": [_edge(edge, drawn) for edge in drawn.edges],
        **shares,
        "missing": list(drawn.missing),
    }


def _rounded(shares, n_records):
    """Shares in steps of a few records, too coarse to tell of one of them."""
    step = FEWEST / n_records
    return np.round(np.minimum(np.round(shares / step) * step, 1), DIGITS_OF_SHARES).tolist()


def _edge(edge, histogram):
    """The edge of a bin, as a label."""
    if histogram.unit_name == DATE:
        return text_of_day(min(max(float(edge), FIRST_DAY), LAST_DAY))[:10]
    return f"{edge:,.0f}" if 1000 <= abs(edge) < LARGEST_PLAIN else f"{edge:.4g}"
