"""Intruders who know unchanged columns: reports tell no less than they achieve."""

import json

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader

from sk_microagg import TableAggregator
from sk_microagg.cli import main
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps", "facts_only")

KNOWN = ["age", "educ", "exper"]


def draw(coarseness, n=400, n_rows_each=1):
    """People with three columns to anonymize, and three measurements that stay as they are."""
    rng = np.random.default_rng(0)
    measured = {"weight": (75, 12), "height": (172, 9), "glucose": (95, 15)}
    table = pd.DataFrame(
        {
            "person": np.arange(n),
            "age": rng.integers(18, 80, n),
            "educ": rng.integers(6, 20, n),
            "exper": rng.integers(0, 40, n),
            **{
                name: (rng.normal(mean, width, n) / coarseness).round() * coarseness
                for name, (mean, width) in measured.items()
            },
        }
    )
    return table.loc[table.index.repeat(n_rows_each)].reset_index(drop=True)


def share_found(table, release, columns, with_nearest=False):
    """Expected share of the rows that are given to the right person, by columns as they are."""
    classes = table.groupby(columns).ngroup().to_numpy()
    right = 0.0
    before = table[KNOWN].to_numpy(float)
    after = release[KNOWN].to_numpy(float)
    person = table["person"].to_numpy()
    for row in range(len(table)):
        same = np.flatnonzero(classes == classes[row])
        if with_nearest:
            distances = (((after[same] - before[row]) / before.std(axis=0)) ** 2).sum(axis=1)
            same = same[np.isclose(distances, distances.min())]
        right += np.mean(person[same] == person[row])
    return right / len(table)


