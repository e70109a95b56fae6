from dataclasses import FrozenInstanceError, astuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import TABLES, in_units
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles.risk import linkage, share_of_unique
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.metrics import RecordLinkage, anonymity_level, record_linkage, uniqueness

pytestmark = pytest.mark.usefixtures("few_steps")

every_table = in_one_case("make", TABLES.values())


def release_of(X, k=3):
    """Centroids, some of them shifted, so that not every record is nearest to its own."""
    rng = np.random.default_rng(len(X))
    labels = microaggregate(X, k)
    release = np.array([X[labels == group].mean(axis=0) for group in range(labels.max() + 1)])
    return (release + rng.choice([0.0, 0.5], size=release.shape) * X.std(axis=0))[labels]


# Record linkage


@pytest.mark.slow
@every_table
@in_one_case("d", [1, 3])
@in_one_case("scaler", ["standard", None])
def test_linkage_is_that_of_a_plain_scan(make, d, scaler):
    X = make(np.random.default_rng(d), 60, d)
    release = release_of(X)
    fitted = StandardScaler(with_mean=scaler is not None, with_std=scaler is not None).fit(X)
    expected = linkage(X, release, fitted.transform(X), fitted.transform(release))
    assert_allclose(astuple(record_linkage(X, release, scaler=scaler)), expected, rtol=1e-12)


@in_one_case("one_to_one", [False, True])
@in_one_case("as_text", [False, True])
def test_a_person_is_found_by_any_of_their_records(one_to_one, as_text):
    X = in_units(60)
    release = release_of(X)
    people = np.random.default_rng(0).integers(0, 9, 60)
    if as_text:
        X, release = (pd.DataFrame(table).assign(same="a") for table in (X, release))
    by_record = record_linkage(X, release, one_to_one=one_to_one)
    alone = record_linkage(X, release, one_to_one=one_to_one, unit=np.arange(60))
    assert_allclose(astuple(alone), astuple(by_record), rtol=1e-12)
    found = record_linkage(X, release, one_to_one=one_to_one, unit=people)
    rows = [tuple(row) for row in np.asarray(release)]
    chances = [
        np.mean([people[j] == people[i] for j in range(60) if rows[j] == rows[i]])
        for i in range(60)
    ]
    assert found.linked == by_record.linked
    # The intruder may look for any record of a person.
    best = [max(np.array(chances)[people == person]) for person in people]
    assert found.expected_if_linked == pytest.approx(np.mean(best))
    assert by_record.expected_matches < found.expected_matches <= found.expected_if_linked
    # Everybody is found if all records belong to one person.
    assert record_linkage(X, release, unit=["Ann"] * 60).expected_if_linked == 1.0


few_numbers = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 4.0])


@pytest.mark.slow
@settings(deadline=None)
@given(st.data(), st.integers(1, 12), st.integers(1, 3))
def test_ties_fall_to_the_lowest_row(data, n, d):
    X, release = (data.draw(arrays(float, (n, d), elements=few_numbers)) for _ in range(2))
    expected = linkage(X, release, X, release)
    assert_allclose(astuple(record_linkage(X, release, scaler=None)), expected, rtol=1e-12)


def test_the_lower_of_two_rows_at_the_same_distance_is_linked():
    X = [[1.0], [1.0], [5.0], [5.0]]
    assert record_linkage(X, [[0.0], [2.0], [5.0], [5.0]], scaler=None).linked == 0.75
    # Neither the order of the records nor that of the columns after the first decides.
    assert record_linkage(X, [[2.0], [0.0], [5.0], [5.0]], scaler=None).linked == 0.75
    assert record_linkage([[1.0, 1.0]] * 2, [[0.0, 2.0], [2.0, 0.0]], scaler=None).linked == 0.5
    assert record_linkage([[1.0, 1.0]] * 2, [[0.0, 0.0], [0.0, 2.0]], scaler=None).linked == 0.5


@in_one_case("d", [1, 4])
def test_distinct_unchanged_records_are_all_identified(d):
    X = in_units(d=d)
    assert astuple(record_linkage(X, X)) == (1.0, 1.0, 1.0)


def test_duplicates_are_linked_and_hide_each_other():
    X = np.repeat(in_units(100), 4, axis=0)
    assert_allclose(astuple(record_linkage(X, X)), (1.0, 0.25, 0.25))


@in_one_case("value", [0.0, 7.1, -1e9])
def test_records_released_as_one_row_are_identified_only_by_chance(value):
    X = in_units(250)
    assert_allclose(astuple(record_linkage(X, np.full_like(X, value))), (1.0, 1 / 250, 1 / 250))


def test_a_single_record_is_identified():
    assert astuple(record_linkage([[3.0, 1.0]], [[8.0, 2.0]])) == (1.0, 1.0, 1.0)


def test_positive_and_negative_zero_are_in_one_class():
    X = [[-1.0], [1.0]]
    assert record_linkage(X, [[0.0], [-0.0]]).expected_if_linked == 0.5


@pytest.mark.slow
@in_one_case("d", [1, 3])
def test_larger_groups_protect_better(d):
    X = in_units(600, d=d)
    matches = []
    for k in (1, 2, 4, 8, 16, 64):
        found = record_linkage(X, MicroAggregator(k=k).fit_transform(X))
        assert found.expected_matches <= min(1 / k, found.linked, found.expected_if_linked)
        matches.append(found.expected_matches)
    assert matches[0] == 1
    assert (np.diff(matches) < 0).all()


