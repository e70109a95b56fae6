"""A request as a command line: for the shells of this system, and read back the same request."""

import shlex
from dataclasses import fields

import pytest
from example_tables.asked import as_values, requests
from hypothesis import example, given, settings

from sk_microagg._cli import _command_line
from sk_microagg._cli._command_line import arguments_of, command_line
from sk_microagg._cli._parser import make_parser
from sk_microagg._cli._typed_request import TypedRequest
from sk_microagg.privacy import LDiversity, TCloseness, UnitShare
from sk_microagg.release import ReleaseRequest
from sk_microagg.release._request import LISTS, MAPPINGS, SINGLE

PARSER = make_parser()


def read_back(request, columns):
    """The request that the command line of a request asks for when it is typed."""
    program, *arguments = shlex.split(command_line(request, columns))
    assert program == "sk-microagg"
    return TypedRequest.from_options(PARSER.parse_args(arguments)).resolve(columns)


@pytest.mark.slow
@given(requests())
@settings(max_examples=50, deadline=None)
@example((ReleaseRequest("i.csv", "o.csv", drop=["a,b"]), ["a", "b", "a,b"]))
@example((ReleaseRequest("i.csv", "o.csv", drop=["a", "b"]), ["a", "b", "a,b"]))
@example((ReleaseRequest("i.csv", "o.csv", drop=["a,b"]), ["a,b", '"a,b"']))
@example((ReleaseRequest("i.csv", "o.csv", date={"a": "%Y"}), ["a", "a=%Y"]))
@example((ReleaseRequest("i.csv", "o.csv", column_weights={"a": 2, "b": 3}), ["a", "b", "a=2,b"]))
@example((ReleaseRequest("i.csv", "o.csv", ordinal=[""], column_weights={"a": 1 / 3}), ["", "a"]))
def test_columns_of_any_name_are_read_back(on_posix, asked):
    request, columns = asked
    assert as_values(read_back(request, columns)) == as_values(request)


def test_all_other_settings_are_read_back(on_posix):
    request = ReleaseRequest(
        "my table.csv",
        "$x.csv",
        k=7,
        categories="shares",
        weight_release="mean",
        privacy=[UnitShare(0.25), LDiversity(2, "recursive", 1.5), TCloseness(1 / 3)],
        method="kaim",
        release="generalized",
        intervals="disjoint",
        max_loss=0.25,
        builder="cbfs",
        refiner="none",
        time_limit=2.5,
        certificate=1e-7,
        hierarchies="-h",
        random_state=2**32 - 1,
        n_jobs=-2,
        engine="dask",
        report="-r.html",
        card="-c.md",
        scenario="folder/-s.toml",
        analysis=["income ~ age, in years", "a ~ `b + c`"],
        earlier=[["old.csv", "its release.csv"], ["older.csv", "$y.csv"]],
        shuffle=True,
        overwrite=True,
        series="-s",
        hold=1 / 3,
        series_begin=True,
        leavers="withdraw_group",
        values="first",
        spare=2,
        erase=["a,b", "", "--"],
        decimal=",",
        thousands="'",
        encoding="latin-1",
        sep="\t",
        header="none",
        sheet="-a\nb",
    )
    about_columns = {*LISTS, *SINGLE, *MAPPINGS, "na", "command"}
    for one in fields(ReleaseRequest):
        assert one.name in about_columns or getattr(request, one.name) != one.default
    assert as_values(read_back(request, [])) == as_values(request)
    for plain in (LDiversity(2), LDiversity(1.5, "entropy")):
        asked = request.replace(privacy=plain, header="given", sep="-", thousands=" ")
        assert as_values(read_back(asked, [])) == as_values(asked)


@pytest.fixture(scope="module")
def on_posix():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_command_line, "IS_WINDOWS", False)
        yield


@pytest.mark.parametrize(
    ("argument", "typed"),
    [
        (r"C:\data\table.csv", r"C:\data\table.csv"),
        ("my table.csv", '"my table.csv"'),
        # These would be a list, redirections and a variable.
        ("a,b", '"a,b"'),
        ("S<M<L.csv", '"S<M<L.csv"'),
        ("$x", '"$x"'),
        ("a;\\", '"a;\\\\"'),
        ('say "no"', r'"say \"no\""'),
        ("", '""'),
    ],
)
def test_a_command_for_shells_of_windows(monkeypatch, argument, typed):
    monkeypatch.setattr(_command_line, "IS_WINDOWS", True)
    line = command_line(ReleaseRequest(argument, "out.csv", column_weights={"age": 2.5}))
    assert line == f"sk-microagg anonymize {typed} out.csv -k 5 --weights age=2.5"


def test_what_a_report_shows_hides_folders_and_erased_people():
    request = ReleaseRequest(
        "/home/me/visits.csv",
        "/tmp/out.csv",
        ordinal={"size": ["S", "M"], "n": None},
        report="r/r.html",
        card="r/c.md",
        erase=["p7"],
    )
    shown = command_line(request, hides=True)
    assert shlex.split(shown)[2:] == [
        *("visits.csv", "out.csv", "-k", "5", "--ordinal", "n", "--ordinal=size=S<M"),
        *("--report", "r.html", "--card", "c.md", "--erase=…"),
    ]


def test_files_whose_names_begin_with_a_dash():
    request = ReleaseRequest("-in.csv", "--", report="-r.html")
    assert arguments_of(request)[1:] == ["./-in.csv", "./--", "-k", "5", "--report=-r.html"]


def test_simple_names_are_listed():
    request = ReleaseRequest("i.csv", "o.csv", quasi_identifiers=["age", "sex"], drop=["a b"])
    assert arguments_of(request)[5:] == ["--quasi-identifiers", "age,sex", "--drop=a b"]
