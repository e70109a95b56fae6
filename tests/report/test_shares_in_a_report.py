"""Shares of a report are exact, and it lists all columns."""

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import in_records, percent
from sk_microagg.generalization import KMember
from sk_microagg.metrics import homogeneity, interval_disclosure, rank_disclosure, record_linkage
from sk_microagg.metrics import uniqueness as share_of_unique_rows
from sk_microagg.report import make_report

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_steps", "facts_only")]

K, N = 5, 60
MARK = "\N{CHECK MARK}"


@pytest.fixture
def report(tmp_path):
    def report(X, estimator, release=None, **parameters):
        release = estimator.fit_transform(X) if release is None else release
        path = make_report(estimator, X, release, **parameters).save(tmp_path / "report.html")
        return Reader(path.read_text(encoding="utf-8"))

    return report


def table(n_unique):
    """A table of N rows, of which `n_unique` are unique and the others occur twice."""
    rng = np.random.default_rng(0)
    n_twice = (N - n_unique) // 2
    values = rng.normal(size=(n_unique + n_twice, 2))
    X = np.vstack([values, values[n_unique:]])
    assert round(share_of_unique_rows(X) * len(X)) == n_unique
    return X


@pytest.mark.parametrize("n_unique", [0, 2, 6, 54, 58, 60])
@pytest.mark.parametrize("estimator", [MicroAggregator(K), KAIM(K, random_state=0)])
def test_unique_rows(report, n_unique, estimator):
    page = report(table(n_unique), estimator)
    shown = f"{n_unique} of {N} records ({percent(n_unique / N)})"
    assert page.row("Unique rows, original")[0] == shown
    if isinstance(estimator, KAIM):
        assert page.row("Unique rows")[1] == f"original: {percent(n_unique / N)}"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3, 3.0])
def test_linkage_and_disclosure(report, seed, noise):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(N // K, 2)), K, axis=0) + noise * rng.normal(size=(N, 2))
    aggregator = MicroAggregator(K, refiner=None)
    release = aggregator.fit_transform(X)
    page = report(X, aggregator, release)
    linkage = record_linkage(X, release)
    assert page.row("Linked to the right row")[0] == percent(linkage.linked)
    for n in (1, 2):
        shown = page.row("Expected re-identifications", n)[0]
        assert shown == percent(linkage.expected_matches)
    near, ranks = interval_disclosure(X, release), rank_disclosure(X, release)
    for j in range(2):
        assert page.row(f"x{j}", 3) == [percent(near[j]), percent(ranks[j])]


@pytest.mark.parametrize(("k", "known"), [(3, "33.3%"), (6, "16.7%"), (150, "0.667%")])
def test_the_largest_risk(report, k, known):
    # Rows that occur k times: the bounds are as small as they can be.
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), k, axis=0)
    page = report(X, MicroAggregator(k, refiner=None))
    assert page.row("Expected re-identifications")[1] == f"at most {known} (1 in {k})"
    assert page.row("Expected re-identifications", 2)[1].endswith(f"allows at most {known}.")
    assert page.row("The same, if the row is known")[0] == known
    assert page.row("Identity, one to one")[:2] == [known, percent(1 / len(X))]


@pytest.mark.parametrize("n_missing", [0, 1, 6, 58])
def test_missing_values(report, n_missing):
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 9, size=(N, 2)), columns=["a", "b"])
    X["a"] = X["a"].where(np.arange(N) >= n_missing)
    for estimator in (KAIM(K, random_state=0), TableAggregator(K, refiner=None)):
        page = report(X, estimator)
        cells, records = percent(n_missing / (2 * N)), percent(n_missing / N)
        words = f"{cells} of the cells, in {records} of the records"
        assert page.row("Missing in the original") == [words]
        assert page.row("a")[3:4] == ([records] if n_missing else [])


