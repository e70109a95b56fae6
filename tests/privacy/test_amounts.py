"""Dominance, p percent and the size of the population: amounts that a group adds up."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import in_units
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles import privacy as oracle
from sklearn.base import clone

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg._kernels import Guards
from sk_microagg.privacy import Constraint, Dominance, LDiversity, PopulationSize, PPercent, Rules

pytestmark = pytest.mark.usefixtures("few_steps")

PLAIN = {
    "dominance": (Dominance(0.45), lambda a, u: oracle.dominance(oracle.added_up(a, u), 1)),
    "three dominate": (Dominance(0.7, 3), lambda a, u: oracle.dominance(oracle.added_up(a, u), 3)),
    "p percent": (PPercent(30), lambda a, u: oracle.p_percent(oracle.added_up(a, u))),
    "population": (PopulationSize(30), oracle.sum_of_largest),
}
LIMITS = {Dominance: "share", PPercent: "p", PopulationSize: "at_least"}
every_one = in_one_case("name", PLAIN)
N = 600
RNG = np.random.default_rng(0)
# Like sales: a few are hundreds of times as large as most.
SALES = np.ceil(RNG.lognormal(3, 1.5, N))
COMPANIES = RNG.integers(0, 200, N)


def groups_of(labels, *columns):
    return [
        [np.asarray(column)[labels == group].tolist() for column in columns]
        for group in range(labels.max() + 1)
    ]


def assert_all_good(labels, constraint, amounts, units=None):
    plain = next(plain for one, plain in PLAIN.values() if type(one) is type(constraint))
    if isinstance(constraint, Dominance):
        plain = lambda a, u: oracle.dominance(oracle.added_up(a, u), constraint.n)  # noqa: E731
    units = np.arange(len(amounts)) if units is None else units
    for own, people in groups_of(labels, amounts, units):
        assert constraint.accepts(float(plain(own, people)))


@every_one
@in_one_case("size", [1, 2, 5, 60])
def test_figures_and_guards_add_up_units(name, size):
    constraint, plain = PLAIN[name]
    rng = np.random.default_rng(size)
    amounts, units = rng.integers(1, 60, 60) ** 2 % 91 + 1, rng.integers(0, 25, 60)
    labels = rng.permutation(60) // size
    values, table = constraint.prepare(amounts)
    for given_units in (units, None):
        prepared = constraint.with_units(values, given_units)
        of = np.arange(60) if given_units is None else units
        figures = constraint.measure_groups(labels, prepared, table)
        expected = [float(plain(*group)) for group in groups_of(labels, amounts, of)]
        assert_array_equal(figures, expected)
        guards = Guards([constraint.guard(prepared, table)])
        for group, figure in enumerate(figures):
            members = np.flatnonzero(labels == group)
            assert constraint.measure(prepared[members], table) == figure
            assert guards.hold(members) == constraint.accepts(figure)


records = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(sorted(PLAIN)), records, records, st.floats(0.1, 1.0))
def test_a_union_of_good_groups_is_good_also_with_units_in_both(name, one, other, strictness):
    constraint, plain = PLAIN[name]
    if name == "population":
        one, other = ([(amount + 1, unit) for amount, unit in part] for part in (one, other))
    figures = [float(plain(*zip(*part, strict=True))) for part in (one, other, one + other)]
    limit = {"p percent": 100 * strictness, "population": 40 * strictness}.get(name, strictness)
    constraint = clone(constraint).set_params(**{LIMITS[type(constraint)]: limit})
    if all(map(constraint.accepts, figures[:2])):
        assert constraint.accepts(figures[2])


@pytest.mark.slow
@in_one_case("constraint", [Dominance(0.4), Dominance(0.6, n=2), PPercent(25), PopulationSize(200)])
@in_one_case(("builder", "refiner"), [("mdav", "auto"), ("k_anonymity_first", "local_search")])
def test_whatever_builder_and_refiner(constraint, builder, refiner):
    X, sales, units = in_units(90, seed=1), SALES[:90], COMPANIES[:90]
    aggregator = MicroAggregator(3, privacy=constraint, builder=builder, refiner=refiner)
    labels = aggregator.fit_predict(X, sensitive=sales)
    assert_all_good(labels, constraint, sales)
    assert labels.max() > 1
    labels = aggregator.fit_predict(X, sensitive=sales, unit=units)
    assert_all_good(labels, constraint, sales, units)
    assert labels.max() > 0


@pytest.mark.slow
def test_blocks_strata_and_other_constraints():
    X = in_units(N, seed=1)
    privacy = [
        Dominance(0.4, column="sales"),
        PPercent(20, column="sales"),
        LDiversity(2, column="kind"),
    ]
    kinds = np.where(np.arange(N) % 3, "a", "b")
    sensitive = pd.DataFrame({"sales": SALES, "kind": kinds})
    strata = np.arange(N) % 2
    aggregator = MicroAggregator(3, privacy=privacy, block_size=100)
    labels = aggregator.fit_predict(X, sensitive=sensitive, unit=COMPANIES, strata=strata)
    for constraint in privacy[:2]:
        assert_all_good(labels, constraint, SALES, COMPANIES)
    assert max(len(set(own)) for [own] in groups_of(labels, strata)) == 1
    assert min(len(set(own)) for [own] in groups_of(labels, kinds)) == 2
    assert aggregator.n_blocks_ > 2
    assert labels.max() > 20


@pytest.mark.slow
def test_columns_of_a_table_in_any_role():
    X = in_units(N, seed=1)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    table["sales"], table["profit"], table["weight"] = SALES, SALES[::-1], 1 + SALES % 7
    privacy = [
        Dominance(0.5, column="sales"),
        PPercent(10, column="profit"),
        PopulationSize(25, weight="weight"),
    ]
    aggregator = TableAggregator(3, privacy=privacy, sensitive=["profit", "weight"])
    labels = aggregator.fit_predict(table)
    for constraint in privacy:
        assert_all_good(labels, constraint, table[constraint.column])
    assert labels.max() > 50
    aggregator.set_params(privacy=Dominance(0.5, column="Sales"))
    with pytest.raises(ValueError, match="column='Sales'"):
        aggregator.fit(table)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups")
@in_one_case(
    "roles",
    [{}, {"unit": "company"}, {"strata": "part"}, {"sensitive": "sales"}, {"block_size": 60}],
)
def test_amounts_times_weights(roles):
    """A weighted mean tells the sum of weights times amounts."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sales": SALES, "staff": in_units(N, seed=1)[:, 0] ** 2})
    table["company"], table["part"] = COMPANIES, np.arange(N) % 2
    table["w"] = np.round(rng.lognormal(1.5, 1.2, N) + 1, 1)
    privacy = [
        Dominance(0.6, column="sales"),
        PPercent(10, column="sales"),
        Dominance(0.6, column="staff"),
        Dominance(0.5, column="w"),  # Weights themselves are added up as they are.
    ]
    drop = [name for name in ("company", "part") if name not in roles.values()]
    aggregator = TableAggregator(3, weight="w", privacy=privacy, drop=drop, **roles)
    labels = aggregator.fit_predict(table)
    units = table["company"] if "unit" in roles else None
    for constraint in privacy[:3]:
        assert_all_good(labels, constraint, table[constraint.column] * table["w"], units)
    assert_all_good(labels, privacy[3], table["w"], units)
    assert labels.max() > 10


