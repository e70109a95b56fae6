import sys
from collections import Counter

import numpy as np
import pandas as pd
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


CHOICE = ["--columns", "age,height", "--drop", "name", "--engine", "dask"]


def test_a_folder(run, folder, visits, tmp_path):
    output = tmp_path / "release.parquet"
    outcome = run("anonymize", folder, output, *CHOICE, "-k", 4)
    assert outcome.code == 0
    assert outcome.err == ""
    assert "DaskMicroAggregator, builder mdav, refiner auto" in outcome.out
    assert "anonymity level   4" in outcome.out
    release = pd.read_parquet(output)
    assert list(release) == ["age", "height", "ward", "missing"]
    assert min(Counter(zip(release["age"], release["height"], strict=True)).values()) >= 4
    for name in ("ward", "missing"):
        assert release[name].dropna().tolist() == visits[name].dropna().tolist()
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


def test_an_index_is_a_column(run, visits, tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    for i in range(3):
        part = visits[30 * i : 30 * (i + 1)].set_index("name")
        part.to_parquet(folder / f"part{i}.parquet")
    outcome = run("anonymize", folder, tmp_path / "out", *CHOICE)
    assert outcome.code == 0
    assert list(pd.read_parquet(tmp_path / "out")) == ["age", "height", "ward", "missing"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "'name' has type"),
        (["--columns", "age,ward"], "'ward' has type"),
        (["--columns", "nothing"], "the columns are 'name', 'age'"),
        ([*CHOICE, "-k", 91], "k=91 must be at most the number of records"),
        (["--columns", "age", "--hierarchies", "x"], "--hierarchies needs --engine memory"),
        (["--columns", "age", "--report", "r.html"], "--report needs --engine memory"),
        (["--columns", "age", "--refiner", "none", "--time-limit", 1], "no time limit"),
    ],
)
def test_bad_choices(fails, folder, tmp_path, arguments, message):
    line = fails("anonymize", folder, tmp_path / "out", "--engine", "dask", *arguments)
    assert message in line


def test_bad_files(fails, folder, numbers, write, tmp_path):
    (tmp_path / "empty").mkdir()
    bad = write("bad.parquet", "text")
    dask = ["--engine", "dask", "--columns", "age"]
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
    monkeypatch.setattr("sk_microagg._cli._release_on_dask.anonymity_level", lambda release: 4)
    line = fails("anonymize", folder, tmp_path / "out", *CHOICE)
    assert line.startswith("A row of the release occurs 4 times, fewer than k=5: nothing was")


def test_without_dask(fails, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    line = fails("anonymize", folder, tmp_path / "out", *CHOICE)
    assert line == "--engine dask needs Dask: install sk-microagg[dask]."
