import sys

import pytest

from sk_microagg.datasets import load_visits
from sk_microagg.metrics import uniqueness


def test_the_table():
    visits = load_visits()
    assert visits.shape == (300, 6)
    assert list(visits) == ["id", "age", "sex", "town", "income", "diagnosis"]
    assert visits["age"].dtype.kind == "i"
    assert visits["income"].dtype.kind == "f"
    incomplete = visits.columns[visits.isna().any()]
    assert list(incomplete) == ["income"]


def test_everybody_is_unique_by_what_an_intruder_may_know():
    visits = load_visits()
    assert visits["id"].is_unique
    assert uniqueness(visits[["age", "sex", "town", "income"]]) == 1


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"load_visits needs pandas.*sk-microagg\[table\]"):
        load_visits()
