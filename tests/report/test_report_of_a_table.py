"""Reports on tables with categories, dates and missing values."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import in_units
from example_tables.pages import Reader
from example_tables.patients import draw
from sklearn.base import clone

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg.cli import main
from sk_microagg.metrics import (
    anonymity_level,
    interval_disclosure,
    loss_bound,
    rank_disclosure,
    record_linkage,
)
from sk_microagg.privacy import LDiversity
from sk_microagg.report import make_report
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps", "facts_only")

ROLES = {"drop": "name", "sensitive": "diagnosis", "categorical": ["code"]}
NAMES = ["age", "income", "ward", "admitted", "code", "smoker"]


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def table():
    return draw()


@pytest.fixture(scope="module")
def aggregator(table):
    return TableAggregator(k=4, privacy=LDiversity(2), **ROLES).fit(table)


@pytest.fixture(scope="module")
def release(table, aggregator):
    return clone(aggregator).fit_transform(table)


@pytest.fixture(scope="module")
def html(table, aggregator, release):
    return make_report(aggregator, table, release).to_html()


@pytest.mark.slow
def test_facts(html, aggregator, table, release):
    page = Reader(html)
    assert page.row("Table") == ["150 records"]
    assert page.row("Anonymized") == [f"6 columns: {', '.join(NAMES)}"]
    assert page.row("Unchanged") == ["1 column: diagnosis"]
    assert page.row("Dropped") == ["1 column: name"]
    assert page.row("k achieved") == [str(anonymity_level(release[NAMES])), "requested: 4"]
    assert page.row("Information loss")[0] == percent(aggregator.information_loss_)
    text = "".join(page.text)
    assert "age (quasi-identifier): mean of the group" in text
    assert "ward (quasi-identifier): most frequent value of the group" in text
    linkage = record_linkage(
        table[NAMES].astype({"code": "category"}), release[NAMES].astype({"code": "category"})
    )
    assert page.row("Linked to the right row")[0] == percent(linkage.linked)
    assert page.row("Expected re-identifications")[0] == percent(linkage.expected_matches)
    assert "every group has at least 2 different values" in "".join(page.text)
    assert "the averages and most frequent values of these records" in "".join(page.text)


@pytest.mark.slow
def test_facts_of_columns(html, table, aggregator, release):
    page = Reader(html)

    kinds = ["number", "number", "category", "date", "category", "boolean"]
    frames = [frame[NAMES].astype({"code": "category"}) for frame in (table, release)]
    near, ranks = interval_disclosure(*frames), rank_disclosure(*frames)
    for name, kind, close, ranked in zip(NAMES, kinds, near, ranks, strict=True):
        treated_as, loss, _, before, after = page.row(name)
        assert treated_as == kind
        assert loss == percent(aggregator.column_losses_[name])
        assert before == percent(table[name].isna().mean())
        assert after == percent(release[name].isna().mean())
        n_before = 3 if kind in ("number", "date") else 2  # after a mean
        assert page.row(name, n_before) == [percent(close), percent(ranked)]


@pytest.mark.slow
def test_kinds_are_those_of_the_command_line(tmp_path, path, table, capsys):
    """It turns dates into numbers, and ordinal values into ranks, before they are grouped."""
    table.to_csv(tmp_path / "in.csv", index=False)
    arguments = ["anonymize", f"{tmp_path / 'in.csv'}", f"{tmp_path / 'out.csv'}", "-k", "4"]
    arguments += ["--drop", "name", "--sensitive", "diagnosis", "--ordinal", "code=10<20<99"]
    assert main([*arguments, "--json", "--report", f"{path}"]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    kinds = {line["name"]: line["kind"] for line in lines if line["type"] == "column"}
    assert {*kinds.values()} == {"number", "category", "date", "ordinal", "boolean"}
    page = read(path)
    assert {name: page.row(name)[0] for name in kinds} == kinds


@pytest.mark.slow
def test_names_that_a_list_would_hide(path, table):
    names = {"age": "Height, cm", "income": "", "ward": "a, " + 60 * "b", "name": "Name, first"}
    table = table.rename(columns={**names, "smoker": " smoker", "diagnosis": "Diagnosis, main"})
    aggregator = TableAggregator(
        k=4,
        drop=["Name, first"],
        sensitive="Diagnosis, main",
        ordinal={"Height, cm": sorted(set(table["Height, cm"]))},
        refiner=None,
    )
    make_report(aggregator, table, aggregator.fit_transform(table)).save(path)
    page = read(path)
    long = f"'{names['ward']}'"
    shown = ["'Height, cm'", "''", long, "admitted", "code", "' smoker'"]
    assert f"{long} (quasi-identifier)" in "".join(page.text)
    short = [*shown[:2], f"{long[:46]}…'", *shown[3:]]
    assert page.row("Anonymized") == [f"6 columns: {', '.join(short)}"]
    assert page.row("Dropped") == ["1 column: 'Name, first'"]
    assert page.row("Unchanged") == ["1 column: 'Diagnosis, main'"]
    assert page.row("ordinal")[0].startswith("{'Height, cm': [")
    assert page.row("''")[0] == "number"
    assert page.row("Attribute, ''")
    assert "'', before and after" in page.labels


@pytest.mark.slow
def test_pictures(html):
    page = Reader(html)
    for name in NAMES:
        assert f"{name}, before and after" in page.labels
    assert "Groups of the release" in page.labels


@pytest.mark.slow
def test_orders_are_written_and_hierarchies_are_not(path):
    X = draw()[["ward", "code"]].fillna("Surgery")
    tree = Hierarchy.from_nested({"house": ["Cardiology", "Surgery", "Oncology", "Quarantine"]})
    aggregator = TableAggregator(k=4, hierarchies={"ward": tree}, ordinal={"code": [10, 20, 99]})
    make_report(aggregator, X, aggregator.fit_transform(X)).save(path)
    page = read(path)
    assert page.row("ordinal") == ["{'code': [10, 20, 99]}"]
    assert page.row("Hierarchies") == ["given for ward"]
    assert page.row("ward")[0] == "hierarchy"
    assert page.row("code")[0] == "ordinal"
    arguments = "k=4, ordinal={'code': [10, 20, 99]}, hierarchies=hierarchies,"
    assert f"release = TableAggregator( {arguments} ).fit_transform(X)" in "".join(page.text)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["polars", "objects"])
def test_tables_of_other_libraries(path, tmp_path, form):
    X = draw()[["age", "income", "ward", "smoker"]]
    aggregator = TableAggregator(k=4)
    make_report(aggregator, X, aggregator.fit_transform(X)).save(path)
    names = [*X.columns]
    if form == "polars":
        X = pl.from_pandas(X)
    else:
        X, names = X.astype(object).where(X.notna(), None).to_numpy(), ["x0", "x1", "x2", "x3"]
    other_path = tmp_path / "other.html"
    make_report(aggregator, X, aggregator.fit_transform(X)).save(other_path)
    page, other = read(path), read(other_path)
    for name, other_name in zip(["age", "income", "ward", "smoker"], names, strict=True):
        rows, others = (
            [r[1:] for r in p.rows if r and r[0] == n]
            for p, n in ((page, name), (other, other_name))
        )
        assert rows == others
        assert len(rows) >= 2
    assert page.row("Linked to the right row") == other.row("Linked to the right row")


@pytest.mark.slow
def test_units_and_strata_of_the_table(path):
    X = draw()
    X["patient"] = np.arange(150) // 2
    aggregator = TableAggregator(k=3, unit="patient", strata="smoker", drop="name")
    make_report(aggregator, X, aggregator.fit_transform(X)).save(path)
    page = read(path)
    assert page.row("Strata") == ["2; no group has records of two strata"]
    assert "Every group has records of at least 3 different units." in "".join(page.text)
    assert page.row("Dropped") == ["2 columns: name, patient"]
    assert page.row("Unchanged") == ["1 column: smoker"]


@pytest.mark.slow
def test_numbers_with_missing_values(path):
    X = pd.DataFrame(in_units(150), columns=["a", "b", "c"])
    X.iloc[::4, 0] = np.nan
    aggregator = MicroAggregator(k=4)
    release = aggregator.fit_transform(X)
    make_report(aggregator, X, release).save(path)
    page = read(path)
    assert page.row("Missing in the original") == ["8.44% of the cells, in 25.3% of the records"]
    assert page.row("a")[0] == "number"
    assert page.row("a")[3:] == ["25.3%", percent(np.isnan(release[:, 0]).mean())]
    linkage = record_linkage(X, release)
    assert page.row("Linked to the right row")[0] == percent(linkage.linked)
    assert "Groups of the release" in page.labels


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [TableAggregator(k=4), MicroAggregator(k=4)])
def test_certificate(path, estimator):
    X = pd.DataFrame(in_units(60), columns=["a", "b", "c"])
    X.iloc[::4, 0] = np.nan
    release = estimator.fit_transform(X)
    make_report(estimator, X, release, certificate=0.2).save(path)
    assert "How close to the optimum" in "".join(read(path).text)
    bound, trace = loss_bound(in_units(60), 4, time_limit=0.2, return_trace=True)
    proven = bound / 2, trace
    make_report(estimator, X, release, certificate=proven).save(path)
    assert "How close to the optimum" in "".join(read(path).text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, release: (X, release[NAMES]), "^release has 6 columns"),
        (lambda X, release: (X[NAMES], release), r"^X of shape \(150, 6\)"),
        (lambda X, release: (X, release.iloc[1:]), r"^release of shape \(149, 6\)"),
    ],
)
def test_tables_that_do_not_match(path, table, aggregator, release, change, message):
    with pytest.raises(ValueError, match=message):
        make_report(aggregator, *change(table, release)).save(path)
    assert not path.exists()


def test_shares_are_not_reported(path, table):
    aggregator = TableAggregator(k=4, categories="shares", **ROLES)
    release = aggregator.fit_transform(table)
    with pytest.raises(ValueError, match=r"with categories='mode' or 'generalize'\.$"):
        make_report(aggregator, table, release).save(path)