@pytest.mark.filterwarnings("ignore:Most weights")
def test_a_weight_may_dominate_a_table():
    table = pd.DataFrame({"sales": [1.0] * 10, "w": [100.0] + [1.0] * 9})
    TableAggregator(5, privacy=Dominance(0.5, column="sales"), drop="w").fit(table)
    with pytest.raises(ValueError, match=r"^share=0\.5 must be at least 1"):
        TableAggregator(5, privacy=Dominance(0.5, column="sales"), weight="w").fit(table)


def test_products_with_weights_are_finite():
    table = pd.DataFrame({"x": range(10), "sales": [1e300] * 10, "w": [1e100, 2e100] * 5})
    roles = {"sensitive": "sales", "weight": "w", "privacy": Dominance(0.5, column="sales")}
    with pytest.raises(ValueError, match="column='sales' of Dominance must have finite products"):
        TableAggregator(5, **roles).fit(table)


@in_one_case(
    "form",
    [
        list,
        pd.Series,
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: pl.Series("sales", v),
        lambda v: [Decimal(each) for each in v],
    ],
)
def test_amounts_in_any_form(form):
    values = [90, 5, 5, 30, 35, 35]
    prepared, _ = Dominance().prepare(form(values))
    assert prepared["amount"].tolist() == values


