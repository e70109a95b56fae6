import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._values import values_of_text, values_of_type, why_no_numbers


def of_text(*cells):
    return values_of_text(pa.chunked_array([cells], pa.string()), "x")


def of_type(cells, kind=None):
    return values_of_type(pa.chunked_array([pa.array(cells, kind)]), "x")


def test_integers():
    values = of_text("1", "-20", "+3", " 4 ", "0")
    assert values.dtype == np.int64
    assert values.tolist() == [1, -20, 3, 4, 0]


def test_floats():
    values = of_text("1.10", "-2.", ".5", "1e3", "-4E-2", "0.5", "7")
    assert values.dtype == np.float64
    assert values.tolist() == [1.1, -2.0, 0.5, 1000.0, -0.04, 0.5, 7.0]


@pytest.mark.parametrize("text", ["", " ", "NA", "NaN", "nan", "null", "NULL", "?", "*"])
def test_missing(text):
    numbers = of_text("1", text, "2")
    assert np.isnan(numbers[1])
    assert numbers[[0, 2]].tolist() == [1.0, 2.0]
    assert of_text("x", text).tolist() == ["x", None]


@pytest.mark.parametrize(
    "cell",
    [
        "01234",
        "-007",
        "x",
        "1_000",
        "0x1F",
        "inf",
        "1,5",
        "12 %",
        "--1",
        "1e",
        ".",
        "１２",
        "NA NA",
    ],
)
def test_categories(cell):
    assert of_text("1", cell, "").tolist() == ["1", cell, None]


def test_integers_that_floats_cannot_represent_are_categories():
    assert of_text("9007199254740993", "1").tolist() == ["9007199254740993", "1"]
    assert of_text("9007199254740991", "1").tolist() == [2**53 - 1, 1]


def test_a_column_without_known_values_is_not_numeric():
    assert of_text("", "NA").tolist() == [None, None]


def test_types_with_numbers():
    assert of_type([1, 2], pa.int8()).tolist() == [1, 2]
    assert of_type([1.5, None], pa.float32()).dtype == np.float32
    assert of_type([decimal.Decimal("1.50")]).tolist() == [1.5]
    np.testing.assert_array_equal(of_type([1, None]), [1.0, np.nan])
    np.testing.assert_array_equal(of_type([None, None], pa.int64()), [np.nan, np.nan])


def test_types_with_categories():
    assert of_type([True, None]).tolist() == ["True", None]
    assert of_type([datetime.date(2020, 1, 2)]).tolist() == ["2020-01-02"]
    assert of_type(["1", "NA"]).tolist() == ["1", "NA"]
    assert of_type(["x", "x", None], pa.dictionary(pa.int8(), pa.string())).tolist() == [
        "x",
        "x",
        None,
    ]
    assert of_type([2**60 + 1, 1]).tolist() == [str(2**60 + 1), "1"]
    assert of_type([None, None]).tolist() == [None, None]


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, b"bytes"])
def test_types_that_cannot_be_anonymized(cell):
    with pytest.raises(CommandError, match=r"Column 'x' has type .*--drop"):
        of_type([cell])


def test_why_no_numbers():
    assert why_no_numbers(pd.Series([1, 2])) is None
    assert why_no_numbers(pd.Series([1.0, 2.0])) is None
    assert why_no_numbers(pd.Series([1.0, None])) == "has missing values"
    assert why_no_numbers(pd.Series(["1", "2"])) == "holds categories"
