"""Figures and guards of constraints, and what holds for all of them."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles import privacy as oracle
from scipy.optimize import linprog
from sklearn.base import clone

from sk_microagg._kernels import Guards
from sk_microagg.privacy import (
    DistinctUnits,
    Dominance,
    LDiversity,
    PPercent,
    TCloseness,
    UnitShare,
)
from sk_microagg.privacy._closeness import OrderedDistance
from sk_microagg.privacy._counted import GroupCounts
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps")

NESTED = {"a": [0, 1], "b": {"c": [2, 3, 4], "d": [5]}, "e": [6], "f": [7, 8, 9]}
HIERARCHY = Hierarchy.from_nested(NESTED)

FIGURES = {
    "distinct": (LDiversity(2), lambda group, table: oracle.distinct(group)),
    "units": (DistinctUnits(2), lambda group, table: oracle.distinct(group)),
    "unit share": (UnitShare(0.25), lambda group, table: oracle.largest_share(group)),
    "entropy": (LDiversity(2, "entropy"), lambda group, table: oracle.entropy(group)),
    "recursive 1": (LDiversity(1, "recursive", 0.5), lambda g, table: oracle.recursive(g, 1)),
    "recursive 2": (LDiversity(2, "recursive", 1.5), lambda g, table: oracle.recursive(g, 2)),
    "recursive 3": (LDiversity(3, "recursive", 3), lambda g, table: oracle.recursive(g, 3)),
    "dominance": (Dominance(0.4), lambda group, table: oracle.dominance(group, 1)),
    "two dominate": (Dominance(0.5, n=2), lambda group, table: oracle.dominance(group, 2)),
    "p percent": (PPercent(50), lambda group, table: oracle.p_percent(group)),
    "equal": (TCloseness(0.25, "equal"), oracle.equal),
    "ordered": (TCloseness(0.25, "ordered"), oracle.ordered),
    "tree": (TCloseness(0.25, HIERARCHY), lambda g, table: oracle.tree(g, table, NESTED)),
}
every_figure = in_one_case("name", FIGURES)

RNG = np.random.default_rng(0)
COLUMNS = {
    "few values": RNG.integers(0, 3, 60),
    "many values": RNG.permutation(60) // 6,
    "skewed": np.minimum(RNG.geometric(0.7, 60) - 1, 9),
    "constant": np.full(60, 4),
    "one differs": np.array([0] * 59 + [9]),
}
PARTITIONS = {
    "groups of 2": np.arange(60) // 2,
    "groups of 5": RNG.permutation(60) // 5,
    "several sizes": np.repeat([2, 0, 1, 3], [3, 40, 7, 10]),
    "one group": np.zeros(60, dtype=int),
    "single records": RNG.permutation(60),
}


def groups_of(labels, values):
    return [values[labels == group].tolist() for group in range(labels.max() + 1)]


@pytest.mark.slow
@every_figure
@in_one_case("column", COLUMNS)
def test_figures_are_those_of_plain_loops(name, column):
    constraint, plain = FIGURES[name]
    values = COLUMNS[column]
    codes, table = constraint.prepare(values)
    for labels in PARTITIONS.values():
        figures = constraint.measure_groups(labels, codes, table)
        expected = [float(plain(group, values.tolist())) for group in groups_of(labels, values)]
        if name == "entropy":
            assert figures == pytest.approx(expected, rel=1e-12)
        else:
            assert_array_equal(figures, expected)  # correctly rounded
        for group, figure in enumerate(figures):
            assert constraint.measure(codes[labels == group], table) == figure


@pytest.mark.slow
@every_figure
@in_one_case("column", COLUMNS)
def test_a_guard_is_at_most_a_hair_stricter_than_the_plain_check(name, column):
    constraint, _ = FIGURES[name]
    codes, table = constraint.prepare(COLUMNS[column])
    guards = Guards([constraint.guard(codes, table)])
    rng = np.random.default_rng(1)
    for _ in range(60):
        members = rng.choice(60, rng.integers(1, 20), replace=False)
        figure = constraint.measure(codes[members], table)
        if guards.hold(members):
            assert constraint.accepts(figure)
        elif constraint.accepts(figure):
            assert figure == pytest.approx(limit_of(constraint), rel=1e-9)


def limit_of(constraint):
    names = {
        TCloseness: "t",
        LDiversity: "c",
        UnitShare: "at_most",
        Dominance: "share",
        PPercent: "p",
    }
    return getattr(constraint, names[type(constraint)])


@in_one_case("n_values", [1, 2, 3, 7, 10])
def test_equally_frequent_values_have_the_entropy_of_their_number(n_values):
    constraint = LDiversity(n_values, "entropy")
    codes, table = constraint.prepare(np.arange(40 * n_values) % n_values)
    figure = constraint.measure(codes, table)
    assert figure >= 1
    assert constraint.accepts(figure)
    assert Guards([constraint.guard(codes, table)]).hold(np.arange(len(codes)))
    assert not constraint.accepts(constraint.measure(codes[:-1], table)) or n_values == 1


def test_the_guard_of_a_recursive_constraint_is_not_deceived_by_rounding():
    # 0.07 * 100 is above 7.
    codes, table = LDiversity(1, "recursive", 0.07).prepare(
        np.repeat(np.arange(15), [7] * 14 + [2])
    )
    assert len(codes) == 100
    constraint = LDiversity(1, "recursive", 0.07)
    assert not constraint.accepts(constraint.measure(codes, table))
    assert not Guards([constraint.guard(codes, table)]).hold(np.arange(100))


values_and_groups = st.tuples(
    st.lists(st.integers(0, 9), min_size=4, max_size=30), st.integers(1, 29), st.integers(1, 29)
)


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(st.sampled_from(list(FIGURES)), values_and_groups, st.sampled_from([0.0, 0.1, 0.25, 0.6]))
def test_a_union_of_good_groups_is_good(name, drawn, most):
    constraint, _ = FIGURES[name]
    if isinstance(constraint, TCloseness):
        constraint = clone(constraint).set_params(t=most)
    elif isinstance(constraint, UnitShare):
        constraint = clone(constraint).set_params(at_most=most or 0.4)
    values, cut, end = drawn
    codes, table = constraint.prepare(np.array(values))
    parts = codes[:cut], codes[cut : cut + end]
    if all(len(part) and constraint.accepts(constraint.measure(part, table)) for part in parts):
        assert constraint.accepts(constraint.measure(np.concatenate(parts), table))


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=12), st.integers(1, 6))
def test_distances_are_costs_of_moving_earth(values, n_members):
    values = np.array(values)
    for distance, between in [
        ("equal", lambda a, b, table: float(a != b)),
        ("ordered", steps_between),
        (HIERARCHY, height_above_both),
    ]:
        constraint = TCloseness(distance=distance)
        codes, table = constraint.prepare(values)
        group = values[:n_members]
        costs = [[between(a, b, values) for b in values] for a in group]
        assert constraint.measure(codes[:n_members], table) == pytest.approx(least_cost(costs))


def steps_between(a, b, table):
    different = np.unique(table).tolist()
    return abs(different.index(a) - different.index(b)) / max(len(different) - 1, 1)


def height_above_both(a, b, table):
    if a == b:
        return 0.0
    return {"a": 1, "c": 1, "b": 2, "f": 1, "*": 3}[HIERARCHY.lowest_common(a, b)] / 3


def least_cost(costs):
    costs = np.array(costs)
    n_from, n_to = costs.shape
    leave = np.kron(np.eye(n_from), np.ones(n_to))
    arrive = np.kron(np.ones(n_from), np.eye(n_to))
    amounts = np.repeat([1 / n_from, 1 / n_to], [n_from, n_to])
    return linprog(costs.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=amounts).fun


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 12))
def test_the_largest_share_of_a_union_is_at_most_that_of_a_part(units, cut):
    first, rest = units[:cut], units[cut:]
    parts = [oracle.largest_share(part) for part in (first, rest) if part]
    assert oracle.largest_share(units) <= max(parts)
    codes, table = UnitShare().prepare(np.array(units))
    whole = UnitShare().measure(codes, table)
    # The limit may be the largest share of a part itself, which division rounds.
    assert UnitShare(float(max(parts))).accepts(whole)


@in_one_case("share", [Fraction(1, 5), Fraction(1, 3), Fraction(3, 10), Fraction(1, 2)])
def test_a_share_of_exactly_the_largest_one_is_accepted(share):
    n = 3000  # One row less is a share that is larger by a thirtieth of a percent.
    # As users compute it, a little below or above.
    for at_most in (float(share), 1 - (1 - float(share)), math.nextafter(float(share), 0)):
        constraint = UnitShare(at_most)
        units = np.r_[np.zeros(int(share * n)), np.arange(1, 1 + n - int(share * n))]
        codes, table = constraint.prepare(units)
        guards = Guards([constraint.guard(codes, table)])
        assert constraint.accepts(constraint.measure(codes, table))
        assert guards.hold(np.arange(n))
        assert not constraint.accepts(constraint.measure(codes[:-1], table))
        assert not guards.hold(np.arange(n - 1))


@in_one_case("at_most", [1.0, 1 - 1e-12])
def test_a_share_of_everything_is_no_constraint(at_most):
    constraint = UnitShare(at_most)
    codes, table = constraint.prepare(np.zeros(3))
    assert constraint.accepts(constraint.measure(codes, table))
    assert Guards([constraint.guard(codes, table)]).hold([0, 2])


@in_one_case("t", [Fraction(1, 10), Fraction(3, 10), Fraction(1, 3), Fraction(7, 20)])
@in_one_case("distance", ["equal", "ordered"])
def test_a_distance_of_exactly_t_is_accepted(t, distance):
    # Half of the table has either value; the share of one is larger by t in the group.
    _, table = TCloseness(distance=distance).prepare(np.arange(30_000) % 2)
    n_members = 300 * t.denominator
    group = np.arange(n_members) < n_members * (Fraction(1, 2) + t)
    constraint = TCloseness(float(t), distance)
    figure = constraint.measure(group.astype(np.int32), table)
    assert constraint.accepts(figure)
    assert not TCloseness(math.nextafter(float(t), 0)).accepts(figure)


def test_products_beyond_64_bits_are_exact():
    in_table = np.random.default_rng(0).integers(1, 10**12, 1000)
    group = np.random.default_rng(1).integers(0, 1000, 10**4).astype(np.int32)
    n_records, counts = int(in_table.sum()), np.bincount(group, minlength=1000)
    assert n_records * 10**4 * 1000 > 2**64
    total = ahead = 0
    for here, there in zip(counts.tolist(), in_table.tolist(), strict=True):
        ahead += here * n_records - there * 10**4
        total += abs(ahead)
    everything = GroupCounts.from_labels(np.zeros(10**4, dtype=int), group)
    figures = OrderedDistance(in_table).of_counts(everything)
    assert figures.tolist() == [float(Fraction(total, 10**4 * n_records * 999))]


@every_figure
def test_parameters_are_cloned_set_and_pickled(name):
    constraint, _ = FIGURES[name]
    copy = clone(constraint)
    assert {**copy.get_params(), "distance": 0} == {**constraint.get_params(), "distance": 0}
    first = next(iter(set(copy.get_params()) & {"l", "t", "k", "at_most", "share", "p"}))
    assert copy.set_params(**{first: 1}).get_params()[first] == 1
    before = dict(vars(copy))
    codes, table = copy.prepare(COLUMNS["few values"])
    assert vars(copy) == before  # nothing of the data stays in it
    same = pickle.loads(pickle.dumps(copy))
    assert same.measure(codes[:7], table) == copy.measure(codes[:7], table)


@in_one_case(
    ("constraint", "error", "message"),
    [
        (LDiversity(0), ValueError, r"l=0\b"),
        (LDiversity(2.5), TypeError, r"l=2\.5\b"),
        (LDiversity("3", "entropy"), TypeError, "l='3'"),
        (LDiversity(0.5, "entropy"), ValueError, r"l=0\.5\b"),
        (
            LDiversity(kind="alpha"),
            ValueError,
            "kind='alpha'",
        ),
        (
            LDiversity(kind="recursive"),
            ValueError,
            r"c=None\b",
        ),
        (LDiversity(kind="recursive", c=0), ValueError, r"c=0\b"),
        (LDiversity(c=2), ValueError, r"c=2\b"),
        (TCloseness(1.5), ValueError, r"t=1\.5\b"),
        (TCloseness(-0.1), ValueError, r"t=-0\.1\b"),
        (TCloseness(None), TypeError, r"t=None\b"),
        (
            TCloseness(distance="order"),
            ValueError,
            "distance='order'",
        ),
        (TCloseness(distance=3), TypeError, r"distance=3\b"),
        (TCloseness(distance=Hierarchy), TypeError, r"must be one of .* or a Hierarchy\."),
        (
            TCloseness(distance=Hierarchy.intervals()),
            ValueError,
            "distance=<hierarchy of intervals>",
        ),
        (UnitShare(0), ValueError, r"at_most=0\b"),
        (UnitShare(1.5), ValueError, r"at_most=1\.5\b"),
        (UnitShare("1"), TypeError, "at_most='1'"),
        (Dominance(0), ValueError, r"share=0\b"),
        (Dominance(1.01), ValueError, r"share=1\.01\b"),
        (Dominance(n=0), ValueError, r"n=0\b"),
        (PPercent(0), ValueError, r"p=0\b"),
        (PPercent("5"), TypeError, "p='5'"),
        (DistinctUnits(0), ValueError, r"k=0\b"),
        (DistinctUnits(True), TypeError, r"k=True\b"),
    ],
)
def test_parameters_are_checked_when_used(constraint, error, message):
    with pytest.raises(error, match=message):
        constraint.prepare(np.arange(5))


def test_a_subclass_that_looks_otherwise_needs_all_records():
    """It would be asked in parts for what its parent counts."""

    class Merged(LDiversity):
        def prepare(self, values):
            return super().prepare(["gout" if value == "podagra" else value for value in values])

    class Halved(LDiversity):
        def measure_groups(self, labels, values, table):
            return super().measure_groups(labels, values, table) / 2

    class Capped(Dominance):
        def measure_groups(self, labels, values, table):
            return np.minimum(super().measure_groups(labels, values, table), 1)

    class Renamed(LDiversity):
        title = "variety"

    kinds = (Merged, Halved, Capped, Renamed, Dominance, TCloseness)
    assert [kind.needs for kind in kinds] == ["records"] * 3 + ["counts", "amounts", "counts"]
