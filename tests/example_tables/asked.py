"""Requests for hypothesis to draw: about columns of any name, and with any settings."""

from hypothesis import strategies as st

from sk_microagg.files._settings import SETTINGS
from sk_microagg.privacy import Dominance, LDiversity, TCloseness, UnitShare
from sk_microagg.release import ReleaseRequest

WILD = [
    *("", " ", " pay ", "a", "b", "a,b", "a, b", ",", '"', '""', 'say "hi"', "it's", "-", "--"),
    *("-k", "--drop", "=", "a=b", "a=b=c", "a=", "=2", "1", "2.5", "<", "low<high", "two\nlines"),
    *(
        "tab\there",
        "\\",
        "$HOME",
        "%d",
        "a;b",
        "ümlaut",
        "…",
        "#",
        "*",
        "\r",
        "a\r\nb",
        '"a"',
        "a ",
    ),
]
NAMES = st.one_of(st.sampled_from(WILD), st.text("ab,\"= -<\n'\\", max_size=6))
# An order and a pattern as they may be typed.
LEVELS = st.lists(
    st.text("abc ,\"'=-", min_size=1, max_size=4).map(str.strip), min_size=2, max_size=3
)
PATTERNS = st.sampled_from(["%d/%m/%Y", "%Y, %j", '"%Y"', "%d %b %y", "-%Y", "%Y="])


@st.composite
def requests(draw):
    """A request about columns of a table, and the names of all its columns."""
    columns = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    some = st.lists(st.sampled_from(columns), unique=True)
    one = st.none() | st.sampled_from(columns)

    def about(values, columns=columns):
        return st.dictionaries(st.sampled_from(columns), values)

    lists = ("drop", "sensitive", "strata", "categorical", "number")
    request = ReleaseRequest(
        "in.csv",
        "out.csv",
        quasi_identifiers=draw(some) or None,
        **dict(zip(lists, draw(st.tuples(*[some] * len(lists))), strict=True)),
        unit=draw(one),
        ordinal=draw(about(st.none() | LEVELS)),
        date=draw(about(st.none() | PATTERNS)),
        column_weights=draw(about(st.floats(1e-3, 1e3))),
        decimals=draw(about(st.integers(-15, 15), [None, *columns])),
        na=draw(st.lists(NAMES, max_size=3)),
    )
    return request, columns


# By kinds of settings, but for columns, files and words.
VALUES = {
    "at_least_1": st.integers(1, 999),
    "at_least_0": st.integers(0, 9),
    "seed": st.integers(0, 2**32 - 1),
    "jobs": st.integers(1, 8) | st.integers(-8, -1),
    "positive": st.floats(0, exclude_min=True, allow_infinity=False),
    "share_below_1": st.floats(0, 1, exclude_max=True),
    "positive_share": st.floats(0, 1, exclude_min=True),
    "flag": st.booleans(),
    "text": NAMES,
    "mark": st.sampled_from(".,;' \\"),
    "separator": st.sampled_from("\t,;|\\"),
    "encoding": st.sampled_from(["utf-8", "latin-1"]),
    "texts": st.lists(NAMES, max_size=3),
    "formulas": st.lists(st.sampled_from(["income ~ age", 'a ~ `b"c`']), max_size=2),
    "target": st.sampled_from(["a.html", "b c/d.md", "../e", "/f", "-"]),
}

CONSTRAINTS = st.lists(
    st.one_of(
        st.builds(UnitShare, VALUES["positive_share"]),
        st.builds(LDiversity, st.integers(1, 9), st.sampled_from(["distinct", "entropy"])),
        st.builds(LDiversity, st.integers(2, 9), st.just("recursive"), st.floats(0.1, 9)),
        st.builds(TCloseness, st.floats(0, 1)),
        st.builds(Dominance, VALUES["positive_share"]),
    ),
    unique_by=type,
    max_size=3,
)

SCENARIOS = st.none() | st.fixed_dictionaries(
    {"threshold": st.sampled_from([0.09, 0.5])},
    optional={
        "recipient": NAMES,
        "release_model": st.sampled_from(["public", "internal"]),
        "reasons": st.dictionaries(NAMES, NAMES, max_size=2),
        "review_date": st.dates() | st.just("2027-06-30"),
    },
)


@st.composite
def whole_requests(draw):
    """A request in which any setting may be given, and the names of all columns of its table."""
    request, columns = draw(requests())
    given = {}
    for name, one in SETTINGS.items():
        if isinstance(one.kind, tuple):
            given[name] = st.sampled_from(one.kind)
        elif name not in ("na", "output") and one.kind in VALUES:
            given[name] = VALUES[one.kind]
    settings = draw(st.fixed_dictionaries({}, optional=given))
    privacy, scenario = draw(st.tuples(CONSTRAINTS, SCENARIOS))
    return request.replace(**settings, privacy=privacy, scenario=scenario), columns


def as_values(request):
    """All that a request asks for; constraints have no equality of their own."""
    privacy = {type(constraint): constraint.get_params() for constraint in request.privacy}
    return {**vars(request), "privacy": privacy, "command": None}
