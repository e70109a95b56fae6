"""KAIM as users see it: the release, its attributes, new records."""

import re
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.mixed import (
    COUNTRIES,
    HIERARCHIES,
    covers,
    draw,
    limited_to_what_is_shown,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg import KAIM, TableAggregator
from sk_microagg.generalization._mixed_table import MixedTable
from sk_microagg.metrics import anonymity_level, generalization_loss
from sk_microagg.refiners import IteratedLocalSearch, LocalSearch
from sk_microagg.tables import Hierarchy

PATIENTS = [
    [None, "M", 12000],
    [None, "M", 14000],
    [26, "F", 18000],
    [28, "M", 19000],
    [32, "M", None],
    [39, "M", 24000],
    [41, None, None],
    [36, "F", 22000],
    [48, "F", None],
    [None, "F", 21000],
]
PATIENT_HIERARCHIES = {
    0: Hierarchy.from_bins([20, 30, 40, 50]),
    2: Hierarchy.from_bins([10000, 15000, 20000, 25000]),
}
# Table 3 of the paper, in the order of the records.
PATIENT_RELEASE = [
    ["*", "M", "[10000, 15000)"],
    ["*", "M", "[10000, 15000)"],
    ["[20, 30)", "*", "[15000, 20000)"],
    ["[20, 30)", "*", "[15000, 20000)"],
    ["[30, 40)", "M", "*"],
    ["[30, 40)", "M", "*"],
    ["[40, 50)", "*", "*"],
    ["*", "F", "[20000, 25000)"],
    ["[40, 50)", "*", "*"],
    ["*", "F", "[20000, 25000)"],
]


@pytest.fixture(name="X")
def table():
    return draw(120)


@in_one_case("seed", range(25))
def test_example_of_the_paper(seed):
    kaim = KAIM(
        2, hierarchies=PATIENT_HIERARCHIES, distance="entropy", refiner=None, random_state=seed
    )
    assert kaim.fit_transform(PATIENTS).tolist() == PATIENT_RELEASE
    assert kaim.value_missing_rate_ == 7 / 30
    assert kaim.record_missing_rate_ == 0.6


@pytest.mark.parametrize("distance", ["ncp", "entropy"])
@pytest.mark.parametrize("refiner", [None, "local_search", "iterated_local_search"])
@pytest.mark.parametrize("k", [1, 2, 5, 60, 61, 119, 120])
def test_every_released_row_is_true_and_occurs_at_least_k_times(X, k, refiner, distance):
    if refiner == "iterated_local_search":
        refiner = IteratedLocalSearch(max_iter=20)
    kaim = KAIM(k, hierarchies=HIERARCHIES, distance=distance, refiner=refiner, random_state=0)
    release = kaim.fit_transform(X)
    assert release.shape == X.shape
    assert anonymity_level(release) >= k
    assert all(map(covers, release.ravel(), X.to_numpy().ravel()))
    assert kaim.group_sizes_.min() >= k
    assert_array_equal(kaim.group_sizes_, np.bincount(kaim.labels_))
    assert kaim.n_groups_ == len(kaim.centroids_) == len(kaim.group_sizes_)
    assert_array_equal(kaim.centroids_[kaim.labels_], release)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.2, 0.9]),
    st.integers(0, 10**6),
    st.sampled_from([None, "local_search"]),
)
def test_any_table_of_at_least_k_records(n, k, share_missing, seed, refiner):
    X = draw(max(n, k), seed, share_missing)
    kaim = KAIM(k, hierarchies=HIERARCHIES, refiner=refiner, random_state=seed)
    release = kaim.fit_transform(X)
    assert anonymity_level(release) >= k
    assert all(map(covers, release.ravel(), X.to_numpy().ravel()))
    shown = limited_to_what_is_shown(X, release)
    assert kaim.information_loss_ == pytest.approx(
        generalization_loss(shown, release, hierarchies=HIERARCHIES)
    )


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        ([["a", 1], ["a", 1], ["a", 1], ["a", 1]], [["a", "1"]] * 4),
        ([["a", 1], ["a", 2], ["a", 4], ["a", 5]], [["a", "[1, 2]"]] * 2 + [["a", "[4, 5]"]] * 2),
        ([["a", None], ["a", None], ["b", None], ["b", None]], [["a", "*"]] * 2 + [["b", "*"]] * 2),
        ([[None], [None]], [["*"], ["*"]]),
        ([["a"], [None]], [["*"], ["*"]]),
        ([[3.5], [None]], [["*"], ["*"]]),
        ([["a"], ["b"]], [["*"], ["*"]]),
        ([[2.5], [7.0]], [["[2.5, 7]"], ["[2.5, 7]"]]),
        ([[True, 0], [True, 0]], [["True", "0"]] * 2),
    ],
    ids=str,
)
def test_small_tables(X, expected):
    assert KAIM(2, grid=None, random_state=0).fit_transform(X).tolist() == expected


