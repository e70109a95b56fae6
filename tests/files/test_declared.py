"""What a request says about single columns."""

from types import SimpleNamespace

import pytest

from sk_microagg.files._declared import Declared, levels_of
from sk_microagg.files._messages import RequestError

NOTHING = {
    **{"categorical": [], "number": [], "date": {}, "ordinal": {}},
    **{"column_weights": {}, "decimals": {}, "categories": None},
}
CHOICE = SimpleNamespace(quasi_identifiers=["age"], sensitive=["ill"])


def declared(**parameters):
    return Declared.from_request(SimpleNamespace(**NOTHING | parameters))


def test_all_parameters():
    found = declared(
        categorical=["zip"],
        number=["age"],
        date={"born": "%d/%m/%Y", "died": None},
        ordinal={"size": levels_of("small<medium < large"), "grade": None},
        column_weights={"age": 2.0, "zip": 0.5},
        decimals={"age": 1, None: 0},
        categories="mode",
    )
    kinds = {"zip": "category", "size": "ordinal", "grade": "ordinal"}
    assert found == Declared(
        kinds={**kinds, "born": "date", "died": "date", "age": "number"},
        date_patterns={"born": "%d/%m/%Y"},
        orders={"size": ["small", "medium", "large"]},
        weights={"age": 2.0, "zip": 0.5},
        decimals={"age": 1, None: 0},
        categories="mode",
    )
    assert (found.decimals_of("age"), found.decimals_of("zip")) == (1, 0)
    names = ["zip", "size", "grade", "born", "died", "age"]
    found.check(SimpleNamespace(quasi_identifiers=names, sensitive=[]))


def test_nothing():
    assert declared() == Declared()
    assert Declared().decimals_of("age") is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"number": ["age"], "categorical": ["age"]},
            "Column 'age' is named by categorical and by number.",
        ),
        (
            {"date": {"age": None}, "ordinal": {"age": None}},
            "Column 'age' is named by ordinal and by date.",
        ),
        ({"date": {"age": "%d/%m"}}, "date={'age': '%d/%m'}: the pattern must have a year, %Y or"),
        ({"date": {"age": "%Y-%Q"}}, "date={'age': '%Y-%Q'}: the pattern must have a year, %Y or"),
        (
            {"ordinal": {"age": ["small"]}},
            "ordinal={'age': ['small']}: name different values, from the lowest to the highest.",
        ),
        ({"ordinal": {"age": levels_of("a<b<a")}}, "ordinal={'age': ['a', 'b', 'a']}: name diff"),
        ({"ordinal": {"age": levels_of("a<")}}, "ordinal={'age': ['a', '']}: name different"),
    ],
)
def test_contradictions(parameters, message):
    with pytest.raises(RequestError) as error:
        declared(**parameters)
    assert str(error.value).startswith(message)
    assert error.value.column == "age"


@pytest.mark.parametrize(
    ("parameter", "as_given"),
    [
        ("categorical", list),
        ("number", list),
        ("date", dict.fromkeys),
        ("ordinal", dict.fromkeys),
        ("column_weights", lambda names: dict.fromkeys(names, 2)),
        ("decimals", lambda names: dict.fromkeys(names, 2)),
    ],
)
def test_columns_are_used(parameter, as_given):
    with pytest.raises(RequestError, match=f"{parameter} names 'zip'"):
        declared(**{parameter: as_given(["zip"])}).check(CHOICE)
    declared(**{parameter: as_given(["age"])}).check(CHOICE)


def test_sensitive_columns_have_kinds_only():
    declared(number=["ill"], date={"age": None}).check(CHOICE)
    with pytest.raises(RequestError, match="column_weights names 'ill'"):
        declared(column_weights={"ill": 2}).check(CHOICE)
