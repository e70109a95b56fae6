"""What transform promises: the release itself for the training data, and nobody's record inside."""

import pickle
import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, QuantileTransformer

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg._model._power import near_walls, nearest_cells
from sk_microagg.metrics import anonymity_level
from sk_microagg.refiners import Annealing

TOYS = {
    "breast_cancer": load_breast_cancer,
    "wine": load_wine,
    "diabetes": load_diabetes,
    "digits": load_digits,
}
every_k = pytest.mark.parametrize("k", [2, 3, 5, 10])
TRAINING_DATA = "transform was given the training data"

# Any number of steps of annealing ends with the same exchange, which makes transform exact.
pytestmark = pytest.mark.usefixtures("few_steps")


def load_reference(folder, name):
    frame = pd.read_csv(folder / f"{name}.csv").drop(
        columns=["UTILNAME", "STATE", "YEAR", "MONTH"], errors="ignore"
    )
    return frame.to_numpy(dtype=float)


def in_batches(aggregator, X, size=97):
    return np.vstack([aggregator.transform(X[i : i + size]) for i in range(0, len(X), size)])


def twins_elsewhere(X, labels):
    """Which records are identical to a record of another group."""
    _, kind = np.unique(X, axis=0, return_inverse=True)
    n_groups = pd.DataFrame({"kind": kind.ravel(), "group": labels}).groupby("kind")["group"]
    return n_groups.transform("nunique").to_numpy() > 1


@cache
def fitted(name, k):
    """A table, an estimator that is fitted on it, and the release."""
    X = TOYS[name]().data
    aggregator = MicroAggregator(k=k)
    return X, aggregator, aggregator.fit_transform(X)


def assert_transform_is_the_release(X, k, **parameters):
    aggregator = MicroAggregator(k=k, **parameters)
    assert_is_exact(X, aggregator, aggregator.fit_transform(X))


def assert_is_exact(X, aggregator, release):
    k = aggregator.k
    assert anonymity_level(release) >= k
    assert aggregator.exact_transform_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(aggregator.transform(X), release)
    loaded = pickle.loads(pickle.dumps(aggregator))
    order = np.random.default_rng(k).permutation(len(X))
    assert_array_equal(loaded.transform(X[order]), release[order])
    assert_array_equal(in_batches(loaded, X), release)


@pytest.mark.slow
@in_one_case(
    ("name", "k"),
    [
        ("breast_cancer", 2),
        ("breast_cancer", 10),
        ("wine", 3),
        ("wine", 5),
        ("diabetes", 2),
        ("diabetes", 10),
        ("digits", 5),
    ],
)
def test_transform_of_the_training_data_is_the_release(name, k):
    assert_is_exact(*fitted(name, k))


@pytest.mark.slow_but_first
@every_k
def test_transform_of_census_is_the_release(data_folder, k):
    assert_transform_is_the_release(load_reference(data_folder, "census"), k)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k"), [("tarragona", 2), ("tarragona", 5), ("eia", 3), ("eia", 10)]
)
def test_only_twins_of_another_group_move(data_folder, name, k):
    assert_only_twins_move(load_reference(data_folder, name), k)


def assert_only_twins_move(X, k, refiner="auto"):
    aggregator = MicroAggregator(k=k, refiner=refiner)
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= k
    is_twin = twins_elsewhere(X, aggregator.labels_)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=TRAINING_DATA)
        moved = aggregator.transform(X)
        assert_array_equal(in_batches(aggregator, X), moved)
    assert_array_equal(moved[~is_twin], release[~is_twin])
    assert aggregator.exact_transform_ == np.array_equal(moved, release)
    # A twin goes to one of the groups that hold its like.
    for row in np.flatnonzero(is_twin):
        alike = np.equal(X, X[row]).all(axis=1)
        assert (release[alike] == moved[row]).all(axis=1).any()
    return aggregator


@pytest.mark.slow
@in_one_case("seed", range(3))
def test_records_whose_squared_distances_are_nearly_the_smallest_floats(seed):
    X = 1e-149 * np.random.default_rng(seed).normal(size=(100, 8))
    assert_transform_is_the_release(X, k=10, scaler=None)


