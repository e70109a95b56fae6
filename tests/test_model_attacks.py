"""Attacks on fitted models: the weights must not give records back."""

import pickle

import pytest
from oracles.attacks import TABLES, diagrams, precisions

from sk_microagg import MicroAggregator, _power
from sk_microagg.refiners import Annealing, IteratedLocalSearch, Recombination

K = 5

MODELS = {
    "exchange": {},
    "blocks": {"block_size": 150},
    "chain": {"refiner": ["local_search", "exchange"]},
    "iterated local search": {"refiner": IteratedLocalSearch(max_iter=200)},
    "annealing": {"refiner": Annealing(max_iter=100_000)},
    "recombination": {"refiner": Recombination(n_init=2, max_iter=1, n_steps=20_000)},
}

every_table = pytest.mark.parametrize("table", TABLES)


def attack(X, **parameters):
    aggregator = MicroAggregator(K, random_state=0, **parameters).fit(X)
    return precisions(diagrams(pickle.loads(pickle.dumps(aggregator))), X)


@every_table
@pytest.mark.parametrize("model", MODELS)
def test_weights_do_not_tell_records(table, model):
    of_equal_slacks, of_best_slab = attack(TABLES[table], **MODELS[model])
    assert of_equal_slacks <= 1 / K
    assert of_best_slab <= 1 / K


@every_table
def test_the_attacks_find_records_where_weights_are_tight(table, monkeypatch):
    monkeypatch.setattr(_power, "_centered", lambda walls, weights: weights)
    of_equal_slacks, of_best_slab = attack(TABLES[table])
    assert of_equal_slacks > 0.7
    assert of_best_slab > 0.4
