import datetime
import json
import re
import sys
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("dask.dataframe")
# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"P{i}" for i in range(90)],
            "age": rng.integers(20, 90, 90),
            "height": rng.normal(1.7, 0.1, 90),
            "ward": rng.choice(["A", "B"], 90),
            "missing": [None, 1.0, 2.0] * 30,
            "answers": [[1], [2], [3]] * 30,
        }
    )


@pytest.fixture
def folder(visits, tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    for i in range(15):
        part = visits[6 * i : 6 * (i + 1)]
        part.to_parquet(folder / f"part{i:02d}.parquet", index=False)
    return folder


CHOICE = ["-q", "age,height", "--drop", "name", "--engine", "dask"]


def test_a_folder(run, folder, visits, tmp_path):
    output = tmp_path / "release.parquet"
    sensitive = ["--sensitive", "ward,missing,answers"]
    outcome = run("anonymize", folder, output, *CHOICE, *sensitive, "-k", 4)
    assert outcome.code == 0
    assert outcome.err == ""
    assert "DaskTableAggregator, builder mdav, refiner auto" in outcome.out
    assert "anonymity level   4" in outcome.out
    release = pd.read_parquet(output)
    assert list(release) == ["age", "height", "ward", "missing", "answers"]
    assert min(Counter(zip(release["age"], release["height"], strict=True)).values()) >= 4
    for name in ("ward", "missing"):
        assert release[name].dropna().tolist() == visits[name].dropna().tolist()
    assert [*map(list, release["answers"])] == visits["answers"].tolist()
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_same_release_as_in_memory(run, visits, tmp_path):
    visits.to_parquet(tmp_path / "t.parquet")
    assert run("anonymize", tmp_path / "t.parquet", tmp_path / "folder", *CHOICE).code == 0
    arguments = [*CHOICE[:-1], "memory"]
    assert run("anonymize", tmp_path / "t.parquet", tmp_path / "o.parquet", *arguments).code == 0
    columns = ["age", "height"]
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "folder")[columns],
        pd.read_parquet(tmp_path / "o.parquet")[columns],
    )


