"""Constraints on Census and Adult: loss at or below that of a prototype, and nothing violated."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from oracles import privacy as oracle

from sk_microagg import MicroAggregator
from sk_microagg.datasets import fetch_adult, fetch_census
from sk_microagg.metrics import closeness, diversity, homogeneity, units_per_group
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing

pytestmark = pytest.mark.slow

# For tests of what holds in groups, not of how good they are.
FAST = Annealing(max_iter=200_000)
TWO = ["TAXINC", "POTHVAL"]

# Percent of information lost with two quasi-identifiers and with all twelve, k = 2: by an annealing
# of 30 million steps under the constraint, which began with t-closeness first.
ANNEALED = {
    ("FEDTAX", 0.05): (55.0, 55.1),
    ("FEDTAX", 0.13): (42.5, 39.3),
    ("FEDTAX", 0.25): (32.2, 29.2),
    ("FICA", 0.05): (31.0, 55.5),
    ("FICA", 0.13): (16.9, 40.6),
    ("FICA", 0.25): (13.6, 30.4),
}


@pytest.fixture(name="census")
def census_table(data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    return fetch_census(as_frame=True).data


def ranks(column):
    """All records have different values, as in the prototype."""
    return np.argsort(np.argsort(column.to_numpy(), kind="stable"))


@pytest.fixture(scope="module")
def percent_lost():
    """Fit once what two tests compare."""

    @lru_cache
    def percent_lost_of(columns, name, has_ties, t, refiner):
        census = fetch_census(as_frame=True).data
        sensitive = census[name] if has_ties else ranks(census[name])
        aggregator = MicroAggregator(2, privacy=TCloseness(t), refiner=refiner)
        aggregator.fit(census[list(columns)], sensitive=sensitive)
        assert closeness(aggregator.labels_, sensitive) <= t
        assert aggregator.group_sizes_.min() >= 2
        return 100 * aggregator.information_loss_

    def percent_lost(columns, name, t, has_ties=True, refiner="auto"):
        return percent_lost_of(tuple(columns), name, has_ties, t, refiner)

    return percent_lost


# The loosest t of the column with ties, in which some people pay the same, which the next test
# needs, too; all others before a release.
@pytest.mark.parametrize("n_columns", [2, pytest.param(12, marks=pytest.mark.release)])
@pytest.mark.parametrize(
    ("sensitive", "t", "has_ties"),
    [
        pytest.param(*case, marks=[] if case == ("FICA", 0.25, True) else pytest.mark.release)
        for case in (
            *((*case, False) for case in ANNEALED),
            *((*case, True) for case in ANNEALED if "FICA" in case),
        )
    ],
)
def test_loss_on_census(census, percent_lost, sensitive, t, has_ties, n_columns):
    columns = TWO if n_columns == 2 else census.columns.drop(sensitive)
    expected = ANNEALED[sensitive, t][n_columns == 12]
    assert percent_lost(columns, sensitive, t, has_ties) <= 1.02 * expected


@pytest.mark.usefixtures("census")
@pytest.mark.parametrize("t", [pytest.param(0.13, marks=pytest.mark.release), 0.25])
def test_loss_is_at_most_three_fifths_of_t_closeness_first(percent_lost, t):
    refined, built = (percent_lost(TWO, "FICA", t, refiner=refiner) for refiner in ("auto", None))
    assert refined <= 0.6 * built


@pytest.mark.parametrize(
    ("sensitive", "k"),
    [
        pytest.param(*case, marks=[] if case == ("EMCONTRB", 5) else pytest.mark.release)
        for case in product(["FEDTAX", "INTVAL", "EMCONTRB"], [5, 10])
    ],
)
def test_other_columns_and_larger_groups(census, k, sensitive):
    columns = census.columns.drop(sensitive)
    losses = []
    for refiner in (None, FAST):
        aggregator = MicroAggregator(k, privacy=TCloseness(0.13), refiner=refiner)
        aggregator.fit(census[columns], sensitive=census[sensitive])
        assert closeness(aggregator.labels_, census[sensitive]) <= 0.13
        assert aggregator.group_sizes_.min() >= k
        losses.append(aggregator.information_loss_)
    assert losses[1] < 0.9 * losses[0]


N_PEOPLE = 2000


@pytest.fixture(name="adult", scope="module")
def adult_table(data_folder):
    if not (data_folder / "adult.csv").exists():
        pytest.skip(f"needs adult.csv in {data_folder}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SK_MICROAGG_DATA", str(data_folder))
        adult = fetch_adult()
    table = dict(zip(adult.feature_names, adult.data[:N_PEOPLE].T, strict=True))
    # Age, and who is married, male and a native.
    X = np.column_stack(
        [
            table["age"].astype(float),
            [str(status).startswith("Married") for status in table["marital-status"]],
            table["sex"] == "Male",
            table["native-country"] == "United-States",
        ]
    ).astype(float)
    return X, table["occupation"], table["salary-class"]


def values_of_groups(labels, values):
    return [values[labels == group].tolist() for group in range(labels.max() + 1)]


def test_diversity_on_adult(adult):
    X, occupation, salary = adult
    free = MicroAggregator(5, refiner=FAST).fit_predict(X)
    assert homogeneity(free, salary) > 0.1
    fast = MicroAggregator(5, privacy=LDiversity(2), refiner=FAST)
    labels = fast.fit_predict(X, sensitive=salary)
    assert homogeneity(labels, salary) == 0
    assert min(map(oracle.distinct, values_of_groups(labels, salary))) == 2
    labels = fast.set_params(privacy=LDiversity(3, "entropy")).fit_predict(X, sensitive=occupation)
    assert min(map(oracle.entropy, values_of_groups(labels, occupation))) >= 3 * (1 - 1e-9)


def test_closeness_on_adult(adult):
    X, occupation, salary = adult
    privacy = [TCloseness(0.2, column=0), LDiversity(3, column=1)]
    sensitive = np.column_stack([salary, occupation]).astype(object)
    labels = MicroAggregator(5, privacy=privacy, refiner=FAST).fit_predict(X, sensitive=sensitive)
    assert closeness(labels, salary) <= 0.2
    assert diversity(labels, occupation) >= 3
    table = salary.tolist()
    assert max(oracle.equal(group, table) for group in values_of_groups(labels, salary)[:50]) <= 0.2
    assert labels.max() > N_PEOPLE / 20


def test_units_on_census(census):
    # Each person has four rows.
    units = np.random.default_rng(0).permutation(np.arange(len(census)) // 4)
    labels = MicroAggregator(5, refiner=FAST).fit_predict(census, unit=units)
    assert units_per_group(labels, units) >= 5
    assert min(map(oracle.distinct, values_of_groups(labels, units))) >= 5
