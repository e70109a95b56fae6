"""What is asked for: values are normalized and checked, and columns get their roles."""

import pytest

from sk_microagg._cli._voice import SHELL
from sk_microagg.files._messages import RequestError
from sk_microagg.privacy import LDiversity
from sk_microagg.release import ReleaseRequest
from sk_microagg.release._roles import check_one_role, roles_of

NAMES = ["a", "b", "c", "d"]


def request_of(**settings):
    return ReleaseRequest("in.csv", "out.csv", **settings)


def roles(**settings):
    return roles_of(request_of(**settings).resolve(NAMES), NAMES)


def test_values_are_normalized(tmp_path):
    request = ReleaseRequest(
        tmp_path, "out.csv", ordinal=["a"], date={"b": "%Y"}, decimals=2, privacy=LDiversity(2)
    )
    assert request.input == str(tmp_path)
    assert (request.ordinal, request.date) == ({"a": None}, {"b": "%Y"})
    assert (request.decimals, request.column_weights) == ({None: 2}, {})
    assert isinstance(request.privacy, list)
    assert request.replace(k=7).k == 7
    assert request.replace(command="sk-microagg").replace(k=7) == request.replace(k=7)


@pytest.mark.parametrize("parameter", ["drop", "sensitive", "quasi_identifiers", "na"])
def test_a_text_is_no_list(parameter):
    with pytest.raises(TypeError, match=f"^{parameter}='age'"):
        request_of(**{parameter: "age"})


def test_all_columns_by_default():
    found = roles()
    assert found.quasi_identifiers == found.released == NAMES
    assert found.unchanged == found.dropped == []


def test_columns_stay_in_the_order_of_the_table():
    found = roles(quasi_identifiers=["d", "b"], drop=["a"])
    assert found.quasi_identifiers == ["b", "d"]
    assert (found.unchanged, found.exposed, found.dropped) == (["c"], ["c"], ["a"])
    assert found.released == ["b", "c", "d"]


def test_columns_with_a_role_are_not_anonymized():
    found = roles(unit="d", sensitive=["c"], strata=["b"])
    assert (found.quasi_identifiers, found.unchanged) == (["a"], ["b", "c"])
    assert (found.exposed, found.dropped, found.released) == (["b"], ["d"], ["a", "b", "c"])
    assert roles(unit="d", drop=["d"]).dropped == ["d"]


@pytest.mark.parametrize(
    ("settings", "code", "column"),
    [
        ({"quasi_identifiers": ["e"]}, "unknown_column", "e"),
        ({"drop": ["e"]}, "unknown_column", "e"),
        ({"unit": "e"}, "unknown_column", "e"),
        ({"date": {"e": "%Y"}}, "unknown_column", "e"),
        ({"column_weights": {"e": 2}}, "unknown_column", "e"),
        ({"quasi_identifiers": ["a"], "drop": ["a"]}, "two_roles", "a"),
        ({"sensitive": ["a"], "unit": "a"}, "two_roles", "a"),
        ({"drop": NAMES}, "no_quasi_identifier", None),
        ({"drop": ["a"], "sensitive": NAMES[1:]}, "no_quasi_identifier", None),
        ({"column_weights": {"a": 0}}, "bad_value", "a"),
        ({"decimals": {"a": 1.5}}, "bad_value", "a"),
        ({"decimals": 99}, "bad_value", None),
    ],
)
def test_bad_choices(settings, code, column):
    with pytest.raises(RequestError) as caught:
        roles(**settings)
    assert (caught.value.code, caught.value.column) == (code, column)


def test_each_front_names_parameters_in_its_own_way():
    with pytest.raises(RequestError) as caught:
        check_one_role({"quasi_identifiers": ["a"], "drop": ["a"]})
    assert str(caught.value) == "Column 'a' is named by quasi_identifiers and by drop."
    assert caught.value.in_words(SHELL) == (
        "Column 'a' is named by --quasi-identifiers and by --drop."
    )
    with pytest.raises(RequestError) as caught:
        roles(drop=["a"], sensitive=NAMES[1:])
    assert caught.value.in_words(SHELL) == (
        "There is no column left to anonymize: --drop and --sensitive name all."
    )


def test_the_nearest_name_is_proposed():
    names = [f"c{i}" for i in range(500)]
    with pytest.raises(RequestError, match=r"'c19' and 480 more\. Did you mean 'c3'\?$") as caught:
        request_of(drop=["C3"]).resolve(names)
    assert caught.value.facts["close"] == "c3"