def test_refiner_lowers_the_loss(X):
    losses = [
        KAIM(4, hierarchies=HIERARCHIES, refiner=refiner, random_state=0).fit(X).information_loss_
        for refiner in (None, "local_search", IteratedLocalSearch(max_iter=300))
    ]
    assert losses[2] < losses[1] < losses[0]


def test_refiner_can_be_an_object_with_parameters(X):
    limited = KAIM(4, refiner=LocalSearch(max_iter=1), random_state=0).fit(X)
    full = KAIM(4, random_state=0).fit(X)
    assert limited.n_iter_ == limited.refiner_.n_iter_ == 1 < full.n_iter_
    assert full.information_loss_ < limited.information_loss_
    searched = KAIM(4, refiner="iterated_local_search", random_state=0)
    searched.set_params(refiner=IteratedLocalSearch(max_iter=7, n_init=2), n_jobs=2).fit(X)
    assert searched.n_iter_ == 14
    assert searched.refiner_.n_jobs == 2


@pytest.mark.parametrize(
    ("refiner", "last"),
    [
        (None, ""),
        ("local_search", "local search, information loss"),
        (IteratedLocalSearch(max_iter=5), "iteration 5 of 5, information loss"),
    ],
)
def test_verbose_shows_building_and_refining(X, capsys, refiner, last):
    KAIM(4, refiner=refiner, verbose=1, random_state=0).fit(X)
    building, *refining, end = capsys.readouterr().out.split("\n")
    n = len(X)
    assert re.fullmatch(rf"{n} of {n} records in groups, \d+ s", building)
    assert last in "".join(refining)
    assert len(refining) == (refiner is not None)
    assert end == ""