@in_one_case("values", [[8, None, 2, 0], [8.0, math.nan, 2.0, 0.0], pd.array([8, None, 2, 0])])
def test_missing_amounts_contribute_nothing(values):
    prepared, table = Dominance().prepare(values)
    assert Dominance().measure(prepared, table) == 0.8
    with pytest.raises(
        ValueError, match=r"^weight: 2 of 4 cells are no .* above 0, at positions 1 and 3"
    ):
        PopulationSize().prepare(values)


def test_groups_without_any_amount_are_good():
    for constraint in (Dominance(0.01), PPercent(1000)):
        values, table = constraint.prepare(np.zeros(4))
        assert constraint.accepts(constraint.measure(values, table))
        assert Guards([constraint.guard(values, table)]).hold([0, 2, 3])


def test_sums_of_huge_amounts_are_finite():
    amounts = np.array([1.5e308, 1e308, 1e308])
    for constraint, expected in ((Dominance(0.5), 1.5 / 3.5), (PPercent(50), 100 / 1.5)):
        values, table = constraint.prepare(amounts)
        assert constraint.measure(values, table) == pytest.approx(expected, rel=1e-12)
        assert Guards([constraint.guard(values, table)]).hold([0, 1, 2])


@in_one_case(
    ("values", "error"),
    [
        ([3.0, -1.5], ValueError),
        ([3.0, math.inf], ValueError),
        (["3", "4"], ValueError),
        (["many", "few"], ValueError),
    ],
)
@in_one_case("constraint", [Dominance(column="sales"), PPercent(), PopulationSize(weight="w")])
def test_amounts_are_checked(constraint, values, error):
    words = {"sales": "column='sales' of Dominance", "w": "weight='w' of PopulationSize"}
    with pytest.raises(
        error, match=f"^{words.get(constraint.column, 'amounts')}.* at position"
    ) as raised:
        constraint.prepare(values)
    assert not any(f"{value}" in str(raised.value) for value in [-1.5, "many", "few"])


@in_one_case(
    ("constraint", "message"),
    [
        (Dominance(0.5), r"^share=0\.5 must be at least 0\.8: one contributor has up to"),
        (Dominance(0.5, 2), r"^share=0\.5 must be at least 0\.9: 2 contributors have up to"),
        (PPercent(30), r"^p=30 must be at most 20: "),
        (PopulationSize(500), r"^at_least=500 must be at most .* about 480\.$"),
    ],
)
def test_impossible_demands_say_roughly_by_how_much(constraint, message):
    amounts = [361, 43, 41, 39, 1, 1, 1, 1]  # of 488
    with pytest.raises(ValueError, match=message):
        MicroAggregator(2, privacy=constraint).fit(np.arange(8.0)[:, None], sensitive=amounts)


class Largest(Constraint):
    """A constraint of somebody else, whose figure would be a value."""

    def measure(self, values, table):
        return values.max()

    def accepts(self, figure):
        return figure > 0


def test_what_is_told_of_the_worst_group_is_coarse():
    assert Dominance(0.5).told(0.4234) == 0.5
    assert Dominance(0.75).told(0.4234) == 0.5
    assert PPercent(10).told(37.2) == 20
    assert PPercent(10).told(14.0) == 10
    assert PPercent(0.2).told(0.7) == 0.5
    assert PPercent(10).told(math.inf) == math.inf
    assert PopulationSize(100).told(1234.5) == 1000
    assert PopulationSize(100).told(101.5) == 100
    assert Largest().told(7) == 7


def test_rules_name_the_column():
    table = pd.DataFrame({"sales": SALES, "age": SALES})
    rules = Rules.of_table(
        N,
        2,
        [Dominance(0.5, column="sales"), PPercent(column="age")],
        table[["age"]],
        others=table[["sales"]],
    )
    assert [rule.name for rule in rules.rules] == [
        "Dominance(share=0.5) of the column 'sales'",
        "PPercent(p=10) of the sensitive column 'age'",
    ]
