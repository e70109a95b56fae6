"""What the user says about single columns, on the command line."""

import pytest

from sk_microagg._cli._parser import make_parser


@pytest.mark.parametrize(
    "arguments",
    [
        ["--categories", "median"],
        ["--decimal", "12"],
        ["--thousands", "5"],
        ["--encoding", "latin-99"],
        ["--sep", ";;"],
    ],
)
def test_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as error:
        make_parser().parse_args(["anonymize", "in.csv", "out.csv", *arguments])
    assert error.value.code == 2
    assert f"argument {arguments[0]}: " in capsys.readouterr().err


def test_marks_that_mean_two_things(fails, write, tmp_path):
    line = fails("anonymize", write("t.csv", "a\n1\n"), tmp_path / "out.csv", "--thousands", ".")
    assert line == "--thousands '.' is the decimal mark as well: name another mark by --decimal."


@pytest.mark.parametrize(
    ("options", "ages"),
    [([], "22"), (["--round", "1"], "21.5"), (["--round", "age=-1"], "20")],
)
def test_rounding(run, write, tmp_path, cells, options, ages):
    path = write("t.csv", "age,size\n" + "".join(f"{20 + i},{i}.25\n" for i in range(4)))
    output = tmp_path / "out.csv"
    assert run("anonymize", path, output, "-k", 4, *options).code == 0
    assert cells(output)["age"] == [ages] * 4


def test_ordinals_are_released_as_values(run, write, tmp_path, cells):
    sizes = ["small", "medium", "large"]
    path = write("t.csv", "age,size\n" + "".join(f"{i // 4},{sizes[i // 4]}\n" for i in range(12)))
    output = tmp_path / "out.csv"
    options = ["--ordinal", "size=small<medium<large"]
    assert run("anonymize", path, output, "-k", 12, *options).code == 0
    assert cells(output)["size"] == ["medium"] * 12


RARE = "a,g\n" + "1,10\n1,40\n" * 2 + "9,70\n" * 4 + "9,20\n"


@pytest.mark.parametrize(
    ("options", "first", "last"),
    [
        (["-k", 4], "70", "70"),
        (["-k", 5], "", ""),
        (["-k", 4, "--ordinal", "g=10<20<40<70"], "20", "70"),
        (["-k", 4, "--method", "kaim"], "*", "*"),
    ],
)
def test_ordinals_that_few_records_have_are_not_released(
    run, write, tmp_path, cells, options, first, last
):
    output = tmp_path / "out.csv"
    options = options if "--ordinal" in options else [*options, "--ordinal", "g"]
    assert run("anonymize", write("t.csv", RARE), output, *options).code == 0
    released = cells(output)["g"]
    assert (released[0], released[-1]) == (first, last)


def test_ordinals_that_few_people_have_are_not_released(run, write, tmp_path, cells):
    rows = [f"{g},{person}\n" for g, person in zip("11112222", "aaaabcde", strict=True)]
    path = write("t.csv", "g,person\n" + "".join(rows))
    output = tmp_path / "out.csv"
    assert run("anonymize", path, output, "-k", 4, "--ordinal", "g", "--unit", "person").code == 0
    assert cells(output)["g"] == ["2"] * 8


def test_a_hierarchy_makes_categories(run, fails, write, tmp_path, cells):
    path = write("t.csv", "born\n" + "".join(f"2020-01-0{i // 2 + 1}\n" for i in range(6)))
    (tmp_path / "h").mkdir()
    write("h/born.csv", "".join(f"2020-01-0{day};January;*\n" for day in (1, 2, 3)))
    options = ["-k", 6, "--hierarchies", tmp_path / "h"]
    output = tmp_path / "out.csv"
    assert "has a hierarchy" in fails("anonymize", path, output, *options, "--date", "born")
    assert run("anonymize", path, output, *options, "--categories", "generalize").code == 0
    assert cells(output)["born"] == ["January"] * 6


@pytest.mark.parametrize(
    "option", [["--ordinal", "x"], ["--number", "x"], ["--date", "x"], ["--categories", "mode"]]
)
def test_on_dask(fails, numbers, tmp_path, option):
    line = fails("anonymize", numbers, tmp_path / "out", "--engine", "dask", *option)
    assert line == f"{option[0]} needs --engine memory."
