import datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_microagg.files._columns import table_of
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import RequestError
from sk_microagg.files._table import read_table, write_table


def by_column(release):
    """A release with one column for each, by their names."""
    return {name: table_of(release[[name]]) for name in release}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.parquet"])
@pytest.mark.parametrize("sep", [None, ";"])
def test_round_trip(tmp_path, name, sep):
    cells = pa.table({"a": ["1.10", "x\ty"], "b": ["", ",;"]})
    write_table(cells, tmp_path / name, Format(sep))
    table = read_table(tmp_path / name, Format(sep))
    assert table.cells.equals(cells)
    assert table.is_text == (name != "t.parquet")


def test_tsv_has_tabs_whatever_the_separator(tmp_path):
    write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "t.tsv", Format(";"))
    assert (tmp_path / "t.tsv").read_text() == "a\tb\n1\t2\n"


def test_release_takes_the_places_of_columns(write):
    table = read_table(write("t.csv", "a,b,c\n1,2.50,x\n3,4,y\n"), None)
    release = by_column(pd.DataFrame({"c": ["*", "*"], "a": [2, 2]}))
    cells = table.with_released(release, table.columns(["c", "a"]), ["a", "b", "c"])
    assert cells.to_pydict() == {"a": ["2", "2"], "b": ["2.50", "4"], "c": ["*", "*"]}
    cells = table.with_released(release, table.columns(["a"]), ["a", "b"], has_types=True)
    assert cells.to_pydict() == {"a": [2, 2], "b": ["2.50", "4"]}
    assert table.with_released(release, [], ["b"]).to_pydict() == {"b": ["2.50", "4"]}


def test_other_columns_keep_their_types(tmp_path):
    frame = pd.DataFrame(
        {
            "age": pd.array([30, 40], dtype="Int64"),
            "count": pd.array([1, None], dtype="Int64"),
            "day": [datetime.date(2020, 1, 2), None],
            "kind": pd.Categorical(["x", "y"]),
            "parts": [[1, 2], [3]],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", None)
    cells = table.with_released(
        by_column(pd.DataFrame({"age": ["[30, 40]"] * 2})), table.columns(["age"]), list(frame)
    )
    write_table(cells, tmp_path / "out.parquet", None)
    before, after = (pq.read_table(tmp_path / name) for name in ("t.parquet", "out.parquet"))
    assert before.drop_columns("age").equals(after.drop_columns("age"))
    assert pd.read_parquet(tmp_path / "out.parquet")["age"].tolist() == ["[30, 40]"] * 2


def test_text_in_a_column_with_a_type_has_a_notation(tmp_path):
    pq.write_table(pa.table({"day": ["31/01/2020"], "x": [1]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    declared = Declared(kinds={"day": "date"}, date_patterns={"day": "%d/%m/%Y"})
    columns = table.columns(["day", "x"], declared, is_strict=True)
    release = {column.name: pa.table({column.name: column.cells}) for column in columns}
    written = table.with_released(release, columns, ["day", "x"])
    assert written.to_pydict() == {"day": ["31/01/2020"], "x": [1]}
    written = table.with_released(release, columns, ["day", "x"], has_types=True)
    assert written.to_pydict() == {"day": [datetime.date(2020, 1, 31)], "x": [1]}


def test_nan_is_missing_in_a_column_with_a_type(tmp_path):
    nan = float("nan")
    cells = pa.table({"x": [1.5, nan, None], "none": [nan, None, nan]})
    pq.write_table(cells, tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    x, none = table.columns(["x", "none"])
    assert (x.cells.null_count, none.kind) == (2, "empty")
    assert table.as_text(["x"])["x"].tolist() == ["1.5", None, None]
    assert table.known("none").to_pylist() == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "a,b,a\n1,2,3\n", "has 2 columns named 'a'"),
        ("t.csv", "a,b\n", "no records"),
        ("t.parquet", "a,b\n1,2\n", "Parquet"),
        ("t.parquet", "", "Parquet"),
        ("t.txt", "a,b\n1,2\n", "must end in"),
    ],
)
def test_no_table(write, name, content, message):
    with pytest.raises(RequestError, match=message):
        read_table(write(name, content), None)


def test_an_empty_parquet_file(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(RequestError, match="no records"):
        read_table(tmp_path / "t.parquet", None)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_neither_missing_files_nor_folders_are_tables(tmp_path, name):
    with pytest.raises(RequestError, match="No such file"):
        read_table(tmp_path / name, None)
    (tmp_path / name).mkdir()
    with pytest.raises(RequestError, match="is a folder"):
        read_table(tmp_path / name, None)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_nothing_is_left_of_a_table_that_cannot_be_written(tmp_path, monkeypatch, name):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    (tmp_path / name).write_text("before")
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(RequestError, match="No space left on device"):
        write_table(pa.table({"a": [1]}), tmp_path / name, None)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_no_record_has_are_removed(tmp_path, ordered):
    wards = pd.Categorical(["C", None, "A", "C"], ["Jane Doe", "C", "B", "A"], ordered=ordered)
    frame = pd.DataFrame({"age": [30, 31, 32, 33], "ward": wards})
    # Groups of rows may each have categories of their own.
    frame.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=2)
    table = read_table(tmp_path / "t.parquet", None)
    write_table(
        table.with_released(by_column(frame[["age"]]), table.columns(["age"]), list(frame)),
        tmp_path / "out.parquet",
        None,
    )
    assert b"Jane Doe" in (tmp_path / "t.parquet").read_bytes()
    assert b"Jane Doe" not in (tmp_path / "out.parquet").read_bytes()
    ward = pd.read_parquet(tmp_path / "out.parquet")["ward"]
    assert ward.equals(frame["ward"].cat.remove_unused_categories())


def test_a_categorical_column_without_values(tmp_path):
    frame = pd.DataFrame({"age": [30, 31], "ward": pd.Categorical([None, None], ["Jane Doe"])})
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    table = read_table(tmp_path / "t.parquet", None)
    cells = table.with_released(by_column(frame[["age"]]), table.columns(["age"]), list(frame))
    assert cells["ward"].to_pylist() == [None, None]
    assert cells["ward"].chunk(0).dictionary.to_pylist() == []


@pytest.mark.parametrize(("name", "decimals"), [("t.csv", 1), ("t.parquet", None)])
def test_means_of_floats_in_parquet_are_not_rounded(tmp_path, name, decimals):
    frame = pd.DataFrame({"x": [1.5, 2.5]})
    if name == "t.csv":
        frame.to_csv(tmp_path / name, index=False)
    else:
        frame.to_parquet(tmp_path / name)
    [column] = read_table(tmp_path / name).columns(["x"])
    assert column.notation.decimals == decimals


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    """As Dask writes them: one file for each part, in their order."""
    folder = tmp_path / "table.parquet"
    folder.mkdir()
    for part in range(3):
        cells = pa.table({"a": [2 * part, 2 * part + 1], "b": ["x", "y"]})
        pq.write_table(cells, folder / f"part.{part}.parquet")
    read = read_table(str(folder))
    assert read.cells["a"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert not read.is_text
