"""Hints at numbers that may be codes, on the command line and on the page."""

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

AGES = [*range(18, 80)]


def test_the_command_says_it_once(run, write, tmp_path):
    rows = [f"{age},{age % 4 + 1},{'a' * (age % 2)}" for age in [*AGES, 999]]
    path = write("t.csv", "\n".join(["age,state,note", *rows, ""]))
    command = ["anonymize", path, tmp_path / "o.csv", "-k", 5, "--force", "-q", "age,state"]
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