@in_one_case("scale", [1e-161, 1e-300])
@in_one_case("make", [MicroAggregator, partial(MicroAggregator, scaler=None), TableAggregator])
def test_squares_that_vanish_are_refused(make, scale):
    X = scale * np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=r"^Column 0 of X holds numbers that differ so little"):
        make(5).fit(X)
    assert make(5).fit(0 * X).information_loss_ == 0


def test_split_twins_are_said_and_warned_of():
    # Three alike with k = 2, and single records on either side that need company.
    X = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]])
    aggregator = assert_only_twins_move(X, k=2)
    assert not aggregator.exact_transform_
    with pytest.warns(UserWarning, match=TRAINING_DATA):
        aggregator.transform(X)


@pytest.mark.slow
@in_one_case("seed", range(10))
def test_records_with_many_duplicates(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(rng.integers(10, 120), rng.integers(1, 4))).astype(float)
    assert_only_twins_move(X, k=int(rng.integers(2, 6)))


def test_groups_of_the_same_record_are_merged():
    X = np.repeat([[1.0, 2.0], [5.0, 0.0], [9.0, 9.0]], [6, 2, 4], axis=0)
    aggregator = MicroAggregator(k=2).fit(X)
    assert_array_equal(np.sort(aggregator.group_sizes_), [2, 4, 6])
    assert aggregator.exact_transform_


def test_iris_is_exact_but_for_a_pair_of_twins():
    X = load_iris().data
    for k in (3, 5, 10):
        assert_transform_is_the_release(X, k)
    assert_only_twins_move(X, k=2)
    assert not assert_only_twins_move(X, k=2, refiner="exchange").exact_transform_


@pytest.mark.slow
@in_one_case("builder", ["mdav", "cbfs", "tfrp", "gsms", "dbfs", "path_optimal"])
@in_one_case("refiner", ["exchange", ["local_search", "exchange"]])
@in_one_case("dtype", [np.float32, np.float64])
def test_exchange_makes_any_partition_exact(builder, refiner, dtype):
    X = np.random.default_rng(0).standard_t(2, size=(300, 3)).astype(dtype)
    assert_transform_is_the_release(X, 4, builder=builder, refiner=refiner, random_state=0)


@pytest.mark.slow
def test_iterated_search_is_exact():
    X = np.random.default_rng(1).normal(size=(200, 3))
    assert_transform_is_the_release(X, 3, refiner="iterated_local_search", random_state=0)


@pytest.mark.slow
def test_many_groups_are_exact():
    X = np.random.default_rng(2).normal(size=(12_000, 3))
    assert_transform_is_the_release(X, 3)


@in_one_case("refiner", [None, "decompose"])
def test_a_partition_that_is_no_power_diagram_gets_the_nearest_centroid(refiner):
    X = np.random.default_rng(3).normal(size=(400, 3))
    aggregator = MicroAggregator(k=5, refiner=refiner).fit(X)
    assert not aggregator.exact_transform_
    assert_array_equal(aggregator.weights_, 0.0)


@in_one_case("offset", [1e6, 1.7e12])
def test_large_offsets_do_no_harm(offset):
    X = np.random.default_rng(5).normal(size=(200, 3))
    aggregator = MicroAggregator(k=3, scaler=None, refiner=Annealing(max_iter=400_000))
    plain = clone(aggregator).fit(X)
    moved = aggregator.fit(X + offset)
    assert moved.information_loss_ < 1.05 * plain.information_loss_
    assert moved.group_sizes_.max() < 6


