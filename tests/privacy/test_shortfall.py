import numpy as np
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg.privacy import (
    Constraint,
    DistinctUnits,
    Dominance,
    LDiversity,
    PopulationSize,
    PPercent,
    Rules,
    TCloseness,
    UnitShare,
)


class Range(Constraint):
    """A constraint without a shortfall of its own, or with a wrong one."""

    def __init__(self, column=None):
        self.column = column

    def measure(self, values, table):
        return values.max() - values.min()

    def accepts(self, figure):
        return figure >= 3


class RangeWithoutSteps(Range):
    def shortfall(self, figure):
        return 0.0 * figure


@in_one_case(
    "constraint",
    [
        DistinctUnits(3),
        LDiversity(3),
        LDiversity(2.5, "entropy"),
        LDiversity(2, "recursive", c=1.5),
        TCloseness(0.0),
        TCloseness(0.2),
        TCloseness(0.2, "equal"),
        UnitShare(0.4),
        Dominance(0.4),
        PPercent(40),
        PopulationSize(12),
        Range(),
        RangeWithoutSteps(),
    ],
)
def test_groups_fall_short_if_they_are_not_accepted(constraint):
    rng = np.random.default_rng(0)
    values = rng.integers(1, 7, 400)
    rules = Rules.of_table(400, 1, constraint, values, values)
    labels = np.concatenate([np.arange(90), rng.integers(0, 90, 310)])
    shortfalls = rules.shortfalls(labels)
    assert_array_equal(shortfalls == 0.0, rules.are_met(labels))
    assert (shortfalls >= 0.0).all()
    assert (shortfalls <= 1.0).all()


def test_the_shortfall_is_smaller_nearer_to_acceptance():
    assert_allclose(DistinctUnits(4).shortfall(np.array([1, 3, 5])), [0.75, 0.25, 0.0])
    assert_allclose(LDiversity(4).shortfall(np.array([1, 3, 5])), [0.75, 0.25, 0.0])
    recursive = LDiversity(2, "recursive", c=1.5)
    assert_allclose(recursive.shortfall(np.array([np.inf, 3.0, 1.0])), [1.0, 0.5, 0.0])
    assert_allclose(TCloseness(0.2).shortfall(np.array([0.5, 0.1])), [0.3, 0.0])
    assert_allclose(UnitShare(0.2).shortfall(np.array([0.5, 0.1])), [0.3, 0.0])
    assert_allclose(Dominance(0.2).shortfall(np.array([0.5, 0.1])), [0.3, 0.0])
    assert_allclose(PPercent(20).shortfall(np.array([5.0, 30.0, np.inf])), [0.75, 0.0, 0.0])
    assert_allclose(PopulationSize(20).shortfall(np.array([5.0, 30.0])), [0.75, 0.0])


def test_shortfalls_of_all_rules_add_up_for_records_in_any_groups():
    values = np.array([[1, 1], [1, 2], [1, 3]])
    rules = Rules(
        Rules.of_table(3, 1, LDiversity(1, column=0), values).rules
        + Rules.of_table(3, 1, LDiversity(3, column=1), values).rules
        + Rules.of_table(3, 2, unit=[1, 1, 2]).rules
    )
    # Record 1 alone; records 0 and 2 are two of three values and two units; record 1 alone.
    shortfalls = rules.shortfalls(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    assert_allclose(shortfalls, [2 / 3 + 1 / 2, 1 / 3, 2 / 3 + 1 / 2])
