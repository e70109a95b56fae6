"""Hints at numbers that may be codes, for missing values or for categories."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg.files._column_kinds import Column
from sk_microagg.files._date_notation import DateNotation
from sk_microagg.files._mistyped import hints_about
from sk_microagg.files._number_notation import NumberNotation

AGES = [*range(18, 80)]


def hints(*numbers, name="x", decimals=0, **settings):
    column = Column(name, "number", "", np.array(numbers), NumberNotation(decimals))
    return " ".join(hints_about(column, **{"is_typed": False, **settings}))


@pytest.mark.parametrize(
    ("numbers", "option"),
    [
        (
            [*AGES, 999],
            "999, unlike other values, may stand for missing values: use --na 999; otherwise it is "
            "averaged as a number.",
        ),
        ([*AGES, -1], "use --na=-1;"),
        ([*AGES, -9, 9999], "-9 and 9999, unlike other values, may stand for missing values"),
        ([*AGES, -9, 9999], "use --na=-9,9999;"),
        ([*range(18, 70), 99], "use --na 99;"),
        ([-9, 1, 2, 3, 4, 5], "use --na=-9;"),
        ([18.5, 22.25, 31.0, 40.5, -999.0, np.nan], "use --na=-999;"),
        ([-1, *range(80)], "use --na=-1;"),
        ([*AGES, 99], "use --na 99;"),
        ([*range(73), 99], "use --na 99;"),
        ([*AGES, 777, 888, 999], "777, 888 and 999, unlike"),
        ([*AGES, 777, 888, 999], "use --na 777,888,999;"),
        ([*range(80), -7, -8, -9], "use --na=-9,-8,-7;"),
        ([1, 2, 3, 4, 5, 9], "use --na 9;"),
        ([0, 1, 2, 99], "use --na 99;"),
        ([1, 2, -9], "use --na=-9;"),
        ([58.5, 61.25, 70.5, 83.75, 92.5, 999.9], "use --na 999.9;"),
        ([*range(9_000, 160_000, 1_700), 999_999], "use --na 999999;"),
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
        [-2, -1, *range(60)],
        [*range(73), 80, 88, 99],
        [*range(8), 9],
        [*range(-6, 7), -9],
        [*AGES, 120],
        [99] * 20,
        [1, 99],
        [np.nan] * 3,
    ],
)
def test_numbers_that_are_no_codes(numbers):
    assert hints(*numbers) == ""


@pytest.mark.parametrize("seed", range(20))
def test_the_oldest_and_the_most_are_no_codes(seed):
    rng = np.random.default_rng(seed)
    for oldest in (98, 99):
        assert hints(*rng.triangular(0, 20, oldest, 200).astype(int), oldest) == ""
    assert hints(*rng.poisson(3, 200)) == hints(*rng.geometric(0.2, 200)) == ""


@pytest.mark.parametrize("seed", range(20))
def test_long_tails_are_no_codes(seed):
    incomes = np.round(30_000 * np.exp(np.random.default_rng(seed).normal(0, 1.2, 300)))
    assert hints(*incomes) == ""


@pytest.mark.parametrize("far", [73_941, -73_941])
def test_a_number_far_from_all_others_is_not_quoted(far):
    line = hints(*AGES, far)
    assert "is very far from all others: if it stands for missing values, pass it to --na" in line
    assert not any(digits in line for digits in ("739", "941", "73,"))
    assert hints(*AGES, far + 0.5) == ""


def test_dates():
    days = np.arange("1950-01-01", "1990-01-01", 40, dtype="datetime64[D]").astype(np.float64)
    for code, text in (("1900-01-01", "01/01/1900"), ("9999-12-31", "31/12/9999")):
        values = np.append(days, np.datetime64(code, "D").astype(np.float64))
        column = Column("born", "date", "", values, DateNotation("day", "%d/%m/%Y"))
        (line,) = hints_about(column, is_typed=False)
        assert f"use --na {text}; otherwise it is averaged as a date." in line
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
        ("marstat", True),
        ("MAR", True),
        ("educ", True),
        ("ST", True),
        ("sexe", True),
        ("1st", False),
        ("sector_count", False),
        ("type_a_hours", False),
        ("school_years", False),
        ("languageScore", False),
    ],
)
def test_codes_of_categories(name, is_hinted):
    line = hints(*[1, 2, 3, 4, 5] * 9, name=name)
    assert ("its few integers may be codes" in line) == is_hinted
    assert ("use --categorical" in line) == is_hinted
    assert hints(*[1, 2, 3, 4, 5] * 9, name=name, is_declared=True) == ""
    assert hints(*range(500), name=name) == ""
    assert hints(1.5, 2.0, 3.0, 4.0, name=name) == ""


def test_unsigned_integers():
    column = Column("x", "number", "", np.array([*AGES, 99], np.uint8), NumberNotation(0))
    (line,) = hints_about(column, is_typed=True)
    assert line.startswith("99, unlike")


def test_one_and_two_are_codes():
    assert "may be codes, whose mean is meaningless" in hints(*[1, 2] * 9)
    assert "may be codes, whose mean is meaningless" in hints(*[1, 2, 9] * 9)
    assert hints(*[1, 2] * 9, name="n_rooms") == hints(*[0, 1] * 9) == ""


def test_the_command_says_it_once(run, write, tmp_path):
    rows = [f"{age},{age % 4 + 1},{'a' * (age % 2)}" for age in [*AGES, 999]]
    path = write("t.csv", "\n".join(["age,state,note", *rows, ""]))
    command = ["anonymize", path, tmp_path / "o.csv", "-k", 5, "--force", "--columns", "age,state"]
    lines = run(*command).err.splitlines()
    assert [line.split(": ")[2:4] for line in lines] == [
        ["age", "999, unlike other values, may stand for missing values"],
        ["state", "its few integers may be codes, whose mean is meaningless"],
    ]
    assert run(*command, "--na", "999", "--categorical", "state").err == ""
    assert "999" not in (tmp_path / "o.csv").read_text()


def test_parquet_files_have_nulls(run, tmp_path):
    born = [datetime.date(1950 + i, 1, 2) for i in range(40)]
    table = pa.table({"born": [*born, datetime.date(1900, 1, 1)], "x": range(41)})
    pq.write_table(table, tmp_path / "t.parquet")
    err = run("anonymize", tmp_path / "t.parquet", tmp_path / "o.parquet").err
    assert "born: 1900-01-01, unlike other values, may stand for missing values: replace" in err


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")
def test_on_dask(run, tmp_path):
    pytest.importorskip("dask.dataframe", reason="Dask is an extra")
    ages = [*AGES, 999]
    columns = {"age": ages, "sexe": [1 + age % 2 for age in ages], "note": ["a", *"b" * 62]}
    columns["born"] = [datetime.date(1950 + age % 40, 1, 2) for age in AGES]
    columns["born"].append(datetime.date(1900, 1, 1))
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    command = ["anonymize", tmp_path / "t.parquet", tmp_path / "o", "--engine", "dask"]
    lines = [line.split(": ")[2:4] for line in run(*command).err.splitlines()]
    assert lines[:3] == [
        ["age", "999, unlike other values, may stand for missing values"],
        ["sexe", "its few integers may be codes, whose mean is meaningless"],
        ["born", "1900-01-01, unlike other values, may stand for missing values"],
    ]
    command[2] = tmp_path / "other"
    assert "sexe" not in run(*command, "--categorical", "sexe").err


def test_the_page_says_it_beside_the_column(write):
    pytest.importorskip("starlette", reason="the page is an extra")
    from sk_microagg._explore._description import describe_table

    numbers = [*AGES, 73_941]
    rows = [f"{age},{age % 4 + 1},{x}" for age, x in zip([*AGES, 999], numbers, strict=True)]
    path = write("t.csv", "\n".join(["a: age,q: st.code,x", *rows, ""]))
    from sk_microagg.files._table import read_table

    described = describe_table(read_table(str(path)), shows_rows=False)
    assert [column["hint"] for column in described["columns"]] == [
        "999, unlike other values, may stand for missing values: start explore with --na 999; "
        "otherwise it is averaged as a number.",
        None,
        "the smallest or largest value is very far from all others: if it stands for missing "
        "values, start explore with --na for it.",
    ]
    assert [column["hint_at_kind"] for column in described["columns"]] == [
        None,
        "its few integers may be codes, whose mean is meaningless: choose the kind category.",
        None,
    ]
    assert "73941" not in json.dumps(described)
