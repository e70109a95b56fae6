from dataclasses import FrozenInstanceError, astuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import TABLES, in_units
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles.risk import changes, correlation_changes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from sk_microagg import MicroAggregator
from sk_microagg.metrics import (
    CorrelationChange,
    attribute_changes,
    correlation_change,
    propensity_mse,
)

pytestmark = pytest.mark.usefixtures("few_steps")

# In the plain version, squares of tiny values underflow.
PLAIN_TABLES = {name: make for name, make in TABLES.items() if name != "tiny"}
every_table = in_one_case("make", PLAIN_TABLES.values())


def releases_of(X):
    """A release that preserves means, and one that changes everything."""
    rng = np.random.default_rng(len(X))
    return MicroAggregator(k=4).fit_transform(X), 1.5 * rng.permutation(X)[rng.permutation(len(X))]


def frames(frame, *tables):
    return [frame(dict(zip("abc", table.T, strict=True))) for table in tables]


# Attributes


@pytest.mark.slow
@every_table
@in_one_case(("n", "d"), [(5, 3), (60, 1), (60, 3)])
def test_changes_are_those_of_plain_loops(make, d, n):
    X = make(np.random.default_rng(d), n, d)
    for release in releases_of(X):
        found = attribute_changes(X, release)
        assert found["name"].tolist() == list(range(d))
        for row, expected in zip(found, changes(X, release), strict=True):
            for name, value in expected.items():
                assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@in_one_case("make", TABLES.values())
def test_nothing_changes_in_a_copy(make):
    X = make(np.random.default_rng(0), 50, 2)
    found = attribute_changes(X, X)
    for name in found.dtype.names[1:]:
        assert_array_equal(found[name], 1.0 if name == "variance_ratio" else 0.0)
    assert astuple(correlation_change(X, X)) == (0.0, 0.0)


def test_shift_and_scale_are_measured_in_standard_deviations():
    X = in_units()
    found = attribute_changes(X, X + 2 * X.std(axis=0))
    for name in found.dtype.names[1:]:
        assert_allclose(found[name], 1.0 if name == "variance_ratio" else 2.0)
    assert_allclose(attribute_changes(X, 3 * X)["variance_ratio"], 9.0)


def test_microaggregation_keeps_means_and_lowers_variances():
    X = in_units()
    found = attribute_changes(X, MicroAggregator(k=20).fit_transform(X))
    assert_allclose(found["mean_change"], 0.0, atol=1e-12)
    assert (found["variance_ratio"] < 1).all()


def test_constant_columns_are_measured_in_their_own_units():
    X = np.full((7, 3), 0.1)
    release = X.copy()
    release[:, 1] = 2.6
    release[0, 2] = 7.1
    found = attribute_changes(X, release)
    assert_allclose(found["mean_change"], [0, 2.5, 1], atol=1e-12)
    assert_allclose(found["median_change"], [0, 2.5, 0], atol=1e-12)
    assert_array_equal(found["variance_ratio"], [1, 1, np.inf])
    # A column that becomes constant has no variance left.
    assert attribute_changes(release, X)["variance_ratio"].tolist() == [1, 1, 0]


@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_names_come_from_frames(frame):
    X = in_units()
    release = MicroAggregator(k=10).fit_transform(X)
    found = attribute_changes(*frames(frame, X, release))
    assert found["name"].tolist() == ["a", "b", "c"]
    by_place = attribute_changes(X.tolist(), release.tolist())
    assert by_place["name"].tolist() == [0, 1, 2]
    for name in found.dtype.names[1:]:
        assert_array_equal(found[name], by_place[name])


def test_changes_can_be_made_a_frame():
    X, release = frames(pd.DataFrame, in_units(), in_units(seed=1))
    table = pd.DataFrame(attribute_changes(X, release)).set_index("name")
    assert table.index.tolist() == ["a", "b", "c"]
    assert table.columns.tolist() == [
        "mean_change",
        "variance_ratio",
        "lower_quartile_change",
        "median_change",
        "upper_quartile_change",
    ]
    assert table.loc["b", "mean_change"] == pytest.approx(
        (release["b"].mean() - X["b"].mean()) / X["b"].std(ddof=0)
    )


