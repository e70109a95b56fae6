"""What a new user is told of files and options that do not fit."""

import gzip

import pytest

from sk_microagg._cli._parser import make_parser
from sk_microagg._utils._writing import SUFFIXES_OF_PAGES
from sk_microagg.cli import main
from sk_microagg.files._format import Format

TABLE = "age,town\n" + "".join(f"{i},{'AB'[i % 2]}\n" for i in range(12))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.csv",
            gzip.compress(TABLE.encode(), mtime=0),
            "not a CSV file, but a gzip file: name it .gz.",
        ),
        ("t.csv", b"PK\x03\x04\x14\0...", "a zip file: if it is of Excel, name it .xlsx."),
        ("t.csv", b"PAR1\x15\0...", "but a Parquet file: name it .parquet."),
        ("t.csv", TABLE.encode("utf-16-le"), "but maybe in utf-16-le. Name its encoding by --enc"),
        (
            "t.csv",
            'a,b\n1,"x\n',
            "line 2: unexpected end of data: a double quote has no",
        ),
        ("t.csv", "a,b,a\n1,2,3\n", "has 2 columns named 'a': names of columns must differ."),
        ("t.txt", TABLE, ".xlsx, .parquet. As -, CSV is read from standard input."),
        ("t.csv", '""\n1\nx\n2\n', "'': some cells are numbers, some are not: name texts that"),
    ],
)
def test_files(fails, write, tmp_path, name, content, message):
    path = write(name, content)
    assert message in fails("anonymize", path, tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "x.pdf"], "--report x.pdf must end in .html or .htm: reports are written as"),
        (["--report", "x"], "--report x must end in .html or .htm"),
        (["--sheet", "one"], "--sheet one is for Excel files, but"),
        (
            ["--encoding", "utf-16"],
            "Name another encoding by --encoding, or leave it out for",
        ),
        (
            ["--ordinal", "town=A<C"],
            "some are not: name texts that mean missing by --na, or complete the order.",
        ),
        (["--engine", "dask", "--na", "-"], "--na needs --engine memory."),
        (
            ["-q", "Aeg"],
            "--quasi-identifiers names 'Aeg', but the columns are 'age', 'town'. "
            "Did you mean 'age'?",
        ),
        (
            ["--round", "town=1"],
            "--round names 'town', which must hold numbers, but is of the kind",
        ),
        (["--drop", "age,town"], "There is no column left to anonymize: --drop names all."),
    ],
)
def test_options(fails, write, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in fails("anonymize", write("t.csv", TABLE), "out.csv", *options)


@pytest.mark.parametrize("command", ["anonymize", "risk"])
def test_a_separator_that_has_no_effect(fails, write, tmp_path, command):
    path = write("t.tsv", TABLE.replace(",", "\t"))
    line = fails(command, path, tmp_path / "out.tsv", "--sep", ";")
    assert line == "--sep ';' is for .csv files: .tsv files have tabs, and others have none."


def test_a_separator_of_what_explore_writes():
    options = make_parser().parse_args(["explore", "t.tsv", "--sep", ";"])
    assert Format.from_request(options).sep == ";"


@pytest.mark.parametrize("names", [["", "out.csv"], ["t.csv", ""]])
def test_names_that_are_empty(fails, write, tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    write("t.csv", TABLE)
    assert fails("anonymize", *names).startswith("''")


def test_an_option_that_does_not_exist(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["anonymize", "in.csv", "out.csv", "--sensitve", "age"])
    assert "--sensitve age (did you mean --sensitive?)\n" in capsys.readouterr().err


def test_repeated_options_add_up(run, write, tmp_path):
    path, output = write("t.csv", "a,b,c\n" + "1,2,3\n" * 6), tmp_path / "out.csv"
    assert run("anonymize", path, output, "--drop", "a", "--drop", "b").code == 0
    assert output.read_text() == "c\n" + "3\n" * 6


@pytest.mark.parametrize("method", ["aggregate", "kaim"])
def test_k_of_1(run, write, tmp_path, method):
    arguments = ["anonymize", write("t.csv", TABLE), tmp_path / "out.csv", "-k", 1, "--quiet"]
    outcome = run(*arguments, "--method", method)
    assert outcome.code == 0
    assert outcome.err.startswith("sk-microagg: warning: k=1: nothing is anonymized, since each ")


def test_a_column_of_which_nothing_is_released(run, write, tmp_path):
    rows = [f"{age},person {age}" for age in range(20, 32)]
    path, output = write("t.csv", "\n".join(["age,name", *rows, ""])), tmp_path / "out.csv"
    outcome = run("anonymize", path, output, "-k", 3)
    assert outcome.code == 0
    lines = [line for line in outcome.err.splitlines() if "warning" in line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "sk-microagg: warning: Column 'name' is released as missing almost everywhere: its values "
    )
    assert "person" not in outcome.err
    assert "warning" not in run("anonymize", path, tmp_path / "other.csv", "--drop", "name").err


@pytest.mark.parametrize("suffix", [*SUFFIXES_OF_PAGES, ".HTML"])
def test_names_of_reports(fails, write, tmp_path, monkeypatch, suffix):
    """They are accepted: what is missing is another thing."""
    monkeypatch.chdir(tmp_path)
    line = fails("anonymize", write("t.csv", "a\n"), "out.csv", "--report", f"r{suffix}")
    assert line.endswith("has no records.")


def test_means_have_as_many_digits_as_the_column(run, write, tmp_path):
    rows = [f"{i},{i}.25,{i}.5e-7,{1000 + i}" for i in (1, 2, 4)]
    path, output = write("t.csv", "\n".join(["a,b,c,d", *rows, ""])), tmp_path / "out.csv"
    outcome = run("anonymize", path, output, "-k", 3)
    assert (
        "c: number (all 3 cells are numbers); released: mean, rounded to 3 significant digits"
        in (" ".join(outcome.out.split()))
    )
    assert output.read_text() == "a,b,c,d\n" + "2,2.58,2.83e-07,1002\n" * 3
