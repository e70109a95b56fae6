"""A file without a header: its first record is never released as names of columns."""

import gzip

import pytest

from sk_microagg.files._format import Format
from sk_microagg.files._messages import RequestError
from sk_microagg.files._table import read_table

NUMBERS = [f"{i},{i % 7 * 1.5},{'ab'[i % 2]}" for i in range(4001, 4031)]
# Each cell but the last occurs once in its column.
NAMES = [f"Zoe{i:03d},born on day {i},{'mf'[i % 2]}" for i in range(30)]


@pytest.fixture
def without_header(write):
    def without_header(rows, name="t.csv"):
        return write(name, "\n".join([*rows, ""]))

    return without_header


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        (NUMBERS, "columns 1, 2 and 3 of 3"),
        (NAMES, "columns 1, 2 and 3 of 3"),
        (
            ["m,f", "m,f"],
            "columns 1 and 2 of 2",
        ),
        (["a,2020-01-02", "b,2021-01-02"], "column 2 of 2"),
        (["a,2020-01-02T10:00Z", "b,2021-01-02T10:00Z"], "column 2 of 2"),
        (["a,1e5", "b,2e5"], "column 2 of 2"),
        (["a,-007", "b,2"], "column 2 of 2"),
        (['a,"1,5"', 'b,"2,5"'], "column 2 of 2"),
        (["a,12 %", "b,13 %"], "column 2 of 2"),
    ],
)
def test_a_missing_header_is_noticed(fails, without_header, tmp_path, rows, where):
    path = without_header(rows)
    line = fails("anonymize", path, tmp_path / "out.csv", "-k", 2)
    assert f"in {where}" in line
    assert "its first row holds a number, a date or what later rows hold" in line
    assert "--no-header" in line
    assert "--header" in line
    message = line.removeprefix(str(path))
    assert not [cell for cell in rows[0].split(",") if len(cell) > 2 and cell in message]


def test_one_name_that_is_also_a_value_is_a_question(run, without_header, tmp_path):
    """A column named male that holds male: the file is released, with a warning and no quote."""
    path = without_header(["male,age", *(f"{'male' if i % 2 else 'fem'},{i}" for i in range(10))])
    outcome = run("anonymize", path, tmp_path / "out.csv", "-k", 2)
    assert outcome.code == 0
    assert (
        "in column 1 of 2, 5 of 10 cells hold the name of the column, first in lines 3, 5 and "
        "7. If the first row is a record, say --no-header, or its values are released as names; "
        "if it holds names, say --header.\n"
    ) in outcome.err
    assert "male" not in outcome.err
    said = run("risk", path, tmp_path / "out.csv", "--quasi-identifiers", "age").err
    assert "5 of 10 cells hold the name of the column" in said
    assert run("anonymize", path, tmp_path / "o.csv", "-k", 2, "--header").err == ""


@pytest.mark.parametrize(
    "header", ["a,b", "x1,2nd", "m²,größe", "2020 total,Q1", ",x", "c1,c2", "inf,nan", "'a',b"]
)
def test_names(write, header):
    path = write("t.csv", f"{header}\n1,\n2,z\n")
    assert read_table(path, None).cells.column_names == header.split(",")


def test_names_that_look_like_values(run, without_header, tmp_path, cells):
    path = without_header(["2019,2020", *(f"{i},{i}" for i in range(10))])
    arguments = ["anonymize", path, tmp_path / "out.csv"]
    assert run(*arguments).code == 1
    assert run(*arguments, "--header").code == 0
    assert list(cells(tmp_path / "out.csv")) == ["2019", "2020"]
    assert run("risk", path, tmp_path / "out.csv").code == 1
    assert run("risk", path, tmp_path / "out.csv", "--header").code == 0