# Correlations


@pytest.mark.slow
@every_table
@in_one_case("d", [1, 2, 4])
def test_correlation_change_is_that_of_plain_loops(make, d):
    X = make(np.random.default_rng(d), 60, d)
    for release in releases_of(X):
        found = correlation_change(X, release)
        assert_allclose(astuple(found), correlation_changes(X, release), rtol=1e-9, atol=1e-12)
        assert 0 <= found.mean <= found.largest <= 2 + 1e-12


def test_correlations_are_those_of_numpy():
    X, release = in_units(), in_units(seed=1)
    release[:, 1] += release[:, 0] * 100
    expected = np.abs(np.corrcoef(X.T) - np.corrcoef(release.T))
    found = correlation_change(X, release)
    assert found.largest == pytest.approx(expected.max())
    assert found.mean == pytest.approx(expected[np.triu_indices(3, 1)].mean())


def test_reversed_correlations_differ_by_two():
    X = np.arange(10.0)[:, np.newaxis] * [1, 1]
    assert_allclose(astuple(correlation_change(X, X * [1, -1])), (2, 2))
    # A constant has a correlation of 0 with any column.
    assert_allclose(astuple(correlation_change(X, X * [1, 0])), (1, 1))


def test_large_offsets_and_tiny_values_cost_no_accuracy():
    X = np.random.default_rng(0).integers(-50, 50, size=(40, 3)) / 2
    release = np.roll(X, 1, axis=0) + X
    expected = correlation_change(X, release)
    assert_allclose(astuple(correlation_change(X + 1e9, release + 1e9)), astuple(expected))
    assert correlation_change(2.0**-600 * X, 2.0**-600 * release) == expected
    ratios = attribute_changes(X, release)["variance_ratio"]
    assert_allclose(attribute_changes(X + 1e9, release + 1e9)["variance_ratio"], ratios)
    assert_allclose(attribute_changes(X * 2.0**-600, release * 2.0**-600)["variance_ratio"], ratios)


def test_the_change_is_frozen_and_of_plain_floats():
    found = correlation_change(in_units(), in_units(seed=1))
    assert type(found) is CorrelationChange
    assert {type(value) for value in astuple(found)} == {float}
    with pytest.raises(FrozenInstanceError):
        found.mean = 0.0


@pytest.mark.slow
@in_one_case("metric", [attribute_changes, correlation_change])
@in_one_case("frame", [np.array, pd.DataFrame, pl.DataFrame])
def test_order_of_records_does_not_matter(metric, frame):
    X = in_units()
    release = MicroAggregator(k=10).fit_transform(X)
    order = np.random.default_rng(0).permutation(len(X))
    found, expected = metric(frame(X[order]), frame(release[order])), metric(X, release)
    if metric is correlation_change:
        assert_allclose(astuple(found), astuple(expected))
    else:
        for name in expected.dtype.names[1:]:
            assert_allclose(found[name], expected[name], atol=1e-12)


# Propensity


@in_one_case("estimator", [None, LogisticRegression()])
def test_a_copy_cannot_be_distinguished_from_the_original(estimator):
    X = TABLES["normal"](np.random.default_rng(0), 150, 3)
    error = propensity_mse(X, X, estimator=estimator, random_state=0)
    assert error == pytest.approx(0, abs=1e-9)
    assert type(error) is float


def test_a_large_copy_cannot_be_distinguished_from_the_original():
    # With its default early stopping, gradient boosting would separate the rows of pairs.
    X = TABLES["normal"](np.random.default_rng(0), 11_000, 1)
    assert propensity_mse(X, X, cv=2, random_state=0) == pytest.approx(0, abs=1e-9)


