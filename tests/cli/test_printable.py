"""The contents of a table cannot control the terminal."""

import re

import pandas as pd
import pytest

from sk_microagg._utils._formatting import printable

# Clears the screen; back and over; a line of its own; text that runs backwards; the C1 form.
EVIL = "x\x1b[2J\r\nfaked: all is well\x07\u202e\x9b1m"
SHOWN = r"x\x1b[2J\r\nfaked: all is well\x07\u202e\x9b1m"


def is_harmless(outcome):
    return not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", outcome.out + outcome.err)


@pytest.fixture
def evil(tmp_path):
    """A table with two such names, of a column of numbers and of an identifier."""
    path = tmp_path / "t.csv"
    table = {EVIL: range(10), f"id{EVIL}": [f"{EVIL}{i}" for i in range(10)], "z": ["a", "b"] * 5}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def test_printable():
    assert printable(EVIL) == SHOWN
    assert printable("größe (m²), 'a\\b' 年") == "größe (m²), 'a\\b' 年"
    assert printable("\udcff") == r"\udcff"


@pytest.mark.parametrize("drop", [False, True])
def test_names_in_the_output(run, evil, tmp_path, drop):
    drop = ["--drop", f'"id{EVIL}"'] if drop else []
    outcome = run("anonymize", evil, tmp_path / "out.csv", "-q", f'"{EVIL}"', *drop)
    assert outcome.code == 0
    assert is_harmless(outcome)
    assert SHOWN in " ".join(outcome.out.split())
    assert (outcome.err == "") == bool(drop)
    outcome = run("risk", evil, tmp_path / "out.csv", "-q", f'"{EVIL}"')
    assert outcome.code == 0
    assert is_harmless(outcome)
    assert "\n" + SHOWN in outcome.out  # in the table of columns


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-q", "nothing"], "the columns are"),
        (["--number", "z"], "in lines 4, 6 and 8: leave out --number"),
        (["--hierarchies", "hierarchies"], "cells are no leaves of its hierarchy, first in lines"),
        (["--report", f"{EVIL}/r.html"], "is not a folder"),
    ],
)
def test_errors(fails, run, evil, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "z.csv").write_text("a;*\n")
    line = fails("anonymize", evil, "out.csv", *arguments)
    assert message in line
    assert is_harmless(run("anonymize", evil, "out.csv", *arguments))


def test_names_of_files(run, numbers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = EVIL.replace("/", "") + ".csv"
    numbers.rename(name)
    columns = ["-q", "count,size"]
    outcome = run("anonymize", name, f"out{name}", *columns)
    assert outcome.code == 0
    assert is_harmless(outcome)
    assert f"out{SHOWN}.csv" in " ".join(outcome.out.split())
    outcome = run("anonymize", name, f"out{name}", *columns)
    assert outcome.err == (
        f"sk-microagg: error: out{SHOWN}.csv exists: choose another name, or overwrite it with "
        "--force.\n"
    )


def test_arguments(capsys, run):
    with pytest.raises(SystemExit, match="2"):
        run("anonymize", "a.csv", "b.csv", EVIL)
    printed = capsys.readouterr().err
    assert SHOWN in printed
    assert "\x1b" not in printed
