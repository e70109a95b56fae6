"""Excel files, read and written."""

import datetime
import sys
import time
from collections import Counter

import pytest
from marks import exact_means

from sk_microagg.files._table import read_table

openpyxl = pytest.importorskip("openpyxl", reason="Excel files need the extra 'table'")

N, K = 24, 4
DAY = datetime.datetime(2020, 1, 1)
HEADER = ["age", "zip", "born", "seen", "share", "sex", "note"]


def person(i):
    group = i // K
    return [
        20 + 10 * group + i % 2,
        f"0{group + 1:04d}",
        DAY + datetime.timedelta(days=100 * group),
        DAY + datetime.timedelta(hours=20 * group + 10),
        round(0.25 + 0.1 * group, 2),
        ["f", "m"][group % 2],
        "=1+1" if i else None,
    ]


@pytest.fixture
def book(tmp_path):
    """An Excel file of people on its second sheet; the first has two numbers."""
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1, 2.5], [2, 3.5]):
        book.active.append(row)
    sheet = book.create_sheet("people")
    sheet.append(HEADER)
    for i in range(N):
        sheet.append(person(i))
    for (cell,) in sheet["E2" : f"E{N + 1}"]:
        cell.number_format = "0.0%"
    for (cell,) in sheet["G3" : f"G{N + 1}"]:
        cell.data_type = "s"
    book.save(path)
    return path


def cells_of(path, sheet=None):
    book = openpyxl.load_workbook(path)
    return [[*row] for row in (book[sheet] if sheet else book.active).iter_rows()]


def values_of(path):
    return [[cell.value for cell in row] for row in cells_of(path)]


