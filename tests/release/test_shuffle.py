"""Rows in random order, so that their positions do not show to whom they belong."""

import re
from collections import Counter
from hashlib import sha256

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg._cli._voice import SHELL
from sk_microagg.files._table import shuffled
from sk_microagg.release._summary import lines_of

# Dask itself causes this warning with newer versions of pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
    pytest.mark.usefixtures("few_steps"),
]

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


CHOICE = {"quasi_identifiers": ["x", "y"], "random_state": 3}


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
def test_in_memory(release, table, tmp_path, suffix):
    read, write = (
        (pd.read_csv, table.to_csv) if suffix == ".csv" else (pd.read_parquet, table.to_parquet)
    )
    path = tmp_path / f"in{suffix}"
    write(path, index=False)
    outputs = [tmp_path / f"{i}{suffix}" for i in range(3)]
    for output in outputs:
        release(path, output, **CHOICE, shuffle=output != outputs[0])
    ordered, *shuffled_ones = map(read, outputs)
    assert ordered["place"].tolist() == list(range(N))
    for written in shuffled_ones:
        assert is_random(written["place"].tolist())
        pd.testing.assert_frame_equal(by_place(written), ordered)
    # The seed determines the groups, not the order.
    assert shuffled_ones[0]["place"].tolist() != shuffled_ones[1]["place"].tolist()


@pytest.mark.slow
def test_on_dask(release, folder, tmp_path):
    pytest.importorskip("dask.dataframe")
    outputs = [tmp_path / f"out{i}" for i in range(3)]
    for output in outputs:
        release(folder, output, **CHOICE, engine="dask", shuffle=output != outputs[0])
    ordered, *shuffled_ones = map(pd.read_parquet, outputs)
    assert ordered["place"].tolist() == list(range(N))
    for written in shuffled_ones:
        assert is_random(written["place"].tolist())
        pd.testing.assert_frame_equal(by_place(written), ordered, check_dtype=False)
        assert min(Counter(zip(written["x"], written["y"], strict=True)).values()) >= 5
    assert shuffled_ones[0]["place"].tolist() != shuffled_ones[1]["place"].tolist()
    for part in outputs[1].iterdir():
        assert len(set(pd.read_parquet(part)["place"] // 50)) > 2  # rows of other parts
        assert not pq.read_schema(part).metadata


@pytest.mark.slow
def test_rows_in_transit_are_removed(
    release, refused, folder, tmp_path, tmp_path_factory, monkeypatch
):
    pytest.importorskip("dask.dataframe")
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    settings = {**CHOICE, "engine": "dask", "shuffle": True}
    from sk_microagg.release import _out_of_memory

    def fail(pieces, part, path):
        assert [*temporary.glob("shuffle-*/*.arrow")]
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_out_of_memory, "_gather", fail)
        error = refused(folder, tmp_path / "out", **settings, drop=["place"])
    assert str(error).endswith("out cannot be made: No space left on device.")
    assert not [*temporary.glob("shuffle-*")]
    release(folder, tmp_path / "out", **settings)
    assert not [*temporary.glob("shuffle-*")]


@pytest.mark.slow
def test_a_column_with_no_known_value_in_a_part(release, tmp_path):
    pytest.importorskip("dask.dataframe")
    folder = tmp_path / "in"
    folder.mkdir()
    for i, note in enumerate([None, "a"]):
        part = pd.DataFrame({"x": range(10), "note": pd.Series([note] * 10, dtype=object)})
        part.to_parquet(folder / f"{i}.parquet", index=False)
    release(folder, tmp_path / "out", quasi_identifiers=["x"], engine="dask", shuffle=True)
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


def test_the_summary_states_the_order(release, table, tmp_path):
    table.to_csv(tmp_path / "in.csv", index=False)
    for shuffle, words, value in [
        (False, f"that of {tmp_path / 'in.csv'}; --shuffle makes it random", "original"),
        (True, "random", "random"),
    ]:
        paths = tmp_path / "in.csv", tmp_path / f"{value}.csv"
        summary = release(*paths, **CHOICE, shuffle=shuffle)
        assert lines_of(summary.facts["row order"], SHELL) == [words]
        assert summary.to_dict()["row_order"] == value


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_report_is_the_same_but_for_the_file_and_the_order(release, table, tmp_path):
    pytest.importorskip("matplotlib")
    table.to_csv(tmp_path / "in.csv", index=False)
    pages = []
    for shuffle in (False, True):
        report = tmp_path / f"{shuffle}.html"
        paths = tmp_path / "in.csv", tmp_path / f"{shuffle}.csv"
        release(*paths, **CHOICE, report=report, shuffle=shuffle)
        # The minute in which it was written may have passed.
        page = re.sub(r" \d\d:\d\d ", " ", report.read_text(encoding="utf-8"))
        order = "random" if shuffle else "that of the original"
        checksum = sha256(paths[1].read_bytes()).hexdigest()
        for told in (f"<dd>{shuffle}.csv, SHA-256 {checksum}</dd>", f"<dd>{order}</dd>"):
            assert page.count(told) == 1
            page = page.replace(told, "")
        pages.append(page)
    assert pages[0] == pages[1]