def test_what_of_a_loss_is_due_to_missing_values(report):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["x", "y", None], N)})
    X.loc[rng.random(N) < 0.3, "a"] = np.nan
    aggregator = TableAggregator(K, refiner=None)
    page = report(X, aggregator)
    groups = aggregator.labels_
    sizes, of_groups = np.bincount(groups), {}
    for name in X:
        missing = X[name].isna().to_numpy()
        within = np.bincount(groups, missing) / sizes
        of_groups[name] = float(np.sum(sizes * within * (1 - within)))
    # Of a category: pairs of a group that differ, relative to all pairs, as its loss is.
    shares = X["b"].fillna("missing").value_counts(normalize=True)
    expected = 2 * of_groups["b"] / N / (1 - np.sum(shares**2))
    assert page.row("b")[2] == percent(expected)
    # Of a number: of its two coordinates, the second says where it is missing.
    points = aggregator._encoder.points(X)[:, :2]
    assert {*np.unique(points[:, 1])} == {0.0, points[X["a"].isna(), 1][0]}
    height = points[:, 1].max()
    expected = height**2 * of_groups["a"] / (N * points.var(axis=0).sum())
    due = float(page.row("a")[2].removesuffix("%")) / 100
    assert due == pytest.approx(expected, rel=0.05)


def test_suppressed_records(report):
    X = np.random.default_rng(0).normal(size=(N, 2))
    X[:2, 0] = np.nan
    page = report(X, KMember(K, random_state=0))
    assert page.row("Records suppressed") == ["2, released as * in all columns"]


# The mark


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (
            np.arange(20.0).reshape(10, 2),
            "Not anonymous: k = 1 protects nobody, and at least one row",
        ),
        (
            np.repeat([[1.0, 2.0]], 10, axis=0),
            "k = 1 protects nobody: each combination of the anonymized columns is shared by at "
            "least 10 records",
        ),
    ],
)
def test_no_mark_for_k_of_1(report, X, words):
    text = "".join(report(X, MicroAggregator(1)).text)
    assert MARK not in text
    assert words in text


def test_no_mark_for_a_level_of_1(report):
    X = table(10)
    aggregator = MicroAggregator(K)
    release = aggregator.fit_transform(X)
    assert MARK in "".join(report(X, aggregator, release).text)
    release[0] += 1
    text = "".join(report(X, aggregator, release).text)
    assert MARK not in text
    assert "Not 5-anonymous" in text


# The file and its columns


def test_where_the_records_come_from(report):
    X = pd.DataFrame(table(10), columns=["age", "<b>size</b>"])
    ward, town = np.where(X["age"] < 0, "east", "west"), np.full(N, "Ulm")
    unchanged = pd.DataFrame({"ward": ward, "town": town, "id": range(N)})
    aggregator = MicroAggregator(K)
    release = aggregator.fit_transform(X)
    page = report(
        X,
        aggregator,
        release,
        source="visits & more.csv",
        unchanged=unchanged,
        dropped=["name", "street"],
    )
    assert page.row("Table") == [f"visits & more.csv, {N} records"]
    assert page.row("Anonymized") == ["2 columns: age, <b>size</b>"]
    assert page.row("Unchanged") == ["3 columns: ward, town, id"]
    assert page.row("Dropped") == ["2 columns: name, street"]
    share = homogeneity(release, ward)
    assert 0 < share < 1
    text = "".join(page.text)
    assert f"ward: {in_records(share, N)} are in groups that share one value" in text
    assert "town: 60 of 60 records (100%) are in groups that share one value" in text
    assert "id: " not in text


def test_no_column_is_unchanged_or_dropped(report):
    X = table(10)
    page = report(X, MicroAggregator(K), unchanged=pd.DataFrame(), dropped=[])
    names = {row[0] for row in page.rows if row}
    assert not names & {"Unchanged", "Dropped"}
    text = "".join(page.text)
    assert "are in groups that share one value" not in text
    assert "No group shares one value" not in text
    page = report(X, MicroAggregator(K), unchanged=np.arange(N)[:, None])
    assert page.row("Unchanged") == ["1 column: x0"]
    text = "".join(page.text)
    assert "No group shares one value in a column that is released unchanged." in text


def test_other_columns_are_not_given(report):
    page = report(table(10), MicroAggregator(K))
    names = {row[0] for row in page.rows if row}
    assert not names & {"Release file", "Unchanged", "Dropped"}
    assert "Anonymized" in names


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"unchanged": np.ones((N - 1, 2))},
            ValueError,
            r"unchanged of shape \(59, 2\)",
        ),
        (
            {"unchanged": np.ones(N)},
            ValueError,
            r"unchanged of shape \(60,\)",
        ),
        ({"dropped": "name"}, TypeError, "dropped='name'"),
        ({"dropped": 3}, TypeError, r"dropped=3\b"),
    ],
)
def test_bad_other_columns(report, parameters, error, message):
    with pytest.raises(error, match=message):
        report(table(10), MicroAggregator(K), **parameters)