def test_types_and_formats_are_kept(release, book, tmp_path):
    output = tmp_path / "out.xlsx"
    columns = ["age", "born", "seen", "share"]
    release(book, output, sheet="people", quasi_identifiers=columns, k=K)
    header, *rows = cells_of(output)
    assert [cell.value for cell in header] == HEADER
    assert len(rows) == N
    for i, row in enumerate(rows):
        others = person(i)[1:]
        assert row[0].value == 20 + 10 * (i // K)
        assert [cell.value for cell in row[1:]] == others
        assert row[4].number_format == "0.0%"
        assert row[2].is_date
        assert row[3].is_date
    assert Counter(row[0].value for row in rows) == {20 + 10 * group: K for group in range(N // K)}
    assert rows[1][6].data_type == "s"  # not a formula


def test_the_same_release_is_the_same_file(release, book, tmp_path, monkeypatch):
    settings = {"sheet": "people", "quasi_identifiers": ["age", "born"], "k": K}
    outputs = [tmp_path / "first.xlsx", tmp_path / "later.xlsx"]
    release(book, outputs[0], **settings)
    later = time.time() + 100_000
    monkeypatch.setattr(time, "time", lambda: later)
    release(book, outputs[1], **settings)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    properties = openpyxl.load_workbook(outputs[0]).properties
    assert properties.created == properties.modified == datetime.datetime(1980, 1, 1)


def test_categories_and_codes(release, book, tmp_path):
    output = tmp_path / "out.xlsx"
    release(book, output, sheet="people", quasi_identifiers=["age", "zip", "sex"], k=K)
    rows = values_of(output)[1:]
    assert min(Counter((row[0], row[1], row[5]) for row in rows).values()) >= K
    assert {row[1] for row in rows} <= {*(f"0{group + 1:04d}" for group in range(N // K)), "*"}


@exact_means
def test_the_first_sheet_by_default(release, book, tmp_path):
    output = tmp_path / "out.xlsx"
    release(book, output, k=2, decimals=1)
    assert values_of(output) == [["x", "y"], [1.5, 3], [1.5, 3]]


def test_no_such_sheet(refused, book, tmp_path):
    error = refused(book, tmp_path / "out.csv", sheet="persons")
    assert str(error) == f"sheet='persons' is not in {book}, which has 'Sheet', 'people'."


def test_texts_that_mean_missing_and_unchanged_cells(release, refused, tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["age", "note", None])
    for i in range(10):
        book.active.append([30 + i % 2 if i else "nil", ["NA", 5, "x"][i % 3]])
    path, output = tmp_path / "t.xlsx", tmp_path / "out.xlsx"
    book.save(path)
    settings = {"quasi_identifiers": ["age"], "k": 2}
    error = refused(path, output, **settings)
    assert (error.code, error.column) == ("do_not_fit", "age")
    release(path, output, **settings, na=["nil"])
    assert [row[1] for row in values_of(output)[1:]] == [["NA", "5", "x"][i % 3] for i in range(10)]


def test_to_and_from_csv(release, write, tmp_path, cells):
    content = "age,height,born\n" + "".join(
        f"{i // 4},1.{i // 4}0,2020-01-0{i // 4 + 1}\n" for i in range(8)
    )
    path = write("t.csv", content)
    release(path, tmp_path / "out.xlsx", k=4)
    assert values_of(tmp_path / "out.xlsx")[1] == [0, 1.0, DAY]
    release(tmp_path / "out.xlsx", tmp_path / "out.csv", k=4)
    assert cells(tmp_path / "out.csv") == {
        "age": [*"00001111"],
        "height": ["1.0"] * 4 + ["1.1"] * 4,
        "born": ["2020-01-01"] * 4 + ["2020-01-02"] * 4,
    }


def test_without_a_header(release, refused, tmp_path):
    book = openpyxl.Workbook()
    for i in range(4):
        book.active.append([i, "x"])
    path, output = tmp_path / "t.xlsx", tmp_path / "out.xlsx"
    book.save(path)
    assert refused(path, output, k=4).code == "no_header"
    release(path, output, k=4, header="none", quasi_identifiers=["c1"])
    assert values_of(output) == [["c1", "c2"], *[[2, "x"]] * 4]


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 cut off"])
def test_no_excel_file(refused, write, tmp_path, content):
    error = refused(write("t.xlsx", content), tmp_path / "out.csv")
    assert "t.xlsx is not an Excel file: " in str(error)


def test_an_empty_sheet(refused, tmp_path):
    openpyxl.Workbook().save(tmp_path / "t.xlsx")
    assert refused(tmp_path / "t.xlsx", tmp_path / "out.csv").code == "empty_file"


def test_control_characters(refused, write, tmp_path):
    path = write("t.csv", "x,note\n1,a\x07\n2,a\x07\n")
    error = refused(path, tmp_path / "out.xlsx", k=2, quasi_identifiers=["x"])
    assert str(error).startswith("A cell has a control character, which Excel files cannot hold")


def test_without_openpyxl(refused, write, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    error = refused(write("t.xlsx", b""), tmp_path / "out.csv")
    assert str(error).endswith("t.xlsx: Excel needs openpyxl: install sk-microagg[table].")
    error = refused(write("t.csv", "x\n1\n2\n"), tmp_path / "out.xlsx", k=2)
    assert str(error).endswith("Excel needs openpyxl: install sk-microagg[table].")


def test_blank_rows_of_a_single_column_are_missing_values(release, tmp_path):
    """Thirty people, of whom ten have no age, are thirty rows of the release."""
    book = openpyxl.Workbook()
    book.active.append([None])
    book.active.append(["age"])
    for i in range(30):
        book.active.append([None if i % 3 == 1 else 30 + i % 2])
    book.save(tmp_path / "t.xlsx")
    release(tmp_path / "t.xlsx", tmp_path / "out.csv", k=5)
    ages = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert len(ages) == 30
    table = read_table(str(tmp_path / "t.xlsx"))
    assert table.cells["age"].null_count == 10
    assert table.rows.of([0, 29]) == ["3", "32"]
    # Of several columns, a blank row is none.
    wide = openpyxl.Workbook()
    for row in (["age", "sex"], [30, "f"], [None, None], [31, "m"]):
        wide.active.append(row)
    wide.save(tmp_path / "wide.xlsx")
    assert len(read_table(str(tmp_path / "wide.xlsx")).cells) == 2
