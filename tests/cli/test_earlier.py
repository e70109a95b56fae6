"""`risk --earlier`: what several releases of the same people say together."""

import numpy as np
import pandas as pd
import pytest

from sk_microagg.metrics import joint_anonymity

pytestmark = pytest.mark.slow


@pytest.fixture
def years(run, tmp_path):
    """The originals and the releases of two years."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(60), "age": rng.normal(50, 9, 60).round(2)})
    tables = [table[:40], table[10:].assign(age=lambda rows: (rows["age"] + 5).round(2))]
    paths = []
    for year, rows in enumerate(tables):
        original, release = tmp_path / f"in{year}.csv", tmp_path / f"out{year}.csv"
        rows.to_csv(original, index=False)
        assert run("anonymize", original, release, "-k", 4, "--drop", "id").code == 0
        paths.append([original, release])
    return paths


def test_the_figure_is_that_of_the_metric(run, years):
    releases = [pd.read_csv(release) for _, release in years]
    people = [pd.read_csv(original)["id"] for original, _ in years]
    level = joint_anonymity(releases[::-1], people[::-1])
    assert level < 4
    outcome = run("risk", *years[1], "--unit", "id", "--earlier", *years[0])
    assert outcome.code == 0
    line = f"joint anonymity   {level}  (people who share their rows of all 2 releases)\n"
    assert line in outcome.out
    # The same release twice says nothing new.
    outcome = run("risk", *years[1], "--unit", "id", "--earlier", *years[1], "--earlier", *years[1])
    assert "joint anonymity   4  (people who share their rows of all 3 releases)\n" in outcome.out


def test_people_may_be_in_the_release(run, years, tmp_path):
    (original, release), later = years
    named = pd.read_csv(release).assign(id=pd.read_csv(original)["id"]).sample(frac=1.0)
    named.to_csv(tmp_path / "named.csv", index=False)
    lines = [
        run("risk", *later, "--unit", "id", "--earlier", original, path).out.splitlines()[3:7]
        for path in (release, tmp_path / "named.csv")
    ]
    assert lines[0] == lines[1]


def test_errors(run, years, tmp_path):
    (original, release), later = years
    outcome = run("risk", *later, "--earlier", original, release)
    assert (outcome.code, outcome.out) == (1, "")
    assert "--earlier needs --unit" in outcome.err
    outcome = run("risk", *later, "--unit", "id", "--earlier", original, later[1])
    assert (outcome.code, outcome.out) == (1, "")
    assert "rows" in outcome.err
    shuffled = tmp_path / "shuffled.csv"
    pd.read_csv(release).sample(frac=1.0, random_state=0).to_csv(shuffled, index=False)
    outcome = run("risk", *later, "--unit", "id", "--earlier", original, shuffled)
    assert (outcome.code, outcome.out) == (1, "")
    assert "Column 'id' is needed from" in outcome.err
    other = tmp_path / "other.csv"
    pd.read_csv(original).rename(columns={"age": "years"}).to_csv(other, index=False)
    outcome = run("risk", *later, "--unit", "id", "--earlier", other, other)
    assert (outcome.code, outcome.out) == (1, "")
    assert "names 'age', but the columns are 'id', 'years'" in outcome.err


def test_a_sheet_of_an_earlier_release(run, years, tmp_path):
    """Only the earlier release is an Excel file, and its second sheet is the table."""
    (original, release), later = years
    book = tmp_path / "earlier.xlsx"
    with pd.ExcelWriter(book) as writer:
        pd.DataFrame({"note": ["x"]}).to_excel(writer, sheet_name="notes", index=False)
        pd.read_csv(release).to_excel(writer, sheet_name="people", index=False)
    line = run("risk", *later, "--unit", "id", "--earlier", original, release).out.splitlines()[5]
    options = ["--unit", "id", "--earlier", original, book, "--sheet", "people"]
    outcome = run("risk", *later, *options)
    assert (outcome.code, outcome.err) == (0, "")
    assert line in outcome.out
    options += ["-q", "age", "-k", 4, "--quiet"]
    assert run("anonymize", later[0], tmp_path / "o.csv", *options).code == 0
    assert run("risk", *later, "--sheet", "people").code == 1
