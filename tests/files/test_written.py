"""Released values as cells of the table that is written."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sk_microagg.files._column_kinds import column_of_text, column_of_type
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._notations import NumberNotation, interval_texts
from sk_microagg.files._table import written_cells
from sk_microagg.tables._domain import IntervalEnds

NOON = datetime.datetime(2020, 1, 31, 12)


def cells_of(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def typed(cells, kind=None):
    return column_of_type(cells_of(cells, kind), "x", Format(), Declared())


def of_text(*cells, **declared):
    cells = pa.chunked_array([cells], pa.string())
    return column_of_text(cells, "x", Format(), Declared(**declared), is_strict=True)


def test_decimals_keep_their_type():
    found = typed([Decimal("1.25"), Decimal("2.75")], pa.decimal128(4, 2))
    written = written_cells(cells_of([2.0, None, 3e9]), found, is_text=False)
    assert written.type == pa.decimal128(4, 2)
    # Rounded to hundreds, say, a number may exceed its type.
    assert written.to_pylist() == [Decimal("2.00"), None, Decimal("99.99")]


@pytest.mark.parametrize(
    ("cells", "kind", "unit", "first"),
    [
        ([datetime.date(2020, 1, 31)], pa.date32(), "day", "2020-01-31"),
        ([NOON], pa.timestamp("ns"), "minute", "2020-01-31 12:00"),
        (
            [NOON.replace(second=2)],
            pa.timestamp("ms", "Asia/Tokyo"),
            "second",
            "2020-01-31 12:00:02",
        ),
        (
            [NOON.replace(microsecond=2)],
            pa.timestamp("us"),
            "microsecond",
            "2020-01-31 12:00:00.000002",
        ),
    ],
)
def test_dates_keep_the_type(cells, kind, unit, first):
    found = typed([*cells, None], kind)
    assert found.notation.unit == unit
    assert found.cells.type == kind
    assert written_cells(found.cells, found, is_text=False) is found.cells
    assert written_cells(found.cells, found, is_text=True).to_pylist() == [first, None]


def test_dates_of_text_are_written_as_they_were():
    found = of_text("31/01/2020", "", kinds={"x": "date"}, date_patterns={"x": "%d/%m/%Y"})
    released = cells_of([datetime.date(2020, 2, 1), None])
    assert written_cells(released, found, is_text=True).to_pylist() == ["01/02/2020", None]
    assert found.cells.type == released.type == pa.date32()


def test_ordinals_are_written_as_values():
    found = of_text("low", "high", "", kinds={"x": "ordinal"}, orders={"x": ["low", "high"]})
    assert written_cells(found.cells, found, is_text=False).to_pylist() == ["low", "high", None]
    ranks = ends_of([0.0, 1.0, np.nan], [1.0, 1.0, np.nan])
    assert interval_texts(ranks, found.notation) == ["[low, high]", "high", "*"]


def ends_of(low, high, closed=True):
    return IntervalEnds(np.array(low), np.array(high), np.full(len(low), closed))


def test_intervals_of_dates_are_written_as_dates():
    found = of_text("31/01/2020", "", kinds={"x": "date"}, date_patterns={"x": "%d/%m/%Y"})
    low = ["2020-01-01", "NaT", "2020-01-01"]
    high = ["2020-01-02T12:00", "NaT", "2020-01-01"]
    ends = ends_of(*(np.array(part, dtype="datetime64[us]") for part in (low, high)))
    texts = interval_texts(ends, found.notation)
    assert texts == ["[01/01/2020, 03/01/2020]", "*", "01/01/2020"]


def test_an_open_end_stays_open():
    notation = NumberNotation(2, decimal=",")
    assert interval_texts(ends_of([1.5], [2.25], False), notation) == ["[1,5; 2,25)"]
