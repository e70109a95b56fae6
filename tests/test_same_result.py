"""Results that do not depend on how many work at the same time, nor on where."""

import pickle
import re

import numpy as np
import pytest
from example_tables.numbers import in_units
from joblib import parallel_config
from marks import in_one_case
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.builders import MDAV
from sk_microagg.privacy import TCloseness
from sk_microagg.refiners import Annealing, IteratedLocalSearch

FITTED = [
    "labels_",
    "centroids_",
    "group_sizes_",
    "n_groups_",
    "n_blocks_",
    "sse_",
    "information_loss_",
    "weights_",
    "exact_transform_",
    "n_iter_",
]
SEARCH = IteratedLocalSearch(max_iter=20)


def assert_same_fit(aggregator, other):
    for name in FITTED:
        assert_array_equal(getattr(aggregator, name), getattr(other, name), err_msg=name)


@pytest.mark.slow
@in_one_case("refiner", [None, "exchange", SEARCH])
@in_one_case("stitch", [False, True])
def test_one_block_is_all_the_same(X, refiner, stitch):
    parameters = {"k": 3, "refiner": refiner, "stitch": stitch, "random_state": 0}
    auto = MicroAggregator(**parameters).fit(X)
    assert auto.n_blocks_ == 1
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(auto.labels_, microaggregate(scaled, 3, refiner=refiner, random_state=0))
    for block_size in (None, 400, np.int64(401)):
        aggregator = MicroAggregator(block_size=block_size, **parameters).fit(X)
        assert_same_fit(aggregator, auto)


STRATA = np.arange(400) % 2
CONSTRAINED = {
    "refiner": Annealing(max_iter=3000, n_init=2),
    "privacy": TCloseness(0.25),
}
ROLES = {
    "sensitive": np.random.default_rng(0).permutation(400),
    "unit": np.arange(400) % 100,
    "strata": STRATA,
}
FITS = {
    "exchange": ({"refiner": "exchange"}, {}),
    "search": ({"refiner": SEARCH}, {}),
    "constraints": (CONSTRAINED, ROLES),
}


@pytest.fixture(name="fit", scope="module", params=FITS)
def fit_in_blocks(request):
    settings, roles = FITS[request.param]

    def fit(**parameters):
        aggregator = MicroAggregator(k=3, block_size=60, random_state=0, **settings, **parameters)
        return aggregator.fit(in_units(), **roles)

    return fit


@pytest.fixture(name="expected", scope="module")
def fit_one_after_another(fit):
    aggregator = fit(n_jobs=1)
    assert aggregator.n_blocks_ >= 8
    return aggregator


def transformed(aggregator, new):
    return aggregator.transform(new, strata=None if aggregator._strata is None else STRATA[:150])


@pytest.mark.slow_but_first
@pytest.mark.parametrize("n_jobs", [None, 2, -1, 20])
def test_same_result_of_any_number_of_jobs(fit, expected, n_jobs):
    assert_same_fit(fit(n_jobs=n_jobs), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    [
        {"backend": "sequential"},
        {"backend": "threading"},
        # Larger arrays reach other processes as read-only files.
        {"backend": "loky", "max_nbytes": 100},
    ],
    ids=lambda backend: backend["backend"],
)
def test_same_result_on_any_backend(fit, expected, new, backend):
    with parallel_config(n_jobs=2, **backend):
        aggregator = fit()
        moved = transformed(aggregator, new)
    assert_same_fit(aggregator, expected)
    assert_array_equal(moved, transformed(expected, new))


@pytest.fixture(name="dask_client", scope="module")
def start_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_same_result_on_dask(dask_client, fit, expected, new):
    with parallel_config(backend="dask"):
        aggregator = fit()
        moved = transformed(aggregator, new)
    assert_same_fit(aggregator, expected)
    assert_array_equal(moved, transformed(expected, new))


# Chance and time


