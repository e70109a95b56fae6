"""Released values as cells of the table that is written."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sk_microagg.files._column_kinds import column_of_text, column_of_type
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._table import with_type, written_cells

NOON = datetime.datetime(2020, 1, 31, 12)


def typed(cells, kind=None):
    return column_of_type(pa.chunked_array([pa.array(cells, kind)]), "x", Format(), Declared())


def of_text(*cells, **declared):
    cells = pa.chunked_array([cells], pa.string())
    return column_of_text(cells, "x", Format(), Declared(**declared), is_strict=True)


@pytest.mark.parametrize(
    ("cells", "kind", "mean"),
    [
        ([1, 4], pa.int8(), 2),
        ([1.5, 3.0], pa.float32(), 2.2),
        ([Decimal("1.25"), Decimal("2.75")], pa.decimal128(4, 2), Decimal("2.00")),
    ],
)
def test_means_keep_the_type(cells, kind, mean):
    found = typed(cells, kind)
    means = pd.Series([found.values.mean(), np.nan]).round(found.notation.decimals)
    written = written_cells(means, found)
    assert written.type == kind
    assert written.to_pylist() == [pytest.approx(mean), None]


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
    written = written_cells(pd.Series(found.values), found)
    assert written.equals(pa.array([*cells, None], kind))
    assert found.notation.text(found.numbers[0]) == first


def test_dates_of_text_are_written_as_they_were():
    found = of_text("31/01/2020", "", kinds={"x": "date"}, date_patterns={"x": "%d/%m/%Y"})
    released = pd.Series(np.array(["2020-02-01", "NaT"], dtype="datetime64[us]"))
    assert written_cells(released, found).to_pylist() == ["01/02/2020", None]
    assert with_type(found).type == pa.date32()
    days = written_cells(released, with_type(found)).to_pylist()
    assert days == [datetime.date(2020, 2, 1), None]


def test_ordinals_are_written_as_values():
    found = of_text("low", "high", "", kinds={"x": "ordinal"}, orders={"x": ["low", "high"]})
    assert written_cells(pd.Series(found.values), found).to_pylist() == ["low", "high", None]
    assert with_type(found) is found
    labels = pd.Series(["[0, 1]", "1", "*"], dtype=object)
    assert written_cells(labels, found).to_pylist() == ["[low, high]", "high", "*"]


def test_intervals_of_dates_are_written_as_dates():
    found = typed([datetime.date(2020, 1, 1), None], pa.date32())
    labels = pd.Series(["[18262, 18263.5]", "*", "18262"], dtype=object)
    assert written_cells(labels, found).to_pylist() == [
        "[2020-01-01, 2020-01-03]",
        "*",
        "2020-01-01",
    ]
