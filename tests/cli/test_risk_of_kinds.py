"""`sk-microagg risk` on columns whose kind is declared, or not clear."""

import re

import numpy as np
import pandas as pd
import pytest

MARKS = ["--decimal", ",", "--thousands", "."]
SIZE = ["--ordinal", "size=small<medium<large"]
DATE = ["--date", "born"]


@pytest.fixture
def tables(write):
    """The same table with ISO dates and plain numbers, and with dates and numbers of Germany."""
    rng = np.random.default_rng(0)
    born = pd.to_datetime(np.datetime64("1950-01-01") + rng.integers(0, 18000, 90))
    pay = rng.normal(2500, 600, 90).round(2)
    german = [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in pay]
    size = rng.choice(["small", "medium", "large"], 90)
    plain = pd.DataFrame({"born": born, "pay": pay, "size": size})
    other = pd.DataFrame({"born": born.strftime("%d.%m.%Y"), "pay": german, "size": size})
    return [
        write(name, table.to_csv(index=False))
        for name, table in (("plain.csv", plain), ("other.csv", other))
    ]


def linked(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    assert "as text" not in outcome.out
    return re.search(r"^linked.*\nre-identified.*$", outcome.out, re.MULTILINE)[0]


@pytest.mark.slow_but_first
@pytest.mark.parametrize("method", ["aggregate", "kaim"])
@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_how_values_are_written_does_not_matter(run, tables, tmp_path, method, suffix):
    found = []
    for path, options in zip(tables, (SIZE, [*SIZE, *DATE, *MARKS]), strict=True):
        output = tmp_path / f"{path.stem}-release.{suffix}"
        assert run("anonymize", path, output, "--method", method, *options).code == 0
        found.append(linked(run("risk", path, output, *options)))
    assert found[0] == found[1]


@pytest.mark.slow
def test_dates_are_refused_as_by_anonymize(run, fails, tables, tmp_path):
    path, output = tables[1], tmp_path / "release.csv"
    line = (
        "born: all 90 cells seem to be dates as %d.%m.%Y: use --date born=%d.%m.%Y, or "
        "--categorical born."
    )
    assert fails("anonymize", path, output, *MARKS) == line
    assert run("anonymize", path, output, *MARKS, *DATE).code == 0
    assert fails("risk", path, output, *MARKS) == line
    assert fails("risk", path, output, *MARKS, "-q", "pay", "--sensitive", "born") == line
    dates, texts = (
        linked(run("risk", path, output, *MARKS, option, "born"))
        for option in ("--date", "--categorical")
    )
    assert dates != texts


def test_released_dates_are_read_as_the_original(run, write):
    # Of the original, days and months can be told apart, of the release they cannot.
    days = [f"{day:02d}/03/2020" for day in range(1, 21)]
    released = np.repeat(["03/03/2020", "08/03/2020"], 10)
    before = write("before.csv", "\n".join(["born", *days, ""]))
    after = write("after.csv", "\n".join(["born", *released, ""]))
    assert "are numbers or dates\ncolumns           born\n" in run("risk", before, after, *DATE).out


def test_a_number_with_leading_zeros(run, write):
    path = write("t.csv", "code\n" + "".join(f"{i:03d}\n" for i in range(12)))
    assert "numbers or dates" not in run("risk", path, path).out
    assert "numbers or dates" in run("risk", path, path, "--number", "code").out


@pytest.mark.parametrize("values", [["20-29", "30-39"], ["2020", "2030"]])
def test_what_is_no_value_is_compared_as_text(run, write, values):
    days = [f"{year}-05-01" for year in range(2020, 2040)]
    before = write("before.csv", "\n".join(["born", *days, ""]))
    after = write("after.csv", "\n".join(["born", *np.repeat(values, 10), ""]))
    outcome = run("risk", before, after)
    assert outcome.code == 0
    assert "as text           born: not all released cells are values or intervals" in outcome.out
    assert "numbers or dates" not in outcome.out


def test_kinds_of_columns_that_are_not_compared(fails, tables):
    line = fails("risk", tables[0], tables[0], "-q", "pay", "--date", "born")
    assert line == "--date names 'born', which is not compared."


def test_names_that_could_be_several_or_none(run, write):
    rows = "".join(f"{i % 7},{i % 5},{i % 3},{i % 2}\n" for i in range(20))
    path = write("t.csv", f'"Height, cm","",age,"a, b"\n{rows}')
    printed = run("risk", path, path, "--sensitive", '"a, b"').out
    assert printed.count("columns           'Height, cm', '', age\n") == 2
    for name in ("'Height, cm'", "''", "age", "'a, b'"):
        assert re.search(rf"^{name} +\d", printed, re.MULTILINE)
    printed = run("risk", path, path, "--unit", "").out
    assert "different values of ''\n" in printed


@pytest.mark.parametrize("columns", ["age", "age,height"])
def test_correlations_need_two_columns(run, write, columns):
    path = write("t.csv", "age,height\n" + "".join(f"{i},{i % 5}\n" for i in range(20)))
    printed = run("risk", path, path, "-q", columns).out
    assert ("correlations" in printed) == ("," in columns)
