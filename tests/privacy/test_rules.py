"""Constraints bound to the columns of a table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg.privacy import Constraint, LDiversity, Rules, TCloseness

ILLNESS = ["flu", "gout", "flu", "cold", None, "flu"]
AGE = [31, 42, 31, 57, 60, 18]
PATIENT = ["Ann", "Ann", "Bob", "Bob", "Cid", "Ann"]
FRAME = pd.DataFrame({"illness": ILLNESS, "age": AGE})
LABELS = np.array([0, 0, 0, 1, 1, 1])


class Spread(Constraint):
    """A largest minus a smallest value of at least `least`."""

    def __init__(self, least=3, scale=1):
        self.least = least
        self.scale = scale

    def measure(self, values, table):
        return (values.max() - values.min()) / self.scale

    def accepts(self, figure):
        return figure >= self.least


@in_one_case(
    "sensitive", [ILLNESS, np.array(ILLNESS, dtype=object), FRAME["illness"], FRAME[["illness"]]]
)
def test_a_single_column_needs_no_name(sensitive):
    rules = Rules.of_table(6, 2, LDiversity(2), sensitive)
    assert rules
    assert_array_equal(rules.rules[0].figures(LABELS), [2, 3])


@in_one_case(
    ("sensitive", "columns"),
    [
        (FRAME, ("illness", "age")),
        (FRAME, (0, 1)),
        (pl.from_pandas(FRAME), ("illness", "age")),
        (FRAME.to_numpy(), (0, 1)),
        (FRAME.to_numpy().tolist(), (np.int64(0), 1)),
        (FRAME.rename(columns={"illness": 1, "age": 0}), (1, 0)),
    ],
)
def test_columns_have_names_or_numbers(sensitive, columns):
    privacy = [LDiversity(3, column=columns[0]), TCloseness(0.3, column=columns[1])]
    rules = Rules.of_table(6, 2, privacy, sensitive)
    diversity, closeness = rules.rules
    assert_array_equal(diversity.is_met(LABELS), [False, True])
    assert_array_equal(diversity.figures(LABELS), [2, 3])
    figures = TCloseness().measure_groups(LABELS, *TCloseness().prepare(AGE))
    assert_array_equal(closeness.figures(LABELS), figures)
    assert_array_equal(rules.are_met(LABELS), [False, figures[1] <= 0.3])


@in_one_case("sensitive", [FRAME["age"], pl.Series("age", AGE)])
def test_a_series_has_a_name(sensitive):
    for column in ("age", 0, None):
        rules = Rules.of_table(6, 2, LDiversity(2, column=column), sensitive)
        assert rules.rules[0].name == "LDiversity(l=2) of the sensitive column 'age'"


def test_units_come_first():
    rules = Rules.of_table(6, 2, (LDiversity(2, column="age"),), FRAME, unit=PATIENT)
    units, diversity = rules.rules
    assert_array_equal(units.figures(LABELS), [2, 3])
    assert_array_equal(diversity.figures(LABELS), [2, 3])


def test_no_constraint_is_no_rule():
    for rules in (
        Rules.of_table(6, 2),
        Rules.of_table(6, 2, sensitive=FRAME),
        Rules.of_table(6, 2, [], FRAME),
    ):
        assert not rules
        rules.check(LABELS, "labels")


def test_the_text_of_rules_shows_no_value():
    shown = repr(Rules.of_table(6, 2, [LDiversity(column="illness")], FRAME, unit=PATIENT))
    assert "LDiversity(l=2) of the sensitive column 'illness'" in shown
    assert not any(value in shown for value in ("array", "flu", "gout", "Ann"))


def test_rules_of_some_records_know_the_whole_table():
    rules = Rules.of_table(6, 2, [TCloseness(0.5), Spread(3)], AGE, unit=PATIENT)
    records = np.array([5, 3, 4])
    some = rules.subset(records)
    for whole, part in zip(rules.rules, some.rules, strict=True):
        assert part.figures(np.zeros(3, dtype=int)) == whole.figures(LABELS)[1]
        assert part.name == whole.name


def test_guards_answer_for_all_rules():
    rules = Rules.of_table(6, 2, [LDiversity(2), Spread(15)], AGE, unit=PATIENT)
    for members in ([0, 1], [0, 2], [0, 3], [1, 3], [2, 3, 4], [0, 1, 2, 3, 4, 5]):
        labels = np.zeros(len(members), dtype=int)
        assert rules.guards().hold(members) == rules.subset(np.array(members)).are_met(labels)[0]


@in_one_case("values", [AGE, np.array(AGE), pd.Series(AGE), [31.5, *AGE[1:]]])
def test_a_constraint_of_ones_own_receives_numbers(values):
    rule = Rules.of_table(6, 2, Spread(), values).rules[0]
    assert isinstance(rule.values, np.ndarray)
    assert rule.values.dtype.kind in "if"


PRIVACY_NEEDED = r"privacy=LDiversity\(\) needs sensitive values: pass sensitive="


@in_one_case(
    ("arguments", "error", "message"),
    [
        ({"privacy": LDiversity()}, ValueError, PRIVACY_NEEDED),
        (
            {"privacy": "t", "sensitive": AGE},
            TypeError,
            r"privacy='t' must be a Constraint such as LDiversity\(l=2\), a list of them, or None, "
            r"got str\.",
        ),
        ({"privacy": LDiversity, "sensitive": AGE}, TypeError, r"must be a Constraint .*ABCMeta"),
        ({"privacy": [LDiversity(), 3], "sensitive": AGE}, TypeError, r"must be a .* got int\."),
        (
            {"privacy": LDiversity(), "sensitive": AGE[:4]},
            ValueError,
            r"sensitive has 4 records",
        ),
        ({"sensitive": FRAME[:4]}, ValueError, r"sensitive has 4 records: .* those of X, 6\."),
        ({"unit": [1, 2]}, ValueError, r"unit has 2 records"),
        ({"unit": FRAME}, ValueError, r"unit has 2 columns"),
        (
            {"privacy": LDiversity(column="Age"), "sensitive": FRAME},
            ValueError,
            "column='Age'",
        ),
        (
            {"privacy": LDiversity(column="Age"), "sensitive": FRAME["age"]},
            ValueError,
            "column='Age'",
        ),
        (
            {"privacy": LDiversity(column=-1), "sensitive": FRAME.to_numpy()},
            ValueError,
            r"column=-1\b",
        ),
    ],
)
def test_wrong_arguments_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        Rules.of_table(6, 2, **arguments)


@in_one_case(
    ("privacy", "message"),
    [
        (
            LDiversity(5, column="illness"),
            r"^l=5 must be at most the number of different values in the sensitive column "
            r"'illness', 4\.$",
        ),
        (
            LDiversity(4, "entropy", column="illness"),
            r"^l=4 must be at most the exponential of the entropy of the sensitive column "
            r"'illness', 3\.46\d*\.$",
        ),
        (
            LDiversity(3, "recursive", c=1.5, column="illness"),
            r"^c=1\.5 must be above the ratio r1 / \(r_3 \+ \.\.\.\) of the sensitive column "
            r"'illness', 1\.5\.$",
        ),
    ],
)
def test_what_the_whole_table_violates_is_an_error(privacy, message):
    with pytest.raises(ValueError, match=message):
        Rules.of_table(6, 2, privacy, FRAME)


def test_a_constraint_of_ones_own_that_the_whole_table_violates():
    message = (
        r"^The whole table taken as one group violates Spread\(least=100, scale=2\) of the "
        r"sensitive column: its figure is 21\.$"
    )
    with pytest.raises(ValueError, match=message):
        Rules.of_table(6, 2, Spread(100, scale=2), AGE)


def test_too_few_units():
    with pytest.raises(ValueError, match=r"^unit column: 3 different units, k=4\b"):
        Rules.of_table(6, 4, unit=PATIENT)
    assert Rules.of_table(6, 3, unit=PATIENT)


@in_one_case("privacy", [LDiversity(4), TCloseness(0.0), Spread(42)])
def test_what_only_the_whole_table_satisfies_is_a_rule(privacy):
    values = AGE if isinstance(privacy, Spread) else ILLNESS
    rules = Rules.of_table(6, 6, privacy, values)
    assert rules.are_met(np.zeros(6, dtype=int)).all()
    assert not rules.are_met(LABELS).all()


@in_one_case(
    ("arguments", "labels", "message"),
    [
        (
            {"privacy": LDiversity(3), "sensitive": FRAME["illness"]},
            LABELS,
            r"^labels with 1 group that violates LDiversity\(l=3\) of the sensitive column "
            r"'illness'",
        ),
        (
            {"privacy": TCloseness(0.01, "equal"), "sensitive": AGE},
            LABELS,
            r"^labels with 2 groups that violate TCloseness\(t=0\.01, distance='equal'\) of the "
            r"sensitive column",
        ),
        (
            {"unit": pd.Series(PATIENT, name="patient")},
            np.array([0, 0, 1, 1, 1, 1]),
            r"^labels with 1 group that violates k=2 different units \(unit column 'patient'\): ",
        ),
    ],
)
def test_violations_are_counted(arguments, labels, message):
    with pytest.raises(ValueError, match=message):
        Rules.of_table(6, 2, **arguments).check(labels, "labels")


@in_one_case("role", ["sensitive", "unit"])
@in_one_case("values", ["age", {"Ann", "Bob"}, {"name": ["Ann"]}, 3])
def test_roles_need_a_value_per_record(role, values):
    privacy = LDiversity(2) if role == "sensitive" else None
    message = f"^{role} .*got "
    with pytest.raises(TypeError, match=message) as caught:
        Rules.of_table(5, 2, privacy, **{role: values})
    assert "Ann" not in str(caught.value)


def test_columns_of_roles_have_names_that_differ():
    frame = pd.DataFrame([["flu", 1], ["gout", 2]], columns=["diagnosis", "diagnosis"])
    with pytest.raises(ValueError, match=r"^column='diagnosis'"):
        Rules.of_table(2, 1, LDiversity(2, column="diagnosis"), frame)
    with pytest.raises(ValueError, match=r"^sensitive has no columns"):
        Rules.of_table(2, 1, LDiversity(2), frame.iloc[:, :0])


def test_a_constraint_that_names_no_column_is_about_all():
    """The illnesses of the second group differ, and its ages do not."""
    table = pd.DataFrame({"illness": ["flu", "gout"] * 3, "age": [1, 2, 1, 3, 3, 3]})
    rules = Rules.of_table(6, 3, LDiversity(2), table)
    assert [rule.constraint.l for rule in rules.rules] == [2, 2]
    assert rules.are_met(LABELS).tolist() == [True, False]
    assert Rules.of_table(6, 3, LDiversity(2, column="illness"), table).are_met(LABELS).all()


def test_people_are_named_by_values_of_one_kind():
    """1 and "1" would be two people, and may be one."""
    mixed = pd.Series([1, "1", 2, "2", 3, 3], dtype=object)
    with pytest.raises(ValueError, match=r"^unit: people must be named by values of one kind"):
        Rules.of_table(6, 2, unit=mixed)
    assert Rules.of_table(6, 2, unit=pd.Series([1, 1.0, 2, None, 3, 3], dtype=object))
