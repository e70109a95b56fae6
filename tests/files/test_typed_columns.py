"""Columns that have types, as those of Parquet files."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sk_microagg.files._declared import Declared
from sk_microagg.files._format import Format
from sk_microagg.files._messages import RequestError
from sk_microagg.files._typed_columns import column_of_type
from sk_microagg.files._written import written_cells


def column(cells, kind=None, **kinds):
    cells = pa.chunked_array([pa.array(cells, kind)])
    return column_of_type(cells, "x", Format(), Declared(kinds=kinds))


def test_numbers():
    assert column([1, 2], pa.int8()).values.tolist() == [1, 2]
    assert column([1.5, None], pa.float32()).values.dtype == np.float32
    assert column([decimal.Decimal("1.50")]).values.tolist() == [1.5]
    np.testing.assert_array_equal(column([1, None]).values, [1.0, np.nan])
    assert column([1, 2], pa.int8()).how == "type int8"


@pytest.mark.parametrize(
    ("cells", "kind", "decimals"),
    [
        ([1, 2], pa.int8(), 0),
        ([1.0, 2.0], pa.float64(), 0),
        ([1.5, None, 2.25], pa.float64(), 2),
        ([1.1, 2.2], pa.float32(), 1),
        ([1 / 3], pa.float64(), None),
        ([decimal.Decimal("1.50")], None, 2),
    ],
)
def test_decimals(cells, kind, decimals):
    assert column(cells, kind).notation.decimals == decimals


def test_categories():
    assert column(["1", "NA"]).values.tolist() == ["1", "NA"]
    words = column(["x", "x", None], pa.dictionary(pa.int8(), pa.string()))
    assert (words.kind, words.values.tolist()) == ("category", ["x", "x", None])
    assert column([2**60 + 1, 1]).values.tolist() == [str(2**60 + 1), "1"]
    assert column([1, 2], x="category").values.tolist() == ["1", "2"]
    truth = column([True, None])
    assert (truth.kind, truth.values.tolist()) == ("boolean", ["True", None])


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.null()])
def test_without_values(kind):
    assert column([None, None], kind).kind == "empty"


def test_text_that_is_declared():
    assert column(["1", "12"], x="number").values.tolist() == [1, 12]
    assert column(["2020-01-31"], x="date").values.tolist() == [18292]
    assert column([3, 1, 2], x="ordinal").values.tolist() == [2, 0, 1]
    with pytest.raises(RequestError, match="some cells are numbers"):
        column(["1", "soon"], x="number")


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, b"bytes"])
def test_types_that_cannot_be_anonymized(cell):
    with pytest.raises(RequestError, match=r"Column 'x' has type .*name it in drop"):
        column([cell])


NOON = datetime.datetime(2020, 1, 31, 12)


@pytest.mark.parametrize(
    ("cells", "kind", "unit", "mean"),
    [
        ([1, 4], pa.int8(), None, 2),
        ([1.5, 3.0], pa.float32(), None, 2.2),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 4)], pa.date32(), "day", "2020-01-03"),
        ([NOON, NOON.replace(minute=2)], pa.timestamp("ns"), "minute", "2020-01-31 12:01"),
        (
            [NOON, NOON.replace(second=2)],
            pa.timestamp("ms", "UTC"),
            "second",
            "2020-01-31 12:00:01",
        ),
        ([NOON.replace(microsecond=2), NOON], pa.timestamp("us"), "microsecond", None),
    ],
)
def test_means_keep_the_type(cells, kind, unit, mean):
    found = column(cells, kind)
    means = pd.Series([found.values.mean()] * 2).round(found.notation.decimals or 0)
    written = written_cells(means, found)
    assert written.type == kind
    assert getattr(found.notation, "unit", None) == unit
    if unit is None:
        assert written.to_pylist() == [pytest.approx(mean)] * 2
    elif mean is not None:
        assert [*map(found.notation.text, means)] == [mean] * 2
        assert all(str(cell).startswith(mean) for cell in written.to_pylist())
    else:
        assert written.to_pylist() == [NOON.replace(microsecond=1)] * 2


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("ns", "UTC")])
def test_dates_have_no_pattern(kind):
    cells = pa.chunked_array([pa.array([datetime.date(2020, 1, 1)]).cast(kind)])
    assert column_of_type(cells, "x", Format(), Declared(kinds={"x": "date"})).kind == "date"
    declared = Declared(kinds={"x": "date"}, date_patterns={"x": "%d/%m/%Y"})
    message = (
        "date={'x': '%d/%m/%Y'}: the column holds dates already, of type "
        f"{kind}, and no text to read by a pattern: pass date=['x'], or leave it out."
    )
    with pytest.raises(RequestError) as error:
        column_of_type(cells, "x", Format(), declared)
    assert str(error.value) == message


def test_a_pattern_is_for_text_in_a_column_with_a_type():
    cells = pa.chunked_array([pa.array(["31/01/2020", None])])
    declared = Declared(kinds={"x": "date"}, date_patterns={"x": "%d/%m/%Y"})
    assert column_of_type(cells, "x", Format(), declared).values[0] == 18292


def test_intervals_of_dates_are_written_as_dates():
    found = column([datetime.date(2020, 1, 1), None], pa.date32())
    labels = pd.Series(["[18262, 18263.5]", "*", "18262"], dtype=object)
    assert written_cells(labels, found).to_pylist() == [
        "[2020-01-01, 2020-01-03]",
        "*",
        "2020-01-01",
    ]
