"""MicroAggregator with constraints beyond k, units and strata."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import TABLES, in_units
from example_tables.sensitive import SENSITIVE, Spread
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles import privacy as oracle
from sklearn.base import clone

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.metrics import closeness, diversity, homogeneity, unit_share, units_per_group
from sk_microagg.privacy import Constraint, LDiversity, TCloseness, UnitShare
from sk_microagg.refiners import Annealing

pytestmark = pytest.mark.usefixtures("few_steps")

RNG = np.random.default_rng(0)
N = 400
AGES = RNG.integers(20, 90, N)
ILLNESSES = np.array(["flu", "gout", "cold", "asthma"])[RNG.choice(4, N, p=[0.5, 0.3, 0.1, 0.1])]
PATIENTS = np.array([f"patient {number}" for number in RNG.integers(0, 100, N)])
REGIONS = np.array(["north", "south", "west"])[RNG.choice(3, N, p=[0.6, 0.3, 0.1])]


def groups_of(labels, values):
    """Values of each group."""
    return [np.asarray(values)[labels == group].tolist() for group in range(labels.max() + 1)]


def assert_t_close(labels, values, t, distance="ordered"):
    """By shares of the values, and their cumulative sums if the values have an order."""
    codes = np.unique(values, return_inverse=True)[1]
    m = codes.max() + 1
    in_table = np.bincount(codes) / len(codes)
    for group in groups_of(labels, codes):
        ahead = np.bincount(group, minlength=m) / len(group) - in_table
        if distance == "ordered":
            assert np.abs(np.cumsum(ahead)).sum() / max(m - 1, 1) <= t + 1e-12
        else:
            assert np.abs(ahead).sum() / 2 <= t + 1e-12


def assert_l_diverse(labels, values, l):  # noqa: E741
    assert min(map(oracle.distinct, groups_of(labels, values))) >= l


# In whatever form

FORMS = {
    "list": lambda values, name: values.tolist(),
    "tuple": lambda values, name: tuple(values.tolist()),
    "array": lambda values, name: values,
    "column": lambda values, name: values[:, None],
    "objects": lambda values, name: values.astype(object),
    "pandas": lambda values, name: pd.Series(values, name=name),
    "pandas frame": lambda values, name: pd.DataFrame({name: values}, index=np.arange(N)[::-1]),
    "category": lambda values, name: pd.Series(values, name=name, dtype="category"),
    "polars": lambda values, name: pl.Series(name, values),
    "polars frame": lambda values, name: pl.DataFrame({name: values}),
}
every_form = in_one_case("form", FORMS)
FAST = Annealing(max_iter=10_000)


@pytest.fixture(name="expected", scope="module")
def results_of_arrays():
    """Labels with each of the arguments as an array."""
    X = in_units()
    return {
        name: MicroAggregator(4, refiner=FAST, privacy=privacy, random_state=0).fit_predict(
            X, **given
        )
        for name, privacy, given in (
            ("text", LDiversity(2), {"sensitive": ILLNESSES}),
            ("numbers", TCloseness(0.2, "ordered"), {"sensitive": AGES}),
            ("unit", None, {"unit": PATIENTS}),
            ("strata", None, {"strata": REGIONS}),
        )
    }


@pytest.mark.slow
@every_form
def test_sensitive_values_in_any_form(X, form, expected):
    aggregator = MicroAggregator(4, refiner=FAST, privacy=LDiversity(2), random_state=0)
    labels = aggregator.fit_predict(X, sensitive=FORMS[form](ILLNESSES, "illness"))
    assert_array_equal(labels, expected["text"])
    assert_l_diverse(labels, ILLNESSES, 2)
    if form != "objects":
        aggregator.set_params(privacy=TCloseness(0.2, "ordered"))
        labels = aggregator.fit_predict(X, sensitive=FORMS[form](AGES, "age"))
        assert_array_equal(labels, expected["numbers"])
        assert_t_close(labels, AGES, 0.2)


@pytest.mark.slow
@every_form
def test_units_in_any_form(X, form, expected):
    aggregator = MicroAggregator(4, refiner=FAST, random_state=0)
    labels = aggregator.fit_predict(X, unit=FORMS[form](PATIENTS, "patient"))
    assert_array_equal(labels, expected["unit"])


@pytest.mark.slow
@every_form
def test_strata_in_any_form(X, new, form, expected):
    aggregator = MicroAggregator(4, refiner=FAST, random_state=0)
    labels = aggregator.fit_predict(X, strata=FORMS[form](REGIONS, "region"))
    assert_array_equal(labels, expected["strata"])
    in_strata = FORMS[form](REGIONS, "region")
    in_a_list = aggregator.transform(X, strata=REGIONS.tolist())
    assert_array_equal(aggregator.transform(X, strata=in_strata), in_a_list)


ROLES = {"sensitive": ILLNESSES, "unit": PATIENTS, "strata": REGIONS}


def test_all_ways_to_fit_agree(X):
    aggregator = MicroAggregator(4, refiner=FAST, privacy=LDiversity(2), random_state=0)
    labels = aggregator.fit_predict(X, **ROLES)
    release = aggregator.fit_transform(X, **ROLES)
    assert_array_equal(aggregator.labels_, labels)
    assert_array_equal(release, aggregator.centroids_[labels])
    assert_array_equal(aggregator.fit(X, None, **ROLES).labels_, labels)
    assert diversity(release, ILLNESSES) >= 2
    assert homogeneity(release, ILLNESSES) == 0
    assert units_per_group(release, PATIENTS) >= 4
    assert all(len(set(group)) == 1 for group in groups_of(labels, REGIONS))


def test_the_function_and_the_estimator_agree(X):
    aggregator = MicroAggregator(
        4, refiner=FAST, privacy=LDiversity(2), scaler=None, random_state=0
    )
    labels = microaggregate(X, 4, refiner=FAST, privacy=LDiversity(2), random_state=0, **ROLES)
    assert_array_equal(labels, aggregator.fit_predict(X, **ROLES))


@pytest.mark.slow
@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_several_columns_with_a_constraint_each(X, frame):
    sensitive = frame({"illness": ILLNESSES, "age": AGES, "income": X[:, 1]})
    privacy = [
        LDiversity(2, column="illness"),
        TCloseness(0.25, column="age"),
        Spread(100.0, column="income"),
    ]
    labels = MicroAggregator(4, refiner=FAST, privacy=privacy, random_state=0).fit_predict(
        X, sensitive=sensitive
    )
    assert_l_diverse(labels, ILLNESSES, 2)
    assert_t_close(labels, AGES, 0.25)
    assert min(np.ptp(group) for group in groups_of(labels, X[:, 1])) >= 100
    assert labels.max() > 20


def test_sensitive_values_without_a_constraint_change_nothing(X):
    aggregator = MicroAggregator(4)
    labels = aggregator.fit_predict(X)
    assert_array_equal(aggregator.fit_predict(X, sensitive=ILLNESSES), labels)
    assert aggregator.exact_transform_


@pytest.mark.slow
@in_one_case(
    ("builder", "refiner"),
    [
        ("mdav", "auto"),
        ("mdav", None),
        ("cbfs", "local_search"),
        ("cbfs", "auto"),
        ("k_anonymity_first", "auto"),
        ("k_anonymity_first", None),
        ("t_closeness_first", "local_search"),
    ],
)
def test_whatever_builder_and_refiner(X, builder, refiner):
    privacy = [TCloseness(0.2), LDiversity(3, "entropy")]
    aggregator = MicroAggregator(4, builder=builder, refiner=refiner, privacy=privacy)
    labels = aggregator.fit_predict(X, sensitive=AGES, unit=PATIENTS)
    assert_t_close(labels, AGES, 0.2)
    assert min(map(oracle.entropy, groups_of(labels, AGES))) >= 3 * (1 - 1e-9)
    assert min(map(oracle.distinct, groups_of(labels, PATIENTS))) >= 4
    assert (
        type(aggregator.builder_).__name__
        == {
            "mdav": "TClosenessFirst",
            "cbfs": "CBFS",
            "k_anonymity_first": "KAnonymityFirst",
            "t_closeness_first": "TClosenessFirst",
        }[builder]
    )


@pytest.mark.slow_but_first
@pytest.mark.parametrize("table", TABLES)
@settings(deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1),
    sensitive=st.sampled_from(sorted(SENSITIVE)),
    n=st.integers(1, 50),
    d=st.integers(1, 3),
    k=st.integers(1, 6),
    t=st.sampled_from([0.05, 0.2, 0.5, 1.0]),
)
@pytest.mark.filterwarnings("ignore:All records are in one group")
def test_every_group_satisfies_everything(table, seed, sensitive, n, d, k, t):
    rng, k = np.random.default_rng(seed), min(k, n)
    X, values = TABLES[table](rng, n, d), SENSITIVE[sensitive](rng, n)
    units = np.r_[np.arange(k), rng.integers(0, n, n - k)]
    n_different = int(rng.integers(1, len(np.unique(values)) + 1))
    aggregator = MicroAggregator(
        k, refiner=Annealing(max_iter=2000), privacy=[TCloseness(t), LDiversity(n_different)]
    )
    labels = aggregator.fit_predict(X, sensitive=values, unit=units)
    assert_t_close(labels, values, t, "equal" if sensitive == "text" else "ordered")
    assert_l_diverse(labels, values, n_different)
    assert_l_diverse(labels, units, k)


# Units


@pytest.mark.slow
def test_a_unit_with_hundreds_of_records(X):
    units = np.array(["Ann"] * 300 + [f"patient {number}" for number in range(100)])
    labels = MicroAggregator(5).fit_predict(X, unit=units)
    assert_l_diverse(labels, units, 5)
    # 4 others in each group would allow 25 groups.
    assert 20 <= labels.max() + 1 <= 25
    assert min(map(len, groups_of(labels, units))) >= 5


@in_one_case("n_units", [5, 7, 9])
def test_fewer_than_2k_units(X, n_units):
    units = np.arange(N) % n_units
    labels = MicroAggregator(5, refiner=FAST).fit_predict(X, unit=units)
    assert_l_diverse(labels, units, 5)
    # All units may be in every group.
    assert labels.max() > 20


@pytest.mark.slow
def test_units_of_one_record_each_are_nothing_new(X):
    labels = MicroAggregator(5).fit_predict(X, unit=np.arange(N))
    assert np.bincount(labels).min() >= 5
    free, units = (
        MicroAggregator(5).fit(X, unit=given).information_loss_ for given in (None, np.arange(N))
    )
    assert units < 1.1 * free


def test_records_of_a_unit_may_be_in_several_groups(X):
    labels = MicroAggregator(5, refiner=FAST).fit_predict(X, unit=PATIENTS)
    assert max(len({*labels[patient == PATIENTS]}) for patient in set(PATIENTS)) > 1


def test_missing_units_are_one_unit(X):
    units = np.array([None] * 200 + [*range(200)], dtype=object)
    labels = MicroAggregator(5, refiner=FAST).fit_predict(X, unit=units)
    assert_l_diverse(labels, units, 5)


@pytest.mark.slow
@in_one_case(
    ("builder", "refiner"),
    [
        ("mdav", "auto"),
        ("mdav", None),
        ("cbfs", "local_search"),
        ("k_anonymity_first", "auto"),
        ("k_anonymity_first", None),
    ],
)
def test_no_unit_has_most_of_a_group(builder, refiner):
    # Some people have 30 records near each other, and the others have 3.
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(80), [30] * 5 + [3] * 75)
    X = rng.normal(size=(80, 2))[people] + 0.3 * rng.normal(size=(375, 2))
    shares = []
    for privacy in (None, UnitShare(0.3)):
        aggregator = MicroAggregator(4, builder=builder, refiner=refiner, privacy=privacy)
        release = aggregator.fit_transform(X, unit=people)
        shares.append(unit_share(release, people))
        in_groups = groups_of(aggregator.labels_, people)
        assert shares[-1] == float(max(map(oracle.largest_share, in_groups)))
    assert shares[0] > 0.39
    assert shares[1] <= 0.3
    assert aggregator.n_groups_ > 5


def test_shares_of_units_in_blocks_and_strata():
    X = in_units(1200, seed=3)
    units = np.r_[np.zeros(100, dtype=int), np.arange(1100) % 300]
    strata = np.arange(1200) % 2
    aggregator = MicroAggregator(3, privacy=UnitShare(0.3), block_size=300, refiner=FAST)
    labels = aggregator.fit_predict(X, unit=units, strata=strata)
    # Three in ten are accepted, and as a fraction a little more than 0.3.
    assert float(max(map(oracle.largest_share, groups_of(labels, units)))) <= 0.3
    assert max(len(set(group)) for group in groups_of(labels, strata)) == 1
    assert labels.max() > 50


def test_a_unit_with_too_many_records_of_the_table_or_a_stratum(X):
    units = np.r_[np.zeros(100, dtype=int), np.arange(300)]
    aggregator = MicroAggregator(3, privacy=UnitShare(0.2))
    words = r"^at_most=0\.2 must be at least the largest share of .* unit column, about 0\.26\.$"
    with pytest.raises(ValueError, match=words):
        aggregator.fit(X, unit=units)
    aggregator.set_params(privacy=UnitShare(0.3))
    with pytest.raises(ValueError, match=r"violates UnitShare\(at_most=0\.3\) of the unit column"):
        aggregator.fit(X, unit=units, strata=np.arange(400) < 150)


def test_shares_of_units_need_units(X):
    words = r"^privacy=UnitShare\(at_most=0\.1\) needs units: pass unit=, a value per record\.$"
    with pytest.raises(ValueError, match=words):
        MicroAggregator(3, privacy=UnitShare(0.1)).fit(X, sensitive=ILLNESSES)


# Blocks


@pytest.mark.slow
@in_one_case("kind", ["independent", "along a column"])
def test_blocks_are_held_against_the_whole_table(kind):
    # Along a column, no half of the table looks like the whole of it.
    X = in_units(1200, seed=3)
    values = np.argsort(np.argsort(X[:, 0]))
    if kind == "independent":
        values = np.random.default_rng(0).permutation(values)
    aggregator = MicroAggregator(3, privacy=TCloseness(0.25), block_size=150, refiner=FAST)
    labels = aggregator.fit_predict(X, sensitive=values)
    assert_t_close(labels, values, 0.25)
    assert closeness(labels, values) <= 0.25
    assert (aggregator.n_blocks_ > 1) or kind == "along a column"
    assert labels.max() > 100


@pytest.mark.slow
def test_units_and_diversity_in_blocks():
    X = in_units(1200, seed=3)
    units, values = np.arange(1200) % 300, np.arange(1200) % 7 > 0
    aggregator = MicroAggregator(3, privacy=LDiversity(2), block_size=150, refiner=FAST)
    labels = aggregator.fit_predict(X, unit=units, sensitive=values)
    assert aggregator.n_blocks_ >= 8
    assert_l_diverse(labels, units, 3)
    assert_l_diverse(labels, values, 2)


def test_groups_are_not_stitched_under_constraints(X):
    aggregator = MicroAggregator(4, stitch=True, block_size=100)
    with pytest.raises(ValueError, match=r"^stitch=True\b"):
        aggregator.fit(X, unit=PATIENTS)
    assert aggregator.fit(X, strata=REGIONS).exact_transform_


# Parameters


def test_constraints_are_parameters():
    aggregator = MicroAggregator(privacy=TCloseness(0.3))
    assert aggregator.get_params()["privacy__t"] == 0.3
    copy = clone(aggregator).set_params(privacy__t=0.1)
    assert (aggregator.privacy.t, copy.privacy.t) == (0.3, 0.1)
    assert "privacy=TCloseness(t=0.1)" in repr(copy)


def test_the_constraint_given_stays_as_it_is(X):
    constraint = TCloseness(0.3)
    before = dict(vars(constraint))
    aggregator = MicroAggregator(4, privacy=constraint, refiner=FAST).fit(X, sensitive=AGES)
    assert aggregator.privacy is constraint
    assert vars(constraint) == before


@pytest.mark.slow
def test_a_stricter_constraint_loses_more(X):
    losses = [
        MicroAggregator(4, privacy=TCloseness(t)).fit(X, sensitive=AGES).information_loss_
        for t in (0.05, 0.1, 0.2, 1.0)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 1.1 * MicroAggregator(4).fit(X).information_loss_


# Half of the table has either value: 3 of 5 records differ from that by 0.1. Guards are a little
# stricter than the constraint, to be safe from rounding.
@pytest.mark.slow
def test_a_distance_of_exactly_t_is_good_enough_for_searches(X):
    exactly, nearly = (
        MicroAggregator(5, privacy=TCloseness(t)).fit(X, sensitive=np.arange(N) % 2)
        for t in (0.1, 0.1000001)
    )
    assert exactly.information_loss_ < 1.05 * nearly.information_loss_


@pytest.mark.slow
@in_one_case(
    "privacy",
    [
        [TCloseness(0.2, column="income"), LDiversity(3, "recursive", c=5, column="illness")],
        [TCloseness(0.2, column="income"), TCloseness(0.15, column="illness")],
        [LDiversity(3, "recursive", c=5, column="illness"), LDiversity(20, column="income")],
    ],
)
def test_constraints_on_two_columns_leave_many_groups(privacy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(450, 2))
    illness = np.where(X[:, 0] > 1.2, "gout", np.where(X[:, 1] > 0, "flu", "cold"))
    income = (1000 * X[:, 0] + 500 * rng.normal(size=450)).round()
    aggregator = MicroAggregator(5, privacy=privacy, refiner=FAST, random_state=0)
    aggregator.fit(X, sensitive=pd.DataFrame({"income": income, "illness": illness}))
    assert aggregator.n_groups_ > 10
    assert aggregator.information_loss_ < 0.7


class Several(Constraint):
    """A constraint as users write it: an array as a parameter, and one figure at a time."""

    def __init__(self, least=2, among=None, column=None):
        self.least = least
        self.among = among
        self.column = column

    def measure(self, values, table):
        return len(set(values) & {*self.among})

    def accepts(self, figure):
        return True if figure >= self.least else False  # noqa: SIM210


def test_a_constraint_with_an_array_that_accepts_one_figure_at_a_time(X):
    privacy = Several(among=np.array(["flu", "gout"]))
    illnesses = np.array(["flu", "gout", "cold", "cough"])[np.arange(len(X)) % 4]
    labels = MicroAggregator(4, privacy=privacy).fit_predict(X, sensitive=illnesses)
    assert all({"flu", "gout"} <= set(group) for group in groups_of(labels, illnesses))
    assert labels.max() > 20
    with pytest.raises(ValueError, match=r"violates Several\(least=3, among=array"):
        MicroAggregator(4, privacy=clone(privacy).set_params(least=3)).fit(X, sensitive=illnesses)


def test_blocks_are_cut_where_both_sides_can_satisfy_the_constraint():
    # The widest column tells the sensitive value, and cannot be cut; the other can.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) * [2, 1]
    aggregator = MicroAggregator(
        5, privacy=LDiversity(1.5, "entropy"), scaler=None, block_size=600, refiner=None
    )
    labels = aggregator.fit_predict(X, sensitive=X[:, 0] > 0)
    assert aggregator.n_blocks_ == 4
    assert min(map(oracle.entropy, groups_of(labels, X[:, 0] > 0))) >= 1.5 * (1 - 1e-9)
