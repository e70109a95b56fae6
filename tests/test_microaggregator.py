import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.metrics import anonymity_level, information_loss, sse

pytestmark = pytest.mark.usefixtures("few_steps")

BUILDERS = ["mdav", "cbfs", "tfrp", "gsms", "dbfs", "path_optimal"]
every_builder = in_one_case("builder", BUILDERS)
TRAINING_DATA = "transform was given the training data"
ignore_training_data = pytest.mark.filterwarnings(f"ignore:{TRAINING_DATA}:UserWarning")
UNITS = np.array([1.0, 200.0, 0.05])


def draw(n=60, seed=0):
    """Records whose columns differ in location and spread."""
    return np.random.default_rng(seed).normal([0, 4, -2], size=(n, 3)) * UNITS


def tied(n=45, seed=0):
    """Records of few distinct values: many duplicates, many equal distances."""
    return np.random.default_rng(seed).integers(0, 4, size=(n, 3)).astype(float)


def one_column():
    return draw()[:, [1]]


@pytest.fixture(name="X")
def records():
    return draw()


@pytest.fixture(name="new")
def new_records():
    return draw(n=37, seed=1)


# The release


@every_builder
@in_one_case(
    ("k", "make"), [(2, draw), (5, tied), (30, draw), (2, one_column), (5, draw), (2, tied)]
)
def test_every_row_of_the_release_occurs_at_least_k_times(builder, k, make):
    release = MicroAggregator(k=k, builder=builder).fit_transform(make())
    assert np.unique(release, axis=0, return_counts=True)[1].min() >= k
    assert anonymity_level(release) >= k


@every_builder
def test_release_is_the_mean_of_each_group(X, builder):
    aggregator = MicroAggregator(builder=builder)
    release = aggregator.fit_transform(X)
    labels = aggregator.labels_
    for group in range(aggregator.n_groups_):
        mean = X[labels == group].mean(axis=0)
        assert_allclose(aggregator.centroids_[group], mean, rtol=1e-13)
    assert_array_equal(release, aggregator.centroids_[labels])
    assert_allclose(release.mean(axis=0), X.mean(axis=0), rtol=1e-13)


@pytest.mark.slow
@every_builder
def test_labels_and_sizes_agree(X, builder):
    aggregator = MicroAggregator(builder=builder).fit(X)
    groups, sizes = np.unique(aggregator.labels_, return_counts=True)
    assert_array_equal(groups, np.arange(aggregator.n_groups_))
    assert_array_equal(aggregator.group_sizes_, sizes)
    assert aggregator.centroids_.shape == (aggregator.n_groups_, 3)
    assert aggregator.weights_.shape == (aggregator.n_groups_,)
    assert_array_equal(MicroAggregator(builder=builder).fit_predict(X), aggregator.labels_)


