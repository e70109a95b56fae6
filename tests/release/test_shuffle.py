"""Rows in random order, so that their positions do not show to whom they belong."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg.files._written import shuffled

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

N = 300


@pytest.fixture
def table():
    """Numbers, and in each row its original position."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.integers(0, 50, N),
            "y": rng.normal(size=N).round(3),
            "place": np.arange(N),
            "town": rng.choice(["Bari", "Rome", None], N),
        }
    )


@pytest.fixture
def folder(table, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(6):
        table[50 * i : 50 * (i + 1)].to_parquet(folder / f"{i}.parquet", index=False)
    return folder


CHOICE = ["-q", "x,y", "--seed", 3]


def by_place(release):
    return release.sort_values("place", ignore_index=True)


def is_random(places):
    """Whether positions are in random order; False by chance once in a million times."""
    n = len(places)
    assert sorted(places) == list(range(n))
    correlation = np.corrcoef(places, range(n))[0, 1]
    n_neighbors = np.sum(np.abs(np.diff(places)) == 1)  # of which there are two, on average
    return abs(correlation) < 5 / np.sqrt(n) and n_neighbors < 20


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_in_memory(run, table, tmp_path, suffix):
    read, write = (
        (pd.read_csv, table.to_csv) if suffix == ".csv" else (pd.read_parquet, table.to_parquet)
    )
    path = tmp_path / f"in{suffix}"
    write(path, index=False)
    outputs = [tmp_path / f"{i}{suffix}" for i in range(3)]
    for output, shuffle in zip(outputs, [[], ["--shuffle"], ["--shuffle"]], strict=True):
        outcome = run("anonymize", path, output, *CHOICE, *shuffle)
        assert outcome.code == 0
    ordered, *releases = map(read, outputs)
    assert ordered["place"].tolist() == list(range(N))
    for release in releases:
        assert is_random(release["place"].tolist())
        pd.testing.assert_frame_equal(by_place(release), ordered)
    # The seed determines the groups, not the order.
    assert releases[0]["place"].tolist() != releases[1]["place"].tolist()


@pytest.mark.slow
def test_on_dask(run, folder, tmp_path):
    pytest.importorskip("dask.dataframe")
    outputs = [tmp_path / f"out{i}" for i in range(3)]
    for output, shuffle in zip(outputs, [[], ["--shuffle"], ["--shuffle"]], strict=True):
        outcome = run("anonymize", folder, output, *CHOICE, "--engine", "dask", *shuffle)
        assert outcome.code == 0
    ordered, *releases = map(pd.read_parquet, outputs)
    assert ordered["place"].tolist() == list(range(N))
    for release in releases:
        assert is_random(release["place"].tolist())
        pd.testing.assert_frame_equal(by_place(release), ordered, check_dtype=False)
        assert min(Counter(zip(release["x"], release["y"], strict=True)).values()) >= 5
    assert releases[0]["place"].tolist() != releases[1]["place"].tolist()
    for part in outputs[1].iterdir():
        assert len(set(pd.read_parquet(part)["place"] // 50)) > 2  # rows of other parts
        assert not pq.read_schema(part).metadata


def test_rows_in_transit_are_removed(run, fails, folder, tmp_path, tmp_path_factory, monkeypatch):
    pytest.importorskip("dask.dataframe")
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    arguments = ["anonymize", folder, tmp_path / "out", *CHOICE, "--engine", "dask", "--shuffle"]
    from sk_microagg.release import _out_of_memory

    gather = _out_of_memory._gather

    def fail(pieces, part, path):
        assert [*temporary.glob("shuffle-*/*.arrow")]
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_out_of_memory, "_gather", fail)
    line = fails(*arguments, "--drop", "place")
    assert line.endswith("out cannot be made: No space left on device.")
    assert not [*temporary.glob("shuffle-*")]
    monkeypatch.setattr(_out_of_memory, "_gather", gather)
    assert run(*arguments).code == 0
    assert not [*temporary.glob("shuffle-*")]


def test_a_column_with_no_known_value_in_a_part(run, tmp_path):
    pytest.importorskip("dask.dataframe")
    folder = tmp_path / "in"
    folder.mkdir()
    for i, note in enumerate([None, "a"]):
        part = pd.DataFrame({"x": range(10), "note": pd.Series([note] * 10, dtype=object)})
        part.to_parquet(folder / f"{i}.parquet", index=False)
    arguments = ["-q", "x", "--engine", "dask", "--shuffle"]
    assert run("anonymize", folder, tmp_path / "out", *arguments).code == 0
    assert pd.read_parquet(tmp_path / "out")["note"].value_counts().to_dict() == {"a": 10}


def test_a_dictionary_does_not_show_the_order():
    names = [f"P{i}" for i in range(N)]
    cells = pa.table({"name": pa.array(names).dictionary_encode()})
    column = shuffled(cells)["name"].combine_chunks()
    assert column.type == cells["name"].type
    assert sorted(column.to_pylist()) == sorted(names)
    assert is_random([int(name[1:]) for name in column.dictionary.to_pylist()])


def test_an_order_of_categories_is_kept():
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    cells = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 1], pa.int8()), ["low", "high"], ordered=True
    )
    column = shuffled(pa.table({"level": cells}))["level"].combine_chunks()
    assert column.type == kind
    assert column.dictionary.to_pylist() == ["low", "high"]
    assert sorted(column.to_pylist()) == ["high", "high", "low"]


def test_all_orders_are_equally_likely():
    cells = pa.table({"place": [0, 1, 2]})
    counts = Counter(tuple(shuffled(cells)["place"].to_pylist()) for _ in range(3000))
    assert len(counts) == 6
    assert all(abs(count - 500) < 5 * np.sqrt(500) for count in counts.values())


def test_the_summary_states_the_order(run, table, tmp_path):
    table.to_csv(tmp_path / "in.csv", index=False)
    arguments = ["anonymize", tmp_path / "in.csv", tmp_path / "out.csv", *CHOICE, "--force"]
    [said] = re.findall(r"(?m)^row order .*(?:\n .*)*", run(*arguments).out)
    assert " ".join(said.split()) == (
        f"row order that of {tmp_path / 'in.csv'}; --shuffle makes it random"
    )
    assert re.search(r"(?m)^row order +random$", run(*arguments, "--shuffle").out)


@pytest.mark.slow
def test_report_is_the_same(run, table, tmp_path):
    pytest.importorskip("matplotlib")
    table.to_csv(tmp_path / "in.csv", index=False)
    reports = []
    for shuffle in ([], ["--shuffle"]):
        report = tmp_path / "report.html"
        arguments = [*CHOICE, "--report", report, "--force", *shuffle]
        assert run("anonymize", tmp_path / "in.csv", tmp_path / "out.csv", *arguments).code == 0
        # The minute in which it was written may have passed, and the command is another one.
        page = report.read_text(encoding="utf-8").replace(" --shuffle", "")
        reports.append(re.sub(r" \d\d:\d\d ", " ", page))
    assert reports[0] == reports[1]
