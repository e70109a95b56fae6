"""Requests in TOML files: written, read back unchanged, and what is wrong with one."""

import os
from pathlib import Path

import pytest
from example_tables.asked import as_values, whole_requests
from hypothesis import given, settings
from marks import in_one_case

from sk_microagg._cli._parser import make_parser
from sk_microagg._cli._typed_request import TypedRequest
from sk_microagg.files._settings import SETTINGS
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.release import ReleaseRequest, RequestError, release_file

PARSER = make_parser()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The current folder, in which a table is."""
    folder, before = tmp_path_factory.mktemp("here"), Path.cwd()
    (folder / "in.csv").write_text("a,b\n1,2\n")
    os.chdir(folder)
    yield folder
    os.chdir(before)


def typed(*arguments, columns):
    options = PARSER.parse_args(["anonymize", *arguments])
    return TypedRequest.from_options(options).resolve(columns)


@given(whole_requests())
@settings(max_examples=60, deadline=None)
def test_requests_are_read_back_unchanged(here, asked):
    request, columns = asked
    request.to_toml("request.toml", overwrite=True)
    assert as_values(ReleaseRequest.from_toml("request.toml")) == as_values(request)
    as_typed = typed("--request", "request.toml", columns=columns)
    assert as_values(as_typed) == as_values(request)


@given(whole_requests())
@settings(max_examples=30, deadline=None)
def test_a_command_line_is_written_down(here, asked):
    from sk_microagg._cli._command_line import arguments_of

    request, columns = asked
    request = request.replace(scenario=None)  # On the command line, it is a file or JSON.
    [_, *arguments] = arguments_of(request, columns)
    from_line = typed(*arguments, columns=columns)
    from_line.to_toml("line.toml", overwrite=True)
    assert as_values(ReleaseRequest.from_toml("line.toml")) == as_values(from_line)
    assert as_values(from_line) == as_values(request)


def test_what_a_file_looks_like(here):
    ReleaseRequest(
        "in.csv",
        "out.csv",
        drop=["patient id"],
        sensitive=["ill"],
        ordinal={"size": ["S", "M"], "grade": None},
        decimals={None: 2, "age": 0},
        privacy=[LDiversity(3), TCloseness(0.2)],
        scenario={"recipient": 'the "lab"', "reasons": {"patient id": "a name"}},
        analysis=["income ~ age + " + "b" * 80, "income ~ sex"],
    ).to_toml("shown.toml")
    assert (
        Path("shown.toml").read_text()
        == f"""\
input = "in.csv"
output = "out.csv"

# columns, by what each is for
drop = ["patient id"]
sensitive = ["ill"]

# what is released
decimals = [2, {{age = 0}}]

# report and card
analysis = [
    "income ~ age + {"b" * 80}",
    "income ~ sex",
]

[ordinal]
size = ["S", "M"]
grade = true

[privacy]
l = 3
t = 0.2

