"""Attacks on fitted models: the weights must not give records back."""

import pickle

import numpy as np
import pytest
from oracles import attacks
from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator, _power
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination

K = 5

REFINERS = {
    "exchange": "exchange",
    "chain": ["local_search", "exchange"],
    "iterated local search": IteratedLocalSearch(max_iter=200),
    "annealing": Annealing(max_iter=100_000),
    "recombination": Recombination(n_init=2, max_iter=1, n_steps=20_000),
}


def patients(*columns):
    return np.round(load_diabetes(scaled=False, as_frame=True).frame[list(columns)].to_numpy())


def people(n, *, with_ages):
    rng = np.random.default_rng(0)
    incomes = np.round(np.exp(rng.normal(10.0, 0.5, size=n)))
    ages = rng.integers(18, 90, size=n)
    return np.c_[ages, incomes // 100] if with_ages else incomes[:, None]


TABLES = {
    "age and cholesterol": patients("age", "s1"),
    "blood pressure and cholesterol": patients("bp", "s1"),
    "age and income": people(600, with_ages=True),
    "income": people(300, with_ages=False),
}


def unique(X):
    return np.unique(X, axis=0)


def with_duplicates(X):
    """A fifth of the records two or three times: some are in several groups then."""
    rng = np.random.default_rng(1)
    again = rng.choice(len(X), size=len(X) // 5, replace=False)
    return np.vstack([X, X[again], X[again[::3]]]).astype(float)


VERSIONS = {"unique": unique, "duplicates": with_duplicates}

every_table = pytest.mark.parametrize("table", TABLES)
every_version = pytest.mark.parametrize("version", VERSIONS)


def attack(X, **parameters):
    """The share of records among the claims of each attack; 0 for too few claims."""
    model = pickle.loads(pickle.dumps(MicroAggregator(k=K, random_state=0, **parameters).fit(X)))
    points, cells, slacks = attacks.lattice(model)
    claims = attacks.points_of_one_slack(points, cells, slacks)
    equal = attacks.is_record(claims, X)
    precision = equal.mean() if len(claims) >= attacks.FEWEST_CLAIMS else 0.0
    return precision, attacks.best_slab(slacks, attacks.is_record(points, X))


@every_table
@every_version
@pytest.mark.parametrize("refiner", REFINERS)
def test_weights_do_not_tell_records(table, version, refiner):
    X = VERSIONS[version](TABLES[table])
    precision_of_equal, precision_of_slab = attack(X, refiner=REFINERS[refiner])
    assert precision_of_equal <= 1 / K
    assert precision_of_slab <= 1 / K


@every_table
@every_version
def test_the_attacks_find_records_where_weights_are_tight(table, version, monkeypatch):
    monkeypatch.setattr(_power, "_centered", lambda walls, weights: weights)
    precision_of_equal, precision_of_slab = attack(VERSIONS[version](TABLES[table]))
    assert precision_of_equal > 0.7
    assert precision_of_slab > 0.4
