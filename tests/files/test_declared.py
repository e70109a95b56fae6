"""What a request says about single columns."""

from types import SimpleNamespace

import pytest

from sk_microagg.files._format import Declared, levels_of
from sk_microagg.files._messages import RequestError
from sk_microagg.release._roles import check_effects

NOTHING = {"categorical": [], "number": [], "date": {}, "ordinal": {}}
NOTHING |= {"column_weights": {}, "decimals": {}}
CHOICE = SimpleNamespace(quasi_identifiers=["age"], sensitive=["ill"])


def declared(**parameters):
    return Declared.from_request(SimpleNamespace(**NOTHING | parameters))


def check(**parameters):
    request = SimpleNamespace(**NOTHING | parameters)
    check_effects(request, Declared.from_request(request), CHOICE)


def test_all_parameters():
    found = declared(
        categorical=["zip"],
        number=["age"],
        date={"born": "%d/%m/%Y", "died": None},
        ordinal={"size": levels_of("small<medium < large"), "grade": None},
    )
    kinds = {"zip": "category", "size": "ordinal", "grade": "ordinal"}
    assert found == Declared(
        kinds={**kinds, "born": "date", "died": "date", "age": "number"},
        date_patterns={"born": "%d/%m/%Y"},
        orders={"size": ["small", "medium", "large"]},
    )
    names = ["zip", "size", "grade", "born", "died", "age"]
    found.check_kinds(names, "anonymized")


def test_nothing():
    assert declared() == Declared()


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
        check(**{parameter: as_given(["zip"])})
    check(**{parameter: as_given(["age"])})


def test_sensitive_columns_have_kinds_only():
    check(number=["ill"], date={"age": None})
    with pytest.raises(RequestError, match="column_weights names 'ill'"):
        check(column_weights={"ill": 2})
