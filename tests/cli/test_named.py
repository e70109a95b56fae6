"""Columns of any name, as options name them."""

import pytest

from sk_microagg._cli._arguments import named_columns
from sk_microagg._cli._parser import make_parser
from sk_microagg.files._errors import CommandError

NAMES = ["", "age", " pay ", "income, yearly", "income", "a=b", "a", 'say "hi"', "two\nlines"]


def named(*arguments, names=NAMES):
    options = make_parser().parse_args(["anonymize", "in.csv", "out.csv", *arguments])
    return named_columns(options, names)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([""], [""]),
        (["age", "", "age"], ["age", ""]),
        (["age,a=b, a"], ["age", "a=b", "a"]),
        (["age , pay"], ["age", " pay "]),
        (["income, yearly", "income"], ["income, yearly", "income"]),
        (['age,"income, yearly"'], ["age", "income, yearly"]),
        (['say "hi"', "two\nlines"], ['say "hi"', "two\nlines"]),
    ],
)
@pytest.mark.parametrize(
    "option", ["columns", "drop", "sensitive", "strata", "categorical", "number"]
)
def test_lists_of_columns(option, texts, found):
    arguments = [argument for text in texts for argument in (f"--{option}", text)]
    assert getattr(named(*arguments), option) == found


@pytest.mark.parametrize("option", ["unit", "target"])
@pytest.mark.parametrize("name", NAMES)
def test_one_column(option, name, capsys):
    assert getattr(named(f"--{option}", name), option) == name
    quoted = '"' + name.replace('"', '""') + '"'
    assert getattr(named(f"--{option}", quoted, names=[name]), option) == name
    with pytest.raises(SystemExit, match="2"):
        named(f"--{option}", "age", f"--{option}", "income")
    assert "it is given twice, but must name one column" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("=2", [("", "2")]),
        ("a=b=2,age=3", [("a=b", "2"), ("age", "3")]),
        ("a=1,pay=2", [("a", "1"), (" pay ", "2")]),
        ("income, yearly=2", [("income, yearly", "2")]),
        ('age=3,"income, yearly=2"', [("age", "3"), ("income, yearly", "2")]),
    ],
)
def test_columns_with_values(text, found):
    numbers = [(name, float(value)) for name, value in found]
    assert named("--weights", text).weights == named("--round", text).round == numbers
    assert named("--ordinal", text).ordinal == named("--date", text).date == found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--drop", "Agee"], r"^--drop names 'Agee', but .*\. Did you mean 'age'\?$"),
        (["--drop", "x"], r"^--drop names 'x', but the columns are '', .*lines'\.$"),
        (["--drop", "age,income, year"], "'year', .* that contains a comma must be in double quo"),
        (["--unit", "age,income"], "^--unit names 'age,income', but the columns are"),
        (["--weights", "agee=2"], "^--weights names 'agee'"),
        (["--weights", "age,a=2"], "^--weights: 'age' must have a number, as in age=2"),
        (["--weights", "a=2,age"], "^--weights: 'age' must have a number, as in age=2"),
        (["--weights", "age=0"], "^--weights: '0' must be a number above 0 and at most"),
        (["--weights", "age=x"], "^--weights: 'x' must be a number above 0 and at most"),
        (["--round", "age"], "^--round: 'age' must be an integer from -15 to 15"),
        (["--round", "99"], "^--round: '99' must be an integer from -15 to 15"),
        (["--round", "age=x,2"], "^--round: 'x' must be an integer from -15 to 15"),
    ],
)
def test_names_and_values_that_are_wrong(arguments, message):
    with pytest.raises(CommandError, match=message):
        named(*arguments)


@pytest.mark.parametrize("names", [["a", "b", "a,b"], [" a", "b ", "a,b"]])
def test_a_text_that_is_one_column_or_two(names):
    with pytest.raises(CommandError, match=r"^--drop a,b is one column or 2: name each by --drop"):
        named("--drop", "a,b", names=names)
    assert named("--drop", '"a,b"', names=names).drop == ["a,b"]


def test_many_columns_are_not_all_listed():
    with pytest.raises(CommandError, match=r"'c19' and 480 more\. Did you mean 'c3'\?$"):
        named("--drop", "C3", names=[f"c{i}" for i in range(500)])


def test_columns_without_a_visible_name_in_the_summary(run, write, tmp_path):
    path = write("t.csv", ',"a,b", pay ,c\n' + "".join(f"{i},{i},{i},{i}\n" for i in range(10)))
    outcome = run("anonymize", path, tmp_path / "out.csv", "--drop", "", "--drop", "c")
    assert "anonymized        'a,b', ' pay '\n" in outcome.out
    assert "columns           'a,b': number" in outcome.out
    assert (tmp_path / "out.csv").read_text().startswith('"a,b", pay \n')
