import pytest
from oracles.tables import in_units


@pytest.fixture(name="X")
def records():
    return in_units()


@pytest.fixture(name="new")
def new_records():
    return in_units(n=150, seed=1)
