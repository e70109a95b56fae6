import csv
import sys
from collections import Counter, namedtuple

import numpy as np
import pytest

from sk_microagg.cli import main

Outcome = namedtuple("Outcome", "code out err")


@pytest.fixture
def run(capsys):
    """Run the command line in this process; return its exit code and output."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def fails(run, tmp_path):
    """Run a command that must fail with one line and leave no file; return the line."""

    def fails(*arguments):
        before = sorted(tmp_path.rglob("*"))
        outcome = run(*arguments)
        assert outcome.code == 1
        assert outcome.out == ""
        assert outcome.err.startswith("sk-microagg: error: ")
        assert outcome.err.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return outcome.err.removeprefix("sk-microagg: error: ").rstrip("\n")

    return fails


@pytest.fixture
def cells():
    """Read a CSV file with the csv module: names, and the cells of each column."""

    def cells(path, sep=","):
        with open(path, encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file, delimiter=sep)
        assert all(len(row) == len(names) for row in rows)
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    return cells


@pytest.fixture
def level(cells):
    """How often the rarest row of some columns of a CSV file occurs, as text."""

    def level(path, columns, sep=","):
        table = cells(path, sep)
        return min(Counter(zip(*(table[name] for name in columns), strict=True)).values())

    return level


# Cells that programs tend to change.
NOTES = ["1.10", "007", "1e3", "NA", "", " spaced ", "True", "ümlaut", "a, b", 'say "x"', "0x1F"]
NOTES += ["1_000", "two\nlines", "2020-01-01", "12345678901234567890", "nan", "+5", "-0"]


@pytest.fixture
def patients(tmp_path):
    """A CSV file with a code, text, missing values, integers, floats, and unusual notes."""
    rng = np.random.default_rng(0)
    path = tmp_path / "patients.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "age", "note", "town", "height", "weight"])
        for i in range(54):
            writer.writerow(
                [
                    f"P{i:03d}",
                    rng.integers(20, 90),
                    NOTES[i % len(NOTES)],
                    rng.choice(["Bari", "Rome", "Milan"]),
                    round(rng.normal(1.7, 0.1), 2),
                    rng.choice(["", "NA", "?", "70.5", "81", "64"]),
                ]
            )
    return path


@pytest.fixture
def numbers(tmp_path):
    """A CSV file of 40 rows with two columns of numbers, and one of classes."""
    rng = np.random.default_rng(1)
    path = tmp_path / "numbers.csv"
    rows = [f"{rng.integers(0, 100)},{rng.normal():.3f},{'ab'[i % 2]}" for i in range(40)]
    path.write_text("\n".join(["count,size,class", *rows, ""]))
    return path


@pytest.fixture
def command():
    """The arguments that start the command line as a process."""
    return [sys.executable, "-P", "-m", "sk_microagg"]
