"""Hints at numbers that may be codes, for missing values or for categories."""

import numpy as np
import pyarrow as pa
import pytest

from sk_microagg.files._columns import Column
from sk_microagg.files._format import Declared
from sk_microagg.files._mistyped import hint_at_codes, say_what_is_omitted
from sk_microagg.files._notations import DateNotation, NumberNotation

AGES = [*range(18, 80)]


def cells_of(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def hints_about(column, *, is_typed, **kinds):
    """What is said in the words of Python, after the name of the column."""
    hints = hint_at_codes([column], Declared(kinds=kinds), is_typed=is_typed)
    assert {hint.column for hint in hints} <= {column.name}
    return [str(hint).removeprefix(f"{column.name}: ") for hint in hints]


def hints(*numbers, name="x", decimals=0, **settings):
    column = Column(name, "number", "", cells_of(numbers), NumberNotation(decimals))
    return " ".join(hints_about(column, **{"is_typed": False, **settings}))


@pytest.mark.parametrize(
    ("numbers", "option"),
    [
        (
            [*AGES, 999],
            "999, unlike other values, may stand for missing values, at position 62: pass "
            "na=['x=999']; otherwise it is averaged as a number.",
        ),
        ([*AGES, -1], "pass na=['x=-1'];"),
        ([*AGES, -9, 9999], "-9 and 9999, unlike other values, may stand for missing values"),
        ([*AGES, -9, 9999], "pass na=['x=-9', 'x=9999'];"),
        ([*range(18, 70), 99], "pass na=['x=99'];"),
        ([-9, 1, 2, 3, 4, 5], "pass na=['x=-9'];"),
        ([18.5, 22.25, 31.0, 40.5, -999.0, np.nan], "pass na=['x=-999'];"),
        ([-1, *range(80)], "pass na=['x=-1'];"),
        ([*AGES, 99], "pass na=['x=99'];"),
        ([*range(73), 99], "pass na=['x=99'];"),
        ([*AGES, 777, 888, 999], "777, 888 and 999, unlike"),
        ([*AGES, 777, 888, 999], "pass na=['x=777', 'x=888', 'x=999'];"),
        ([*range(80), -7, -8, -9], "pass na=['x=-9', 'x=-8', 'x=-7'];"),
        ([1, 2, 3, 4, 5, 9], "pass na=['x=9'];"),
        ([0, 1, 2, 99], "pass na=['x=99'];"),
        ([1, 2, -9], "pass na=['x=-9'];"),
        ([58.5, 61.25, 70.5, 83.75, 92.5, 999.9], "pass na=['x=999.9'];"),
        ([*range(9_000, 160_000, 1_700), 999_999], "pass na=['x=999999'];"),
    ],
)
def test_codes_for_missing_values(numbers, option):
    assert option in hints(*numbers)
    assert "replace it by null" in hints(*numbers, is_typed=True)


@pytest.mark.parametrize(
    "numbers",
    [
        range(1, 100),
        [*range(60, 88), 99],  # the oldest of them
        [*range(0, 95, 7), 99],
        [-1, 0, 1],
        [-2, -1, *range(60)],
        [*range(73), 80, 88, 99],
        [*range(8), 9],
        [*range(-6, 7), -9],
        [*AGES, 120],
        [99] * 20,
        [1, 99],
        [np.nan] * 3,
    ],
)
def test_numbers_that_are_no_codes(numbers):
    assert hints(*numbers) == ""


@pytest.mark.parametrize("seed", range(20))
def test_the_oldest_and_the_most_are_no_codes(seed):
    rng = np.random.default_rng(seed)
    for oldest in (98, 99):
        assert hints(*rng.triangular(0, 20, oldest, 200).astype(int), oldest) == ""
    assert hints(*rng.poisson(3, 200)) == hints(*rng.geometric(0.2, 200)) == ""


@pytest.mark.parametrize("seed", range(20))
def test_long_tails_are_no_codes(seed):
    incomes = np.round(30_000 * np.exp(np.random.default_rng(seed).normal(0, 1.2, 300)))
    assert hints(*incomes) == ""


@pytest.mark.parametrize("far", [73_941, -73_941])
def test_a_number_far_from_all_others_is_not_quoted(far):
    line = hints(*AGES, far)
    end = "largest" if far > 0 else "smallest"
    assert line.startswith(f"the {end} value, at position 62, is very far from all others: if it")
    assert not any(digits in line for digits in ("739", "941", "73,"))
    assert hints(*AGES, far + 0.5) == ""


def test_dates():
    days = np.arange("1950-01-01", "1990-01-01", 40, dtype="datetime64[D]")
    for code, text in (("1900-01-01", "01/01/1900"), ("9999-12-31", "31/12/9999")):
        values = np.append(days, np.datetime64(code, "D"))
        column = Column("born", "date", "", cells_of(values), DateNotation("day", "%d/%m/%Y"))
        (line,) = hints_about(column, is_typed=False)
        assert (
            f"at position 366: pass na=['born={text}']; otherwise it is averaged as a date." in line
        )
    column = Column("born", "date", "", cells_of(days), DateNotation("day", "%d/%m/%Y"))
    assert hints_about(column, is_typed=False) == []


@pytest.mark.parametrize(
    ("name", "is_hinted"),
    [
        ("state", True),
        ("marital_status", True),
        ("maritalStatus", True),
        ("Zip code", True),
        ("children", False),
        ("statement", False),
        ("marstat", True),
        ("birthplace", True),
        ("MAR", True),
        ("educ", True),
        ("ST", True),
        ("sexe", True),
        ("1st", False),
        ("sector_count", False),
        ("type_a_hours", False),
        ("school_years", False),
        ("languageScore", False),
    ],
)
def test_codes_of_categories(name, is_hinted):
    line = hints(*[1, 2, 3, 4, 5] * 9, name=name)
    assert ("its few integers may be codes" in line) == is_hinted
    assert ("pass categorical=[" in line) == is_hinted
    assert hints(*[1, 2, 3, 4, 5] * 9, name=name, **{name: "number"}) == ""
    assert hints(*range(500), name=name) == ""
    assert hints(1.5, 2.0, 3.0, 4.0, name=name) == ""


def test_years_of_education_are_no_codes():
    assert hints(*range(3, 17), name="educ") == hints(*range(18), name="school") == ""
    assert "may be codes" in hints(*range(1, 15), name="school")


def test_unsigned_integers():
    column = Column("x", "number", "", cells_of([*AGES, 99], pa.uint8()), NumberNotation(0))
    (line,) = hints_about(column, is_typed=True)
    assert line.startswith("99, unlike")


def test_one_and_two_are_codes():
    assert "may be codes, whose mean is meaningless" in hints(*[1, 2] * 9)
    assert "may be codes, whose mean is meaningless" in hints(*[1, 2, 9] * 9)
    assert hints(*[1, 2] * 9, name="n_rooms") == hints(*[0, 1] * 9) == ""


def test_what_is_omitted():
    notations = [NumberNotation(omitted="€"), NumberNotation(), None]
    columns = [Column(f"x{i}", "", "", cells_of([]), n) for i, n in enumerate(notations)]
    (message,) = say_what_is_omitted(columns)
    assert str(message) == "x0: its numbers are released without €."
