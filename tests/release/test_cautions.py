import datetime

import pandas as pd
import pyarrow as pa
import pytest

from sk_microagg.files._table import Table
from sk_microagg.release._cautions import identifiers

dd = pytest.importorskip("dask.dataframe")
from sk_microagg.release import _columns_on_dask  # noqa: E402
from sk_microagg.release._columns_on_dask import count_on_dask, identifiers_on_dask  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

N = 100
COLUMNS = {
    "text": [f"P{i}" for i in range(N)],
    "integers": range(N),
    "floats": [i + 0.25 for i in range(N)],
    "days": [datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in range(N)],
    "a blank": [None, *(f"P{i}" for i in range(N - 1))],
    "a duplicate": ["P0", *(f"P{i}" for i in range(N - 1))],
    "few known": [f"P{i}" if i < 10 else None for i in range(N)],
    "lists": [[i] for i in range(N)],
    "91 of 100": [min(i, 90) for i in range(N)],
    # The following are not identifiers.
    "90 of 100": [min(i, 89) for i in range(N)],
    "halves": [i // 2 for i in range(N)],
    "one known": ["P0", *[None] * (N - 1)],
    "none known": [None] * N,
}
IDENTIFIERS = list(COLUMNS)[: list(COLUMNS).index("90 of 100")]


def test_of_types():
    table = Table(pa.table({name: pa.array(list(c)) for name, c in COLUMNS.items()}), False)
    assert identifiers(table, list(COLUMNS)) == IDENTIFIERS
    assert identifiers(table, ["halves", "text"]) == ["text"]
    assert identifiers(table, []) == []


def test_of_text():
    cells = {n: ["NA" if cell is None else f" {cell}" for cell in c] for n, c in COLUMNS.items()}
    assert identifiers(Table(pa.table(cells), True), list(COLUMNS)) == IDENTIFIERS


def test_of_categories_and_nan():
    table = {
        "codes": pa.array(COLUMNS["text"]).dictionary_encode(),
        "nan": [float("nan")] * 40 + list(range(60)),
    }
    assert identifiers(Table(pa.table(table), False), list(table)) == list(table)


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("n_keys", [100_000, 40])
def test_on_dask(monkeypatch, n_parts, n_keys):
    monkeypatch.setattr(_columns_on_dask, "N_KEYS", n_keys)
    frame = dd.from_pandas(pd.DataFrame(COLUMNS), npartitions=n_parts)
    names = identifiers_on_dask(count_on_dask(frame, list(COLUMNS)), list(COLUMNS))
    if n_keys < N:  # A sample is not exact between 89% and 91%.
        names = [name for name in names if name != "90 of 100"]
    assert set(IDENTIFIERS) - set(names) <= ({"91 of 100"} if n_keys < N else set())
    assert set(names) <= set(IDENTIFIERS)


@pytest.fixture
def table(tmp_path):
    """A CSV file and a Parquet file of the same table, with 17 identifiers."""
    rows = {f"id{j}": [f"P{i}" for i in range(20)] for j in range(17)}
    frame = pd.DataFrame({"x": range(20), **rows})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    return tmp_path / "t"


ENGINES = [(".csv", "out.csv", "memory"), (".parquet", "out", "dask")]


@pytest.mark.parametrize(("suffix", "output", "engine"), ENGINES)
def test_at_most_five_lines_and_a_count(run, table, tmp_path, suffix, output, engine):
    arguments = [table.with_suffix(suffix), tmp_path / output, "--engine", engine, "--quiet"]
    *lines, last, together = run("anonymize", *arguments, "-q", "x").err.splitlines()
    assert [line.split("'")[1] for line in lines] == ["id0", "id1", "id2", "id3", "id4"]
    assert all(line.startswith("sk-microagg: warning: column ") for line in lines)
    assert last == "sk-microagg: warning: and 12 more"
    assert "unique by what comes out unchanged, id0, id1, id2, id3, id4, id5, id6, id7" in together
    assert " and 9 more columns;" in together


@pytest.mark.parametrize(("suffix", "output", "engine"), ENGINES)
def test_columns_that_do_not_come_out_as_they_are(run, table, tmp_path, suffix, output, engine):
    arguments = [table.with_suffix(suffix), tmp_path / output, "--engine", engine, "--quiet"]
    arguments += ["-q", "x", "--drop", ",".join(f"id{j}" for j in range(17))]
    assert run("anonymize", *arguments) == (0, "", "")
