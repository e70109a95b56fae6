"""Risk and utility of tables with categories, dates and missing values."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import in_units
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles import mixed as oracle
from oracles.missing import known_of, variance

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.metrics import (
    anonymity_level,
    correlation_change,
    interval_disclosure,
    rank_disclosure,
    record_linkage,
    risk_utility,
)
from sk_microagg.tables import Hierarchy
from sk_microagg.tables._encoder import LOST

pytestmark = pytest.mark.usefixtures("few_steps")

EPOCH = pd.Timestamp(0)
START = pd.Timestamp("2024-01-01")
DAY = pd.Timedelta("1D")


def draw(n=80, seed=0, share=0.15):
    """Records without equal distances, as far as `age` tells."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 20, n),
            "sex": rng.choice(["F", "M"], n),
            "city": rng.choice(["Bonn", "Ulm", "Jena", "Hof"], n, p=[0.6, 0.2, 0.15, 0.05]),
            "visit": START + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "income": rng.lognormal(size=n),
        }
    )
    for name in ("income", "city", "visit"):
        table.loc[rng.random(n) < share, name] = None
    return table


def plain(table):
    """Rows of numbers, text and None, with dates as numbers of days."""
    table = table.assign(visit=(table["visit"] - EPOCH) / DAY)
    cells = table.astype(object).to_numpy()
    cells[:, 1:3] = np.where(pd.isna(cells[:, 1:3]), None, cells[:, 1:3])
    return cells.tolist()


def distances(X):
    columns = list(zip(*plain(X), strict=True))
    return [
        oracle.distance_of_categories(column)
        if name in ("sex", "city")
        else oracle.distance_of_numbers(column)
        for name, column in zip(X.columns, columns, strict=True)
    ]


RELEASES = {
    "mode": lambda X: TableAggregator(k=4).fit_transform(X),
    "generalize": lambda X: TableAggregator(k=4, categories="generalize").fit_transform(X),
}
every_release = in_one_case("make", RELEASES.values())


@pytest.mark.slow
@every_release
@in_one_case("share", [0.0, 0.15, 0.6])
@in_one_case("seed", range(2))
def test_linkage_is_that_of_the_oracle(make, share, seed):
    X = draw(seed=seed, share=share)
    release = make(X)
    linkage = record_linkage(X, release)
    expected = oracle.linkage(plain(X), plain(release), distances(X))
    assert_allclose((linkage.linked, linkage.expected_matches), expected, rtol=1e-12)
    n_rows = len(release.astype(object).where(release.notna(), None).drop_duplicates())
    assert linkage.expected_if_linked == n_rows / len(X)
    assert linkage.expected_matches <= 1 / 4


@every_release
def test_intervals_are_those_of_the_oracle(make):
    X = draw()
    release = make(X)
    for width in (0.0, 0.1, 1.0):
        shares = []
        rows = zip(plain(X), plain(release), strict=True)
        pairs = list(zip(*([*zip(a, b, strict=True)] for a, b in rows), strict=True))
        for name, column in zip(X.columns, pairs, strict=True):
            known = [(a, b) for a, b in column if not oracle.is_missing(a)]
            if name in ("sex", "city"):
                close = [a == b for a, b in known]
            else:
                half = width * math.sqrt(variance(known_of([a for a, _ in known])))
                close = [abs(a - b) <= half for a, b in known]
            shares.append(np.mean(close))
        assert_allclose(interval_disclosure(X, release, width=width), shares, rtol=1e-12)


def test_ranks_are_among_known_values():
    X = draw()
    release = TableAggregator(k=4).fit_transform(X)
    shares = rank_disclosure(X, release, share=0.2)
    known = X["income"].notna() & release["income"].notna()
    ordered = np.sort(X["income"].dropna())

    def ranks(values):
        sides = ("left", "right")
        return sum(np.searchsorted(ordered, values[known], side) for side in sides) / 2

    near = np.abs(ranks(X["income"]) - ranks(release["income"])) <= 0.2 * len(ordered)
    assert shares[4] == near.sum() / len(ordered)
    assert shares[1] == (X["sex"] == release["sex"]).mean()