@every_builder
def test_losses_are_those_of_the_standardized_records(X, builder):
    aggregator = MicroAggregator(builder=builder).fit(X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(aggregator.sse_, sse(scaled, aggregator.labels_), rtol=1e-12)
    # Standardized columns have a total sum of squares of n each.
    assert_allclose(aggregator.information_loss_, aggregator.sse_ / X.size, rtol=1e-12)


@in_one_case("scaler", [None, "standard"])
def test_constant_data_lose_nothing(scaler):
    X = np.full((7, 2), 0.1)
    aggregator = MicroAggregator(k=2, scaler=scaler)
    assert_array_equal(aggregator.fit_transform(X), X)
    assert aggregator.sse_ == 0
    assert aggregator.information_loss_ == 0


def test_release_is_in_the_units_of_the_data(X):
    # Powers of two, so that nothing is rounded.
    units = np.array([2.0**10, 2.0**-7, 2.0**3])
    release = MicroAggregator().fit_transform(X)
    assert_array_equal(MicroAggregator().fit_transform(X * units), release * units)


@every_builder
@in_one_case("n", [5, 9])
def test_fewer_than_2k_records_are_one_group(builder, n):
    X = draw(n)
    aggregator = MicroAggregator(k=5, builder=builder)
    assert_allclose(aggregator.fit_transform(X), np.tile(X.mean(axis=0), (n, 1)), rtol=1e-13)
    assert_allclose(aggregator.information_loss_, 1, rtol=1e-13)


@every_builder
@in_one_case("make", [draw, tied])
def test_k_1_is_the_identity(builder, make):
    aggregator = MicroAggregator(k=1, builder=builder)
    assert_array_equal(aggregator.fit_transform(make()), make())
    assert aggregator.information_loss_ == 0


@every_builder
def test_constant_column_keeps_its_value(X, builder):
    X[:, 1] = 0.1
    assert_array_equal(MicroAggregator(k=7, builder=builder).fit_transform(X)[:, 1], X[:, 1])


@every_builder
def test_records_that_k_share_are_released_as_they_are(builder):
    X = np.random.default_rng(2).permutation(np.repeat(draw(20), 3, axis=0))
    assert_array_equal(MicroAggregator(k=3, builder=builder).fit_transform(X), X)


# Types and layouts


def test_integers_become_float64(X):
    whole = X.round().astype(np.int32)
    release = MicroAggregator().fit_transform(whole)
    assert release.dtype == np.float64
    assert_array_equal(release, MicroAggregator().fit_transform(whole.astype(float)))


def test_float32_is_kept_but_computed_in_float64(X, new):
    X, new = X.astype(np.float32), new.astype(np.float32)
    single, double = MicroAggregator(), MicroAggregator()
    release = single.fit_transform(X)
    expected = double.fit_transform(X.astype(np.float64)).astype(np.float32)
    assert release.dtype == single.transform(new).dtype == np.float32
    assert_array_equal(release, expected)
    assert single.information_loss_ == double.information_loss_
    assert single.score(new) == double.score(new.astype(np.float64))


@pytest.mark.slow
@every_builder
@in_one_case("make", [draw, tied])
def test_layout_in_memory_changes_nothing(builder, make):
    layouts = (
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    )
    # Several tables: the groups of only some depend on the last digit of a distance.
    for seed in range(4):
        X = make(seed=seed)
        refiner = "auto" if seed == 0 and builder == "mdav" else "exchange"
        aggregator = MicroAggregator(k=3, builder=builder, refiner=refiner)
        release = aggregator.fit_transform(X)
        for layout in layouts:
            assert_array_equal(aggregator.fit_transform(layout(X)), release)


@pytest.mark.slow
@every_builder
@in_one_case("scaler", ["standard", None])
@in_one_case("dtype", [np.float64, np.float32])
def test_read_only_records_give_the_same_and_writable_ones_are_not_changed(builder, scaler, dtype):
    X = draw().astype(dtype)
    before = X.copy()
    before.setflags(write=False)
    refiner = "auto" if builder == "mdav" else "exchange"
    aggregator = MicroAggregator(builder=builder, refiner=refiner, scaler=scaler)
    release, moved = aggregator.fit_transform(X), aggregator.transform(X[:-1])
    aggregator.score(X)
    assert_array_equal(X, before)
    assert_array_equal(aggregator.fit_transform(before), release)
    assert_array_equal(aggregator.transform(before[:-1]), moved)


# Scalers


@pytest.mark.slow
@in_one_case(
    "scaler",
    [StandardScaler(), RobustScaler(), PCA(2), make_pipeline(RobustScaler(), PCA(2))],
)
def test_any_transformer_is_a_scaler(X, new, scaler):
    aggregator = MicroAggregator(scaler=scaler)
    release = aggregator.fit_transform(X)
    scaled = clone(scaler).fit(X).transform(X)
    assert_array_equal(aggregator.labels_, microaggregate(scaled, 5))
    loss = information_loss(scaled, aggregator.labels_)
    assert_allclose(aggregator.information_loss_, loss, rtol=1e-12)
    assert release.shape == X.shape
    assert is_among(aggregator.transform(new), release)
    with pytest.raises(NotFittedError):
        check_is_fitted(scaler)


class DropsARecord(FunctionTransformer):
    def transform(self, X):
        return X[1:]


def test_scaler_must_keep_the_number_of_records(X):
    with pytest.raises(ValueError, match="59 records for 60"):
        MicroAggregator(scaler=DropsARecord()).fit(X)


@in_one_case("scaler", [StandardScaler(copy=False), "standard", None])
def test_scaler_that_works_in_place_changes_neither_data_nor_release(X, scaler):
    before = X.copy()
    aggregator = MicroAggregator(scaler=scaler)
    release = aggregator.fit_transform(X)
    assert_array_equal(X, before)
    assert_allclose(release.mean(axis=0), before.mean(axis=0), rtol=1e-13)


class Overwrites:
    def build(self, X, k):
        X[:] = 0
        return np.zeros(len(X), dtype=int)


@in_one_case("scaler", ["standard", None])
def test_builder_cannot_change_the_records(X, scaler):
    with pytest.raises(ValueError, match="read-only"):
        MicroAggregator(builder=Overwrites(), scaler=scaler).fit(X)


def is_among(rows, table):
    return set(map(tuple, rows)) <= set(map(tuple, table))


# Transform and score


@every_builder
@in_one_case("refiner", ["exchange", None])
def test_new_rows_get_the_centroid_of_their_power_cell_in_the_scaled_space(
    X, new, builder, refiner
):
    aggregator = MicroAggregator(builder=builder, refiner=refiner).fit(X)
    centroids = aggregator.centroids_ / X.std(axis=0)
    distances = ((new[:, None] / X.std(axis=0) - centroids) ** 2).sum(axis=2)
    groups = (distances - aggregator.weights_).argmin(axis=1)
    assert_array_equal(aggregator.transform(new), aggregator.centroids_[groups])
    assert aggregator.weights_.any() == (refiner is not None)


def test_far_rows_get_a_centroid_too(X):
    aggregator = MicroAggregator().fit(X)
    assert is_among(aggregator.transform(X * 1e6), aggregator.centroids_)


def test_transform_treats_each_row_by_itself(X, new):
    aggregator = MicroAggregator().fit(X)
    one_by_one = np.vstack([aggregator.transform(row[None]) for row in new])
    assert_array_equal(aggregator.transform(new), one_by_one)


@pytest.mark.slow
@every_builder
@ignore_training_data
def test_exact_transform_says_whether_transform_gives_the_release(builder):
    found = set()
    # Six copies make two groups of the same centroid: either is right.
    copies = [np.repeat(draw(8), n, axis=0) for n in (3, 6)]
    for X in [draw(), tied(), tied()[:, :1], *copies]:
        aggregator = MicroAggregator(k=3, builder=builder, refiner=None)
        release = aggregator.fit_transform(X)
        assert aggregator.exact_transform_ is np.array_equal(aggregator.transform(X), release)
        found.add(aggregator.exact_transform_)
    assert found == {True, False}


@in_one_case(
    "form",
    [np.copy, np.asfortranarray, np.float32, np.ndarray.tolist, pd.DataFrame],
)
def test_transform_warns_of_the_training_data_in_any_form(X, form):
    X = X.astype(np.float32).astype(np.float64)
    aggregator = MicroAggregator(refiner=None).fit(X)
    with pytest.warns(UserWarning, match=TRAINING_DATA):
        aggregator.transform(form(X))


def test_warning_names_the_line_that_called_transform(X):
    aggregator = MicroAggregator(refiner=None).fit(X)
    with pytest.warns(UserWarning, match=TRAINING_DATA) as caught:
        aggregator.transform(X)
    assert [warning.filename for warning in caught] == [__file__]


@in_one_case("other", [lambda X: X[:-1], lambda X: X[::-1], lambda X: X + 1e-9])
def test_transform_of_other_data_does_not_warn(X, other):
    aggregator = MicroAggregator(refiner=None).fit(X)
    assert not aggregator.exact_transform_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aggregator.transform(other(X))


def test_exact_transform_of_the_training_data_does_not_warn():
    X = np.repeat(draw(8), 3, axis=0)
    aggregator = MicroAggregator(k=3)
    release = aggregator.fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(aggregator.transform(X), release)


@pytest.mark.slow
@every_builder
def test_score_is_minus_the_loss_of_transform(X, new, builder):
    aggregator = MicroAggregator(builder=builder).fit(X)
    error = (aggregator.transform(new) - new) / X.std(axis=0)
    total = (new - new.mean(axis=0)) / X.std(axis=0)
    assert_allclose(aggregator.score(new), -(error**2).sum() / (total**2).sum(), rtol=1e-12)


@in_one_case("n", [1, 4, 5, 7, 10])
def test_score_of_constant_data_is_0(X, n):
    assert MicroAggregator().fit(X).score(np.full((n, 3), [0.1, 0.7, 1.3])) == 0


@in_one_case("fitted", [np.float32, np.float64])
@in_one_case("given", [np.float32, np.float64])
def test_release_and_new_rows_together_are_k_anonymous(X, new, fitted, given):
    # Whatever their types: a centroid rounded in another way would stand out.
    aggregator = MicroAggregator(k=5)
    release = aggregator.fit_transform(X.astype(fitted))
    moved = aggregator.transform(new.astype(given))
    assert release.dtype == moved.dtype == fitted
    assert anonymity_level(np.vstack([release, moved])) >= 5


def test_far_row_is_treated_alike_in_any_batch(X, new):
    aggregator = MicroAggregator(scaler=None).fit(X)
    far = np.array([[1e140, 0.0, 0.0]])
    assert_array_equal(aggregator.transform(far), aggregator.transform(np.vstack([far, new]))[:1])


# The fitted model


def arrays_of(model):
    for value in vars(model).values():
        if isinstance(value, np.ndarray):
            yield value
        elif hasattr(value, "__dict__"):
            yield from arrays_of(value)


@every_builder
@in_one_case("scaler", ["standard", RobustScaler(), None])
def test_fitted_model_holds_no_training_record(X, builder, scaler):
    aggregator = MicroAggregator(k=3, builder=builder, scaler=scaler).fit(X)
    scaled = X if aggregator.scaler_ is None else aggregator.scaler_.transform(X)
    # Not one value of one, so that the order in which an array keeps them does not matter.
    values = [value.tobytes() for value in np.vstack([X, scaled]).ravel()]
    remembering = pickle.dumps([aggregator, X, scaled])
    assert all(value in remembering for value in values)
    shipped = pickle.dumps(aggregator)
    assert not any(value in shipped for value in values)


@every_builder
def test_only_the_labels_are_as_long_as_the_training_data(X, builder):
    aggregator = MicroAggregator(k=3, builder=builder, scaler=RobustScaler()).fit(X)
    long = [array for array in arrays_of(aggregator) if array.shape[:1] == X.shape[:1]]
    assert len(long) == 1
    assert long[0] is aggregator.labels_