@pytest.fixture
def patients(tmp_path):
    """A file with columns of all types, in which values are missing."""
    rng = np.random.default_rng(0)
    n = 240
    days = datetime.date(1990, 1, 1).toordinal() + rng.integers(0, 9000, n)
    is_known = rng.random((4, n)) > 0.4
    cells = {
        "person": pa.array(rng.integers(0, 60, n)),
        "age": pa.array(rng.integers(18, 90, n), mask=~is_known[0]),
        "rooms": pa.array(rng.integers(1, 9, n), pa.uint8()),
        "height": pa.array(rng.normal(1.7, 0.1, n).round(2)),
        "smoker": pa.array(rng.random(n) < 0.3, mask=~is_known[1]),
        "town": pa.array(rng.choice(["Bari", "Rome", "Milan"], n), mask=~is_known[2]),
        "born": pa.array([datetime.date.fromordinal(day) for day in days], mask=~is_known[3]),
        "seen": pa.array(rng.integers(10**9, 2 * 10**9, n), pa.timestamp("s", "UTC")),
        "zip": pa.array(rng.choice([10115, 20095, 80331], n)),
        "price": pa.array([Decimal(int(cents)) / 100 for cents in rng.integers(0, 999, n)]),
        "region": pa.array(rng.choice(["north", "south"], n)).dictionary_encode(),
        "empty": pa.array([None] * n, pa.int64()),
        "illness": pa.array(rng.choice(["flu", "gout", "cold"], n)),
        "cost": pa.array(rng.integers(0, 5, n), mask=~is_known[2]),
    }
    path = tmp_path / "patients.parquet"
    pq.write_table(pa.table(cells), path, row_group_size=70)
    return path


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--categorical", "zip", "--weights", "age=3,town=0.5"],
        ["--round", "age=-1,height=1"],
        pytest.param(["--unit", "person", "--categorical", "zip,rooms"], marks=pytest.mark.slow),
        pytest.param(["--strata", "region", "--l", 2, "--t", 0.6], marks=pytest.mark.slow),
        pytest.param(["--categorical", "cost", "--t", 0.6], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_same_release_as_in_memory_for_columns_of_any_type(run, patients, tmp_path, options):
    options = [*options, "--sensitive", "illness,cost", "--drop", "person", "-k", 4, "--quiet"]
    releases, warnings = [], set()
    for engine, target in (("memory", "o.parquet"), ("dask", "folder")):
        outcome = run("anonymize", patients, tmp_path / target, *options, "--engine", engine)
        assert outcome.code == 0
        # Hints at codes need all values of a column together.
        lines = [line for line in outcome.err.splitlines() if "may be codes" not in line]
        # On Dask, it is not known how much of the whole table somebody has.
        lines = [re.sub(r"(?<=right that often\.).*", "", line) for line in lines]
        warnings.add("\n".join(lines))
        releases.append(pq.read_table(tmp_path / target))
    memory, dask = releases
    assert len(warnings) == 1
    assert dask.column_names == memory.column_names
    for name in memory.column_names:
        if name != "price":
            assert dask[name].to_pylist() == memory[name].to_pylist()
    assert pa.types.is_decimal(memory.schema.field("price").type)
    # In memory, decimals are read as floats, of which means that end in a half may round otherwise.
    prices = [table["price"].cast(pa.float64()).to_pylist() for table in releases]
    assert prices[0] == pytest.approx(prices[1], abs=0.0101)
    kinds = {name: dask.schema.field(name).type for name in ("age", "rooms", "smoker", "born")}
    assert kinds == {
        "age": pa.int64(),
        "rooms": pa.uint8(),
        "smoker": pa.bool_(),
        "born": pa.date32(),
    }


def test_a_line_for_each_column(run, patients, tmp_path):
    arguments = ["--drop", "person,illness,cost", "--categorical", "zip", "--round", "height=1"]
    lines = []
    for engine, target in (("memory", "o.parquet"), ("dask", "folder")):
        options = [*arguments, "--engine", engine, "--json"]
        outcome = run("anonymize", patients, tmp_path / target, *options)
        *columns, _ = map(json.loads, outcome.out.splitlines())
        lines.append({column["name"]: column for column in columns})
    memory, dask = lines
    assert "empty where most are missing" in dask["age"]["released"]
    assert dask["zip"]["recognized"] == "declared with --categorical"
    assert memory.pop("empty")["released"] == dask.pop("empty")["released"] == "empty cells"
    assert dask == memory
    outcome = run("anonymize", patients, tmp_path / "other", *arguments, "--engine", "dask")
    assert "rooms: number (type uint8); released: mean, rounded to integers\n" in outcome.out


def test_ordered_categories(run, tmp_path):
    stages = pd.Categorical(["I", "II", "II", "III"] * 10, ["I", "II", "III"], ordered=True)
    pd.DataFrame({"stage": stages, "age": range(40)}).to_parquet(tmp_path / "t.parquet")
    outcome = run("anonymize", tmp_path / "t.parquet", tmp_path / "out", "--engine", "dask")
    assert "stage: ordinal (type string); released: shared value next to the mean rank" in (
        outcome.out.replace("large_string", "string")
    )


def test_an_index_is_a_column(run, visits, tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    for i in range(3):
        part = visits[30 * i : 30 * (i + 1)].set_index("name")
        part.to_parquet(folder / f"part{i}.parquet")
    outcome = run("anonymize", folder, tmp_path / "out", *CHOICE)
    assert outcome.code == 0
    assert list(pd.read_parquet(tmp_path / "out"))[:3] == ["age", "height", "ward"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-q", "age,answers"], "Column 'answers' has type list<element: int64>, which"),
        (["-q", "age", "--weights", "ward=2"], "names 'ward', which is not anonymized"),
        (["-q", "age", "--categorical", "x"], "--categorical names 'x', but the columns"),
        (["-q", "nothing"], "the columns are 'name', 'age'"),
        ([*CHOICE, "-k", 91], "k=91 must be at most the number of records"),
        (["-q", "age", "--hierarchies", "x"], "--hierarchies needs --engine memory"),
        (["-q", "age", "--report", "r.html"], "--report needs --engine memory"),
        (["-q", "age", "--refiner", "none", "--time-limit", 1], "no time limit"),
    ],
)
def test_bad_choices(fails, folder, tmp_path, arguments, message):
    line = fails("anonymize", folder, tmp_path / "out", "--engine", "dask", *arguments)
    assert message in line


def test_bad_files(fails, folder, numbers, write, tmp_path):
    (tmp_path / "empty").mkdir()
    bad = write("bad.parquet", "text")
    dask = ["--engine", "dask", "-q", "age"]
    for path, message in [
        (tmp_path / "nowhere", "cannot be read: No such file"),
        (numbers, "--engine dask reads .parquet files and folders"),
        (tmp_path / "empty", "is not a Parquet table"),
        (bad, "is not a Parquet table"),
    ]:
        assert message in fails("anonymize", path, tmp_path / "out", *dask)
    assert "--engine dask" in fails("anonymize", folder, tmp_path / "out.parquet")
    assert "writes a .parquet folder" in fails("anonymize", folder, tmp_path / "out.csv", *dask)
    for target in (folder, tmp_path / "empty"):
        assert "--force" not in fails("anonymize", folder, target, *dask, "--force")


def test_a_full_disk(fails, folder, tmp_path, monkeypatch):
    def full(*arguments, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    line = fails("anonymize", folder, tmp_path / "out", *CHOICE)
    assert line.endswith("out cannot be made: No space left on device.")


def test_metadata_of_the_table_is_removed(run, visits, tmp_path):
    visits["ward"] = pd.Categorical(visits["ward"], ["A", "B", "Jane Doe"])
    visits.attrs = {"made by": "Jane Doe"}
    visits.to_parquet(tmp_path / "t.parquet", index=False)
    assert run("anonymize", tmp_path / "t.parquet", tmp_path / "out", *CHOICE).code == 0
    files = list((tmp_path / "out").iterdir())
    assert files
    assert not any(b"Jane Doe" in path.read_bytes() for path in files)
    assert pd.read_parquet(tmp_path / "out")["ward"].tolist() == visits["ward"].tolist()


def test_nothing_is_written_below_k(fails, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("sk_microagg.release._out_of_memory.anonymity_level", lambda release: 4)
    line = fails("anonymize", folder, tmp_path / "out", *CHOICE)
    assert line.startswith("A row of the release occurs 4 times, fewer than k=5: nothing was")


def test_without_dask(fails, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    line = fails("anonymize", folder, tmp_path / "out", *CHOICE)
    assert line == "--engine dask needs Dask: install sk-microagg[dask]."
