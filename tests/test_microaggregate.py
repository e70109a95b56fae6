from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.builders import CBFS, DBFS, GSMS, MDAV, TFRP, PathOptimal
from sk_microagg.metrics import information_loss
from sk_microagg.refiners import (
    Decompose,
    DecomposeShrink,
    Exchange,
    IteratedLocalSearch,
    LocalSearch,
)

BUILDERS = {
    "mdav": MDAV(),
    "cbfs": CBFS(),
    "tfrp": TFRP(),
    "gsms": GSMS(),
    "dbfs": DBFS(),
    "path_optimal": PathOptimal(),
}
REFINERS = {
    "decompose": Decompose(),
    "decompose_shrink": DecomposeShrink(),
    "local_search": LocalSearch(),
    "exchange": Exchange(),
    "iterated_local_search": IteratedLocalSearch(),
}
every_builder = in_one_case("name", BUILDERS)
pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture(name="X")
def records():
    # Columns of such different spread that scaling them changes the groups.
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 4.0, 0.5]


@pytest.mark.slow
@every_builder
def test_labels_are_those_of_the_estimator_without_a_scaler(X, name):
    estimator = MicroAggregator(k=4, builder=name, scaler=None)
    assert_array_equal(microaggregate(X, 4, builder=name), estimator.fit_predict(X))


@pytest.mark.slow
@every_builder
def test_nothing_is_scaled(X, name):
    labels = microaggregate(X, 4, builder=name)
    assert not np.array_equal(labels, MicroAggregator(k=4, builder=name).fit_predict(X))
    # A factor that is a power of two rounds nothing and changes no comparison.
    assert_array_equal(labels, microaggregate(X * 1024, 4, builder=name))


@every_builder
def test_name_and_object_give_the_labels_of_the_builder(X, name):
    labels = BUILDERS[name].build(X, 4)
    assert_array_equal(microaggregate(X, 4, builder=name, refiner=None), labels)
    assert_array_equal(microaggregate(X, 4, builder=BUILDERS[name], refiner=None), labels)


@pytest.mark.slow
@in_one_case("name", REFINERS)
def test_name_object_and_list_give_the_labels_of_the_refiner(X, name):
    X = X[:30]  # Five iterated local searches take long with more.
    refined = REFINERS[name].refine(X, MDAV().build(X, 4), 4, random_state=0)
    for refiner in (name, REFINERS[name], [name], [REFINERS[name]]):
        labels = microaggregate(X, 4, refiner=refiner, random_state=0)
        assert_array_equal(labels, refined)


def test_refiners_in_a_list_take_their_turns(X):
    decomposed = Decompose().refine(X, MDAV().build(X, 4), 4)
    expected = Exchange().refine(X, decomposed, 4)
    assert_array_equal(microaggregate(X, 4, refiner=["decompose", Exchange()]), expected)


def test_default_refiner_is_auto(X):
    assert_array_equal(microaggregate(X, 4), microaggregate(X, 4, refiner="auto"))


def test_default_builder_is_mdav(X):
    assert_array_equal(microaggregate(X, 4), microaggregate(X, 4, builder="mdav"))


@in_one_case(
    "changed",
    [
        MDAV(growth="nc"),
        MDAV(ending="classic"),
        TFRP(reference="global"),
        DBFS(growth="nn"),
        PathOptimal("cbfs"),
    ],
)
def test_parameters_of_a_builder_object_are_used(X, changed):
    labels = microaggregate(X, 6, builder=changed, refiner=None)
    assert_array_equal(labels, changed.build(X, 6))
    default = microaggregate(X, 6, builder=type(changed)(), refiner=None)
    assert not np.array_equal(labels, default)


@pytest.mark.slow
@every_builder
@in_one_case("k", [1, 3, 7, 26, 50])
def test_labels_are_integers_from_0_without_gaps(X, name, k):
    labels = microaggregate(X, k, builder=name)
    assert labels.shape == (50,)
    assert np.issubdtype(labels.dtype, np.integer)
    groups, sizes = np.unique(labels, return_counts=True)
    assert_array_equal(groups, np.arange(len(groups)))
    assert sizes.min() >= k


@in_one_case("k", [np.int64(4), np.uint8(4)])
def test_k_may_be_an_integer_of_numpy(X, k):
    assert_array_equal(microaggregate(X, k), microaggregate(X, 4))


def test_lists_are_records():
    labels = microaggregate([[0], [9], [1], [8]], 2)
    assert labels[0] == labels[2] != labels[1] == labels[3]


@pytest.mark.slow
@every_builder
def test_records_are_not_changed_and_may_be_read_only(X, name):
    before = X.copy()
    labels = microaggregate(X, 4, builder=name)
    assert_array_equal(X, before)
    X.setflags(write=False)
    assert_array_equal(microaggregate(X, 4, builder=name), labels)


# Builders and refiners of one's own


