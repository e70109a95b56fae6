"""A request as it was typed: columns of any name, as options name them, and constraints."""

import re

import pytest

from sk_microagg._cli._parser import make_parser
from sk_microagg._cli._typed_request import TypedRequest, constraints_of
from sk_microagg._cli._voice import SHELL
from sk_microagg.files._messages import RequestError
from sk_microagg.privacy import LDiversity, TCloseness, UnitShare

NAMES = ["", "age", " pay ", "income, yearly", "income", "a=b", "a", 'say "hi"', "two\nlines"]


def options_of(*arguments):
    return make_parser().parse_args(["anonymize", "in.csv", "out.csv", *arguments])


def typed(*arguments, names=NAMES):
    return TypedRequest.from_options(options_of(*arguments)).resolve(names)


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
    "option", ["quasi-identifiers", "drop", "sensitive", "strata", "categorical", "number"]
)
def test_lists_of_columns(option, texts, found):
    arguments = [argument for text in texts for argument in (f"--{option}", text)]
    assert getattr(typed(*arguments), option.replace("-", "_")) == found


@pytest.mark.parametrize("option", ["unit", "weight"])
@pytest.mark.parametrize("name", NAMES)
def test_one_column(option, name, capsys):
    assert getattr(typed(f"--{option}", name), option) == name
    quoted = '"' + name.replace('"', '""') + '"'
    assert getattr(typed(f"--{option}", quoted, names=[name]), option) == name
    with pytest.raises(SystemExit, match="2"):
        typed(f"--{option}", "age", f"--{option}", "income")
    assert "it is given twice, but takes one value" in capsys.readouterr().err


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
    numbers = {name: float(value) for name, value in found}
    assert typed("--weights", text).column_weights == typed("--round", text).decimals == numbers
    assert typed("--date", text).date == dict(found)


def test_orders_of_values():
    found = typed("--ordinal", "a=b=S< M<L,age", "--ordinal", "income, yearly=low<high")
    assert found.ordinal == {"a=b": ["S", "M", "L"], "age": None, "income, yearly": ["low", "high"]}


@pytest.mark.parametrize(
    ("arguments", "code", "column", "message"),
    [
        (["--drop", "Agee"], "unknown_column", "Agee", r"^--drop names .*\. Did you mean 'age'\?$"),
        (["--drop", "x"], "unknown_column", "x", r"but the columns are '', .*lines'\.$"),
        (["--drop", "age,income, year"], "unknown_column", "year", "a comma must be in double q"),
        (["--unit", "age,income"], "unknown_column", "age,income", "^--unit names 'age,income', "),
        (["--weights", "agee=2"], "unknown_column", "agee", "^--weights names 'agee'"),
        (["--weights", "age,a=2"], "no_number", "age", "'age' must have a number, as in age=2"),
        (["--weights", "a=2,age"], "no_number", "age", "'age' must have a number, as in age=2"),
        (["--weights", "age=0"], "bad_value", "age", "^--weights: 0.0 must be a number above 0"),
        (["--weights", "age=x"], "bad_value", "age", "^--weights: 'x' must be a number above 0"),
        (["--round", "age"], "bad_value", None, "'age' must be an integer from -15 to 15"),
        (["--round", "99"], "bad_value", None, "^--round: 99 must be an integer from -15 to 15"),
        (["--round", "age=x,2"], "bad_value", "age", "'x' must be an integer from -15 to 15"),
    ],
)
def test_names_and_values_that_are_wrong(arguments, code, column, message):
    with pytest.raises(RequestError) as caught:
        typed(*arguments)
    assert (caught.value.code, caught.value.column) == (code, column)
    assert re.search(message, caught.value.in_words(SHELL))


@pytest.mark.parametrize("names", [["a", "b", "a,b"], [" a", "b ", "a,b"]])
def test_a_text_that_is_one_column_or_two(names):
    with pytest.raises(RequestError) as caught:
        typed("--drop", "a,b", names=names)
    assert caught.value.code == "ambiguous_name"
    assert caught.value.in_words(SHELL).startswith("--drop a,b is one column or 2: name each by --")
    assert typed("--drop", '"a,b"', names=names).drop == ["a,b"]


@pytest.mark.parametrize(
    ("arguments", "constraints"),
    [
        ([], []),
        (["--l", "2"], [LDiversity(2)]),
        (["--l", "2.5", "--l-kind", "entropy"], [LDiversity(2.5, "entropy")]),
        (["--l", "2", "--l-kind", "recursive", "--c", "4"], [LDiversity(2, "recursive", 4.0)]),
        (["--t", "0.3", "--l", "3"], [LDiversity(3), TCloseness(0.3)]),
        (["--unit-share", "0.25", "--t", "0"], [UnitShare(0.25), TCloseness(0.0)]),
    ],
)
def test_constraints(arguments, constraints):
    assert [*map(repr, constraints_of(options_of(*arguments)))] == [*map(repr, constraints)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--l", "2.5"], "--l 2.5: l=2.5 must be an integer"),
        (["--l-kind", "entropy"], "--l-kind entropy: kind='entropy' needs l."),
        (["--l", "2", "--c", "2"], "--l 2 --c 2: c=2.0 must be None if kind='distinct'."),
        (["--l", "2", "--l-kind", "recursive"], "--l 2 --l-kind recursive: c=None must be a"),
    ],
)
def test_options_that_contradict_each_other(arguments, message):
    with pytest.raises(RequestError) as caught:
        constraints_of(options_of(*arguments))
    assert caught.value.code == "bad_constraint"
    assert caught.value.in_words(SHELL).startswith(message)


def test_columns_without_a_visible_name_in_the_summary(run, write, tmp_path):
    path = write("t.csv", ',"a,b", pay ,c\n' + "".join(f"{i},{i},{i},{i}\n" for i in range(10)))
    outcome = run("anonymize", path, tmp_path / "out.csv", "--drop", "", "--drop", "c")
    assert "anonymized        'a,b', ' pay '\n" in outcome.out
    assert "columns           'a,b': number" in outcome.out
    assert (tmp_path / "out.csv").read_text().startswith('"a,b", pay \n')
