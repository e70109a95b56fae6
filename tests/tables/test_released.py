"""What groups are released as: averages and their rounding, modes and their ties, dates, text."""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from example_tables.learned import learn, release
from example_tables.mixed import DEEP, UNEVEN
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles import encoding as oracle

from sk_microagg._utils._statistics import Members
from sk_microagg.tables import (
    DateColumn,
    Hierarchy,
    NumberColumn,
    OrdinalColumn,
)
from sk_microagg.tables._forms import group_averages

every_seed = in_one_case("seed", range(3))


def as_groups(labels, cells):
    return [
        [cells[record] for record in np.flatnonzero(labels == label)]
        for label in range(labels.max() + 1)
    ]


def draw_labels(rng, n, k):
    """Groups of k records and some more."""
    return rng.permutation(np.minimum(np.arange(n) // k, n // k - 1))


def modes(column, k, labels):
    return release(column.to_frame("column"), k, labels)["column"]["column"]


# Averages


@every_seed
@in_one_case("average", ["mean", "median"])
@in_one_case("share_missing", [0.0, 0.5])
def test_averages(seed, average, share_missing):
    rng = np.random.default_rng(seed)
    labels = draw_labels(rng, 50, 2 + seed % 4)
    values = rng.choice([rng.normal(size=50), rng.integers(0, 3, 50) * 1e6])
    values[rng.random(50) < share_missing] = np.nan
    averages = group_averages(values, Members(labels), average)
    for group, released in zip(as_groups(labels, values.tolist()), averages, strict=True):
        right = getattr(oracle, average)(group)
        assert np.isnan(released) if right is None else released == pytest.approx(float(right))


def test_the_mean_of_equal_numbers_is_that_number():
    for number in (0.1, 1 / 3, 1e15 + 0.3, -7e-300):
        values = np.full(7, number)
        averages = group_averages(values, Members(np.zeros(7, np.intp)), "mean")
        assert averages.tolist() == [number]


def test_the_only_known_number_of_a_group_is_not_released():
    values = np.array([7.25, np.nan])
    labels = np.zeros(2, dtype=np.intp)
    for average in ("mean", "median"):
        assert np.isnan(group_averages(values, Members(labels), average))
    # With k = 1 the release is the data.
    assert_array_equal(group_averages(values, Members(np.array([0, 1])), "mean"), values)


@in_one_case(
    ("cells", "dtype", "decimals", "expected"),
    [
        ([1.25, 2.5], "float64", "auto", 1.88),
        ([1.25, 2.5], "float64", None, 1.875),
        ([1.25, 2.5], "float64", 1, 1.9),
        ([1, 2, 2], "int64", "auto", 2),
        ([1.0, 2.0, 2.0], "float64", "auto", 2.0),
        ([1, 2, 2], "int8", None, 2),
        ([5] * 6 + [6] * 5, "int64", 1, 5),  # and not 5.4545, 5.5, 6
        ([5] * 6 + [6] * 5, object, 2, 5),
        ([149, 255, 255], "uint8", -2, 200),
        ([255, 255], "uint8", -2, 255),
        ([0.1, 0.2, 0.2], "float32", "auto", np.float32(0.2)),
        ([None, 4, 5, 5], "Int64", "auto", 5),
        ([None, 0.5, 0.25], "Float64", "auto", 0.38),
        ([Decimal("1.10"), Decimal("1.20"), Decimal("1.20")], object, "auto", Decimal("1.2")),
        ([Decimal("1.10"), Decimal("1.25")], object, 1, Decimal("1.2")),
        ([Decimal(12), Decimal(17)], object, -1, Decimal(10)),
        ([3, 4, 4, None], object, "auto", 4),
        ([-0.5, 0.4], "float64", 0, 0.0),
    ],
)
def test_rounding(cells, dtype, decimals, expected):
    column = pd.Series(cells, dtype=dtype, name="column")
    encoded = learn(NumberColumn, column, decimals=decimals)
    mean = np.nanmean(encoded.numbers(column))
    released = encoded.released(np.array([mean]), column)
    assert released.dtype == column.dtype
    assert type(released[0]) is type(column.dropna().iloc[0])
    assert released[0] == expected
    assert not str(released[0]).startswith("-0")


def test_thirteen_decimals_are_all_digits():
    assert learn(NumberColumn, pd.Series([0.1234567890123, 1.0])).own_decimals is None
    assert learn(NumberColumn, pd.Series([0.123456789012, 1.0])).own_decimals == 12
    assert learn(NumberColumn, pd.Series([100.0, 2000.0])).own_decimals == 0
    assert learn(NumberColumn, pd.Series([0.1 + 0.2, 58.11])).own_decimals == 2


# Modes


@every_seed
@in_one_case("k", [2, 3, 5])
def test_modes(seed, k):
    rng = np.random.default_rng(seed)
    values = [*"aaabbbccdefghijklmnop", None, None]
    cells = [values[j] for j in rng.integers(0, len(values), 60)]
    labels = draw_labels(rng, 60, k)
    column = pd.Series(cells, dtype=object)
    released = modes(column, k, labels).tolist()
    for group, mode in zip(as_groups(labels, cells), released, strict=True):
        assert mode in oracle.modes(group, cells, k)
        assert mode is None or cells.count(mode) >= k or group.count(mode) >= 2


@every_seed
def test_ties_of_modes_do_not_depend_on_the_order_of_groups(seed):
    rng = np.random.default_rng(seed)
    column = pd.Series(rng.choice(list("abc"), 40))
    labels = draw_labels(rng, 40, 4)
    renamed = modes(column, 4, labels.max() - labels)
    assert_array_equal(renamed[::-1], modes(column, 4, labels))


def test_of_two_values_as_frequent_in_group_and_table_the_first_of_the_table_is_released():
    column = pd.Series(["b", "a", "a", "b"])
    labels = np.zeros(4, dtype=np.intp)
    assert modes(column, 4, labels).tolist() == ["b"]


def test_no_code_of_one_person_stands_for_all_where_nothing_can_be_missing():
    column = pd.Series(2**60 + np.arange(4))
    labels = np.array([0, 0, 1, 1])
    released = modes(column, 2, labels)
    assert released.isna().all()
    assert released.dtype == "Int64"
    shared = pd.Series([2**60, 2**60, 2**60 + 1, 2**60 + 2])
    assert modes(shared, 2, labels).tolist() == [2**60, 2**60]


def test_categories_of_few_records_are_not_in_the_type_of_the_release():
    cells = ["a", "a", "a", "rare", "shown", "shown"]
    dtype = pd.CategoricalDtype(["of nobody", "rare", "shown", "a"], ordered=False)
    column = pd.Series(cells, dtype=dtype)
    labels = np.array([0, 0, 0, 1, 1, 1])
    released = modes(column, 3, labels)
    assert released.tolist() == ["a", "shown"]
    assert released.cat.categories.tolist() == ["shown", "a"]


# Ordinal values


def test_only_values_that_k_records_share_are_averages():
    cells = [1, 1, 1, 2, 3, 3, 3, 9]
    column = pd.Series(cells, name="grade")
    encoded = learn(OrdinalColumn, column, 3)
    assert encoded.order == [1, 3]
    assert encoded.numbers(column).tolist() == [0, 0, 0, 1, 2, 2, 2, 3]
    assert encoded.released(np.array([0.0, 1.1, 3.0, 1.0]), column).tolist() == [1, 3, 3, 1]


def test_ordinal_values_of_which_all_are_rare_are_missing():
    column = pd.Series([1, 2, 3], name="grade")
    released = learn(OrdinalColumn, column, 2).released(np.array([1.0]), column)
    assert released.isna().all()
    assert released.dtype == "Int64"


def test_new_ordinal_values_lie_between_those_they_are_between():
    column = pd.Series(list("bbbdddfff"))
    encoded = learn(OrdinalColumn, column, 3)
    new = pd.Series(["a", "b", "c", "e", "z", None, 7], dtype=object)
    assert_array_equal(encoded.numbers(new), [-0.5, 0, 0.5, 1.5, 2.5, np.nan, np.nan])


def test_new_categories_lie_where_their_type_has_them():
    order = ["low", "rare", "mid", "high"]
    column = pd.Series(
        ["low"] * 3 + ["mid"] * 3 + ["rare"] + ["high"] * 3,
        dtype=pd.CategoricalDtype(order, ordered=True),
    )
    encoded = learn(OrdinalColumn, column, 3)
    assert encoded.order == ["low", "mid", "high"]
    assert_array_equal(encoded.numbers(column), [0] * 3 + [2] * 3 + [1] + [3] * 3)
    new_type = pd.CategoricalDtype(["low", "other", "mid", "high", "top"], ordered=True)
    new = pd.Series(["other", "top", "mid", None], dtype=new_type)
    assert_array_equal(encoded.numbers(new), [1, 3.5, 2, np.nan])
    assert_array_equal(encoded.numbers(pd.Series(["mid", "other"])), [2, np.nan])


def test_median_of_ordinal_values():
    table = pd.DataFrame({"grade": list("aaabbccc")}, dtype=pd.CategoricalDtype(list("abc"), True))
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    released = release(table, 2, labels, numbers="median")["grade"]["grade"]
    assert released.tolist() == ["a", "c"]


# Dates


@in_one_case(
    ("cells", "expected"),
    [
        (pd.to_datetime(["2024-03-30", "2024-03-31", "2024-04-02"]), "2024-03-31"),
        (pd.to_datetime(["2024-03-30 10:00", "2024-03-30 13:00", "2024-03-30 14:00"]), "12:00"),
        (pd.to_datetime(["2024-03-30 10:00:01", "2024-03-30 10:00:02"]), "10:00:02"),
        (
            pd.DatetimeIndex(["2024-03-30", "2024-03-31", "2024-04-02"], tz="Europe/Berlin"),
            "2024-03-31 00:00:00+01:00",
        ),
        (
            pd.DatetimeIndex(["2024-03-31 01:30", "2024-03-31 03:30"], tz="Europe/Berlin"),
            "2024-03-31 03:00:00+02:00",
        ),
        (pd.PeriodIndex(["2024-01", "2024-02", "2024-06"], freq="M"), "2024-03"),
        (pd.to_timedelta(["1h", "2h", "6h"]), "0 days 03:00:00"),
        ([date(2024, 3, 30), date(2024, 4, 1)], "2024-03-31"),
        ([datetime(2024, 3, 30), datetime(2024, 4, 1)], "2024-03-31 00:00:00"),
    ],
)
def test_dates(cells, expected):
    column = pd.Series(cells)
    encoded = learn(DateColumn, column)
    labels = np.zeros(len(column), dtype=np.intp)
    mean = group_averages(encoded.numbers(column), Members(labels), "mean")
    released = encoded.released(mean, column)
    assert expected in str(released[0])
    assert released.dtype == column.dtype


@in_one_case(
    ("unit", "released"),
    [
        ("auto", "2024-03-30 12:00:00"),
        ("day", "2024-03-31 00:00:00"),
        ("hour", "2024-03-30 12:00:00"),
        ("minute", "2024-03-30 12:20:00"),
        ("second", "2024-03-30 12:20:00"),
        ("millisecond", "2024-03-30 12:20:00"),
    ],
)
@in_one_case("dtype", ["datetime64[ms]", "datetime64[ns]", "timestamp[us][pyarrow]"])
def test_the_unit_of_dates(unit, released, dtype):
    hours = ["10:00", "13:00", "14:00"]
    column = pd.Series([f"2024-03-30 {hour}" for hour in hours]).astype("datetime64[ns]")
    column = column.astype(dtype)
    encoded = learn(DateColumn, column, decimals=unit)
    means = np.array([encoded.numbers(column).mean()])
    assert str(encoded.released(means, column)[0]) == released


def test_a_unit_that_is_too_short():
    days = pd.Series([date(2024, 3, 30)], dtype="date32[pyarrow]", name="day")
    with pytest.raises(ValueError, match=r"^decimals='hour' for column 'day'"):
        learn(DateColumn, days, decimals="hour")


def test_a_date_object_stays_one_and_missing_ones_are_none():
    column = pd.Series([date(2024, 3, 30), None, date(2024, 4, 1)], dtype=object)
    released = learn(DateColumn, column).released(np.array([19_800.0, np.nan]), column)
    assert released.tolist() == [date(2024, 3, 18), None]
    assert type(released[0]) is date


# Generalized values and shares


def path_labels(tree, above=()):
    if isinstance(tree, list):
        tree = dict.fromkeys(tree)
    paths = {}
    for label, below in tree.items():
        paths |= path_labels(below, (label, *above)) if below else {label: (label, *above)}
    return paths


@every_seed
@in_one_case("tree", [DEEP, UNEVEN])
def test_lowest_common_nodes(seed, tree):
    rng = np.random.default_rng(seed)
    paths = path_labels(tree)
    cells = [None if rng.random() < 0.05 else leaf for leaf in rng.choice(sorted(paths), 40)]
    labels = draw_labels(rng, 40, 2)
    column = pd.Series(cells, dtype=object, name="code")
    hierarchies = {"code": Hierarchy.from_nested(tree)}
    table = column.to_frame()
    released = release(table, 2, labels, categories="generalize", hierarchies=hierarchies)["code"]
    expected = [oracle.lowest_common_node(group, paths) for group in as_groups(labels, cells)]
    assert released["code"].tolist() == expected
    assert len({*expected}) > 3


def test_without_a_hierarchy_only_a_common_value_is_released():
    column = pd.Series(["a", "a", "b", "a", "c", None, None, None], dtype=object)
    table, labels = column.to_frame("x"), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    released = release(table, 2, labels, categories="generalize")["x"]["x"]
    assert released.tolist() == ["a", "*", "*", "*"]


@every_seed
def test_shares(seed):
    rng = np.random.default_rng(seed)
    values = [1, "1", "a", "a", "b", None, "rare"]
    cells = [values[j] for j in rng.choice(7, 40, p=[0.2, 0.2, 0.2, 0.1, 0.1, 0.15, 0.05])]
    table = pd.DataFrame({"code": pd.Series(cells, dtype=object)})
    labels = draw_labels(rng, 40, 4)
    released = release(table, 4, labels, categories="shares")["code"]
    shared = [value for value, n in Counter(oracle.known(cells)).items() if n >= 4]
    assert released.shape[1] >= len(shared)
    np.testing.assert_allclose(released.sum(axis=1), 1)
    for name, share in zip(("a", "'1'", "(missing)"), ("a", "1", None), strict=True):
        expected = [group.count(share) / len(group) for group in as_groups(labels, cells)]
        if f"code={name}" in released:
            np.testing.assert_allclose(released[f"code={name}"], expected)
    assert "code=rare" not in released or "rare" in shared
