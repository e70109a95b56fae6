"""No number that fewer than k records share is in a pickled model."""

import pickle

import numpy as np
import pytest
from attacks.byte_search import TABLES, found_in, rare_numbers
from marks import in_one_case
from sklearn.decomposition import PCA

from sk_microagg import MicroAggregator
from sk_microagg.refiners import Annealing, IteratedLocalSearch

K = 5
QUICK = {"refiner": Annealing(max_iter=20_000), "random_state": 0}

MODELS = {
    "default": {},
    "blocks": {"block_size": 80, **QUICK},
    "stitched": {"block_size": 80, "stitch": True, **QUICK},
    "not scaled": {"scaler": None, **QUICK},
    "iterated": {"refiner": IteratedLocalSearch(max_iter=100), "random_state": 0},
    "no weights": {"refiner": None},
    "components": {"scaler": PCA(whiten=True), **QUICK},
}


# The default on every table, and each other model on every other one; all pairs before a release.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "tables"),
    [
        pytest.param(
            model,
            list(TABLES)[half::2],
            marks=pytest.mark.release if model != "default" and half != number % 2 else (),
        )
        for number, model in enumerate(MODELS)
        for half in range(2)
    ],
)
def test_no_rare_number_is_found(model, tables):
    for table in tables:
        X = TABLES[table](np.random.default_rng(0))
        aggregator = MicroAggregator(K, **MODELS[model]).fit(X)
        assert (aggregator.n_blocks_ > 1) == (model == "blocks"), table
        scaled = aggregator.scaler_.transform(X) if aggregator.scaler_ else X
        secrets = rare_numbers([*X.T, *scaled.T], K)
        assert len(secrets) > 100, table
        assert not found_in(pickle.dumps(aggregator), secrets), table


@in_one_case("table", ["normal", "twins"])
def test_a_model_that_remembers_is_caught(table):
    X = TABLES[table](np.random.default_rng(0))
    aggregator = MicroAggregator(K).fit(X)
    secrets = {*sorted(rare_numbers(X.T, K))[::10]}
    numbers = np.array(sorted(secrets))
    for kind in ("<f8", ">f8", "<f4", ">f4", object):
        aggregator.remembered_ = numbers.astype(kind)
        assert found_in(pickle.dumps(aggregator), secrets) == secrets
    aggregator.remembered_ = "; ".join(map(repr, numbers.tolist()))
    assert found_in(pickle.dumps(aggregator), secrets) == secrets