def test_the_first_record_is_a_record_like_others(run, without_header, tmp_path, cells, level):
    output = tmp_path / "out.csv"
    path = without_header(NUMBERS)
    outcome = run("anonymize", path, output, "--no-header", "-q", "c1,c2")
    assert outcome.code == 0
    release = cells(output)
    assert list(release) == ["c1", "c2", "c3"]
    assert release["c3"] == [row[-1] for row in NUMBERS]
    assert level(output, ["c1", "c2"]) >= 5
    assert "4001" not in output.read_text()


@pytest.mark.parametrize("columns", [[], ["-q", "c1,c2"]])
def test_the_first_record_of_text_is_not_released(run, without_header, tmp_path, columns):
    output = tmp_path / "out.csv"
    path = without_header(NAMES)
    assert run("anonymize", path, output, "--no-header", "--quiet", *columns).code == 0
    assert "Zoe000" not in output.read_text()
    assert "day 0" not in output.read_text()
    assert len(output.read_text().splitlines()) == 1 + len(NAMES)


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz"])
def test_other_files_without_a_header(write, name):
    content = b"1\t2\n" if name == "t.tsv" else gzip.compress(b"1,2\n")
    path = write(name, content)
    with pytest.raises(RequestError, match=r"in columns 1 and 2 of 2, .* header='none'"):
        read_table(path, None)
    assert read_table(path, Format(header="none")).cells.to_pydict() == {"c1": ["1"], "c2": ["2"]}


def test_blank_lines_before_the_first_record(write):
    one = read_table(write("1.csv", "\n\n1\n\n2\n"), Format(header="none")).cells
    assert one.to_pydict() == {"c1": ["1", "2"]}
    two = read_table(write("2.csv", "\n\n1,2\n\n3,4\n"), Format(header="none")).cells
    assert two.to_pydict() == {"c1": ["1", "3"], "c2": ["2", "4"]}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("drop", [[], ["--drop", "c1"]])
def test_risk_of_a_release_without_a_header(run, fails, without_header, tmp_path, name, drop):
    path, output = without_header(NUMBERS), tmp_path / name
    arguments = ["--no-header", "-q", "c2", *drop]
    assert run("anonymize", path, output, *arguments).code == 0
    assert "seems to have no header" in fails("risk", path, output)
    outcome = run("risk", path, output, "--no-header", "-q", "c2")
    assert outcome.code == 0
    assert "records           30\n" in outcome.out


def test_risk_of_two_files_without_a_header(run, fails, without_header):
    path = without_header(NUMBERS)
    named = without_header(["x,y,z", *NUMBERS], "named.csv")
    assert str(path) in fails("risk", named, path)
    printed = run("risk", path, path, "--no-header").out
    assert "records           30\n" in printed
    assert "columns           c1, c2, c3\n" in printed


def test_codes_are_not_mistaken_for_made_names(write):
    path = write("t.csv", "c7,c3\nc5,c2\n")
    assert read_table(path, Format(header="none or made")).cells.column_names == ["c1", "c2"]
    path = write("t.csv", "c3,c7\n1,2\n")
    assert read_table(path, Format(header="none or made")).cells.column_names == ["c3", "c7"]
    assert read_table(path, Format(header="none")).cells.column_names == ["c1", "c2"]


def test_both_options(capsys, run):
    with pytest.raises(SystemExit, match="2"):
        run("anonymize", "in.csv", "out.csv", "--header", "--no-header")
    assert "not allowed with argument" in capsys.readouterr().err


def test_the_message_about_a_wrong_separator_shows_no_record(fails, without_header, tmp_path):
    line = fails("anonymize", without_header(["Zoe;34;flu", "Ben;35;gout"]), tmp_path / "out.csv")
    assert "is it --sep ';'" in line
    assert "Zoe" not in line


def test_a_long_cell_is_judged_at_once(write):
    # Without backtracking: 100 000 digits, and a letter.
    name = "1" * 100_000 + "x"
    assert read_table(write("t.csv", f"{name}\na\n"), None).cells.column_names == [name]
