"""Attacks on fitted models: the weights must not give records back."""

import pickle

import numpy as np
import pytest
from attacks.lattice import TABLES, diagrams, people, precisions, tight_on_a_line

from sk_microagg import MicroAggregator
from sk_microagg._model import _power
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination

K = 5

# In the middle of the tables of patients, one point of the lattice in seven is a record: nobody
# needs a model to be right in more than one case of ten there.
SPARSE = [name for name in TABLES if "income" in name]

MODELS = {
    "auto": {},
    "exchange": {"refiner": "exchange"},
    "blocks": {"block_size": 150},
    "chain": {"refiner": ["local_search", "exchange"]},
    "iterated local search": {"refiner": IteratedLocalSearch(max_iter=200)},
    "annealing": {"refiner": Annealing(max_iter=100_000)},
    "recombination": {"refiner": Recombination(n_init=2, max_iter=1, annealing_max_iter=20_000)},
}

# Each with some unique and some twins.
HALVES = [sorted(TABLES)[::4] + sorted(TABLES)[3::4], sorted(TABLES)[1::4] + sorted(TABLES)[2::4]]

every_table = pytest.mark.parametrize("table", TABLES)


def attack(X, k=K, **parameters):
    aggregator = MicroAggregator(k, random_state=0, **parameters).fit(X)
    return precisions(diagrams(pickle.loads(pickle.dumps(aggregator))), X)


# The default on every table, and each other model on half of them; all pairs before a release. Most
# of the time of recombination is that of covers of partitions that annealing finds, too.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "tables"),
    [
        pytest.param(
            model,
            tables,
            marks=pytest.mark.release
            if model == "recombination" or (model != "auto" and half != number % 2)
            else (),
        )
        for number, model in enumerate(MODELS)
        for half, tables in enumerate(HALVES)
    ],
)
def test_weights_do_not_reveal_records(model, tables):
    for table in tables:
        of_equal_slacks, of_best_slab = attack(TABLES[table], **MODELS[model])
        assert of_equal_slacks <= 1 / K, table
        assert of_best_slab <= 1 / K, table


# In large tables, weights start from the walls that the last exchange has found.
@pytest.mark.parametrize("table", TABLES)
def test_weights_from_an_exchange_do_not_reveal_records(table, monkeypatch):
    monkeypatch.setattr(_power, "RECORDS_TO_KEEP_GRAPH", 0)
    of_equal_slacks, of_best_slab = attack(TABLES[table], refiner="exchange")
    assert of_equal_slacks <= 1 / K
    assert of_best_slab <= 1 / K


# In this one, 2 of 15 claims are right by chance: the next test takes many tables like it.
BY_CHANCE = ("income, unique", 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "k"),
    sorted({(table, 3) for table in TABLES} | {(table, 10) for table in SPARSE} - {BY_CHANCE}),
)
def test_weights_do_not_reveal_records_whatever_k_is(table, k):
    of_equal_slacks, of_best_slab = attack(TABLES[table], k=k)
    assert of_equal_slacks <= 1 / k
    assert of_best_slab <= 1 / k


@pytest.mark.slow
@pytest.mark.parametrize("k", [*(pytest.param(k, marks=pytest.mark.release) for k in (3, 5)), 10])
def test_weights_of_one_column_reveal_no_more_than_an_independent_table_would(k):
    tables = [
        np.unique(people(300, with_ages=False, seed=seed), axis=0).astype(float)
        for seed in range(40)
    ]
    own, independent = [], []
    for X, other in zip(tables[:20], tables[20:], strict=True):
        for found, pair in zip(
            (own, independent),
            precisions(diagrams(MicroAggregator(k).fit(X)), X, other),
            strict=True,
        ):
            found.append(pair)
    assert np.mean(own, axis=0).max() <= 1 / k
    assert np.mean(own, axis=0).max() <= np.mean(independent, axis=0).max() + 0.03


@pytest.mark.slow
@every_table
def test_the_attacks_find_records_where_weights_are_tight(table, monkeypatch):
    monkeypatch.setattr(_power, "_centered", lambda walls, weights: weights)
    monkeypatch.setattr(_power, "_shortened", tight_on_a_line)
    of_equal_slacks, of_best_slab = attack(TABLES[table], refiner="exchange")
    assert of_equal_slacks > 0.7
    assert of_best_slab > 0.4
