"""Intruders who know unchanged columns: reports tell no less than they achieve."""

import re

import numpy as np
import pandas as pd
import pytest
from tables.pages import Reader

from sk_microagg import TableAggregator
from sk_microagg.cli import main
from sk_microagg.report import make_report

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
    [figure] = re.findall(r"at most (\d+)%", page.row("Expected re-identifications")[0])
    return int(figure) / 100


@pytest.mark.parametrize("coarseness", [0.1, 5, 20, 60])
@pytest.mark.parametrize("n_rows_each", [1, 3])
def test_a_report_tells_no_less_than_intruders_achieve(tmp_path, coarseness, n_rows_each):
    n = 400 // n_rows_each
    table = draw(coarseness, n, n_rows_each)
    unit = {"unit": "person"} if n_rows_each > 1 else {"drop": "person"}
    aggregator = TableAggregator(k=5, quasi_identifiers=KNOWN, **unit)
    release = aggregator.fit_transform(table)
    path = make_report(table, release, aggregator, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    page = Reader(text)
    columns = ["weight", "height", "glucose"]
    achieved = [
        share_found(table, release, columns),
        share_found(table, release, columns, with_nearest=True),
    ]
    assert max(achieved) > 0.2  # more than k allows
    assert told(page) >= max(achieved)
    assert "✓" not in text
    assert "weight, height and glucose" in text


def test_three_exact_measurements_are_no_anonymous_table(tmp_path, capsys):
    table = draw(0.01).drop(columns="person")
    table.to_csv(tmp_path / "people.csv", index=False)
    paths = [str(tmp_path / name) for name in ("people.csv", "release.csv", "report.html")]
    arguments = ["anonymize", *paths[:2], "-k", "5", "--columns", ",".join(KNOWN)]
    assert main([*arguments, "--report", paths[2]]) == 0
    out, err = capsys.readouterr()
    assert "100% of the records are unique by what comes out unchanged" in err
    assert "weight, height and glucose" in err
    assert "singled out       100% of the records, by weight, height and glucose together" in out
    assert "re-identifies at most 100% of the records" in out
    assert "every row" not in out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "✓" not in page
    assert "100% of the records are unique by weight, height and glucose." in page
    assert "Every row" not in page

    assert main(["risk", *paths[:2], "--columns", ",".join(KNOWN)]) == 0
    printed = capsys.readouterr().out
    assert "unique            100% of the rows by these columns together" in printed


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