class InHalves:
    """A builder on no base class, whose labels are neither 0 nor 1."""

    def build(self, X, k):
        return np.where(np.arange(len(X)) < len(X) // 2, 20, -3)


class Shuffle(BaseEstimator):
    """A refiner that draws from random_state and remembers its call."""

    def __init__(self, n_jobs=None, verbose=0):
        self.n_jobs = n_jobs
        self.verbose = verbose

    def refine(self, X, labels, k, random_state=None):
        self.call_ = X, labels, k, random_state
        self.n_iter_ = 7
        return check_random_state(random_state).permutation(labels) * 10 + 3


def test_builder_of_any_class_is_used_and_its_labels_are_numbered_from_0(X):
    expected = np.repeat([1, 0], 25)
    assert_array_equal(microaggregate(X, 4, builder=InHalves(), refiner=None), expected)
    estimator = MicroAggregator(k=4, builder=InHalves(), refiner=None)
    assert_array_equal(estimator.fit_predict(X), expected)


def test_refiner_gets_the_scaled_records_the_built_labels_k_and_the_seed(X):
    estimator = MicroAggregator(k=4, refiner=Shuffle(), random_state=3).fit(X)
    scaled, labels, k, seed = estimator.refiner_.call_
    assert_allclose(scaled, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-13)
    assert_array_equal(labels, MicroAggregator(k=4, refiner=None).fit_predict(X))
    assert (k, seed) == (4, 3)


def test_refiner_has_the_last_word(X):
    built = microaggregate(X, 4, refiner=None)
    refined = microaggregate(X, 4, refiner=Shuffle(), random_state=3)
    assert_array_equal(refined, check_random_state(3).permutation(built))
    estimator = MicroAggregator(k=4, refiner=Shuffle(), scaler=None, random_state=3).fit(X)
    assert_array_equal(estimator.labels_, refined)
    assert_allclose(estimator.information_loss_, information_loss(X, refined), rtol=1e-12)


def test_iterations_are_those_that_the_refiner_reports(X):
    assert MicroAggregator(refiner=Shuffle()).fit(X).n_iter_ == 7
    assert MicroAggregator(refiner=None).fit(X).n_iter_ == 0


@in_one_case(
    ("own", "used"),
    [
        ({}, {"n_jobs": 2, "verbose": 5}),
        ({"n_jobs": 1}, {"n_jobs": 1, "verbose": 5}),
        ({"n_jobs": -1, "verbose": 9}, {"n_jobs": -1, "verbose": 9}),
    ],
)
def test_n_jobs_and_verbose_reach_a_refiner_that_leaves_them_at_their_defaults(X, own, used):
    refiner = Shuffle(**own)
    estimator = MicroAggregator(refiner=refiner, n_jobs=2, verbose=5).fit(X)
    assert estimator.refiner_.get_params() == used
    assert refiner.get_params() == Shuffle(**own).get_params()


class Merge:
    """A refiner on no base class, without n_jobs or verbose."""

    def refine(self, X, labels, k, random_state=None):
        return np.zeros(len(X), dtype=int)


def test_refiner_of_any_class_is_used(X):
    assert_array_equal(microaggregate(X, 4, refiner=Merge()), np.zeros(50))
    estimator = MicroAggregator(k=4, refiner=Merge(), n_jobs=2, verbose=5)
    assert_array_equal(estimator.fit_predict(X), np.zeros(50))


# The same twice


@pytest.mark.slow
@every_builder
@in_one_case("n_jobs", [1, 2])
def test_result_is_the_same_twice_and_for_any_number_of_jobs(X, name, n_jobs):
    make = partial(MicroAggregator, k=4, builder=name, refiner=Shuffle(), random_state=8)
    once = make().fit_transform(X)
    assert_array_equal(make(n_jobs=n_jobs).fit_transform(X), once)
    estimator = make(n_jobs=n_jobs)
    assert_array_equal(estimator.fit_transform(X), once)
    assert_array_equal(estimator.fit_transform(X), once)


@pytest.mark.slow
def test_threads_do_not_disturb_each_other():
    drawn = [np.random.default_rng(seed).normal(size=(150, 3)) for seed in range(2)]
    tasks = [(table, name) for name in BUILDERS for table in drawn]

    def release(task):
        table, name = task
        return MicroAggregator(k=3, builder=name).fit_transform(table)

    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(release, tasks))
    assert_array_equal(together, [release(task) for task in tasks])


def test_threads_share_a_fitted_model(X):
    model = MicroAggregator(k=3).fit(X)
    batches = [np.random.default_rng(seed).normal(size=(2000, 3)) * 10 for seed in range(8)]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(model.transform, batches))
    assert_array_equal(together, [model.transform(batch) for batch in batches])


# Few distinct integers make duplicates and ties common.
tables = array_shapes(min_dims=2, max_dims=2, max_side=25).flatmap(
    lambda shape: (
        arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
        | arrays(
            np.float64,
            shape,
            elements=st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-100 else 0.0),
        )
    )
)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.sampled_from(list(BUILDERS)), st.sampled_from(["standard", None]), tables, st.data())
def test_any_table_gets_a_k_partition_and_always_the_same(name, scaler, X, data):
    k = data.draw(st.integers(1, len(X)))
    estimator = MicroAggregator(k=k, builder=name, scaler=scaler).fit(X)
    groups, sizes = np.unique(estimator.labels_, return_counts=True)
    assert_array_equal(groups, np.arange(len(groups)))
    assert sizes.min() >= k
    assert 0 <= estimator.information_loss_ <= 1 + 1e-12
    assert_array_equal(clone(estimator).fit_predict(X), estimator.labels_)