@in_one_case("spread", [5, 8])
def test_values_of_many_magnitudes_are_said_to_be_inexact_or_are_exact(spread):
    X = np.exp(spread * np.random.RandomState(1).normal(size=(300, 3)))
    aggregator = MicroAggregator(k=3)
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= 3
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=TRAINING_DATA)
        moved = (aggregator.transform(X) != release).any(axis=1)
    assert aggregator.exact_transform_ == (not moved.any())
    # In no case does it move more than the nearest centroid would.
    scaled = aggregator.scaler_.transform(X)
    centroids = np.array(
        [scaled[aggregator.labels_ == g].mean(axis=0) for g in range(aggregator.n_groups_)]
    )
    nearest = ((scaled[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    assert moved.sum() <= (nearest != aggregator.labels_).sum()


def test_weights_keep_a_margin():
    X = np.random.default_rng(4).normal(size=(500, 2))
    aggregator = MicroAggregator(k=5, scaler=None).fit(X)
    distances = ((X[:, None] - aggregator.centroids_) ** 2).sum(axis=2) - aggregator.weights_
    best, second = np.sort(distances, axis=1)[:, :2].T
    assert (second - best).min() > 1e-6


def collinear(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(20, 120), 3))
    return np.c_[X, X[:, 0] + X[:, 1], 2 * X[:, 2]]


class RoundsByBatch(PCA):
    """Sums in another order for single rows, as some libraries of matrix products do."""

    def transform(self, X):
        if len(X) > 1:
            return super().transform(X)
        order = slice(None, None, -1)
        scales = np.maximum(np.sqrt(self.explained_variance_), np.finfo(float).eps)
        return (X - self.mean_)[:, order] @ self.components_[:, order].T / scales


def moves_of_rows_alone(aggregator, X, release):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=TRAINING_DATA)
        return (in_batches(aggregator, X, size=1) != release).any(axis=1).sum()


@pytest.mark.slow
@pytest.mark.parametrize("block_size", ["auto", 20])
def test_a_scaler_that_rounds_differently_by_batch_is_not_said_to_be_exact(block_size):
    # A component without variance holds rounding only, which whitening makes as wide as others.
    n_inexact = 0
    for seed in range(3):
        X = collinear(seed)
        aggregator = MicroAggregator(k=3, scaler=RoundsByBatch(whiten=True), block_size=block_size)
        release = aggregator.fit_transform(X)
        n_moves = moves_of_rows_alone(aggregator, X, release)
        assert not (aggregator.exact_transform_ and n_moves)
        n_inexact += n_moves > 0
    assert n_inexact


@pytest.mark.slow
@pytest.mark.parametrize("block_size", ["auto", 30])
def test_a_scaler_that_only_rounds_is_exact(block_size):
    for scaler in (
        PCA(),
        PCA(whiten=True),
        QuantileTransformer(n_quantiles=50),
        PowerTransformer(),
    ):
        X = np.random.default_rng(0).normal(size=(60, 4))
        aggregator = MicroAggregator(k=3, scaler=scaler, block_size=block_size)
        release = aggregator.fit_transform(X)
        assert aggregator.exact_transform_
        assert moves_of_rows_alone(aggregator, X, release) == 0


def test_a_scaler_that_depends_on_the_batch_is_not_exact():
    X = np.random.default_rng(0).normal(size=(100, 2))
    scaler = FunctionTransformer(lambda batch: batch - batch.mean(axis=0))
    assert not MicroAggregator(k=3, scaler=scaler).fit(X).exact_transform_


def test_records_near_walls_are_those_that_some_rounding_sends_elsewhere():
    rng = np.random.default_rng(0)
    X, centroids, weights = rng.normal(size=(500, 2)), rng.normal(size=(20, 2)), rng.normal(size=20)
    rounding = np.array([0.01, 0.002])
    near = near_walls(X, centroids, 0.1 * weights, rounding)
    cells = nearest_cells(X, centroids, 0.1 * weights)
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        elsewhere = nearest_cells(X + signs * rounding, centroids, 0.1 * weights) != cells
        assert elsewhere.any()
        assert near[elsewhere].all()
    assert near.mean() < 0.5
    assert not near_walls(X, centroids, 0.1 * weights, 0 * rounding).any()


@every_k
def test_new_rows_land_on_centroids_of_the_release(k):
    X, aggregator, release = fitted("wine", k)
    new = X * np.random.default_rng(0).uniform(0.5, 1.5, size=X.shape)
    both = np.vstack([release, aggregator.transform(new)])
    assert anonymity_level(both) >= k
    assert len(np.unique(both, axis=0)) == aggregator.n_groups_


@pytest.mark.slow
@in_one_case("k", [2, 10])
def test_a_pickled_model_holds_no_training_row(k):
    X, aggregator, _ = fitted("breast_cancer", k)
    pickled = pickle.dumps(aggregator)
    scaled = aggregator.scaler_.transform(X)
    _, kind, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    rare = count[kind.ravel()] < k
    assert rare.any()
    for row in [*X[rare], *scaled[rare]]:
        assert row.tobytes() not in pickled
    # The search would find a row if there were one.
    assert aggregator.centroids_[0].tobytes() in pickled
