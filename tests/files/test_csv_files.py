import csv
import gzip
import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sk_microagg.files._csv_files import ROWS_AT_A_TIME, read_csv, write_csv
from sk_microagg.files._format import FileStyle, Format
from sk_microagg.files._messages import RequestError


def read(path, sep=None, is_compressed=False, encoding="utf-8"):
    format = Format(header="given", encoding=encoding)
    return read_csv(path, format, sep=sep, is_compressed=is_compressed)[0].to_pydict()


def write_table(table, path, sep=None, is_compressed=False):
    write_csv(table, path, "utf-8", FileStyle(), sep=sep, is_compressed=is_compressed)


def test_all_cells_are_text_as_in_the_file(write):
    path = write("t.csv", 'a,"b ""c""",\n1.10, x ,\n"1,5","two\r\nlines",NA\n')
    assert read(path) == {"a": ["1.10", "1,5"], 'b "c"': [" x ", "two\r\nlines"], "": ["", "NA"]}


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\xef\xbb\xbfa,b\r\n1,2", b"\na,b\n\n1,2\n\n"])
def test_byte_order_marks_line_ends_and_blank_lines(write, content):
    assert read(write("t.csv", content)) == {"a": ["1"], "b": ["2"]}


def test_a_column_of_its_own_may_have_empty_cells(write):
    """Blank lines are no records; as pandas and others write it, an empty cell is in quotes."""
    assert read(write("t.csv", 'a\n1\n""\n2\n')) == {"a": ["1", "", "2"]}
    assert read(write("t.csv", "\na\n1\n\n2\n\n\n")) == {"a": ["1", "2"]}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("other", ["\n", "\r\n", "\r"])
def test_line_ends_inside_quotes_are_not_those_of_lines(write, end, other):
    path = write("t.csv", f'"a{other}b",c{end}1,2{end}')
    cells, style, *_ = read_csv(path, Format(), sep=None, is_compressed=False)
    assert style.line_end == end
    assert cells.to_pydict() == {f"a{other}b": ["1"], "c": ["2"]}


def test_other_separators(write):
    assert read(write("t.csv", "a;b\n1,5;2\n"), sep=";") == {"a": ["1,5"], "b": ["2"]}


@pytest.mark.parametrize(("header", "sep"), [("a;b", ";"), ("a\tb", r"\\t"), ("a|b", r"\|")])
def test_a_separator_that_looks_wrong(write, header, sep):
    path = write("t.csv", f"{header}\n1\n")
    with pytest.raises(RequestError, match=f"is it sep='{sep}'"):
        read(path)
    assert list(read(path, sep=",")) == [header]


def test_more_rows_than_are_read_at_a_time(write):
    n_rows = 2 * ROWS_AT_A_TIME + 1
    table = read(write("t.csv", "a,b\n" + "".join(f"{i},x\n" for i in range(n_rows))))
    assert table["a"] == [str(i) for i in range(n_rows)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n1,2\n1,2,3\n", "1 of 2 rows has more or fewer cells .* in line 3"),
        (b"a,b\n1\n", "the only row has more or fewer cells .* in line 2"),
        (b'a,b\n"1"2,3\n', "line 2: ',' expected after '\"'"),
        (b'a,b\n1,"2\n', "line 2: "),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "binary"),
        (b"a,b\n1,\xe9\n", "UTF-8"),
        (b"\xff\xfea\x00,\x00b\x00", "UTF-16"),
    ],
)
def test_no_csv(write, content, message):
    with pytest.raises(RequestError, match=message):
        read(write("t.csv", content))


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,2\n", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20]],
    ids=["plain", "cut off"],
)
def test_no_gzip(write, content):
    with pytest.raises(RequestError, match="gzip"):
        read(write("t.csv.gz", content), is_compressed=True)


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("sep", [None, ";"])
def test_round_trip(tmp_path, sep, is_compressed):
    cells = {"a": ["1.10", "", ' "x"', "a;b,c", "\n", "ü"], "b,": ["\r", "\r\n", "'", "'", "-", ""]}
    paths = tmp_path / "1", tmp_path / "2"
    for path in paths:
        write_table(pa.table(cells), path, sep, is_compressed)
        assert read(path, sep, is_compressed) == cells
    assert paths[0].read_bytes() == paths[1].read_bytes()


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=12),
    st.sampled_from([",", ";", "\t", "|", " "]),
)
def test_round_trip_of_any_text(tmp_path_factory, rows, sep):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    cells = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    write_table(pa.table(cells), path, sep)
    assert read(path, sep) == cells


PIECES = st.sampled_from([*'abé 1.;\t\r\n,"', '""', '"a"', '"\n"', '\n"x"', "\r\n", ",,", '","'])
LINES = st.lists(PIECES, max_size=16).map("".join)


@pytest.mark.slow
@settings(deadline=None, max_examples=600)
@given(LINES, st.sampled_from(["", "a,b\n", "a\r\n"]), st.booleans())
def test_any_text_is_read_as_the_csv_module_reads_it(tmp_path_factory, text, header, has_mark):
    """Cells, and the lines in which rows begin, whether pyarrow reads a file or not."""
    path = tmp_path_factory.getbasetemp() / "same.csv"
    path.write_bytes((header + text).encode("utf-8-sig" if has_mark else "utf-8"))
    reader = csv.reader(io.StringIO(header + text, newline=""), strict=True)
    rows, lines, line = [], [], 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        rows = None
    found = error = None
    try:
        found = read_csv(str(path), Format(header="given"), sep=",", is_compressed=False)
    except RequestError as raised:
        error = raised.code
    if rows is None or not rows:
        assert error == ("no_csv" if rows is None else "empty_file")
        return
    if found is None:
        is_ragged = any(len(row) != len(rows[0]) for row in rows)
        has_no_names = rows[0][-2:] == ["", ""]
        assert (error, is_ragged or has_no_names) == ("ragged_rows", True)
        return
    cells, style, names, _ = found
    assert style.has_mark == has_mark
    n_columns = len(cells.column_names)
    padded = [(row + [""] * n_columns)[:n_columns] for row in rows]
    assert padded[0] == cells.column_names
    assert padded[1:] == [
        list(row) for row in zip(*map(pa.ChunkedArray.to_pylist, cells), strict=True)
    ]
    assert names.of(range(len(cells))) == [*map(str, lines[1:])]


def test_round_trip_of_one_column(tmp_path):
    write_table(pa.table({"a": ["", "x", ""]}), tmp_path / "t")
    assert read(tmp_path / "t") == {"a": ["", "x", ""]}


def test_types_as_text(tmp_path):
    table = pa.table({"f": [0.1, float("nan"), None], "i": [1, None, 3], "b": [True, None, False]})
    write_table(table, tmp_path / "t")
    assert (tmp_path / "t").read_text() == "f,i,b\n0.1,1,True\n,,\n,3,False\n"