def told(page):
    """The largest share of re-identifications that a report tells, from its first page."""
    return float(page.row("Expected re-identifications")[0].removesuffix("%")) / 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coarseness", "n_rows_each"),
    [(0.1, 3), (60, 1)]
    + [
        pytest.param(*each, marks=pytest.mark.release)
        for each in [(0.1, 1), (5, 1), (5, 3), (20, 3)]
    ],
)
def test_a_report_tells_no_less_than_intruders_achieve(tmp_path, coarseness, n_rows_each):
    n = 400 // n_rows_each
    table = draw(coarseness, n, n_rows_each)
    unit = {"unit": "person"} if n_rows_each > 1 else {"drop": "person"}
    aggregator = TableAggregator(k=5, quasi_identifiers=KNOWN, **unit)
    release = aggregator.fit_transform(table)
    path = make_report(aggregator, table, release).save(tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    page = Reader(text)
    columns = ["weight", "height", "glucose"]
    achieved = [
        share_found(table, release, columns),
        share_found(table, release, columns, with_nearest=True),
    ]
    assert max(achieved) > 0.2  # more than k allows
    assert told(page) >= max(achieved) - 0.000501  # It is written with three digits.
    assert "✓" not in text
    assert "weight, height and glucose" in text


@pytest.mark.slow
def test_three_exact_measurements_are_no_anonymous_table(tmp_path, capsys):
    table = draw(0.01).drop(columns="person")
    table.to_csv(tmp_path / "people.csv", index=False)
    paths = [str(tmp_path / name) for name in ("people.csv", "release.csv", "report.html")]
    arguments = ["anonymize", *paths[:2], "-k", "5", "-q", ",".join(KNOWN)]
    assert main([*arguments, "--report", paths[2]]) == 0
    out, err = capsys.readouterr()
    assert "400 of 400 records (100%) are unique by what comes out unchanged" in err
    assert "weight, height and glucose" in err
    together = "400 of 400 records (100%) are unique by weight, height and glucose together with"
    assert f"singled out {together} the" in " ".join(out.split())
    assert "400 of 400 records (100%) are unique by them alone; " in out
    assert "re-identifies 100% of the records" in out
    assert "every row" not in out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "✓" not in page
    assert "400 of 400 records (100%) are unique by weight, height and glucose, 400 of" in page
    assert "Every row" not in page

    assert main(["risk", *paths[:2], "-q", ",".join(KNOWN)]) == 0
    printed = capsys.readouterr().out
    assert f"singled out {together} the" in " ".join(printed.split())


def grouped(n_groups=40):
    """Groups of five equal rows, two men and three women each, of five people."""
    numbers = np.repeat(np.random.default_rng(0).permutation(n_groups), 5)
    sex = np.tile([*"mmfff"], n_groups)
    return pd.DataFrame({"age": numbers + 20, "sex": sex, "person": np.arange(5 * n_groups)})


def report_on(table, folder, **roles):
    aggregator = TableAggregator(k=5, quasi_identifiers=["age"], **roles)
    release = aggregator.fit_transform(table)
    path = make_report(aggregator, table, release).save(folder / "report.html")
    return path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_green_mark_where_a_column_doubles_the_risk(tmp_path):
    text = report_on(grouped(), tmp_path, drop="person")
    assert "✓" not in text
    expected = ["40.0%", "if the row is known; by the anonymized columns alone: 20.0%"]
    assert Reader(text).row("Expected re-identifications") == expected
    text = report_on(grouped().assign(sex="f"), tmp_path, drop="person")
    assert "✓" in text
    assert Reader(text).row("Expected re-identifications") == ["20.0%", "at most 20.0% (1 in 5)"]


@pytest.mark.slow
@pytest.mark.parametrize("has_unchanged", [False, True])
def test_no_green_mark_where_one_person_has_most_rows_of_a_group(tmp_path, has_unchanged):
    table = grouped().assign(sex="f")[["age", "person"] + ["sex"] * has_unchanged]
    assert "✓" in report_on(table, tmp_path, unit="person")
    many = pd.concat([table, *[table[table.person == 7]] * 3])
    text = report_on(many, tmp_path, unit="person")
    assert "Up to 50.0% of the records of a group belong to one unit" in text
    assert "✓" not in text


@pytest.mark.slow
def test_the_command_line_tells_what_the_report_tells(tmp_path, capsys):
    table = grouped().assign(sex=np.tile([*"mffff"], 40)).drop(columns="person")
    table.to_csv(tmp_path / "people.csv", index=False)
    paths = [str(tmp_path / name) for name in ("people.csv", "release.csv", "report.html")]
    arguments = ["anonymize", *paths[:2], "-q", "age", "--report", paths[2]]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    told = "40 of 200 records (20.0%) are unique"
    warning = f"{told} by what comes out unchanged, sex, together with the anonymized columns; use"
    assert warning in err
    assert f"singled out       {told} by sex together with the anonymized columns\n" in out
    assert "no record is unique by it alone\n" in out
    assert f"{told}.</p>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert main([*arguments, "--json", "--force"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["singled_out"]
    assert (found["unique"], found["unique_with_release"]) == (0, pytest.approx(0.2))


def test_the_command_line_counts_people(tmp_path, capsys):
    """Six rows are unique, more than k, but they are those of one person."""
    table = grouped().assign(sex="f")
    alone = table[table.person == 7].assign(sex="m")
    pd.concat([table, *[alone] * 6]).to_csv(tmp_path / "people.csv", index=False)
    paths = [str(tmp_path / name) for name in ("people.csv", "release.csv")]
    arguments = ["anonymize", *paths, "-q", "age", "--unit", "person"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    few = "6 of 206 records (2.91%) are unique by"
    assert f"{few} what comes out unchanged, sex;" in err
    assert f"singled out       {few} sex together with the" in out
    assert f"{few} it alone\n" in out
    assert main([*arguments, "--json", "--force"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["singled_out"]
    assert found["unique"] == found["unique_with_release"] == pytest.approx(6 / 206)


@pytest.mark.slow
def test_what_is_declared_sensitive_is_assumed_to_be_unknown(tmp_path, capsys):
    draw(0.01).drop(columns="person").to_csv(tmp_path / "people.csv", index=False)
    paths = [str(tmp_path / name) for name in ("people.csv", "release.csv", "report.html")]
    arguments = ["anonymize", *paths[:2], "--sensitive", "weight,height,glucose"]
    assert main([*arguments, "--report", paths[2]]) == 0
    out, _ = capsys.readouterr()
    words = "weight, height, glucose  (assumed to be unknown to intruders)"
    assert f"sensitive         {words}" in out
    assert "singled out" not in out
    text = " ".join(Reader((tmp_path / "report.html").read_text(encoding="utf-8")).text)
    assert "✓" in text
    assumed = "Assumed, not measured: intruders do not know the sensitive columns weight, height"
    assert f"{assumed} and glucose." in text
    assert main(["risk", *paths[:2], "--sensitive", "weight,height,glucose"]) == 0
    assert f"sensitive         {words}" in capsys.readouterr().out
