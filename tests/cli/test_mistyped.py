"""Hints at numbers that may be codes, for missing values or for categories."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg._cli._dates import DateNotation
from sk_microagg._cli._kinds import Column
from sk_microagg._cli._mistyped import hints_about
from sk_microagg._cli._numbers import NumberNotation

AGES = [*range(18, 80)]


def hints(*numbers, name="x", decimals=0, **settings):
    column = Column(name, "number", "", np.array(numbers), NumberNotation(decimals))
    return " ".join(hints_about(column, **{"is_typed": False, **settings}))


@pytest.mark.parametrize(
    ("numbers", "option"),
    [
        (
            [*AGES, 999],
            "x: 999, far from other values, may stand for missing values: use --na 999",
        ),
        ([*AGES, -1], "use --na=-1,"),
        ([*AGES, -9, 9999], "x: -9 and 9999, far from other values, may stand for missing values"),
        ([*AGES, -9, 9999], "use --na=-9,9999,"),
        ([*range(18, 70), 99], "use --na 99,"),
        ([-9, 1, 2, 3, 4, 5], "use --na=-9,"),
        ([18.5, 22.25, 31.0, 40.5, -999.0, np.nan], "use --na=-999,"),
    ],
)
def test_codes_for_missing_values(numbers, option):
    assert option in hints(*numbers)
    assert "replace it by null" in hints(*numbers, is_typed=True)


@pytest.mark.parametrize(
    "numbers",
    [
        range(1, 100),
        [*range(60, 88), 99],  # the oldest of them
        [*range(0, 95, 7), 99],
        [-1, 0, 1],
        [-1, *range(60)],
        [*range(73), 99],
        [*AGES, 120],
        [99] * 20,
        [1, 2, 99],
        [np.nan] * 3,
    ],
)
def test_numbers_that_are_no_codes(numbers):
    assert hints(*numbers) == ""


@pytest.mark.parametrize("seed", range(20))
def test_long_tails_are_no_codes(seed):
    incomes = np.round(30_000 * np.exp(np.random.default_rng(seed).normal(0, 1.2, 300)))
    assert hints(*incomes) == ""


@pytest.mark.parametrize("far", [73_941, -73_941])
def test_a_number_far_from_all_others_is_not_quoted(far):
    line = hints(*AGES, far)
    assert "is very far from all others: if it stands for missing values, name it by --na" in line
    assert not any(digits in line for digits in ("739", "941", "73,"))
    assert hints(*AGES, far + 0.5) == ""


def test_dates():
    days = np.arange("1950-01-01", "1990-01-01", 40, dtype="datetime64[D]").astype(np.float64)
    for code, text in (("1900-01-01", "01/01/1900"), ("9999-12-31", "31/12/9999")):
        values = np.append(days, np.datetime64(code, "D").astype(np.float64))
        column = Column("born", "date", "", values, DateNotation("day", "%d/%m/%Y"))
        (line,) = hints_about(column, is_typed=False)
        assert f"use --na {text}, or" in line
    column = Column("born", "date", "", days, DateNotation("day", "%d/%m/%Y"))
    assert hints_about(column, is_typed=False) == []


@pytest.mark.parametrize(
    ("name", "is_hinted"),
    [
        ("state", True),
        ("marital_status", True),
        ("maritalStatus", True),
        ("Zip code", True),
        ("children", False),
        ("statement", False),
    ],
)
def test_codes_of_categories(name, is_hinted):
    line = hints(*[1, 2, 3, 4, 5] * 9, name=name)
    assert ("its few integers may be codes" in line) == is_hinted
    assert ("use --categorical" in line) == is_hinted
    assert hints(*[1, 2, 3, 4, 5] * 9, name=name, is_declared=True) == ""
    assert hints(*range(500), name=name) == ""
    assert hints(1.5, 2.0, 3.0, 4.0, name=name) == ""


def test_the_command_says_it_once(run, write, tmp_path):
    rows = [f"{age},{age % 4 + 1},{'a' * (age % 2)}" for age in [*AGES, 999]]
    path = write("t.csv", "\n".join(["age,state,note", *rows, ""]))
    command = ["anonymize", path, tmp_path / "o.csv", "-k", 5, "--force", "--columns", "age,state"]
    lines = run(*command).err.splitlines()
    assert [line.split(": ")[2:4] for line in lines] == [
        ["age", "999, far from other values, may stand for missing values"],
        ["state", "its few integers may be codes, of which a mean means nothing"],
    ]
    assert run(*command, "--na", "999", "--categorical", "state").err == ""
    assert "999" not in (tmp_path / "o.csv").read_text()


def test_parquet_files_have_nulls(run, tmp_path):
    born = [datetime.date(1950 + i, 1, 2) for i in range(40)]
    table = pa.table({"born": [*born, datetime.date(1900, 1, 1)], "x": range(41)})
    pq.write_table(table, tmp_path / "t.parquet")
    err = run("anonymize", tmp_path / "t.parquet", tmp_path / "o.parquet").err
    assert "born: 1900-01-01, far from other values, may stand for missing values: replace" in err


def test_the_page_says_it_beside_the_column(write):
    pytest.importorskip("starlette", reason="the page is an extra")
    from sk_microagg._explore._description import describe_table

    numbers = [*AGES, 73_941]
    rows = [f"{age},{age % 4 + 1},{x}" for age, x in zip([*AGES, 999], numbers, strict=True)]
    path = write("t.csv", "\n".join(["age,state,x", *rows, ""]))
    from sk_microagg._cli._tables import read_table

    described = describe_table(read_table(str(path)), shows_rows=False)
    assert [column["hint"] for column in described["columns"]] == [
        "999, far from other values, may stand for missing values: start explore with --na 999, or "
        "it is averaged as it is.",
        "its few integers may be codes, of which a mean means nothing: choose the kind category.",
        "the smallest or largest value is very far from all others: if it stands for missing "
        "values, start explore with --na for it.",
    ]
    assert "73941" not in json.dumps(described)
