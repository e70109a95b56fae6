"""A single column is partitioned optimally, whatever else is asked for."""

import numpy as np
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.builders import CBFS, Optimal1D
from sk_microagg.metrics import sse
from sk_microagg.refiners import Annealing


@pytest.fixture(name="X")
def column():
    return np.random.default_rng(0).normal(size=(300, 1))


METHODS = [
    {},
    {"builder": "cbfs"},
    {"builder": "optimal_1d"},
    {"builder": CBFS(), "refiner": None},
    {"refiner": "local_search"},
    {"refiner": [Annealing(max_iter=10), "exchange"]},
]


@in_one_case("method", METHODS)
def test_every_method_gives_the_optimum(X, method):
    optimal = Optimal1D().build(X, 4)
    assert_array_equal(microaggregate(X, 4, random_state=1, **method), optimal)
    aggregator = MicroAggregator(k=4, scaler=None, random_state=1, **method).fit(X)
    assert_array_equal(aggregator.labels_, optimal)
    assert aggregator.sse_ == pytest.approx(sse(X, optimal), rel=1e-13)
    assert repr(aggregator.builder_) == "Optimal1D()"
    assert aggregator.refiner_ is None
    assert aggregator.n_iter_ == 0
    assert aggregator.exact_transform_


def test_the_scaled_space_counts(X):
    wide = np.hstack([X, 2 * X, np.zeros_like(X)])
    aggregator = MicroAggregator(k=4, scaler=PCA(1)).fit(wide)
    assert isinstance(aggregator.builder_, Optimal1D)
    assert_array_equal(np.sort(aggregator.group_sizes_), np.sort(np.bincount(microaggregate(X, 4))))
    assert not isinstance(MicroAggregator(k=4).fit(wide).builder_, Optimal1D)


def test_a_column_is_not_divided_into_blocks(X):
    whole = MicroAggregator(k=4, block_size=None).fit(X)
    blocks = MicroAggregator(k=4, block_size=50, stitch=True, n_jobs=2).fit(X)
    assert blocks.n_blocks_ == 1
    assert_array_equal(blocks.labels_, whole.labels_)


def test_a_large_column():
    X = np.random.default_rng(1).normal(size=(200_000, 1))
    aggregator = MicroAggregator(k=5)
    release = aggregator.fit_transform(X)
    assert aggregator.n_blocks_ == 1
    assert aggregator.exact_transform_
    assert_array_equal(aggregator.transform(X), release)


def test_bad_parameters_are_errors_all_the_same(X):
    for parameters in ({"builder": "mdv"}, {"refiner": "exchanges"}, {"refiner": []}):
        with pytest.raises((ValueError, TypeError), match=f"^{next(iter(parameters))}="):
            MicroAggregator(**parameters).fit(X)
        with pytest.raises((ValueError, TypeError), match=f"^{next(iter(parameters))}="):
            microaggregate(X, 5, **parameters)
