"""A report shows no share that stands for fewer than k records, and lists all columns."""

import re

import numpy as np
import pandas as pd
import pytest
from tables.pages import Reader

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._utils._formatting import at_most, percent, whole_percent
from sk_microagg.generalization import KMember
from sk_microagg.metrics import homogeneity, interval_disclosure, rank_disclosure, record_linkage
from sk_microagg.metrics import uniqueness as share_of_unique_rows
from sk_microagg.plotting._distributions import compare_columns
from sk_microagg.report import _facts, make_report

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_steps", "facts_only")]

K, N = 5, 60
FEW, NEARLY_ALL = f"fewer than {K} records", f"all but fewer than {K} records"
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


@pytest.mark.parametrize(
    ("n_unique", "shown"),
    [(0, "0%"), (2, FEW), (4, FEW), (6, "10%"), (54, "90%"), (60, "100%")],
)
def test_unique_rows(report, n_unique, shown):
    page = report(table(n_unique), MicroAggregator(K))
    assert page.row("Unique rows, original")[0] == shown


def test_nearly_all_rows_are_unique(report):
    page = report(table(58), MicroAggregator(K))
    assert page.row("Unique rows, original")[0] == NEARLY_ALL
    page = report(table(58), KAIM(K, random_state=0))
    assert page.row("Unique rows")[1] == f"original: {NEARLY_ALL}"


def shown(share):
    count = round(share * N)
    if 0 < count < K:
        return FEW
    return NEARLY_ALL if 0 < N - count < K else whole_percent(share)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3, 3.0])
def test_linkage_and_disclosure(report, seed, noise):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(N // K, 2)), K, axis=0) + noise * rng.normal(size=(N, 2))
    aggregator = MicroAggregator(K, refiner=None)
    release = aggregator.fit_transform(X)
    page = report(X, aggregator, release)
    linkage = record_linkage(X, release)
    linked = page.row("Linked to the right row")[0]
    assert linked == shown(linkage.linked)
    expected = whole_percent(linkage.expected_matches)
    if linked in (FEW, NEARLY_ALL):
        expected = at_most(linkage.expected_if_linked)
    assert page.row("Expected re-identifications")[0] == expected
    assert page.row("Expected re-identifications", 2)[0] == expected
    near, ranks = interval_disclosure(X, release), rank_disclosure(X, release)
    for j in range(2):
        assert page.row(f"x{j}", 3) == [shown(near[j]), shown(ranks[j])]


@pytest.mark.parametrize(
    ("k", "bound", "known"),
    [(3, "at most 34%", "33%"), (6, "at most 17%", "17%"), (150, "<1%", "<1%")],
)
def test_whole_percents(report, k, bound, known):
    # Rows that occur k times: the bounds are as small as they can be, and rounded up.
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), k, axis=0)
    page = report(X, MicroAggregator(k, refiner=None))
    assert page.row("Expected re-identifications")[1] == f"{bound} (1 in {k})"
    assert page.row("Expected re-identifications", 2)[1].endswith(f"k-anonymity allows {bound}.")
    assert page.row("The same, if the row is known")[0] == known
    assert page.row("Identity, one to one")[:2] == [known, whole_percent(1 / len(X))]


def test_a_bound_has_no_bar(tmp_path):
    X = np.random.default_rng(2).normal(size=(30, 2))
    aggregator = MicroAggregator(10)
    path = make_report(aggregator, X, aggregator.fit_transform(X)).save(tmp_path / "report.html")
    html = path.read_text(encoding="utf-8")
    bounds = re.findall(r"<td[^>]*>(?:fewer|all but).*?</td>", html)
    assert bounds
    assert not any("bar" in cell for cell in bounds)


@pytest.mark.parametrize(
    ("n_missing", "shown"),
    [
        (0, "0% of the cells, in 0% of the records"),
        (1, f"cells in {FEW}"),
        (4, f"cells in {FEW}"),
        (6, "5% of the cells, in 10% of the records"),
        (58, f"48% of the cells, in {NEARLY_ALL}"),
    ],
)
def test_missing_values(report, n_missing, shown):
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 9, size=(N, 2)), columns=["a", "b"])
    X["a"] = X["a"].where(np.arange(N) >= n_missing)
    page = report(X, KAIM(K, random_state=0))
    assert page.row("Missing in the original") == [shown]


