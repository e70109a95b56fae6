import datetime
import re
import sys
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg._cli._voice import SHELL
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.release import release_file

pytest.importorskip("dask.dataframe")
# Dask itself causes this warning with newer versions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
    pytest.mark.usefixtures("few_steps"),
]


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


CHOICE = {"quasi_identifiers": ["age", "height"], "drop": ["name"], "engine": "dask"}


@pytest.mark.slow
def test_a_folder(release, folder, visits, tmp_path):
    output = tmp_path / "release.parquet"
    summary = release(folder, output, **CHOICE, sensitive=["ward", "missing", "answers"], k=4)
    assert {each.code for each in summary.warnings} <= {"disclosed"}
    assert summary.facts["method"] == "DaskTableAggregator, builder mdav, refiner auto"
    assert summary.to_dict()["anonymity_level"] == 4
    written = pd.read_parquet(output)
    assert list(written) == ["age", "height", "ward", "missing", "answers"]
    assert min(Counter(zip(written["age"], written["height"], strict=True)).values()) >= 4
    for name in ("ward", "missing"):
        assert written[name].dropna().tolist() == visits[name].dropna().tolist()
    assert [*map(list, written["answers"])] == visits["answers"].tolist()
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {
            "categorical": ["zip"],
            "column_weights": {"age": 3, "town": 0.5},
            "decimals": {"age": -1, "height": 1},
        },
        {"unit": "person", "categorical": ["zip", "rooms"]},
        {"strata": ["region"], "privacy": [LDiversity(2), TCloseness(0.6)]},
        {"categorical": ["cost"], "privacy": TCloseness(0.6)},
    ],
    ids=str,
)
def test_same_release_as_in_memory_for_columns_of_any_type(release, patients, tmp_path, settings):
    settings = {"sensitive": ["illness", "cost"], "drop": ["person"], "k": 4, **settings}
    releases, warnings = [], set()
    for engine, target in (("memory", "o.parquet"), ("dask", "folder")):
        summary = release(patients, tmp_path / target, **settings, engine=engine)
        # Hints at codes need all values of a column together.
        said = [str(m) for m in summary.warnings if m.code != "codes_of_categories"]
        # On Dask, it is not known how much of the whole table somebody has.
        warnings.add("\n".join(re.sub(r"(?<=right that often\.).*", "", line) for line in said))
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


@pytest.mark.slow
def test_what_is_said_of_each_column(release, patients, tmp_path):
    settings = {"drop": ["person", "illness", "cost"], "categorical": ["zip"]}
    described = []
    for engine, target in (("memory", "o.parquet"), ("dask", "folder")):
        summary = release(
            patients, tmp_path / target, **settings, decimals={"height": 1}, engine=engine
        )
        described.append({column["name"]: column for column in summary.to_dict()["columns"]})
    memory, dask = described
    assert "empty where most are missing" in dask["age"]["released"]
    assert dask["zip"]["recognized"] == "declared as categories"
    assert memory.pop("empty")["released"] == dask.pop("empty")["released"] == "empty cells"
    for column in memory.values():
        column["released"] = column["released"].partition("; missing: ")[
            0
        ]  # counted in memory only
    assert dask == memory
    line = "rooms: number (type uint8); released: mean, rounded to integers"
    assert line in summary.facts["columns"].text


def test_ordered_categories(release, tmp_path):
    stages = pd.Categorical(["I", "II", "II", "III"] * 10, ["I", "II", "III"], ordered=True)
    pd.DataFrame({"stage": stages, "age": range(40)}).to_parquet(tmp_path / "t.parquet")
    stage, _ = release(tmp_path / "t.parquet", tmp_path / "out", engine="dask").to_dict()["columns"]
    assert stage["kind"] == "ordinal"
    assert stage["released"] == "shared value next to the mean rank"


@pytest.mark.slow
def test_an_index_is_a_column(release, visits, tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    for i in range(3):
        part = visits[30 * i : 30 * (i + 1)].set_index("name")
        part.to_parquet(folder / f"part{i}.parquet")
    release(folder, tmp_path / "out", **CHOICE)
    assert list(pd.read_parquet(tmp_path / "out"))[:3] == ["age", "height", "ward"]


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("settings", "code", "column"),
    [
        ({"quasi_identifiers": ["age", "answers"]}, "type", "answers"),
        ({"quasi_identifiers": ["age"], "column_weights": {"ward": 2}}, "without_effect", "ward"),
        ({"quasi_identifiers": ["age"], "categorical": ["x"]}, "unknown_column", "x"),
        ({"quasi_identifiers": ["nothing"]}, "unknown_column", "nothing"),
        ({**CHOICE, "k": 91}, "bad_input", None),
    ],
)
def test_bad_choices(refused, folder, tmp_path, settings, code, column):
    error = refused(folder, tmp_path / "out", **{"engine": "dask", **settings})
    assert (error.code, error.column) == (code, column)


def test_bad_files(refused, write, tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", write("bad.parquet", "text")):
        assert refused(path, tmp_path / "out", engine="dask").code == "no_parquet"


@pytest.mark.slow
def test_a_full_disk(refused, folder, tmp_path, monkeypatch):
    def full(*arguments, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    error = refused(folder, tmp_path / "out", **CHOICE)
    assert str(error).endswith("out cannot be made: No space left on device.")


@pytest.mark.slow
def test_metadata_of_the_table_is_removed(release, visits, tmp_path):
    visits["ward"] = pd.Categorical(visits["ward"], ["A", "B", "Jane Doe"])
    visits.attrs = {"made by": "Jane Doe"}
    visits.to_parquet(tmp_path / "t.parquet", index=False)
    release(tmp_path / "t.parquet", tmp_path / "out", **CHOICE)
    files = list((tmp_path / "out").iterdir())
    assert files
    assert not any(b"Jane Doe" in path.read_bytes() for path in files)
    assert pd.read_parquet(tmp_path / "out")["ward"].tolist() == visits["ward"].tolist()


@pytest.mark.slow
def test_nothing_is_written_below_k(refused, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("sk_microagg.release._out_of_memory.anonymity_level", lambda release: 4)
    assert refused(folder, tmp_path / "out", **CHOICE).code == "not_anonymous"


def test_without_dask(refused, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    error = refused(folder, tmp_path / "out", **CHOICE)
    assert str(error) == "engine='dask' needs dask: install sk-microagg[dask]."
    assert error.in_words(SHELL).startswith("--engine dask needs dask")


@pytest.mark.parametrize("kind", [KeyError, TypeError, RuntimeError])
def test_an_error_of_our_own_is_no_bad_input(folder, tmp_path, monkeypatch, kind):
    def fail(*arguments):
        raise kind("a bug")

    from sk_microagg.release import _out_of_memory

    monkeypatch.setattr(_out_of_memory.DaskTableAggregator, "_fit_transform", fail)
    with pytest.raises(kind, match="a bug"):
        release_file(folder, tmp_path / "out.parquet", **CHOICE)
