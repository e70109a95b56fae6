"""Distributions of columns as numbers that the page draws, which show no single record."""

import numpy as np

from sk_microagg._cli._in_memory import with_dates
from sk_microagg._cli._written import written_cells
from sk_microagg._utils._dates import DATES, FIRST_DAY, LAST_DAY, text_of_day
from sk_microagg._utils._shares import fewest_records
from sk_microagg.plotting._distributions import compare_columns
from sk_microagg.plotting._panels import Bars, Note

# Larger numbers are written with an exponent.
LARGEST_PLAIN = 1e15


def distributions(before, after, columns, k, units=None):
    """Count the values of columns before and after.

    Parameters
    ----------
    before, after : pandas.DataFrame
        Values of the columns in the records and in the release.

    columns : list of Column
        The columns.

    k : int
        A bin or bar of the original stands for this many people at least.

    units : ndarray of int or None, default=None
        Who each record belongs to.

    Returns
    -------
    drawn : list of dict
        For each column a histogram, bars or a note, as the page expects it.
    """
    names = [column.name for column in columns]
    pair = [_as_drawn(frame[names], columns) for frame in (before, after)]
    are_categories = [
        number for number, column in enumerate(columns) if column.kind in ("category", "ordinal")
    ]
    compared = compare_columns(*pair, names, fewest_records(k), are_categories, units)
    return [_as_json(one) for one in compared]


def _as_drawn(frame, columns):
    """A table in which dates are dates, and ordinals are written as in a release."""
    frame = with_dates(frame, columns)
    for column in columns:
        if column.kind == "ordinal":
            texts = written_cells(frame[column.name], column).to_pylist()
            frame[column.name] = np.array(texts, dtype=object)
    return frame


def _as_json(drawn):
    if isinstance(drawn, Note):
        return {"type": "note", "text": drawn.text}
    if not isinstance(drawn, Bars) and not np.isfinite(drawn.edges).all():
        return {"type": "note", "text": "the range is too large to be drawn"}
    shares = {"before": drawn.before.tolist(), "after": drawn.after.tolist()}
    if isinstance(drawn, Bars):
        return {"type": "bars", "categories": list(map(str, drawn.categories)), **shares}
    return {
        "type": "histogram",
        "positions": drawn.edges.tolist(),
        "edges": [_edge(edge, drawn) for edge in drawn.edges],
        **shares,
        "missing": list(drawn.missing),
    }


def _edge(edge, histogram):
    """The edge of a bin, as a label."""
    if histogram.unit_name == DATES:
        return text_of_day(min(max(float(edge), FIRST_DAY), LAST_DAY))[:10]
    return f"{edge:,.0f}" if 1000 <= abs(edge) < LARGEST_PLAIN else f"{edge:.4g}"
