"""MicroAggregator on tables with missing values."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import TABLES, in_units
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import exact_means, in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles import missing as oracle
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from sk_microagg import MicroAggregator, TableAggregator, microaggregate
from sk_microagg._utils._space import ScaledSpace
from sk_microagg._utils._statistics import coarse_moments
from sk_microagg.metrics import anonymity_level
from sk_microagg.tables._encoder import LOST

pytestmark = pytest.mark.usefixtures("few_steps")

SCALERS = {
    "standard": StandardScaler(),
    "none": None,
    "robust": RobustScaler(),
    "ranges": MinMaxScaler(),
    "quantiles": QuantileTransformer(n_quantiles=20),
}
every_scaler = in_one_case("scaler", SCALERS.values())


def with_holes(X, share=0.2, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.fixture(name="X")
def records():
    return with_holes(in_units(n=150))


@in_one_case("share", [0.02, 0.5, 0.95])
@in_one_case("kind", ["normal", "grid", "duplicates", "constant_column", "line"])
def test_points_are_those_of_the_oracle(kind, share):
    X = with_holes(TABLES[kind](np.random.default_rng(1), 40, 3), share)
    points = ScaledSpace(StandardScaler()).fit(X)[0]
    assert_allclose(points, oracle.standardized_points(X.tolist()), atol=1e-12)


@every_scaler
def test_a_missing_value_is_as_far_from_known_ones_as_these_are_from_each_other(scaler):
    x = with_holes(in_units(n=200, d=1), 0.3)
    points = ScaledSpace(scaler).fit(x)[0]
    known, missing = points[~np.isnan(x[:, 0])], points[np.isnan(x[:, 0])]
    assert len(np.unique(missing, axis=0)) == 1

    def mean_square(a, b):
        return ((a[:, None] - b[None]) ** 2).sum(axis=2).mean()

    # Where missing values lie is a coarse number.
    assert_allclose(mean_square(known, missing), mean_square(known, known), rtol=0.1)


@every_scaler
def test_distances_of_known_values_are_those_of_the_scaler(scaler):
    x = with_holes(in_units(n=200, d=1), 0.3)
    points = ScaledSpace(scaler).fit(x)[0][:, 0]
    known = ~np.isnan(x[:, 0])
    scaled = x if scaler is None else scaler.transform(x)
    ratio = np.ptp(points[known]) / np.ptp(scaled[known])
    is_standard = isinstance(scaler, StandardScaler)
    share = 1 - known.mean()
    assert_allclose(ratio, 1 / np.sqrt(1 - share**2) if is_standard else 1.0, rtol=1e-12)
    if is_standard:
        assert_allclose(ScaledSpace(scaler).fit(x)[0].var(axis=0).sum(), 1.0, rtol=0.1)
        assert_allclose(scaler.scale_, x[known].std(axis=0), rtol=0.05)
        assert abs(scaler.mean_[0] - x[known].mean()) <= scaler.scale_[0] / 8
        assert_allclose(scaler.var_, scaler.scale_**2)


@pytest.mark.slow
@in_one_case("k", [1, 2, 3, 10])
@in_one_case("share", [0.05, 0.4, 0.9])
def test_release_is_the_mean_of_known_values(k, share):
    X = with_holes(in_units(n=90), share)
    aggregator = MicroAggregator(k=k)
    release = aggregator.fit_transform(X)
    expected = oracle.released(X.tolist(), aggregator.labels_.tolist())
    assert_allclose(aggregator.centroids_, expected, rtol=1e-12)
    assert_array_equal(release, aggregator.centroids_[aggregator.labels_])
    assert anonymity_level(release) >= k
    assert aggregator.group_sizes_.min() >= k


@pytest.mark.slow
@in_one_case("share", [0.1, 0.5, 0.9])
@in_one_case("d", [1, 2, 4])
def test_transform_of_the_training_data_is_the_release(d, share):
    X = with_holes(in_units(n=200, d=d), share)
    aggregator = MicroAggregator(k=4)
    release = aggregator.fit_transform(X)
    if not aggregator.exact_transform_:  # records with nothing known are equal
        assert np.isnan(X).all(axis=1).sum() > 1
        with pytest.warns(UserWarning, match="transform was given the training data"):
            moved = aggregator.transform(X)
        own = (moved == release) | (np.isnan(moved) & np.isnan(release))
        assert own.all(axis=1)[~np.isnan(X).all(axis=1)].all()
    else:
        assert_array_equal(aggregator.transform(X), release)
        # Where a single value of a group is known, the model holds another point than the mean.
        if not len(aggregator._hidden[0]):
            assert aggregator.score(X) == pytest.approx(-aggregator.information_loss_)
    for row in range(0, 200, 40):
        one = aggregator.transform(X[[row]])
        if aggregator.exact_transform_:
            assert_array_equal(one, release[[row]])


def test_groups_are_those_of_the_points(X):
    points = ScaledSpace(StandardScaler()).fit(X)[0]
    aggregator = MicroAggregator(k=5).fit(X)
    assert_array_equal(aggregator.labels_, microaggregate(points, 5))
    # What only one member of a group has counts as half a deviation from missing values.
    assert len(aggregator._hidden[0])
    for group, column in zip(*aggregator._hidden, strict=True):
        own = (aggregator.labels_ == group) & ~np.isnan(X[:, column])
        assert own.sum() == 1
        missing = points[np.isnan(X[:, column])][0]
        height = missing[len(X.T) + np.flatnonzero(np.isnan(X).any(axis=0)).tolist().index(column)]
        points[own, column] = missing[column] + height / 2
    within = points - np.array(
        [points[aggregator.labels_ == group].mean(axis=0) for group in aggregator.labels_]
    )
    assert_allclose(aggregator.sse_, (within**2).sum(), rtol=1e-10)
    total = ((points - points.mean(axis=0)) ** 2).sum()
    assert_allclose(aggregator.information_loss_, (within**2).sum() / total, rtol=1e-10)


@exact_means
def test_a_table_aggregator_makes_the_same_release(X):
    aggregator = MicroAggregator(k=4)
    release = aggregator.fit_transform(X)
    tables = TableAggregator(k=4, decimals=None)
    assert_array_equal(tables.fit_transform(X), release)
    assert_array_equal(tables.labels_, aggregator.labels_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:scaler is a:UserWarning")
@every_scaler
def test_every_scaler_that_takes_missing_values(X, scaler):
    aggregator = MicroAggregator(k=5, scaler=scaler)
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= 5
    assert aggregator.exact_transform_
    assert_array_equal(aggregator.transform(X), release)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:scaler is a:UserWarning")
def test_imputed_values_are_like_known_ones(X):
    scaler = make_pipeline(SimpleImputer(), StandardScaler())
    points = scaler.fit_transform(X)
    aggregator = MicroAggregator(k=5, scaler=scaler).fit(X)
    assert_array_equal(aggregator.labels_, microaggregate(points, 5))
    expected = oracle.released(X.tolist(), aggregator.labels_.tolist())
    assert_allclose(aggregator.centroids_, expected, rtol=1e-12)


def test_a_scaler_that_refuses_missing_values_says_so(X):
    scaler = FunctionTransformer(validate=True)
    with pytest.raises(ValueError, match="FunctionTransformer"):
        MicroAggregator(scaler=scaler).fit(X)


@pytest.mark.slow
@every_scaler
def test_new_records_may_lack_values_that_no_training_record_lacks(scaler):
    aggregator = MicroAggregator(k=5, scaler=scaler).fit(in_units(n=150))
    moved = aggregator.transform([[np.nan, np.nan, np.nan], [0.3, np.nan, -0.1]])
    assert np.isfinite(moved).all()
    middle = (aggregator.centroids_.T * aggregator.group_sizes_).sum(axis=1) / 150
    if scaler is None or isinstance(scaler, StandardScaler):
        assert_array_equal(moved[0], aggregator.transform([middle])[0])


def test_columns_without_two_known_values_play_no_part():
    X = in_units(n=60)
    wide = np.column_stack([X, np.full((60, 2), np.nan)])
    wide[7, 4] = 123.456
    aggregator = MicroAggregator(k=5)
    release = aggregator.fit_transform(wide)
    assert_array_equal(release[:, :3], MicroAggregator(k=5).fit_transform(X))
    assert np.isnan(release[:, 3:]).all()
    wide[7, 4] = 1e6
    assert_array_equal(aggregator.transform(wide), release)
    values = np.concatenate([np.ravel(aggregator.scaler_.mean_), aggregator._cells.centroids[:, 4]])
    assert not np.isin(123.456, values)


def test_only_missing_values():
    X = np.full((12, 2), np.nan)
    aggregator = MicroAggregator(k=3, scaler="standard")
    assert np.isnan(aggregator.fit_transform(X)).all()
    assert aggregator.information_loss_ == 0.0
    assert aggregator.score(X) == 0.0


def test_two_records_of_which_one_value_is_known_do_not_release_it():
    X = [[1.0, 5.0], [1.1, np.nan], [9.0, 7.0], [9.1, 7.2]]
    release = MicroAggregator(k=2).fit_transform(X)
    assert np.isnan(release[:2, 1]).all()
    assert_allclose(release[2:, 1], 7.1)


@pytest.mark.slow
@in_one_case("block_size", [20, None])
def test_blocks_and_strata(X, block_size):
    strata = np.arange(150) % 2
    aggregator = MicroAggregator(k=3, block_size=block_size)
    release = aggregator.fit_transform(X, strata=strata)
    expected = oracle.released(X.tolist(), aggregator.labels_.tolist())
    assert_allclose(aggregator.centroids_, expected, rtol=1e-12)
    if aggregator.exact_transform_:
        assert_array_equal(aggregator.transform(X, strata=strata), release)


@pytest.mark.slow
def test_types_in_and_out(X):
    release = MicroAggregator().fit_transform(X)
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names)
    same = [
        frame.convert_dtypes(),
        frame.astype("Float64"),
        pl.DataFrame(X, schema=names).fill_nan(None),
        np.where(np.isnan(X), None, X.astype(object)),
    ]
    for table in same:
        assert_array_equal(MicroAggregator().fit_transform(table), release)
    single = MicroAggregator().fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.isnan(single).any()


def test_pickle_and_frames_out(X):
    aggregator = MicroAggregator().set_output(transform="pandas")
    release = aggregator.fit_transform(X)
    loaded = pickle.loads(pickle.dumps(aggregator))
    pd.testing.assert_frame_equal(loaded.transform(X), release)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["grid", "duplicates", "constant_column", "constant", "line", "normal"]),
    k=st.integers(1, 5),
    n=st.integers(5, 30),
    d=st.integers(1, 4),
    share=st.sampled_from([0.1, 0.5, 0.9]),
    seed=st.integers(0, 1000),
)
def test_any_table(kind, k, n, d, share, seed):
    X = with_holes(TABLES[kind](np.random.default_rng(seed), n, d), share, seed)
    aggregator = MicroAggregator(k=k)
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= k
    expected = oracle.released(X.tolist(), aggregator.labels_.tolist())
    assert_allclose(aggregator.centroids_, expected, rtol=1e-9, atol=1e-12)
    if aggregator.exact_transform_:
        assert_array_equal(aggregator.transform(X), release)


@pytest.mark.slow
@in_one_case("estimator", [MicroAggregator(k=2), MicroAggregator(k=3), TableAggregator(k=3)])
@in_one_case("share", [0.1, 0.5, 0.9])
def test_the_only_known_value_of_a_group_cannot_be_computed_from_a_model(estimator, share):
    X = with_holes(in_units(n=200, d=3), share)
    estimator.fit(X)
    labels, sizes = estimator.labels_, estimator.group_sizes_
    n_known = np.array([(~np.isnan(X[labels == group])).sum(axis=0) for group in range(len(sizes))])
    single = np.argwhere((n_known == 1) & (sizes[:, None] > 1))
    assert len(single)
    for group, column in single:
        # All members are where missing values are, so there is nothing to multiply.
        places = estimator._cells.centroids[(n_known[:, column] == 0), column]
        own = estimator._cells.centroids[group, column]
        assert_allclose(places, own, rtol=1e-12, atol=1e-15)


@in_one_case("n", [20, 100, 1000])
def test_a_column_of_one_outlier_has_a_scale_that_does_not_tell_it(n):
    """Among zeros, the deviation to an eighth of an octave would tell small integers apart."""
    scales = set()
    for outlier in range(1, 33):
        values = np.zeros(n)
        values[0], values[1] = outlier, np.nan
        center, scale = coarse_moments(values)
        scales.add(scale)
        deviation = np.nanstd(values)
        assert deviation / 1.5 < scale < 16 * deviation
        assert abs(center - np.nanmean(values)) < scale
    assert len(scales) <= 3
    # So do the values of one person: here, ten of each.
    assert (
        coarse_moments(np.r_[np.zeros(90), np.ones(10)], np.arange(100) // 10)[1]
        != (coarse_moments(np.r_[np.zeros(90), np.ones(10)])[1])
    )


@pytest.mark.filterwarnings(f"ignore:{LOST}")
def test_what_only_one_person_has_does_not_come_out():
    """A person with several records is one person."""
    table = pd.DataFrame(
        {
            "person": [0, 0, 0, 0, 1, 2, 3, 4, 5, 6],
            "zip": ["Z9"] * 4 + list("ABCDEF"),
            "size": pd.Categorical(["L"] * 4 + ["S"] * 6, categories=["S", "L"], ordered=True),
            "income": [777.0] * 4 + [np.nan] * 6,
            "age": [30, 30, 30, 30, 31, 32, 60, 61, 62, 63],
        }
    )
    for categories in ("mode", "shares", "generalize"):
        model = TableAggregator(k=3, unit="person", categories=categories)
        release = model.fit_transform(table)
        shown = {*map(str, release.to_numpy().ravel()), *release.columns}
        assert not any("Z9" in cell or "777" in cell for cell in shown)
        assert b"Z9" not in pickle.dumps(model)
        # Nor is it in the type of the column.
        assert release["size"].cat.categories.tolist() == ["S"]
    assert (TableAggregator(k=3, unit="person").fit_transform(table)["size"] == "S").all()
    numbers = table[["age", "income"]].to_numpy()
    model = MicroAggregator(k=3)
    release = model.fit_transform(numbers, unit=table["person"])
    assert not (release == 777).any()


@in_one_case("has_units", [False, True])
def test_of_two_people_the_only_one_with_a_value_does_not_give_it_away(has_units):
    """With k of 2 as well, and where each of the two has several records."""
    people = np.arange(200) // 2 if has_units else np.arange(200)
    X = with_holes(in_units(200), share=0.3)[people]
    model = MicroAggregator(k=2, refiner=None)
    release = model.fit_transform(X, unit=people if has_units else None)
    n_hidden = 0
    for label in range(model.n_groups_):
        members = model.labels_ == label
        for column in range(X.shape[1]):
            has_value = members & ~np.isnan(X[:, column])
            if len({*people[has_value]}) == 1:
                assert np.isnan(release[members, column]).all()
                n_hidden += len({*people[members]}) == 2
    assert n_hidden > 0  # It occurs.


def test_few_known_values_cannot_be_computed_from_the_scaler():
    X = np.column_stack([np.arange(20.0), np.full(20, np.nan)])
    X[3, 1], X[17, 1] = 1234.5, 87000.0
    for model in (MicroAggregator(k=5), TableAggregator(k=2)):
        model.fit(X)
        space = (
            model._space
            if isinstance(model, MicroAggregator)
            else model._encoder.coordinates._space
        )
        mean, spread = space._scaler.mean_[1], space._scaler.var_[1] ** 0.5
        for guess in (mean, mean - spread, mean + spread):
            assert not np.isclose([1234.5, 87000.0], guess).any()
