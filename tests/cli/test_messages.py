"""What a new user is told of files and options that do not fit."""

import gzip

import pytest

from sk_microagg._cli._parser import make_parser
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
        (
            "t.csv",
            '""\n1\nx\n2\n',
            "'': 1 of 3 cells is no number, in line 3: name texts that mean",
        ),
    ],
)
def test_files(fails, write, tmp_path, name, content, message):
    path = write(name, content)
    assert message in fails("anonymize", path, tmp_path / "out.csv")


# Complete messages, as examples of the style.
OPTIONS = [
    (
        "--report x.pdf",
        "--report x.pdf must end in .html, .htm or .json: reports are written as HTML or JSON. A "
        "browser prints "
        "them as PDF.",
    ),
    ("--sheet one", "--sheet one is for Excel files, but t.csv is none."),
    (
        "--thousands .",
        "--thousands '.' is the decimal mark as well: name another mark by --decimal.",
    ),
    (
        "--ordinal town=A<C",
        "town: 6 of 12 cells are no values of its order, first in lines 3, 5 and 7: name texts "
        "that mean missing by --na town=TEXT, or complete the order.",
    ),
    ("--engine dask --na -", "--na needs --engine memory."),
    ("--engine dask --method kaim", "--method kaim needs --engine memory."),
    (
        "--engine dask --certificate 10",
        "--certificate 10 needs --engine memory: a proof takes all records together.",
    ),
    (
        "--certificate 10 --method kaim",
        "--certificate is not for --method kaim: leave out one of them, or use --release "
        "generalized instead of KAIM.",
    ),
    ("--scenario s.toml", "--scenario needs --report, since it would not be shown otherwise."),
    (
        "--card c.pdf",
        "--card c.pdf must end in .html, .htm, .md or .json: cards are written as HTML, Markdown "
        "or JSON. A browser prints them as PDF.",
    ),
    (
        "--categories shares --report r.html",
        "--report compares column by column: use --categories mode, or --categories generalize, or "
        "leave one of them out.",
    ),
    ("--unit-share 0.1", "--unit-share 0.1 needs --unit: the column that it is about."),
    (
        "--unit town --refiner exchange",
        "--refiner exchange does not know --unit: take one of auto, local_search, "
        "iterated_local_search, annealing, recombination, none.",
    ),
    (
        "-q Aeg",
        "--quasi-identifiers names 'Aeg', but the columns are 'age', 'town'. Did you mean 'age'?",
    ),
    ("--drop age -q age", "Column 'age' is named by --quasi-identifiers and by --drop."),
    (
        "--round town=1",
        "--round names 'town', which must hold numbers, but is of the kind category.",
    ),
    ("--drop age,town", "There is no column left to anonymize: --drop names all."),
]


def test_options(fails, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("t.csv", TABLE)
    for options, message in OPTIONS:
        assert fails("anonymize", "t.csv", "out.csv", *options.split()) == message


def test_warnings(run, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"P{i // 2},{20 + i % 7},{1 + i % 2},text {i},{i}.5" for i in range(60)]
    write("t.csv", "\n".join(["patient,age,sex,remark,cost", *rows, ""]))
    outcome = run("anonymize", "t.csv", "o.csv", "--drop", "patient", "-q", "age,sex,remark")
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    assert all(line.startswith("sk-microagg: warning: ") for line in lines)
    assert [line.removeprefix("sk-microagg: warning: ") for line in lines] == [
        "column 'cost' comes out unchanged, with a different value in almost every row; use "
        "--drop, or name it in --quasi-identifiers",
        "patient has 30 different values in 60 rows: if it names people, k counts their rows, not "
        "the people. Use --unit patient",
        "sex: its few integers may be codes, whose mean is meaningless: use --categorical sex.",
        "Column 'remark' is released as missing almost everywhere: its values differ, and those "
        "that few people have are not released. Use --drop, or generalize it: --hierarchies, with "
        "--categories generalize.",
    ]


def test_only_names_are_warned_of_among_sensitive_columns(run, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i % 7},P{i},{i}.5" for i in range(60)]
    write("t.csv", "\n".join(["age,name,cost", *rows, ""]))
    outcome = run("anonymize", "t.csv", "o.csv", "--sensitive", "name,cost")
    assert outcome.err == (
        "sk-microagg: warning: column 'name' comes out unchanged, with a different value in almost "
        "every row; use --drop, or name it in --quasi-identifiers\n"
    )


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
        main(["anonymize", "in.csv", "out.csv", "--quasi-identifier", "age"])
    err = capsys.readouterr().err
    assert "--quasi-identifier age (did you mean --quasi-identifiers?)\n" in err


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
