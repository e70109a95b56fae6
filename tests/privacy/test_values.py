"""Values of all kinds, as they come in arrays, lists and Series."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg import MicroAggregator
from sk_microagg.privacy import DistinctUnits, LDiversity, TCloseness
from sk_microagg.privacy._closeness import EqualDistance, OrderedDistance
from sk_microagg.tables import Hierarchy

NAN = float("nan")
DAYS = [date(2020, 1, day) for day in (3, 1, 3, 2)]

# The codes 2, 0, 2, 1 in order, in many forms.
ORDERED = {
    "integers": [30, 10, 30, 20],
    "floats": np.array([3.5, -1, 3.5, 2]),
    "integers and floats": [30, 10.5, 30, 20],
    "large integers": [2**70 + 1, -(2**70), 2**70 + 1, 2**70],
    "integers that floats round": [2**53 + 1, 0.5, 2**53 + 1, 2**53],
    "decimals": [Decimal("0.3"), Decimal("0.1"), Decimal("0.30"), Decimal("0.2")],
    "objects": np.array([30, 10, 30, 20], dtype=object),
    "unsigned": np.array([3, 1, 3, 2], dtype=np.uint8),
    "nullable": pd.Series([30, 10, 30, 20], dtype="Int64"),
    "pandas array": pd.array([30, 10, 30, 20], dtype="Int64"),
    "arrow": pd.Series([30, 10, 30, 20], dtype="int64[pyarrow]"),
    "polars": pl.Series([30, 10, 30, 20]),
    "dates": DAYS,
    "datetime64": np.array(DAYS, dtype="datetime64[D]"),
    "durations": np.array([3, 1, 3, 2], dtype="m8[s]"),
    "pandas dates": pd.Series(pd.to_datetime(DAYS)),
    "zoned dates": pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("UTC"),
    "periods": pd.Series(pd.to_datetime(DAYS)).dt.to_period("D"),
    "polars dates": pl.Series(DAYS),
    "ordered categories": pd.Series(
        pd.Categorical(["top", "low", "top", "mid"], ["low", "mid", "none", "top"], ordered=True)
    ),
    "ordered Categorical": pd.Categorical(list("acab"), list("cba"), ordered=True),
    "polars Enum": pl.Series(["a", "c", "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
}
UNORDERED = {
    "text": ["c", "a", "c", "b"],
    "text array": np.array(["c", "a", "c", "b"]),
    "bytes": np.array([b"c", b"a", b"c", b"b"]),
    "text and numbers": ["c", 1, "c", 2],
    "text Series": pd.Series(["c", "a", "c", "b"]),
    "string Series": pd.Series(["c", "a", "c", "b"], dtype="string"),
    "categories": pd.Series(["c", "a", "c", "b"], dtype="category"),
    "polars text": pl.Series(["c", "a", "c", "b"]),
    "polars categories": pl.Series(["c", "a", "c", "b"], dtype=pl.Categorical),
    "text with a star": ["*", "a", "*", "b"],
    "tuples as objects": pd.Series([(1, 2), (1, 3), (1, 2), (2, 2)]),
}


@in_one_case("name", ORDERED)
def test_auto_orders_numbers_dates_and_ordered_categories(name):
    codes, table = TCloseness().prepare(ORDERED[name])
    assert isinstance(table, OrderedDistance)
    assert codes.dtype == np.int32
    assert_array_equal(codes, [2, 0, 2, 1])
    assert_array_equal(table.counts, [1, 1, 2])


@in_one_case("name", UNORDERED)
def test_auto_does_not_order_anything_else(name):
    codes, table = TCloseness().prepare(UNORDERED[name])
    assert isinstance(table, EqualDistance)
    assert codes[0] == codes[2]
    assert len({*codes}) == len(table.counts) == 3


@in_one_case("values", [[True, False, True], np.array([True, False, True])])
def test_truth_values_are_not_numbers(values):
    assert isinstance(TCloseness().prepare(values)[1], EqualDistance)


@in_one_case("name", [*ORDERED, *UNORDERED])
@in_one_case("constraint", [LDiversity(), DistinctUnits()])
def test_different_values_are_counted(name, constraint):
    codes, _ = constraint.prepare({**ORDERED, **UNORDERED}[name])
    assert codes.dtype == np.int32
    assert codes[0] == codes[2]
    assert sorted(np.bincount(codes)) == [1, 1, 2]


MISSING = {
    "objects": [None, 7, NAN, float("nan"), 5],
    "object array": np.array([pd.NA, 7, pd.NaT, None, 5], dtype=object),
    "floats": np.array([NAN, 7, NAN, NAN, 5]),
    "nullable": pd.Series([None, 7, None, None, 5], dtype="Int64"),
    "Series of floats": pd.Series([None, 7, None, None, 5]),
    "polars": pl.Series([None, 7, None, None, 5]),
    "polars NaN": pl.Series([None, 7.0, NAN, NAN, 5.0]),
    "masked": np.ma.array([1, 7, 2, 3, 5], mask=[1, 0, 1, 1, 0]),
    "dates": np.array(["NaT", "2020-02-02", "NaT", "NaT", "2020-01-01"], dtype="M8[D]"),
    "pandas dates": pd.Series(pd.to_datetime([None, "2020-02-02", None, None, "2020-01-01"])),
    "categories": pd.Categorical([None, "b", None, None, "a"], ["a", "b"], ordered=True),
}


@in_one_case("name", MISSING)
def test_missing_values_are_one_value_beyond_the_largest(name):
    codes, table = TCloseness().prepare(MISSING[name])
    assert isinstance(table, OrderedDistance)
    assert_array_equal(codes, [2, 1, 2, 2, 0])


def test_missing_text_is_one_value():
    for values in (["a", None, NAN, "a"], pd.Series(["a", None, None, "a"], dtype="string")):
        assert_array_equal(LDiversity().prepare(values)[0], [0, 1, 1, 0])
    assert_array_equal(LDiversity().prepare([None, NAN, None])[0], [0, 0, 0])


def test_text_can_be_ordered_on_request():
    codes, table = TCloseness(distance="ordered").prepare(["c", "a", "c", "b", None])
    assert_array_equal(codes, [2, 0, 2, 1, 3])
    assert isinstance(table, OrderedDistance)


def test_values_without_an_order_raise():
    with pytest.raises(TypeError, match="distance='ordered'") as caught:
        TCloseness(distance="ordered").prepare(["secret", 3])
    assert "secret" not in str(caught.value)


def test_cells_that_cannot_be_hashed_raise():
    with pytest.raises(TypeError, match="type list"):
        LDiversity().prepare(pd.Series([[1], [2]]))


def figure(hierarchy, values, members):
    constraint = TCloseness(distance=hierarchy)
    codes, table = constraint.prepare(values)
    return constraint.measure(codes[members], table)


def test_copies_of_the_root_add_no_height():
    short = Hierarchy.from_paths([("a", "x", "*"), ("b", "x", "*"), ("c", "*"), ("d", "*")])
    long = Hierarchy.from_paths(
        [("a", "x", "*"), ("b", "x", "*"), ("c", "*", "*"), ("d", "*", "*")]
    )
    for members in ([0], [0, 1], [2], [2, 3], [0, 2]):
        expected = figure(short, list("abcd"), members)
        assert figure(long, list("abcd"), members) == expected
    assert figure(long, list("cd"), [0]) == 0.5  # half of it moves all the way


def test_a_flat_hierarchy_is_the_equal_distance():
    values = ["a", None, "b", "b", "c", 3, 3.5]
    for n_members in range(1, len(values)):
        members = list(range(n_members))
        assert figure(Hierarchy.flat(), values, members) == figure("equal", values, members)


def test_numbers_in_bins_are_near_each_other():
    bins = Hierarchy.from_bins([0, 10, 20, 40], [0, 20, 40])
    values = [1, 2, 15, 30]
    # A quarter each goes 1, 2 and 3 of 3 levels up.
    assert figure(bins, values, [0]) == 0.5
    assert figure(bins, values, [0, 1]) == 5 / 12


def test_a_missing_value_is_below_the_root():
    tree = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c"]})
    assert figure(tree, ["a", None], [0]) == figure(tree, ["a", "c"], [0]) == 0.5
    assert figure(tree, ["a", "b"], [0]) == 0.25


def test_a_value_that_is_not_a_leaf_is_not_shown():
    tree = Hierarchy.from_nested({"x": ["a", "b"]})
    with pytest.raises(
        ValueError,
        match="is none of its leaves, at position 1",
    ) as caught:
        TCloseness(distance=tree).prepare(["a", "secret"])
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_units_are_demanded_by_k():
    """DistinctUnits without a column asks for what `unit` demands already, and for no others."""
    X = np.arange(12.0)[:, None]
    with pytest.raises(
        ValueError, match="needless with unit=: k=2 demands as many different units"
    ):
        MicroAggregator(k=2, privacy=DistinctUnits(3)).fit(X, unit=list("abcdef") * 2)
    both = MicroAggregator(k=2, privacy=DistinctUnits(3))
    both.fit(X, unit=list("abcdef") * 2, sensitive=list("uvwxyz") * 2)
    assert both.group_sizes_.min() >= 3
