"""Tables with columns of all kinds, as one release."""

import csv
import re
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import exact_means

from sk_microagg import TableAggregator
from sk_microagg.privacy import LDiversity, TCloseness

pytestmark = pytest.mark.usefixtures("few_steps")

N, K = 60, 4
ANONYMIZED = ["age", "ward", "visit", "size", "zip", "smoker", "cost"]
SIZES = ["small", "medium", "large"]
SETTINGS = {"k": K, "quasi_identifiers": ANONYMIZED, "drop": ["id"], "ordinal": {"size": SIZES}}


def visits(seed=0):
    """Rows of a table with a column of every kind, all with missing values, as text."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    columns = {
        "id": [f"P{i}" for i in range(N)],
        "age": rng.integers(18, 95, N).astype(str),
        "ward": rng.choice(["north", "south", "ünit", "rare"], N, p=[0.5, 0.3, 0.15, 0.05]),
        "visit": rng.choice(days, N),
        "size": rng.choice(SIZES, N),
        "zip": rng.choice(["01067", "70174", "20095"], N),
        "smoker": rng.choice(["yes", "no"], N),
        "cost": [f"{cost:.2f}" for cost in rng.gamma(2, 100, N)],
        "diagnosis": rng.choice(["flu", "gout", "asthma"], N),
        "person": rng.integers(0, 40, N).astype(str),
        "region": rng.choice(["east", "west"], N),
    }
    for name in ANONYMIZED:
        columns[name] = np.where(rng.random(N) < 0.1, "", columns[name])
    return pd.DataFrame(columns)


@pytest.fixture
def table(tmp_path):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "visits.csv"


@pytest.fixture
def released(release, tmp_path, table, cells):
    """Release the table; return the columns of the release, and the summary."""

    def released(**settings):
        output = tmp_path / "out.csv"
        summary = release(table, output, **SETTINGS, **settings, overwrite=True)
        return cells(output), summary

    return released


def level_of(columns, names):
    return min(Counter(zip(*(columns[name] for name in names), strict=True)).values())


@pytest.mark.slow_but_first
@pytest.mark.parametrize(("categories", "seed"), [("mode", 0), ("shares", 1), ("generalize", 2)])
def test_every_row_is_shared(released, table, categories, seed):
    visits(seed).to_csv(table, index=False)
    columns, _ = released(categories=categories)
    passed = ["diagnosis", "person", "region"]
    assert level_of(columns, [name for name in columns if name not in passed]) >= K
    for name in passed:
        assert columns[name] == visits(seed)[name].tolist()


def test_released_values_are_written_as_those_of_the_table(released):
    columns, summary = released()
    original = visits()
    assert list(columns) == [name for name in original if name != "id"]
    for name in ("ward", "zip", "smoker", "size"):
        assert {*columns[name]} <= {*original[name], ""}
    assert all(re.fullmatch(r"\d\d|", age) for age in columns["age"])
    assert all(re.fullmatch(r"2024-0[12]-\d\d|", day) for day in columns["visit"])
    assert all(re.fullmatch(r"\d+\.\d\d|", cost) for cost in columns["cost"])
    for line in (
        "age: number (all known cells are integers); released: mean, rounded to integers",
        "ward: category (text); released: most frequent value",
        "visit: date (all known cells are ISO dates); released: mean, rounded to days",
        "size: ordinal (declared as ordinal); released: value of the mean rank",
        "smoker: boolean (all known cells are truth values); released: most frequent value",
        "cost: number (all known cells are numbers); released: mean, rounded to multiples of 10",
    ):
        assert any(told.startswith(line) for told in summary.facts["columns"].text)


@pytest.mark.slow
def test_values_are_those_of_the_estimator(released):
    original = visits().replace("", None)
    frame = pd.DataFrame(
        {
            "age": original["age"].astype(float),
            "ward": original["ward"],
            "visit": pd.to_datetime(original["visit"]),
            "size": pd.Categorical(original["size"], SIZES, ordered=True),
            "zip": original["zip"],
            "smoker": original["smoker"],
            "cost": original["cost"].astype(float),
        }
    )
    estimator = TableAggregator(K, ordinal={"size": SIZES}, random_state=0)
    expected = estimator.fit_transform(frame)
    columns, _ = released()
    for name in ("ward", "zip", "smoker"):
        assert columns[name] == expected[name].fillna("").tolist()
    for name in ("age", "cost"):
        values = pd.to_numeric(pd.Series(columns[name]).replace("", None)).astype(float)
        np.testing.assert_array_equal(values, expected[name])
    assert columns["visit"] == expected["visit"].dt.strftime("%Y-%m-%d").fillna("").tolist()
    assert columns["size"] == expected["size"].astype(object).fillna("").tolist()


def test_a_cell_is_empty_where_most_are_missing(release, write, tmp_path, cells):
    rows = [f"{i // 4},{x}" for i, x in enumerate([5, 6, 7, "", "", "", "", 8])]
    path = write("t.csv", "\n".join(["n,x", *rows]))
    _, about = release(path, tmp_path / "out.csv", k=4).to_dict()["columns"]
    assert cells(tmp_path / "out.csv")["x"] == ["6"] * 4 + [""] * 4
    assert about["released"] == (
        "mean, rounded to integers, empty where most are missing; missing: 50.0% before, 50.0% "
        "after"
    )


def test_shares(released):
    columns, summary = released(categories="shares")
    shares = [name for name in columns if name.startswith("ward=")]
    assert shares == ["ward=north", "ward=south", "ward=ünit", "ward=(other)", "ward=(missing)"]
    totals = sum(np.array(columns[name], dtype=float) for name in shares)
    np.testing.assert_allclose(totals, 1)
    about = summary.to_dict()["columns"][1]
    assert about["released"] == "one column of shares per value, ward=north and 4 more"
    assert "ward" not in columns


def test_shares_have_the_decimal_mark_of_the_file(release, write, tmp_path, cells):
    path = write("t.csv", "x;y\n1,5;a\n2,0;a\n4,0;b\n")
    release(path, tmp_path / "out.csv", k=2, sep=";", decimal=",", categories="shares")
    columns = cells(tmp_path / "out.csv", ";")
    assert list(columns) == ["x", "y=a", "y=(other)"]
    assert columns["x"] == ["2,0"] * 3
    assert [share[:5] for share in columns["y=a"] + columns["y=(other)"]] == ["0,666"] * 3 + [
        "0,333"
    ] * 3


def test_shares_whose_name_is_taken(refused, write, tmp_path):
    path = write("t.csv", "a,a=x\n" + "x,1\n" * 5)
    settings = {"quasi_identifiers": ["a"], "categories": "shares"}
    error = refused(path, tmp_path / "out.csv", **settings)
    assert (error.code, error.column) == ("name_of_share", "a=x")


@pytest.mark.slow
def test_weights(released):
    def n_kept(**settings):
        columns, _ = released(**settings)
        return np.count_nonzero(np.array(columns["ward"]) == visits()["ward"].to_numpy())

    assert n_kept(column_weights={"ward": 50, "age": 0.5}) > n_kept()


@exact_means
def test_rounding(released):
    columns, summary = released(decimals={"age": -1, "cost": 0})
    assert all(re.fullmatch(r"\d0|", age) for age in columns["age"])
    assert all(re.fullmatch(r"\d+|", cost) for cost in columns["cost"])
    about = summary.to_dict()["columns"][0]["released"]
    assert about.startswith("mean, rounded to multiples of 10")


ROLES = {"sensitive": ["diagnosis"], "strata": ["region"], "unit": "person"}


def test_constraints(released):
    privacy = [LDiversity(2), TCloseness(0.5)]
    columns, summary = released(**ROLES, privacy=privacy)
    assert "person" not in columns
    original = visits()
    groups = {}
    for i, row in enumerate(zip(*(columns[name] for name in [*ANONYMIZED, "region"]), strict=True)):
        groups.setdefault(row, []).append(i)
    assert len(groups) > 1
    for members in groups.values():
        assert original["person"][members].nunique() >= K
        assert original["diagnosis"][members].nunique() >= 2
    facts = summary.to_dict()
    assert facts["units_per_group"] >= K
    assert facts["l_diversity"][0]["figure"] >= 2


def test_types_of_parquet_are_kept(release, tmp_path):
    frame = pd.DataFrame(
        {
            "count": pd.array([1, 2, None, 4] * 3, dtype="Int8"),
            "ill": [True, False, True] * 4,
            "ward": pd.Categorical(["a", "b", "b"] * 4, ["c", "b", "a"]),
            "code": [2**60 + i // 6 for i in range(12)],
            "seen": pd.to_datetime(["2024-01-01 10:00", None, "2024-01-02 10:00"] * 4, utc=True),
        }
    )
    frame.to_parquet(tmp_path / "in.parquet")
    release(tmp_path / "in.parquet", tmp_path / "out.parquet", k=4)
    before, after = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("in", "out"))
    assert after.schema.equals(before.schema)
    written = after.to_pandas()
    assert written.groupby(list(written), dropna=False, observed=True).size().min() >= 4
    assert {*written["code"]} <= {2**60, 2**60 + 1}


def test_numbers_that_exceed_their_type_when_rounded(release, tmp_path):
    pd.DataFrame({"x": np.full(6, 250, dtype=np.uint8)}).to_parquet(tmp_path / "in.parquet")
    release(tmp_path / "in.parquet", tmp_path / "out.parquet", decimals={"x": -2})
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == [200] * 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("categories", "is_drawn"),
    [
        ("mode", True),
        ("generalize", False),
        pytest.param("generalize", True, marks=pytest.mark.release),
    ],
)
@pytest.mark.usefixtures("small_attacks")
def test_a_report_shows_all_columns(request, released, table, tmp_path, categories, is_drawn):
    if not is_drawn:
        request.getfixturevalue("no_pictures")
    frame = visits()
    frame.loc[3, ["ward", "zip"]] = "Zanzibar", "09999"
    frame.to_csv(table, index=False, quoting=csv.QUOTE_ALL)
    report = tmp_path / "report.html"
    settings = {"categories": categories, "certificate": 0.2, "report": report}
    columns, _ = released(**ROLES, privacy=LDiversity(2), **settings)
    assert "Zanzibar" not in columns["ward"]
    page = re.sub(r"<[^>]*>", "", report.read_text(encoding="utf-8"))
    # Inside, a rare value that the release has not is named.
    assert "ward: Zanzibar" in page
    assert "How close to the optimum" in page
    assert ("Feb" in page) == is_drawn  # on the axis of dates
    for name in ANONYMIZED:
        assert name in page


@exact_means
def test_decimals_stay_decimals(tmp_path, release):
    cells = [Decimal(f"{number}.25") for number in (1, 2, 90, 99)] + [None] * 2
    kind = pa.decimal128(4, 2)
    pq.write_table(pa.table({"x": pa.array(cells, kind)}), tmp_path / "t.parquet")

    def released(decimals=None):
        paths = tmp_path / "t.parquet", tmp_path / "o.parquet"
        release(*paths, k=2, overwrite=True, decimals=decimals)
        return pq.read_table(paths[1])["x"].combine_chunks()

    assert released().type == kind
    assert [*map(str, released(2))] == ["1.75", "1.75", "94.75", "94.75", "None", "None"]
    assert [*map(str, released(-2))][2:4] == ["99.99"] * 2
    assert released(3).type == pa.float64()


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_nan_in_a_typed_column_is_missing(tmp_path, release, gap):
    """Groups in which one value is known share it, whatever stands for the others."""
    n = 60
    ages = np.random.default_rng(0).integers(20, 80, n)
    sick = pa.array([1.0 if i % 2 else gap for i in range(n)], pa.float64())
    pq.write_table(pa.table({"age": ages, "sick": sick}), tmp_path / "t.parquet")
    summary = release(tmp_path / "t.parquet", tmp_path / "r.parquet", k=5, sensitive=["sick"])
    [line] = summary.to_dict()["homogeneity"]
    assert "groups with a single known value" in line
