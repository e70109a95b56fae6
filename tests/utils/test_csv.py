"""The reader of CSV files that all parts of the package use."""

import io

import pytest

from sk_microagg._utils._csv import CSVError, read_csv_rows


@pytest.mark.parametrize(
    "content",
    [b"a;b\n1;2\n", b"\xef\xbb\xbfa;b\r\n1;2", b"\na;b\n\n1;2\n\n", b'\xef\xbb\xbf"a";b\n1;"2"\n'],
    ids=["plain", "mark", "blank lines", "mark and quotes"],
)
def test_paths_and_open_files(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    expected = [["a", "b"], ["1", "2"]]
    assert read_csv_rows(path, sep=";") == read_csv_rows(str(path), sep=";") == expected
    assert read_csv_rows(io.StringIO(content.decode(), newline=""), sep=";") == expected


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.csv").touch()
    assert read_csv_rows(tmp_path / "empty.csv") == []


@pytest.mark.parametrize("name", ["PAR1", "%PDF"])
def test_a_column_may_have_the_name_of_another_kind_of_file(tmp_path, name):
    path = tmp_path / "table.csv"
    path.write_text(f"{name},b\n1,2\n")
    assert read_csv_rows(path) == [[name, "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'a,b\n"1"2,3\n', r"table\.csv, line 2: ',' expected after '\"'"),
        (b'a,b\n1,"2\n', r"table\.csv, line 2: "),
        (b"a,b\n1,\xe9\n", r"table\.csv .*UTF-8"),
        (b"PAR1\x15\0\x15", r"table\.csv .*Parquet"),
        (b"%PDF-1.7\n\0", r"table\.csv .*PDF"),
        (b"\x1f\x8b\x08", r"table\.csv .*\.gz"),
        (b"a,b\0\n", r"table\.csv .*binary"),
    ],
)
def test_errors_name_the_file(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(CSVError, match=message):
        read_csv_rows(path)


def test_a_file_without_a_name():
    with pytest.raises(CSVError, match=r"^the file, line 1: "):
        read_csv_rows(io.StringIO('a,"b'))
