"""What is chosen on the page, as a request, and the command line that asks for the same."""

import shlex
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sk_microagg._cli._command_line import arguments_of
from sk_microagg._cli._parser import make_parser
from sk_microagg._cli._typed_request import TypedRequest
from sk_microagg._explore._page_request import KINDS, ROLES, Source, request_of
from sk_microagg.files._messages import RequestError
from sk_microagg.release._roles import roles_of

PARSER = make_parser()

HOSTILE = ["", " ", ",", ",,", '"', '""', "'", "=", "a=2", "a=b=c", "-", "--", "--drop", "-k", "k"]
HOSTILE += ["--force", "--drop=a", "a,b", 'a"b', '"a"', '"a,b"', " a", "a ", "a", "b", "a\nb", "\n"]
HOSTILE += ["\r\n", "\t", "a\tb", "ümlaut", "日本", "\u202eabc", "😀", "$HOME", "`x`", "a;b", "a|b"]
HOSTILE += [
    "*",
    "?",
    "\\",
    "a\\b",
    "x\0y",
    "%Y",
    "a=%Y",
    "a<b",
    "1",
    "1.5",
    "--",
    "@file",
    "#",
    "A",
]
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.sampled_from('ab,"= -\n\\é'), max_size=5),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)


def source_of(names, *options, table="table.csv"):
    return Source(PARSER.parse_args(["explore", table, *options]), names)


def settings_of(columns, **changes):
    settings = {"k": 5, "method": "aggregate", "categories": "mode"}
    settings |= {
        "constraints": {"l": None, "t": None, "unit_share": None},
        "time_limit": None,
        "certificate": None,
        "weight_release": "keep",
        "shuffle": False,
        "overwrite": False,
    }
    settings |= {"release": "release.csv", "report": None}
    return {**settings, "columns": columns, **changes}


def column(role="quasi_identifier", kind=None, weight=1):
    return {"role": role, "kind": kind, "weight": weight}


def chosen_roles(request, names):
    roles = roles_of(request, names)
    found = dict.fromkeys(roles.dropped, "drop") | dict.fromkeys(roles.unchanged, "keep")
    found |= dict.fromkeys(roles.quasi_identifiers, "quasi_identifier")
    found |= dict.fromkeys(roles.sensitive, "sensitive") | dict.fromkeys(roles.strata, "stratum")
    if roles.weight is not None:
        found[roles.weight] = "weight"
    return found if roles.unit is None else found | {roles.unit: "unit"}


def typed_again(request, names):
    """The request of the command as it is shown, typed into a shell."""
    command = shlex.split(shlex.join(arguments_of(request, names)))
    return TypedRequest.from_options(PARSER.parse_args(command)).resolve(names)


@st.composite
def choices(draw):
    """Names of columns, and what is chosen for each."""
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    one = st.builds(
        column,
        st.sampled_from([*ROLES]),
        st.sampled_from([None, None, *KINDS]),
        st.sampled_from([1, 1, 2, 0.5, 12.25, 1e-3]),
    )
    return names, [draw(one) for _ in names]


@pytest.mark.slow
@settings(deadline=None)
@given(choices(), st.sampled_from(["aggregate", "kaim"]))
@example((["a", "b", "a,b"], [column(), column("drop"), column("keep")]), "aggregate")
@example((["a", "a=2"], [column(weight=2), column(kind="date")]), "aggregate")
@example((["--drop", "name"], [column(), column("drop")]), "aggregate")
@example((["a", " a"], [column(), column("drop")]), "aggregate")
@example((["", "x"], [column("unit"), column()]), "aggregate")
def test_the_command_means_what_was_chosen(choice, method):
    names, columns = choice
    source = source_of(names)
    try:
        request = request_of(settings_of(columns, method=method), source)
    except RequestError:
        return
    chosen = dict(zip(names, columns, strict=True))
    assert chosen_roles(request, names) == {n: chosen[n]["role"] for n in names}
    matters = {n: c for n, c in chosen.items() if c["role"] in ("quasi_identifier", "sensitive")}
    for kind, parameter in KINDS.items():
        assert list(getattr(request, parameter)) == [
            n for n, c in matters.items() if c["kind"] == kind
        ]
    weights = {n: c["weight"] for n, c in chosen.items() if c["role"] == "quasi_identifier"}
    weights = {n: weight for n, weight in weights.items() if weight != 1 and method != "kaim"}
    assert request.column_weights == weights
    assert (request.input, request.output, request.report) == ("table.csv", "release.csv", None)
    assert (request.k, request.method, request.overwrite) == (5, method, False)
    assert typed_again(request, names) == request


def test_weights_are_released_as_chosen():
    names, columns = ["age", "w"], [column(), column("weight")]
    for chosen in ("keep", "mean"):
        request = request_of(settings_of(columns, weight_release=chosen), source_of(names))
        assert (request.weight, request.weight_release) == ("w", chosen)
        assert typed_again(request, names) == request
        assert ("--weight-release mean" in request.command) == (chosen == "mean")
    with pytest.raises(RequestError, match=r"^weight_release: 'drop' must be one of keep, mean\."):
        request_of(settings_of(columns, weight_release="drop"), source_of(names))