def test_numbers_with_missing_values():
    X = in_units(100)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    release = MicroAggregator(k=5).fit_transform(X)
    linkage = record_linkage(X, release)
    by_column = [oracle.distance_of_numbers(column.tolist()) for column in X.T]
    expected = oracle.linkage(X.tolist(), release.tolist(), by_column)
    assert_allclose((linkage.linked, linkage.expected_matches), expected, rtol=1e-12)
    table = risk_utility(X, [5])
    assert table["linked"] == linkage.linked
    assert_allclose(table["interval_disclosure"], interval_disclosure(X, release).mean())


def test_categories_that_are_released_as_they_are_are_disclosed():
    X = pd.DataFrame({"city": ["Bonn", "Ulm", None, "Ulm"], "code": [7, 8, 8, 9]})
    X = X.astype({"code": "category"})
    release = pd.DataFrame({"city": ["Bonn", "*", None, "Ulm"], "code": ["7", "*", "8", "*"]})
    assert_allclose(interval_disclosure(X, release), [2 / 3, 1 / 2])
    assert_allclose(rank_disclosure(X, release), [2 / 3, 1 / 2])


def test_missing_stars_among_released_numbers():
    X = pd.DataFrame({"age": [30.0, 40.0, None, 60.0], "city": ["Bonn"] * 4})
    release = pd.DataFrame({"age": [30.0, "*", "*", 50.0], "city": ["Bonn"] * 4}, dtype=object)
    assert_allclose(interval_disclosure(X, release), [1 / 3, 1.0])


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore:{LOST}")
@pytest.mark.parametrize("n_cities", [30, 400])
def test_many_categories(n_cities):
    rng = np.random.default_rng(0)
    cities = np.array([f"city {number}" for number in range(n_cities)])
    X = pd.DataFrame({"city": rng.choice(cities, 500), "age": rng.normal(size=500)})
    assert record_linkage(X, X).linked == 1.0
    release = TableAggregator(k=3).fit_transform(X)
    by_column = [
        oracle.distance_of_categories(X["city"].tolist()),
        oracle.distance_of_numbers(X["age"].tolist()),
    ]
    rows = [frame.astype(object).where(frame.notna(), None).to_numpy() for frame in (X, release)]
    expected = oracle.linkage(rows[0].tolist(), rows[1].tolist(), by_column)
    linkage = record_linkage(X, release)
    assert_allclose((linkage.linked, linkage.expected_matches), expected, rtol=1e-12)


FORMS = {
    "polars": pl.from_pandas,
    "arrow": lambda table: pl.from_pandas(table).to_arrow(),
    "objects": lambda table: table.astype(object).where(table.notna(), None).to_numpy(),
    "index": lambda table: table.set_axis(np.arange(len(table))[::-1]),
}


@pytest.mark.slow
@in_one_case("form", FORMS)
def test_tables_of_other_libraries(form):
    X = draw()
    release = TableAggregator(k=4).fit_transform(X)
    other, other_release = FORMS[form](X), FORMS[form](release)
    assert record_linkage(other, other_release) == record_linkage(X, release)
    assert_allclose(
        interval_disclosure(other, other_release), interval_disclosure(X, release), rtol=1e-12
    )


@pytest.mark.slow
def test_risk_and_utility_of_a_table():
    X = draw()
    table = risk_utility(X, [2, 5])
    for row in table:
        aggregator = TableAggregator(k=row["k"])
        release = aggregator.fit_transform(X)
        linkage = record_linkage(X, release)
        assert row["linked"] == linkage.linked
        assert row["expected_matches"] == linkage.expected_matches <= 1 / row["k"]
        assert_allclose(row["interval_disclosure"], interval_disclosure(X, release).mean())
        assert_allclose(row["rank_disclosure"], rank_disclosure(X, release).mean())
        assert row["smallest_group"] == anonymity_level(release) >= row["k"]
        loss = oracle.loss(plain(X), plain(release.where(release.notna(), None)), distances(X))
        assert_allclose(row["information_loss"], loss, rtol=1e-9)
        filled = [
            frame.assign(visit=(frame["visit"] - START) / DAY)[["age", "visit", "income"]]
            for frame in (X, release)
        ]
        means = filled[0].mean()
        change = correlation_change(*(frame.fillna(means) for frame in filled))
        assert_allclose(row["correlation_change"], change.mean)