def test_nothing_is_printed_by_default(X, capsys):
    KAIM(4, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")


def test_a_column_that_weighs_more_loses_less(X):
    plain, heavy = (
        KAIM(5, hierarchies=HIERARCHIES, weights=weights, random_state=0)
        for weights in (None, [1, 1, 1, 50])
    )
    lost = []
    for kaim in (plain, heavy):
        release = kaim.fit_transform(X)
        shown = limited_to_what_is_shown(X, release)
        lost.append(generalization_loss(shown, release, hierarchies=HIERARCHIES, level="cell"))
    assert lost[1][:, 3].mean() < 0.5 * lost[0][:, 3].mean()
    assert heavy.information_loss_ == pytest.approx(
        np.average(lost[1], weights=[1, 1, 1, 50], axis=1).mean()
    )


def test_a_column_with_weight_0_does_not_count(X):
    kaim = KAIM(5, weights=[0, 1, 1, 0], random_state=0).fit(X)
    alone = KAIM(5, random_state=0).fit(X[["country", "sex"]])
    assert kaim.information_loss_ == pytest.approx(alone.information_loss_)


def test_equal_weights_of_any_size_are_like_none(X):
    one, many = (KAIM(5, weights=w, random_state=0).fit(X) for w in ([1] * 4, [4.0] * 4))
    assert_array_equal(one.labels_, many.labels_)
    assert one.information_loss_ == pytest.approx(many.information_loss_)


def test_constant_of_the_entropy_matters(X):
    own, one = (
        KAIM(5, distance="entropy", c=c, refiner=None, random_state=0).fit(X) for c in ("own", 0.05)
    )
    assert own.information_loss_ != one.information_loss_


@in_one_case("library", ["pandas", "polars", "array", "list"])
def test_all_kinds_of_tables_give_the_same_release(X, library):
    cells = X.astype(object).where(X.notna(), None)
    table = {
        "pandas": X,
        "polars": pl.DataFrame({name: cells[name].tolist() for name in cells}),
        "array": cells.to_numpy(),
        "list": cells.to_numpy().tolist(),
    }[library]
    is_frame = library in ("pandas", "polars")
    kaim = KAIM(4, hierarchies={"country" if is_frame else 1: COUNTRIES}, random_state=0)
    expected = KAIM(4, hierarchies=HIERARCHIES, random_state=0).fit_transform(X)
    assert_array_equal(kaim.fit_transform(table), expected)
    if is_frame:
        framed = kaim.set_output(transform=library).fit_transform(table)
        assert type(framed) is type(table)
        assert list(framed.columns) == list(X.columns)
        assert_array_equal(framed.to_numpy(), expected)


def test_all_kinds_of_missing_values(X):
    expected = KAIM(4, random_state=0).fit_transform(X)
    for sign in (None, np.nan, pd.NA, "*"):
        assert_array_equal(
            KAIM(4, random_state=0).fit_transform(X.astype(object).where(X.notna(), sign)), expected
        )


def test_hierarchies_from_a_file_a_dict_or_an_object(X, tmp_path):
    path = tmp_path / "country.csv"
    lines = [f"{leaf};{node};*" for node, leaves in COUNTRIES.items() for leaf in leaves]
    path.write_text("\n".join(lines), encoding="utf-8")
    expected = KAIM(4, hierarchies=HIERARCHIES, random_state=0).fit_transform(X)
    for hierarchy in (path, str(path), Hierarchy.from_nested(COUNTRIES)):
        kaim = KAIM(4, hierarchies={"country": hierarchy}, random_state=0)
        assert_array_equal(kaim.fit_transform(X), expected)


def test_midpoints_of_intervals(X):
    numbers = X[["age", "income"]]
    middles = KAIM(4, output="midpoint", random_state=0).fit_transform(numbers)
    texts = KAIM(4, random_state=0).fit_transform(numbers)
    assert middles.dtype == np.float64
    assert_array_equal(np.isnan(middles), texts == "*")
    for middle, text in zip(middles.ravel(), texts.ravel(), strict=True):
        if text != "*":
            ends = [float(end) for end in text.strip("[]").split(", ")]
            assert middle == pytest.approx((ends[0] + ends[-1]) / 2)
    mixed = KAIM(4, output="midpoint", random_state=0).fit_transform(X)
    assert {type(cell) for cell in mixed[:, 0]} == {float}
    assert {type(cell) for cell in mixed[:, 1]} == {str}


def test_midpoints_of_bins():
    kaim = KAIM(2, output="midpoint", hierarchies={0: Hierarchy.from_bins([0, 10, 30])})
    assert kaim.fit_transform([[1.0], [2.0], [14.0], [12.0]]).tolist() == [[5], [5], [20], [20]]


TYPES = {
    "boolean": [True, False, None],
    "Int64": [1, 2, None],
    "Float64": [1.0, 2.5, None],
    "int64[pyarrow]": [1, 2, None],
    "string": ["a", "b", None],
    "int64": [1, 2, 3],
    "bool": [True, False, True],
}


@in_one_case("dtype", TYPES)
def test_types_of_pandas_beside_categories(dtype):
    """NumPy has no common type for some of them."""
    table = pd.DataFrame({"a": pd.Series(TYPES[dtype] * 4, dtype=dtype)})
    table["b"] = pd.Categorical(["x", "y", "z"] * 4)
    plain = table.astype(object).where(table.notna(), None)
    kaim = KAIM(2, random_state=0)
    release = kaim.fit_transform(table)
    assert_array_equal(release, KAIM(2, random_state=0).fit_transform(plain))
    assert generalization_loss(table, release) == pytest.approx(kaim.information_loss_)


def test_a_categorical_type_of_integers_is_a_category():
    table = pd.DataFrame({"code": pd.Categorical([1, 2, 3, 4] * 2), "age": range(8)})
    release = KAIM(4).fit_transform(table)
    assert {*release[:, 0]} <= {"1", "2", "3", "4", "*"}


COLUMNS = {
    "integers": [1, 2, 3, 4],
    "floats": [0.5, 1.5, None, 4.0],
    "decimals": [Decimal("1.5"), Decimal("2.5"), None, Decimal("4.5")],
    "nullable": pd.array([1, 2, None, 4], dtype="Int64"),
    "arrow": pd.array([1.5, 2.5, None, 4.0], dtype="float64[pyarrow]"),
    "codes": [2**60, 2**60 + 1, 2**60, 2**60 + 1],
    "typed categories": pd.Categorical([1, 2, 2, 1]),
    "booleans": [True, False, None, True],
    "mixed": ["1", 1, "1", 1],
    "texts": ["a", None, "b", "a"],
    "dates": pd.date_range("2024-01-01", periods=4),
    "days": [date(2024, 1, day) for day in (1, 2, 3, 4)],
}


@in_one_case("name", COLUMNS)
def test_kinds_are_those_of_table_aggregator(name):
    table = pd.DataFrame({"x": pd.Series(COLUMNS[name])})
    [kind] = MixedTable(table, None).kinds
    assert kind == TableAggregator(2).fit(table).kinds_["x"]