@pytest.mark.slow
def test_a_seed_makes_the_result_reproducible(X):
    def labels(random_state):
        search = IteratedLocalSearch(max_iter=50)
        aggregator = MicroAggregator(
            k=3, refiner=search, block_size=90, random_state=random_state, n_jobs=2
        )
        return aggregator.fit_predict(X)

    assert_array_equal(labels(0), labels(0))
    assert not np.array_equal(labels(0), labels(1))
    assert_array_equal(labels(np.random.RandomState(0)), labels(0))


class Keeps(BaseEstimator):
    """A refiner that keeps the partition, and notes its parameters and its seed."""

    noted = None

    def __init__(self, time_limit=None, n_jobs=None, verbose=0):
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def refine(self, X, labels, k, random_state=None):
        Keeps.noted.append({**self.get_params(), "seed": random_state})
        return labels


@pytest.fixture(name="noted")
def what_is_noted(monkeypatch):
    noted = []
    monkeypatch.setattr(Keeps, "noted", noted)
    return noted


def test_every_block_has_a_seed_of_its_own(X, noted):
    MicroAggregator(k=3, refiner=Keeps(), block_size=60, random_state=0).fit(X)
    assert len(noted) == len({block["seed"] for block in noted}) == 8


def test_one_block_has_the_seed_itself(X, noted):
    MicroAggregator(k=3, refiner=Keeps(), block_size=None, random_state=17).fit(X)
    assert [block["seed"] for block in noted] == [17]


@pytest.mark.parametrize("as_chain", [False, True])
@pytest.mark.parametrize(
    ("block_size", "n_jobs", "limit"),
    [(60, None, 2.0), (60, 1, 2.0), (60, 2, 4.0), (60, 20, 16.0), (None, 2, 16.0)],
)
def test_blocks_share_the_time_limit(X, noted, as_chain, block_size, n_jobs, limit):
    refiner = Keeps(time_limit=16)
    given_refiner = [refiner, "exchange"] if as_chain else refiner
    aggregator = MicroAggregator(
        k=3, refiner=given_refiner, block_size=block_size, n_jobs=n_jobs
    ).fit(X)
    assert [block["time_limit"] for block in noted] == [limit] * aggregator.n_blocks_
    assert aggregator.n_blocks_ == (1 if block_size is None else 8)
    assert refiner.time_limit == 16


def test_jobs_of_the_context_share_the_time_limit(X, noted):
    with parallel_config(backend="threading", n_jobs=4):
        MicroAggregator(k=3, refiner=Keeps(time_limit=16), block_size=60).fit(X)
    assert [block["time_limit"] for block in noted] == [8.0] * 8


def test_no_limit_stays_none(X, noted):
    MicroAggregator(k=3, refiner=Keeps(), block_size=60).fit(X)
    assert {block["time_limit"] for block in noted} == {None}


@pytest.mark.parametrize("refiner", [Keeps(), Keeps(n_jobs=2, verbose=1)])
def test_refiners_of_blocks_work_in_silence_and_in_one_thread(X, noted, refiner):
    aggregator = MicroAggregator(k=3, refiner=refiner, n_jobs=2, verbose=1)
    aggregator.set_params(block_size=60).fit(X)
    assert {(block["n_jobs"], block["verbose"]) for block in noted} == {(None, 0)}
    noted.clear()
    aggregator.set_params(block_size=None).fit(X)
    assert {(block["n_jobs"], block["verbose"]) for block in noted} == {(2, 1)}


def test_builder_and_refiner_of_the_user_are_left_alone(X):
    builder, refiner = MDAV(growth="nc"), IteratedLocalSearch(max_iter=5, time_limit=60)
    aggregator = MicroAggregator(k=3, builder=builder, refiner=refiner, block_size=90, n_jobs=2)
    before = pickle.dumps((builder, refiner))
    aggregator.fit(X)
    assert pickle.dumps((builder, refiner)) == before
    assert aggregator.refiner_.time_limit == 60


@in_one_case("limit", [-1, 0, True, "long"])
def test_a_bad_time_limit_is_named_as_it_was_given(X, limit):
    refiner = IteratedLocalSearch(time_limit=limit)
    with pytest.raises((TypeError, ValueError), match=re.escape(f"time_limit={limit!r} must be")):
        MicroAggregator(k=3, refiner=refiner, block_size=60).fit(X)
