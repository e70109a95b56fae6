"""Columns that are released as intervals."""

import numpy as np
import pandas as pd
from marks import in_one_case
from numpy.testing import assert_allclose

from sk_microagg.tables._grid import ends_of_intervals, with_midpoints


def column(*cells):
    return pd.Series(cells, dtype=object)


@in_one_case(
    ("cell", "ends"),
    [
        ("[20, 29]", (20, 29)),
        ("[20, 30)", (20, 30)),
        ("[-1.5, 2e3]", (-1.5, 2000)),
        ("34", (34, 34)),
        (34, (34, 34)),
        ("*", (np.nan, np.nan)),
        (None, (np.nan, np.nan)),
    ],
)
def test_ends(cell, ends):
    low, high = ends_of_intervals(column(cell, "1"))
    assert_allclose((low[0], high[0]), ends)


@in_one_case("cell", ["twenties", "[20, x]", "[1, 2, 3]", "20-29", "nan", "[0, inf]"])
def test_other_text_is_no_interval(cell):
    assert ends_of_intervals(column("[1, 2]", cell)) == (None, None)


def test_dates():
    cells = column("[1970-01-02, 1970-01-31]", "1970-02-01", "*")
    low, high = ends_of_intervals(cells, are_dates=True)
    assert_allclose(low, [1, 31, np.nan])
    assert_allclose(high, [30, 31, np.nan])
    assert_allclose(with_midpoints(cells), [15.5, 31, np.nan])
    assert ends_of_intervals(cells) == (None, None)


def test_midpoints():
    assert_allclose(with_midpoints(column("[20, 29]", "34", "*")), [24.5, 34, np.nan])
    for cells in (column("a", "b"), column("[20, 29]", "old"), column("34", "35")):
        assert with_midpoints(cells) is cells