@pytest.mark.slow
@settings(deadline=None)
@given(NAMES)
def test_one_hostile_name_can_be_dropped(name):
    assume(name != "name")
    names = ["name", name]
    request = request_of(settings_of([column(), column("drop")]), source_of(names))
    assert typed_again(request, names).drop == request.drop == [name]


@pytest.mark.parametrize(
    "name",
    [
        "../x.csv",
        "/etc/x.csv",
        "a/b.csv",
        "..\\x.csv",
        "",
        ".",
        "..",
        "x\0.csv",
        None,
        5,
        ["x.csv"],
    ],
)
@pytest.mark.parametrize("what", ["release", "report"])
def test_files_lie_next_to_the_table(name, what, tmp_path):
    source = source_of(["a"], table=str(tmp_path / "table.csv"))
    if (what, name) == ("report", None):
        assert request_of(settings_of([column()], report=None), source).report is None
        return
    with pytest.raises(RequestError, match="without a folder"):
        request_of(settings_of([column()], **{what: name}), source)


@pytest.mark.parametrize("name", ["-r.csv", "--force.csv", "-k", "--help", "- .csv", "~x.csv"])
@pytest.mark.parametrize("table", ["table.csv", "-table.csv", "-folder/table.csv", "/data/t.csv"])
def test_names_that_look_like_options(name, table):
    source = Source(PARSER.parse_args(["explore", "--jobs=1", "--", table]), ["a"])
    request = request_of(settings_of([column()], release=name, report=name), source)
    folder = Path(table).parent
    typed = typed_again(request, ["a"])
    for one in (request, typed):
        assert Path(one.input) == Path(table)
        assert Path(one.output) == Path(one.report) == folder / name
        assert not one.overwrite


@pytest.mark.parametrize(
    "given",
    [
        ["--sep", ";"],
        ["--sep", "\\t"],
        ["--sep=-"],
        ["--na", "none,'x, y',-9"],
        ["--na", '"x, y"'],
        ["--na=-", "--na", "unknown"],
        ["--na", '"a\nb"'],
        ["--decimal", ","],
        ["--thousands", "'"],
        ["--no-header"],
        ["--header"],
        ["--encoding", "latin-1"],
        ["--sheet", "Sheet 2"],
        ["--sheet=-x"],
        ["--hierarchies", "trees"],
        ["--hierarchies=-trees"],
        ["--jobs", "1"],
        ["--jobs=-2"],
        [],
    ],
    ids=" ".join,
)
def test_how_the_file_is_written_is_part_of_the_command(given):
    source = source_of(["a"], *given)
    request = request_of(settings_of([column()]), source)
    typed = typed_again(request, ["a"])
    names = ["sep", "na", "decimal", "thousands", "header", "encoding", "sheet", "hierarchies"]
    for name in [*names, "n_jobs"]:
        assert getattr(typed, name) == getattr(request, name) == getattr(source.options, name)
    if not given:
        assert arguments_of(request, ["a"]) == ["anonymize", "table.csv", "release.csv", "-k", "5"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": -5}, "at least 1"),
        ({"k": 2.5}, "at least 1"),
        ({"k": "--force"}, "at least 1"),
        ({"k": float("nan")}, "at least 1"),
        ({"constraints": {"t": 2}}, "t=2"),
        ({"constraints": {"unit_share": 0}}, "at_most=0"),
        ({"constraints": {"l": "2 --force"}}, "l="),
        ({"time_limit": float("inf")}, "above 0"),
        ({"certificate": -1}, "above 0"),
        ({"method": "--force"}, "^method: '--force'"),
        ({"categories": "other"}, "^categories: 'other'"),
        ({"columns": []}, "incomplete"),
        ({"columns": None}, "incomplete"),
        ({"columns": [{"role": "quasi_identifier"}]}, "incomplete"),
        ({"columns": [column("owner")]}, "incomplete"),
        ({"columns": [column(kind="picture")]}, "incomplete"),
        ({"columns": [column(weight=0)]}, "above 0"),
        ({"columns": [column(weight=None)]}, "incomplete"),
        ({"columns": [column("drop")]}, "quasi-identifier"),
        ({"columns": [column("keep")]}, "quasi-identifier"),
    ],
)
def test_impossible_settings_are_explained(changes, words):
    with pytest.raises(RequestError, match=words):
        request_of(settings_of([column()]) | changes, source_of(["a"]))


def test_two_units_are_refused():
    columns = [column("unit"), column("unit"), column()]
    with pytest.raises(RequestError, match="'a' and 'b' are units"):
        request_of(settings_of(columns), source_of(["a", "b", "c"]))


@pytest.mark.parametrize("overwrite", [False, None, 0, "false", "yes", 1, []])
def test_only_true_overwrites(overwrite):
    assert not request_of(settings_of([column()], overwrite=overwrite), source_of(["a"])).overwrite
    assert request_of(settings_of([column()], overwrite=True), source_of(["a"])).overwrite