def test_order_of_records_does_not_matter():
    X = in_units(500)
    release = release_of(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(
        astuple(record_linkage(X[order], release[order])), astuple(record_linkage(X, release))
    )
    grid = TABLES["grid"](np.random.default_rng(1), 500, 2)
    release = np.random.default_rng(2).permutation(grid)
    found = record_linkage(grid, release, scaler=None)
    assert_allclose(
        astuple(record_linkage(grid[order], release[order], scaler=None)), astuple(found)
    )


def test_the_number_of_jobs_changes_nothing():
    X = in_units(25_000, d=2)
    release = np.round(X, 1)
    assert record_linkage(X, release, n_jobs=2) == record_linkage(X, release)


def test_units_matter_only_without_a_scaler():
    X = in_units(300)
    release = release_of(X)
    units = np.array([1024.0, 0.5, 1 / 64])
    assert record_linkage(X * units, release * units) == record_linkage(X, release)
    expected = linkage(X, release, X, release)
    assert_allclose(astuple(record_linkage(X, release, scaler=None)), expected, rtol=1e-12)
    assert record_linkage(X, release, scaler=None) != record_linkage(X, release)


@in_one_case("scaler", [RobustScaler(), QuantileTransformer(n_quantiles=10)])
def test_any_scaler_which_stays_unfitted(scaler):
    X = in_units(80)
    release = release_of(X)
    fitted = type(scaler)(**scaler.get_params()).fit(X)
    expected = linkage(X, release, fitted.transform(X), fitted.transform(release))
    assert_allclose(astuple(record_linkage(X, release, scaler=scaler)), expected, rtol=1e-12)
    assert not hasattr(scaler, "n_features_in_")


@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_lists_are_accepted(frame):
    X = in_units(100)
    release = release_of(X)
    tables = [frame(dict(zip("abc", table.T, strict=True))) for table in (X, release)]
    found = record_linkage(X, release)
    assert record_linkage(*tables) == found
    assert record_linkage(X, tables[1]) == found
    assert record_linkage(X.tolist(), release.tolist()) == found


def test_single_precision_and_integers():
    X = in_units(100).astype(np.float32)
    release = MicroAggregator(k=4).fit_transform(X)
    assert release.dtype == np.float32
    found = record_linkage(X, release)
    assert found == record_linkage(X.astype(float), release.astype(float))
    assert found.expected_if_linked == pytest.approx(1 / 4, rel=0.2)
    X = np.arange(12).reshape(6, 2)
    assert record_linkage(X, X).linked == 1


def test_arguments_are_not_modified():
    X = in_units(100)
    release = release_of(X)
    before = X.copy(), release.copy()
    X.flags.writeable = release.flags.writeable = False
    record_linkage(X, release)
    assert_array_equal(X, before[0])
    assert_array_equal(release, before[1])


def test_the_result_is_frozen_and_of_plain_floats():
    found = record_linkage(in_units(50), release_of(in_units(50)))
    assert type(found) is RecordLinkage
    assert {type(value) for value in astuple(found)} == {float}
    with pytest.raises(FrozenInstanceError):
        found.linked = 0.0


@in_one_case(
    ("options", "error", "message"),
    [
        ({"scaler": "robust"}, ValueError, "^scaler='robust'"),
        ({"scaler": 3}, TypeError, r"^scaler=3\b"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        record_linkage([[1.0], [2.0]], [[1.0], [2.0]], **options)


# Uniqueness


@in_one_case(
    ("table", "share"),
    [
        ([[1, 2], [1, 2], [3, 4]], 1 / 3),
        ([[1, 2], [2, 1]], 1),
        ([["a", "b"], ["a", "b"], ["ab", ""], ["ab", None], ["ab", None]], 1 / 5),
        ([[None], [float("nan")], [float("nan")], ["nan"]], 1 / 2),
        ([["x"]], 1),
        (np.array([[np.nan, 0.0], [np.nan, -0.0]]), 0),
        (pd.DataFrame({"a": [2**53, 2**53 + 1], "b": [0.5, 0.5]}), 1),
        (pl.DataFrame({"a": ["x", None, None], "b": [1, 2, 2]}), 1 / 3),
    ],
)
def test_uniqueness_is_the_share_of_rows_that_occur_once(table, share):
    found = uniqueness(table)
    assert found == pytest.approx(share)
    assert type(found) is float


cell = st.sampled_from([0, 1, 2.5, "0", "a", "", None])


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[cell] * d), min_size=1)))
def test_uniqueness_equals_the_count_of_rows(rows):
    table = np.array(rows, dtype=object)
    assert uniqueness(table) == pytest.approx(share_of_unique(rows))
    assert (uniqueness(table) == 0) == (anonymity_level(table) > 1)


def test_a_release_has_no_unique_row():
    X = in_units(100)
    assert uniqueness(X) == 1
    assert uniqueness(MicroAggregator(k=2).fit_transform(X)) == 0


@in_one_case(
    ("table", "message"),
    [([1, 2, 3], "two dimensions"), (np.empty((0, 2)), r"0 sample\(s\)")],
)
def test_input_that_is_not_a_table_raises(table, message):
    with pytest.raises(ValueError, match=message):
        uniqueness(table)