def test_records_without_any_value(report):
    X = np.random.default_rng(0).integers(0, 9, size=(N, 2)).astype(object)
    X[3:] = None
    page = report(X, KAIM(K, random_state=0))
    assert page.row("Missing in the original") == [f"cells in {NEARLY_ALL}"]


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize(("n_missing", "words"), [(0, None), (1, FEW), (4, FEW), (6, "10%")])
def test_missing_values_in_a_picture(report, n_missing, words):
    X = np.random.default_rng(0).normal(size=(N, 1))
    X[:n_missing] = np.nan
    page = report(X, KAIM(K, output="midpoint", random_state=0))
    found = re.search(r"missing: (.*?) before", " ".join(page.text))
    assert (found and found[1]) == words


@pytest.mark.parametrize("n_missing", [1, 4, 6])
def test_bins_do_not_disclose_how_few_values_are_missing(n_missing):
    X = np.random.default_rng(0).normal(size=(N, 1))
    release = X.round()
    X[:n_missing] = np.nan
    (column,) = compare_columns(X, release, at_least=K)
    in_bins = 1.0 if n_missing < K else 1 - n_missing / N
    assert column.before.sum() == pytest.approx(in_bins)


# Somebody who knows all other records


MANY = 1000


def shares_on(page):
    """All figures of a report that are shares of the records, by where they stand."""
    places = ["Unique rows, original", "Linked to the right row", "Expected re-identifications"]
    places += [f"Identity, {how}" for how in ("nearest row", "one to one")]
    places += [f"Attribute, {name}" for name in "ab"]
    figures = {name: page.row(name)[0] for name in places}
    near = {f"{name}, near": page.row(name, 3) for name in "ab"}
    return figures | near | {"summary": page.row("Risk")}


def test_nobody_learns_whether_one_more_record_is_linked(report):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(MANY // K, 2)), K, axis=0)
    X = pd.DataFrame(X + 0.3 * rng.normal(size=(MANY, 2)), columns=["a", "b"])
    aggregator = MicroAggregator(K, refiner=None)
    release = aggregator.fit_transform(X)
    linked = record_linkage(X, release).linked
    # Somebody who cannot be linked takes the place of the first person; the release is the same.
    other = X.copy()
    other.iloc[0] = X.iloc[0] + [0.5, -0.5]
    assert percent(record_linkage(other, release).linked) != percent(linked)
    pages = [report(table, aggregator, release) for table in (X, other)]
    assert shares_on(pages[0]) == shares_on(pages[1])


def missing_on(page):
    return page.row("Missing in the original"), page.row("a")[2:], page.row("b")[2:]


@pytest.mark.parametrize("n_missing", [6, 30, 222, 993])
def test_nobody_learns_whether_one_more_value_is_missing(report, monkeypatch, n_missing):
    monkeypatch.setattr(_facts, "measure_attacks", lambda *_: None)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(MANY, 2)), columns=["a", "b"])
    tables = [X.assign(a=X["a"].where(np.arange(MANY) >= n)) for n in (n_missing, n_missing + 1)]
    aggregator = MicroAggregator(K, refiner=None)
    release = aggregator.fit_transform(tables[0])
    pages = [report(table, aggregator, release) for table in tables]
    assert missing_on(pages[0]) == missing_on(pages[1])
    assert all("<1%" in cell or cell.endswith("%") for cell in pages[0].row("a")[2:])


def test_suppressed_records(report):
    X = np.random.default_rng(0).normal(size=(N, 2))
    X[:2, 0] = np.nan
    page = report(X, KMember(K, random_state=0))
    assert page.row("Records suppressed") == [f"{FEW}, released as * in all columns"]


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
    assert f"ward: {whole_percent(share)} of the records are in groups that share one value" in text
    assert "town: 100% of the records are in groups that share one value" in text
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
