"""`sk-microagg risk` on sensitive columns, and on people with several rows."""

import re

import numpy as np
import pandas as pd
import pytest

from sk_microagg._utils._formatting import percent
from sk_microagg.metrics import (
    closeness,
    diversity,
    homogeneity,
    record_linkage,
    unit_share,
    units_per_group,
)

COLUMNS = ["-q", "age,size"]


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "patient": [f"P{number}" for number in rng.integers(25, size=60)],
            "age": rng.integers(20, 90, size=60),
            "size": rng.normal(170, 9, size=60).round(1),
            "illness": rng.choice(["flu", "gout", "scurvy"], size=60, p=[0.7, 0.2, 0.1]),
            "cost": rng.integers(9, size=60),
        }
    )
    path = tmp_path / "visits.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def release(run, visits, tmp_path):
    path = tmp_path / "release.csv"
    assert run("anonymize", visits, path, *COLUMNS, "--drop", "patient", "-k", 4).code == 0
    return path


@pytest.fixture
def shuffled(release, tmp_path):
    path = tmp_path / "shuffled.csv"
    pd.read_csv(release).sample(frac=1, random_state=0).to_csv(path, index=False)
    return path


def line_of(name, values, rows):
    """The line of a sensitive column, as cells."""
    figures = (
        percent(homogeneity(rows, values)),
        percent(homogeneity(rows, values, missing="ignored")),
        f"{diversity(rows, values)}",
        f"{diversity(rows, values, kind='entropy'):.2f}",
        f"{closeness(rows, values):.4f}",
    )
    return [name, *figures]


def lines(printed):
    return [line.split() for line in printed.splitlines()]


def test_sensitive_columns_and_units(run, visits, release):
    arguments = [*COLUMNS, "--sensitive", "illness,cost", "--unit", "patient"]
    outcome = run("risk", visits, release, *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    table = pd.read_csv(release)
    rows = table[["age", "size"]]
    for name in ("illness", "cost"):
        assert line_of(name, table[name], rows) in lines(outcome.out)
    assert 0 < homogeneity(rows, table["illness"]) < 1
    n_units = units_per_group(rows, pd.read_csv(visits)["patient"])
    assert n_units < 4
    line = f"units per class   at least {n_units} different values of patient\n"
    assert line in outcome.out
    people = pd.read_csv(visits)["patient"]
    share = f"at most {percent(unit_share(rows, people))} of the rows of a class belong to one"
    assert f"unit share        {share} of them, more than 1 in {n_units}" in outcome.out
    assert "All of them count rows, not people." in outcome.out
    linkage = record_linkage(pd.read_csv(visits)[["age", "size"]], rows, unit=people)
    assert f"re-identified     {percent(linkage.expected_matches)} of the records" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 100


def test_nothing_is_added_without_the_options(run, visits, release):
    printed = run("risk", visits, release, *COLUMNS).out
    assert "sensitive" not in printed
    assert "unit" not in printed
    assert "people" not in printed


def test_columns_with_a_role_are_not_compared(run, visits, release):
    printed = run("risk", visits, release, "--sensitive", "illness,cost").out
    assert "columns           age, size\n" in printed
    printed = run("risk", visits, visits, "--sensitive", "illness,cost", "--unit", "patient").out
    assert "columns           age, size\n" in printed


def test_released_columns_need_no_order(run, visits, release, shuffled):
    arguments = [*COLUMNS, "--sensitive", "illness"]
    outcomes = [run("risk", visits, path, *arguments).out for path in (release, shuffled)]
    first, second = (re.findall(r"^illness .*$", printed, re.MULTILINE) for printed in outcomes)
    assert first == second
    assert len(first) == 1
    assert "linked            unknown" in outcomes[1]


def test_a_sensitive_column_that_is_not_released(run, visits, release, tmp_path):
    path = tmp_path / "fewer.csv"
    pd.read_csv(release).drop(columns="illness").to_csv(path, index=False)
    both = [
        run("risk", visits, released, *COLUMNS, "--sensitive", "illness").out
        for released in (release, path)
    ]
    assert both[0] == both[1]


def test_generalized_release(run, visits, tmp_path):
    path = tmp_path / "out.csv"
    arguments = ["-q", "age,illness", "--drop", "patient,size"]
    assert run("anonymize", visits, path, *arguments, "-k", 4).code == 0
    printed = run("risk", visits, path, "--sensitive", "cost", "--unit", "patient").out
    table = pd.read_csv(path, dtype={"age": str}, keep_default_na=False)
    assert line_of("cost", table["cost"], table[["age", "illness"]]) in lines(printed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sensitive", "ilness"], "--sensitive names 'ilness', but the columns are 'patient', "),
        (["--unit", "person"], "--unit names 'person', but the columns are 'patient', "),
        (
            ["--sensitive", "age"],
            "Column 'age' is named by --quasi-identifiers and by --sensitive.",
        ),
        (["--unit", "age"], "Column 'age' is named by --quasi-identifiers and by --unit."),
        (
            ["--sensitive", "patient", "--unit", "patient"],
            "Column 'patient' is named by --sensitive and by --unit.",
        ),
    ],
)
def test_bad_options(fails, visits, release, arguments, message):
    assert fails("risk", visits, release, *COLUMNS, *arguments).startswith(message)


def test_no_other_column(fails, visits, release):
    line = fails("risk", visits, release, "--sensitive", "age,size,illness,cost")
    assert line.endswith("have no other column in common.")


def test_units_of_a_shuffled_release(fails, visits, shuffled):
    line = fails("risk", visits, shuffled, *COLUMNS, "--unit", "patient")
    message = (
        f"Column 'patient' is needed from {visits}, whose rows are in another order than those of"
    )
    assert line == f"{message} {shuffled}."


def test_a_released_column_determines_a_compared_one(run, write):
    rows = [(i % 30, (i % 30) ** 2) for i in range(90)]
    before = write("before.csv", "x,square\n" + "".join(f"{x},{y}\n" for x, y in rows))
    after = write("after.csv", "x,square\n" + "".join(f"{x // 5 * 5 + 2},{y}\n" for x, y in rows))
    outcome = run("risk", before, after, "-q", "x")
    assert "determined        square determines x, or nearly so\n" in outcome.out