@pytest.mark.slow
def test_only_quasi_identifiers_of_a_table_are_measured():
    X = draw()
    stay = np.arange(80) % 7
    wide = X.assign(stay=stay, name=[f"person {number}" for number in range(80)])[
        ["name", *X.columns, "stay"]
    ]
    estimator = TableAggregator(sensitive="stay", drop="name")
    plain_table = risk_utility(X, [3, 5])
    arrays = wide.astype(object).where(wide.notna(), None).to_numpy()
    by_number = TableAggregator(sensitive=6, drop=0)
    for table in (
        risk_utility(wide, [3, 5], estimator=estimator),
        risk_utility(pl.from_pandas(wide), [3, 5], estimator=estimator),
        risk_utility(arrays, [3, 5], estimator=by_number),
    ):
        for name in plain_table.dtype.names:
            if name != "seconds":
                assert_allclose(table[name], plain_table[name], rtol=1e-12)
    with_roles = risk_utility(wide, [3], estimator=estimator, sensitive=stay, unit=stay)
    assert with_roles["diversity"] == with_roles["units_per_group"] <= 3


def test_codes_and_hierarchies_of_the_estimator_are_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": rng.choice([1, 2, 1000], 90), "ward": rng.choice(list("AB"), 90)})
    tree = Hierarchy.from_nested({"house": ["A", "B"]})
    estimator = TableAggregator(categorical=["code"], hierarchies={"ward": tree})
    found = risk_utility(X, [5], estimator=estimator)
    release = estimator.set_params(k=5).fit_transform(X)
    as_text = [frame.astype({"code": str}) for frame in (X, release)]
    assert found["linked"] == record_linkage(*as_text).linked
    assert_allclose(found["interval_disclosure"], interval_disclosure(*as_text).mean())


@in_one_case(
    ("measure", "message"),
    [
        (lambda X: record_linkage(X, X.iloc[1:]), r"^release of shape \(79, 5\)"),
        (lambda X: record_linkage(X, X[["age"]]), r"^release of shape \(80, 1\)"),
        (lambda X: record_linkage(X, X[X.columns[::-1]]), r"^release has the columns \['income'"),
        (lambda X: record_linkage(X, X, scaler=None), r"^scaler=None\b"),
        (
            lambda X: interval_disclosure(X, X.assign(age="[20, 30]")),
            "^Column 'age' of release ",
        ),
        (
            lambda X: interval_disclosure(X, X.assign(visit=3.5)),
            "^Column 'visit' of release ",
        ),
        (
            lambda X: risk_utility(X, [3], estimator=KAIM()),
            "^Column 'age' of release ",
        ),
        (
            lambda X: risk_utility(X, [3], estimator=TableAggregator(categories="shares")),
            "^release has 10 columns",
        ),
        (lambda X: correlation_change(X, X), "of X holds (text|dates)"),
    ],
)
def test_tables_that_cannot_be_measured(measure, message):
    with pytest.raises((ValueError, TypeError), match=message):
        measure(draw())


def test_complete_numbers_take_the_same_way_as_ever():
    X = in_units(60)
    release = MicroAggregator(k=4).fit_transform(X)
    names = list("abc")
    for form in (
        pd.DataFrame(X, columns=names),
        pd.DataFrame(X, columns=names).convert_dtypes(),
        pl.DataFrame(X, schema=names),
        X.astype(object),
        X.tolist(),
    ):
        assert record_linkage(form, release, scaler=None) == record_linkage(X, release, scaler=None)
        assert_array_equal(interval_disclosure(form, release), interval_disclosure(X, release))
