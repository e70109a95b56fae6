"""Which kind a column has, why, and how its values are written."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sk_microagg.files._column_kinds import column_of_text, column_of_type, why_no_numbers
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import RequestError

GERMAN = Format(decimal=",", thousands=".")
AMERICAN = Format(thousands=",")


def column(*cells, format=None, is_strict=True, **declared):
    cells = pa.chunked_array([cells], pa.string())
    return column_of_text(cells, "x", format or Format(), Declared(**declared), is_strict=is_strict)


def declared(kind, *cells, **others):
    return column(*cells, kinds={"x": kind}, **others)


def line(*cells, **settings):
    with pytest.raises(RequestError) as error:
        column(*cells, **settings)
    return str(error.value)


def test_integers():
    found = column("1", "-20", "+3", " 4 ", "0")
    assert found.values.dtype == np.int64
    assert found.values.tolist() == [1, -20, 3, 4, 0]
    assert (found.kind, found.how) == ("number", "all 5 cells are integers")


def test_floats():
    found = column("1.10", "-2.", ".5", "1e3", "-4E-2", "0.5", "7")
    assert found.values.dtype == np.float64
    assert found.values.tolist() == [1.1, -2.0, 0.5, 1000.0, -0.04, 0.5, 7.0]
    assert (found.kind, found.how) == ("number", "all 7 cells are numbers")


@pytest.mark.parametrize(
    "text", ["", " ", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "*", "n.d."]
)
def test_missing(text):
    format = Format(na=("n.d.",))
    numbers = column("1", text, "2", format=format)
    np.testing.assert_array_equal(numbers.values, [1.0, np.nan, 2.0])
    assert numbers.how == "all known cells are integers"
    assert column("x", text, format=format).values.tolist() == ["x", None]


@pytest.mark.parametrize("cell", ["x", "1_000", "0x1F", "inf", "--1", "1e", ".", "１２", "NA NA"])
def test_categories(cell):
    found = column("a", "b", cell, "")
    assert (found.kind, found.values.tolist()) == ("category", ["a", "b", cell, None])


@pytest.mark.parametrize("cell", ["01234", "-007", "00"])
def test_leading_zeros_are_codes(cell):
    found = column("1", cell)
    assert (found.kind, found.how) == ("category", "some have leading zeros, as codes have")
    assert found.values.tolist() == ["1", cell]
    assert column("1", cell, "x").kind == "category"
    numbers = declared("number", "1", cell)
    assert (numbers.kind, numbers.values.tolist()) == ("number", [1, int(cell)])


def test_integers_that_floats_cannot_represent_are_codes():
    found = column("9007199254740993", "1")
    assert found.values.tolist() == ["9007199254740993", "1"]
    assert found.how == "some are integers of 2**53 or more, as codes are"
    assert column("9007199254740991", "1").values.tolist() == [2**53 - 1, 1]


def test_a_column_without_known_values_is_empty():
    assert column("", "NA").kind == "empty"
    assert column("", "NA").values.tolist() == [None, None]


@pytest.mark.parametrize("cells", [("true", "False"), ("TRUE", "TRUE"), ("yes", "no", "")])
def test_truth_values(cells):
    found = column(*cells)
    assert found.kind == "boolean"
    assert found.values.tolist() == [cell or None for cell in cells]


@pytest.mark.parametrize(
    ("cells", "format", "values"),
    [
        (["1", "-20", "0"], None, [1, -20, 0]),
        (["1.50", "-2.25"], None, [1.5, -2.25]),
        (["1.5", "2", "-0.25"], None, [1.5, 2, -0.25]),
        (["1,5", "-22"], GERMAN, [1.5, -22]),
        (["2019", "2024"], GERMAN, [2019, 2024]),
        (["0.1234567890123456", "0.5"], None, [0.1234567890123456, 0.5]),
    ],
)
def test_numbers_are_written_as_they_were(cells, format, values):
    found = column(*cells, format=format)
    assert found.kind == "number"
    assert found.values.tolist() == values
    assert [found.notation.text(value) for value in values] == cells
    assert found.notation.omitted == ""


SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("cells", "format", "values", "written", "omitted"),
    [
        (["12.5%", "3.0%"], None, [12.5, 3], ["12.5", "3.0"], "%"),
        (["12 %", "3 %"], None, [12, 3], ["12", "3"], "%"),
        (["$1,200", "-$35"], AMERICAN, [1200, -35], ["1200", "-35"], "$ and thousands separators"),
        (["1,200", "35"], AMERICAN, [1200, 35], ["1200", "35"], "thousands separators"),
        (["200 €", "35 €"], GERMAN, [200, 35], ["200", "35"], "€"),
        ([f"1,2{SPACE}€", f"3,5{SPACE}€"], GERMAN, [1.2, 3.5], ["1,2", "3,5"], "€"),
        (["-1.234.567,5"], GERMAN, [-1234567.5], ["-1234567,5"], "thousands separators"),
        (["EUR 5.00", "EUR 7.50"], None, [5, 7.5], ["5.00", "7.50"], "EUR"),
    ],
)
def test_symbols_and_separators_are_not_written_again(cells, format, values, written, omitted):
    found = column(*cells, format=format)
    assert found.kind == "number"
    assert found.values.tolist() == values
    assert [found.notation.text(value) for value in values] == written
    assert found.notation.omitted == omitted


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [(["1", "2"], 0), (["1.50", "2"], 2), (["1e3", "2"], None), (["0." + 20 * "1"], None)],
)
def test_decimals(cells, decimals):
    assert column(*cells).notation.decimals == decimals


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
@example([2.0**-24])
def test_any_floats_are_read_as_they_are_written(values):
    # One of them has an exponent, so that integers of any length are measurements.
    found = column("1e0", *map(repr, values))
    assert found.values.tolist() == [1.0, *values]
    assert [float(found.notation.text(value)) for value in values] == values


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["2020-01-31", "1969-12-31"], [18292, -1], "day"),
        (["2020-01-31T10:00", "1970-01-01T00:01"], [26341080, 1], "minute"),
        (["1970-01-01 00:00:01"], [1], "second"),
        (["1970-01-01T00:00:01.5"], [1500], "millisecond"),
        (["1970-01-01T01:00+01:00", "1970-01-01T02:00+01:00"], [60, 120], "minute"),
        (["1970-01-01T00:00:10Z"], [10], "second"),
        (["0999-01-01", "9999-12-31"], [-354650, 2932896], "day"),
    ],
)
def test_iso_dates(cells, values, unit):
    found = column(*cells)
    assert (found.kind, found.notation.unit) == ("date", unit)
    assert found.values.dtype == "datetime64[us]"
    assert found.numbers.tolist() == values
    written = [found.notation.text(value) for value in values]
    assert [cell.replace(".5", ".500") for cell in cells] == written


def test_times_of_different_zones_are_written_in_utc():
    found = column("2020-01-01T01:00+01:00", "2020-07-01T02:00+02:00")
    assert [*map(found.notation.text, found.numbers)] == [
        "2020-01-01T00:00+00:00",
        "2020-07-01T00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("cells", "pattern"),
    [
        (["31.12.2020", "1.2.2020"], None),
        (["31/12/2020", "01/02/2020"], None),
        (["12/31/2020", "01/02/2020"], None),
        (["2020/12/31"], None),
        (["20201231"], None),
        (["31.12.2020 23:59"], None),
        (["01/02/2020"], "%d/%m/%Y"),
        (["31 Dec 2020"], "%d %b %Y"),
    ],
)
def test_dates_of_other_formats_are_declared(cells, pattern):
    found = declared("date", *cells, date_patterns={"x": pattern} if pattern else {})
    assert found.kind == "date"
    assert found.how.startswith("declared as dates, ")
    assert [*map(found.notation.text, found.numbers)] == cells


def test_day_and_month_that_cannot_be_told_apart():
    assert line("01/02/2020", "03/04/2020", kinds={"x": "date"}) == (
        "x: day and month cannot be told apart: pass date={'x': '%d/%m/%Y'}, or "
        "date={'x': '%m/%d/%Y'}."
    )


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["5", "6", "nil"],
            "x: 1 of 3 cells is no number, at position 2: name texts that mean missing, as in "
            "na=['x=TEXT'], or pass categorical=['x'].",
        ),
        (
            ["5", "6", "--"],
            "1 of 3 cells is no number, at position 2: name texts",
        ),
        (["5"] * 4 + ["not a"] * 3, "3 of 7 cells are no numbers, at positions 4, 5 and 6: name"),
        (["5", "6", "Jane Doe"], "1 of 3 cells is no number, at position 2: name texts"),
        (["5", "6", "Jane Doe", "-"], "2 of 4 cells are no numbers, at positions 2 and 3: name"),
        (["2020-01-31", "2020-02-31"], "1 of 2 cells is no date as in ISO, at position 1"),
        (["2020-01-31", "unknown"], "1 of 2 cells is no date as in ISO, at position 1: name"),
        (["1,5", "2"], "all 2 cells are numbers with other marks: pass decimal=',', or"),
        (["1,500", "2"], "pass thousands=',', or decimal=',', or categ"),
        (["1,234,567", "2"], "pass thousands=',', or categorical=['x']."),
        (["1.234,5", "2"], "pass decimal=',' and thousands='.', or categorical=['x']."),
        (["$1,234.50", "$2"], "pass thousands=',', or categorical=['x']."),
        (["1 234", "2"], "pass thousands=' ', or categorical=['x']."),
        (["5%", "6"], "1 of 2 cells has another symbol than most, or none, at position 1: write"),
        (["$5", "5 $"], "1 of 2 cells has another symbol than most, or none, at position 0: write"),
        (["€5", "$6", "€7"], "1 of 3 cells has another symbol than most, or none, at position 1"),
        (
            ["31.12.2020", "1.2.2021"],
            "all 2 cells seem to be dates as %d.%m.%Y: pass date={'x': '%d.%m.%Y'}, or categ",
        ),
        (
            ["31.12.2020", "1.2.2021", "soon"],
            "2 of 3 cells seem to be dates as %d.%m.%Y, but not 1, at position 2: name texts "
            "that mean missing, as in na=['x=TEXT'], and pass date={'x': '%d.%m.%Y'}, or categ",
        ),
        (
            ["01/02/2020", "03/04/2020"],
            "as %d/%m/%Y or %m/%d/%Y: pass date={'x': '%d/%m/%Y'}, or date={'x': '%m/%d/%Y'}, or",
        ),
        (
            ["12/31/20", "soon"],
            "1 of 2 cells seems to be a date, but not 1, at position 1: pass the pattern",
        ),
        (
            ["2020-01-01T10:00Z", "2020-01-01T10:00"],
            "1 of 2 cells has a time zone, at position 0",
        ),
    ],
)
def test_mistyped(cells, message):
    found = line(*cells)
    assert found.startswith("x: ")
    assert message in found
    assert "categorical=['x']" in found
    assert "Jane" not in found
    for given_settings in ({"is_strict": False}, {"kinds": {"x": "category"}}):
        assert column(*cells, **given_settings).values.tolist() == cells


def test_few_numbers_among_text_are_text():
    assert column("Main Street", "5", "Church Road").kind == "category"


@pytest.mark.parametrize(
    ("kind", "cells", "message"),
    [
        ("number", ["5", "x", "y"], "2 of 3 cells are no numbers, at positions 1 and 2: leave"),
        ("number", ["1,5"], "pass decimal=','"),
        ("number", ["5%", "6"], "another symbol"),
        ("date", ["2020-01-01", "soon"], "1 of 2 cells is no date as in ISO, at position 1: name"),
        ("date", ["31.12.2020", "soon"], "1 of 2 cells is no date as %d.%m.%Y, at position 1"),
        ("date", ["2020-01-01T10:00Z", "2020-01-01T10:00"], "1 of 2 cells has a time zone"),
        (
            "number",
            ["5"] * 3 + ["x"] * 9,
            "9 of 12 cells are no numbers, first at",
        ),
        ("number", ["5"] * 7 + ["x"] * 4, "first at positions 7, 8 and 9: name texts"),
        ("ordinal", ["low", "2"], "1 of 2 cells is no number, at position 0, so that their order"),
        ("ordinal", ["low", "high"], "pass their order, as in ordinal={'x': ['low'"),
    ],
)
def test_declared_otherwise(kind, cells, message):
    assert message in line(*cells, kinds={"x": kind})


def test_dates_that_do_not_fit_their_pattern():
    settings = {"kinds": {"x": "date"}, "date_patterns": {"x": "%d/%m/%Y"}}
    assert "1 of 2 cells is no date as %d/%m/%Y, at position 1: name texts" in line(
        "1/2/2020", "1/13/20", **settings
    )


def test_ordinals():
    found = declared("ordinal", "high", "", "low", orders={"x": ["low", "medium", "high"]})
    assert found.kind == "ordinal"
    assert found.values.ordered
    assert found.values.categories.tolist() == ["low", "medium", "high"]
    assert found.values.tolist() == ["high", np.nan, "low"]
    np.testing.assert_array_equal(found.numbers, [2, np.nan, 0])
    assert declared("ordinal", "10", "2").values.codes.tolist() == [1, 0]
    settings = {"kinds": {"x": "ordinal"}, "orders": {"x": ["low", "high"]}}
    assert "1 of 3 cells is no value of its order, at position 2: name texts" in line(
        "low", "low", "mid", **settings
    )


def test_intervals_of_ordinals_that_k_records_share():
    found = declared("ordinal", *"112334455")
    shared = found.notation.of_shared(found.values, 2)
    assert shared.ranks.tolist() == [0, 2, 3, 4]
    assert shared.around([1, 1]) == [0, 2]
    assert shared.around([3, 9]) == [3, 4]
    none = found.notation.of_shared(found.values, 3)
    assert none.around([1, 2]) is None


def test_why_no_numbers():
    assert why_no_numbers(pd.Series([1, 2])) is None
    assert why_no_numbers(pd.Series([1.0, 2.0])) is None
    assert why_no_numbers(pd.Series([1.0, None])) == "has missing values"
    assert why_no_numbers(pd.Series(["1", "2"])) == "holds categories"


# Floats represent all microseconds of these years, and all seconds of any year.
YEARS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(YEARS, min_size=1))
def test_times_are_read_as_they_are_written(moments):
    cells = [moment.isoformat(timespec="microseconds") for moment in moments]
    found = column(*cells)
    assert [*map(found.notation.text, found.numbers)] == cells


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.datetimes(), min_size=1))
def test_seconds_of_any_year_are_read_as_they_are_written(moments):
    cells = [moment.isoformat(timespec="seconds") for moment in moments]
    found = column(*cells)
    assert [*map(found.notation.text, found.numbers)] == cells


def typed(cells, kind=None, **kinds):
    cells = pa.chunked_array([pa.array(cells, kind)])
    return column_of_type(cells, "x", Format(), Declared(kinds=kinds))


def test_numbers_with_a_type():
    assert typed([1, 2], pa.int8()).values.tolist() == [1, 2]
    assert typed([1.5, None], pa.float32()).values.dtype == np.float32
    assert typed([decimal.Decimal("1.50")]).values.tolist() == [1.5]
    np.testing.assert_array_equal(typed([1, None]).values, [1.0, np.nan])
    assert typed([1, 2], pa.int8()).how == "type int8"


def test_float_noise_is_no_decimal():
    # Differences of numbers with two decimals, as programs write them.
    assert column("0.30000000000000004", "7.25", "58.11").notation.decimals == 2
    assert column("0.10999999999999943", "58.11").notation.decimals == 2
    assert column("0.46197509765625", "0.5718994140625").notation.decimals is None


def test_decimals_of_a_few_cells_do_not_count_if_they_are_very_many():
    # A quotient among measurements, as in a table of light chains.
    cells = [f"{i / 100:.2f}" for i in range(1, 200)]
    assert column(*cells, "0.92248062015503").notation.decimals == 2
    assert column(*cells, "0.9224").notation.decimals == 4
    assert column(*cells[:9], "0.92248062015503").notation.decimals is None


@pytest.mark.parametrize(
    ("cells", "kind", "decimals"),
    [
        ([1, 2], pa.int8(), 0),
        ([1.0, 2.0], pa.float64(), 0),
        ([1.5, None, 2.25], pa.float64(), 2),
        ([1.1, 2.2], pa.float32(), 1),
        ([1 / 3], pa.float64(), None),
        ([0.1 + 0.2, 7.25], pa.float64(), 2),
        ([decimal.Decimal("1.50")], None, 2),
    ],
)
def test_decimals_of_a_type(cells, kind, decimals):
    assert typed(cells, kind).notation.decimals == decimals


def test_categories_with_a_type():
    assert typed(["1", "NA"]).values.tolist() == ["1", "NA"]
    words = typed(["x", "x", None], pa.dictionary(pa.int8(), pa.string()))
    assert (words.kind, words.values.tolist()) == ("category", ["x", "x", None])
    assert typed([2**60 + 1, 1]).values.tolist() == [str(2**60 + 1), "1"]
    assert typed([1, 2], x="category").values.tolist() == ["1", "2"]
    truth = typed([True, None])
    assert (truth.kind, truth.values.tolist()) == ("boolean", ["True", None])


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.null()])
def test_without_values(kind):
    assert typed([None, None], kind).kind == "empty"


def test_text_that_is_declared():
    assert typed(["1", "12"], x="number").values.tolist() == [1, 12]
    assert typed(["2020-01-31"], x="date").values.tolist() == [datetime.datetime(2020, 1, 31)]
    grades = typed([30, 4, 20], x="ordinal").values
    assert (grades.tolist(), grades.codes.tolist()) == (["30", "4", "20"], [2, 0, 1])
    with pytest.raises(RequestError, match="1 of 2 cells is no number, at position 1"):
        typed(["1", "soon"], x="number")


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, b"bytes"])
def test_types_that_cannot_be_anonymized(cell):
    with pytest.raises(RequestError, match=r"Column 'x' has type .*name it in drop"):
        typed([cell])


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
    assert column_of_type(cells, "x", Format(), declared).values[0] == np.datetime64("2020-01-31")