[scenario]
recipient = "the \\"lab\\""
reasons = {{"patient id" = "a name"}}
"""
    )


def test_every_setting_has_a_parameter():
    parameters = {*ReleaseRequest.__dataclass_fields__} - {"command"}
    assert parameters == {*SETTINGS}


@in_one_case(
    ("text", "code", "message"),
    [
        ("k = 5\ndrp = []", "unknown_key", "line 2: drp: this key is unknown: did you mean drop?"),
        ("\n[privacy]\nl = 2\nq = 1", "unknown_key", "line 4: privacy.q: this key is unknown: "),
        ("[scenario]\nrecipient = 'a'\nmodel = 'b'", "unknown_key", "line 3: scenario.model: "),
        ("k = '5'", "bad_value", "line 1: k: '5' must be an integer of at least 1."),
        ("k = 2.5", "bad_value", "line 1: k: 2.5 must be an integer of at least 1."),
        ("k = true", "bad_value", "line 1: k: true must be an integer of at least 1."),
        ("na = [\n'k']\n# k\n\nk = [5]\n", "bad_value", "line 5: k: a list must be an integer "),
        ("seed = 0\nmethod = 'x'", "unknown_key", "line 1: seed: this key is unknown: "),
        ("method = 'x'", "bad_value", "line 1: method: 'x' must be one of aggregate, kaim."),
        ("drop = 'id'", "bad_value", "line 1: drop: 'id' must be a list of texts."),
        ("erase = [\n'P7',\n8]", "bad_value", "line 1: erase: item 2 must be a text."),
        ("erase = 'P-0815'", "bad_value", "line 1: erase: it must be a list of texts."),
        ("decimals = [1, 2]", "bad_value", "line 1: decimals: it has two values for the same "),
        (f"k = 1{400 * '0'}", "bad_value", "line 1: k: 1000"),
        (f"k = 1{5000 * '0'}", "bad_toml", "line 1: this is not TOML: "),
        ("input = '{o}.csv'", "cannot_read", "line 1: input: {o}.csv does not exist."),
        ("shuffle = 1", "bad_value", "line 1: shuffle: 1 must be true or false."),
        ("sep = ';;'", "bad_value", "line 1: sep: ';;' must be one character, or \\t for a tab."),
        ("encoding = 'x'", "bad_value", "line 1: encoding: 'x' must be an encoding, such as "),
        ("[ordinal]\na = 'S<M'", "bad_value", "line 2: ordinal.a: 'S<M' must be a list of texts."),
        ("ordinal = 1", "bad_value", "line 1: ordinal: 1 must be a list of columns, or a table "),
        ("[date]\nb = true\n'a b' = 1", "bad_value", "line 3: date.a b: 1 must be a text."),
        ("decimals = [1, {a = 99}]", "bad_value", "line 1: decimals.a: 99 must be an integer "),
        ("[column_weights]\na = 0", "bad_value", "line 2: column_weights.a: 0 must be a number "),
        ("[privacy]\nt = 0.1\nl = 0", "bad_value", "line 3: privacy.l: 0 must be a number of "),
        ("[privacy]\nc = 2", "bad_constraint", ": privacy: c=2 needs l."),
        ("[scenario]\nthreshold = 2", "bad_scenario", "line 1: scenario: threshold=2 must be "),
        ("scenario = 's.toml'", "cannot_read", "line 1: scenario: s.toml does not exist."),
        ("\nhierarchies = 'h'", "cannot_read", "line 2: hierarchies: h does not exist."),
        ("input = 'none.csv'", "cannot_read", "line 1: input: none.csv does not exist."),
        ("k = 5", "missing_key", ": the key input is missing: the table; "),
        ("k = 5\n\nk = 6", "bad_toml", "line 3: this is not TOML: Cannot overwrite a value."),
        ("k = 5\ndrop = [", "bad_toml", "line 2: this is not TOML: "),
    ],
)
def test_what_is_wrong_is_said_with_key_and_line(here, text, code, message):
    path = Path("wrong.toml")
    path.write_text(text)
    with pytest.raises(RequestError) as caught:
        ReleaseRequest.from_toml(path)
    assert caught.value.code == code
    start = "wrong.toml" if message.startswith(":") else "wrong.toml, "
    assert str(caught.value).startswith(start + message)


def test_a_file_that_cannot_be_read(here):
    Path("latin.toml").write_bytes(b"drop = ['\xe4']")
    for name in ("none.toml", "latin.toml"):
        with pytest.raises(RequestError, match=f"^{name} cannot be read: ") as caught:
            ReleaseRequest.from_toml(name)
        assert caught.value.code == "cannot_read"


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    table, file = tmp_path / "a" / "b" / "in.csv", tmp_path / "a" / "request.toml"
    table.write_text("age\n" + "1\n2\n3\n" * 4)
    ReleaseRequest(table, tmp_path / "out.csv", k=3).to_toml(file)
    assert 'input = "b/in.csv"' in file.read_text().replace("\\\\", "/")
    request = ReleaseRequest.from_toml(file)
    assert (Path(request.input), Path(request.output)) == (table, tmp_path / "out.csv")
    monkeypatch.chdir(tmp_path / "a" / "b")
    ReleaseRequest("in.csv", "../x.csv").to_toml("../moved.toml")
    assert release_file(ReleaseRequest.from_toml("../moved.toml", k=3)).to_dict()["groups"] >= 1
    assert (tmp_path / "a" / "x.csv").exists()


def test_what_no_file_can_say(here):
    wrong = {
        "privacy": [LDiversity(2, column="a")],
        "decimals": {"a": object()},
        "drop": ["\ud800"],
        "earlier": [("table", "people")],
    }
    for name, value in wrong.items():
        with pytest.raises(RequestError) as caught:
            ReleaseRequest("in.csv", "out.csv", **{name: value}).to_toml("never.toml")
        assert caught.value.code == "cannot_write"
    with pytest.raises(RequestError, match="exists"):
        ReleaseRequest("x.csv", "out.csv").to_toml("in.csv")
    with pytest.raises(RequestError, match="is the same file"):
        ReleaseRequest("in.csv", "out.csv").to_toml("in.csv", overwrite=True)
    assert not Path("never.toml").exists()
