from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case

from sk_microagg.metrics import anonymity_level

NAN = float("nan")
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
every_frame = in_one_case("frame", FRAMES.values())


def objects(rows):
    return np.array(rows, dtype=object)


@in_one_case(
    ("release", "level"),
    [
        ([[1, 2], [3, 4], [1, 2], [3, 4], [3, 4]], 2),
        ([[1, 2], [1, 2], [1, 2], [2, 1]], 1),
        ([[0.0, np.inf], [-0.0, np.inf]], 2),
        ([["a", "b"], ["a", "b"], ["ab", ""], ["ab", ""]], 2),
        ([["x"]], 1),
        ([[5, 5]], 1),
    ],
)
def test_level_is_the_size_of_the_smallest_class(release, level):
    assert anonymity_level(release) == level


@in_one_case("dtype", [np.int8, np.int64, np.float32, np.float64, bool])
def test_numbers_of_any_type(dtype):
    release = np.array([[0, 1], [1, 0], [0, 1], [1, 0], [0, 1]], dtype=dtype)
    level = anonymity_level(release)
    assert level == 2
    assert type(level) is int


def test_rows_are_compared_in_all_columns():
    columns = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    assert anonymity_level(columns) == 1
    for left_out in range(6):
        assert anonymity_level(np.delete(columns, left_out, axis=1)) == 2


def test_many_wide_columns_do_not_overflow():
    # The product of the numbers of distinct values per column is 1000 to the power of 30.
    release = np.random.default_rng(0).normal(size=(1000, 30))
    assert anonymity_level(release) == 1
    assert anonymity_level(np.repeat(release, 3, axis=0)) == 3


@in_one_case("missing", [NAN, None, pd.NA, pd.NaT])
def test_a_missing_value_equals_itself_and_nothing_else(missing):
    assert anonymity_level(objects([["a", missing], ["a", missing]])) == 2
    assert anonymity_level(objects([["a", missing], ["b", missing]])) == 1
    for value in ("a", "nan", "None", "", 0):
        assert anonymity_level(objects([[value], [missing], [missing]])) == 1


def test_missing_numbers_are_equal():
    release = np.array([[1.0, NAN], [NAN, 1.0], [1.0, NAN], [NAN, 1.0]])
    assert anonymity_level(release) == 2


@every_frame
def test_frame_of_numbers_and_text(frame):
    table = frame(
        {
            "age": [30, 30, 41, 41, 41],
            "share": [0.5, 0.5, NAN, NAN, NAN],
            "town": ["Bonn", "Bonn", None, None, None],
            "member": [True, True, False, False, False],
        }
    )
    assert anonymity_level(table) == 2
    assert anonymity_level(table[:3]) == 1


@every_frame
def test_frame_of_categories_or_dates(frame):
    days = np.array(["2020-01-01", "2020-01-01", "2021-06-30", "2021-06-30"], dtype="M8[ns]")
    assert anonymity_level(frame({"day": days})) == 2
    assert anonymity_level(frame({"day": days, "town": ["a", "a", "b", "c"]})) == 1
    assert anonymity_level(frame({"day": days, "visits": [1, 1, 2, 2]})) == 2


@in_one_case("dtype", ["Int64", "Float64", "boolean", "string", "category"])
def test_missing_values_of_pandas_types_are_equal(dtype):
    values = pd.Series([1, 1, None, None], dtype="Int64")
    column = values.astype("string" if dtype == "category" else dtype).astype(dtype)
    assert anonymity_level(pd.DataFrame({"x": column})) == 2
    assert anonymity_level(pd.DataFrame({"x": column, "town": ["a", "a", "b", "b"]})) == 2


@every_frame
def test_large_integers_next_to_fractions_stay_distinct(frame):
    # As float64 the two would be the same number.
    table = frame({"account": [2**53, 2**53 + 1], "share": [0.5, 0.5]})
    assert anonymity_level(table) == 1


cell = st.sampled_from([0, 1, 2.5, "0", "a", "nan", "", None])


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[cell] * d), min_size=1)))
def test_level_of_mixed_values_equals_the_count_of_rows(rows):
    assert anonymity_level(objects(rows)) == min(Counter(rows).values())


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[st.floats()] * d), min_size=1)))
def test_level_of_numbers_equals_the_count_of_rows(rows):
    # NaN differs from itself in a tuple.
    counts = Counter(tuple("nan" if x != x else x for x in row) for row in rows)
    assert anonymity_level(np.array(rows)) == min(counts.values())


@in_one_case(
    ("release", "message"),
    [([1, 2, 3], "two dimensions"), (np.empty((0, 2)), r"0 sample\(s\)")],
)
def test_input_that_is_not_a_table_raises(release, message):
    with pytest.raises(ValueError, match=message):
        anonymity_level(release)