def test_very_different_tables_are_distinguished():
    X = in_units(150)
    error = propensity_mse(X, X + 9 * X.std(axis=0), random_state=0)
    assert 0.24 < error <= 0.25


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(20, random_state=0)])
def test_larger_groups_are_easier_to_distinguish(estimator):
    X = in_units(150, d=2)
    errors = [
        propensity_mse(
            X, MicroAggregator(k=k).fit_transform(X), estimator=estimator, cv=3, random_state=0
        )
        for k in (1, 10, 75)
    ]
    assert (np.diff(errors) > 0).all()
    assert errors[0] >= 0
    assert errors[-1] <= 0.25


@pytest.mark.slow
def test_a_linear_model_sees_no_difference_if_means_are_preserved():
    # This is why trees are the default.
    X = in_units(300, d=2)
    release = MicroAggregator(k=50).fit_transform(X)
    assert propensity_mse(X, release, estimator=LogisticRegression(), random_state=0) < 0.01
    assert propensity_mse(X, release, random_state=0) > 0.1


@pytest.mark.slow
def test_the_seed_decides():
    X = in_units(100)
    release = MicroAggregator(k=5).fit_transform(X)
    error = propensity_mse(X, release, cv=2, random_state=3)
    # In frames and by several jobs at once: neither changes anything.
    tables = frames(pd.DataFrame, X, release)
    assert propensity_mse(*tables, cv=2, random_state=3, n_jobs=2) == error
    assert propensity_mse(X, release, cv=2, random_state=np.random.RandomState(3)) == error
    assert propensity_mse(X, release, cv=2, random_state=4) != error


def test_the_classifier_sees_whole_pairs_and_at_most_max_samples():
    seen = []

    class Spy(LogisticRegression):
        def fit(self, X, y):
            seen.append((X[y == 0], X[y == 1]))
            return super().fit(X, y)

    X = in_units(100)
    propensity_mse(X, X + 1000, estimator=Spy(), cv=4, max_samples=40, random_state=0)
    assert len(seen) == 4
    for original, released in seen:
        assert len(original) == 30
        assert_array_equal(original + 1000, released)
    # The folds are parts of one sample, in which no record occurs twice.
    assert len(np.unique(np.concatenate([original for original, _ in seen]), axis=0)) == 40
    seen.clear()
    propensity_mse(X, X, estimator=Spy(), cv=2, max_samples=None, random_state=0)
    assert [len(original) for original, _ in seen] == [50, 50]


def test_the_given_classifier_stays_unfitted():
    X = in_units(50)
    estimator = LogisticRegression()
    propensity_mse(X, X, estimator=estimator, random_state=0)
    assert not hasattr(estimator, "coef_")


@in_one_case(
    ("options", "error", "message"),
    [
        ({"cv": 1}, ValueError, r"^cv=1\b"),
        ({"cv": 4}, ValueError, r"^cv=4\b"),
        ({"cv": 0}, ValueError, r"^cv=0\b"),
        ({"cv": 2.5}, TypeError, r"^cv=2.5\b"),
        ({"cv": 3, "max_samples": 2}, ValueError, r"^cv=3\b"),
        ({"max_samples": 0}, ValueError, r"^max_samples=0\b"),
        ({"max_samples": 0.5}, TypeError, r"^max_samples=0.5\b"),
        ({"estimator": "trees"}, TypeError, "^estimator='trees'"),
        ({"estimator": LogisticRegression}, TypeError, "^estimator="),
    ],
)
def test_bad_options(options, error, message):
    X = [[1.0], [2.0], [3.0]]
    with pytest.raises(error, match=message):
        propensity_mse(X, X, **({"cv": 2} | options))


@pytest.mark.slow
@in_one_case("n", [12, 40])
def test_small_tables_are_distinguished_as_well(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert propensity_mse(X, X + 1000, random_state=0) > 0.2
