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
from oracles.risk import shares_in_interval, shares_in_ranks

from sk_microagg import MicroAggregator
from sk_microagg.metrics import (
    attribute_changes,
    correlation_change,
    interval_disclosure,
    propensity_mse,
    rank_disclosure,
    record_linkage,
)

pytestmark = pytest.mark.usefixtures("few_steps")

# In the plain version, squares of tiny values underflow.
PLAIN_TABLES = {name: make for name, make in TABLES.items() if name != "tiny"}
every_table = in_one_case("make", PLAIN_TABLES.values())
every_share = in_one_case("share", [0, 0.05, 0.1, 0.29, 0.5, 1])
METRICS = (interval_disclosure, rank_disclosure)
every_metric = in_one_case("metric", METRICS)


def shuffled_a_little(X):
    """A release that keeps most values, and swaps others between records."""
    rng = np.random.default_rng(len(X))
    return np.where(rng.random(X.shape) < 0.4, rng.permutation(X), X)


# Against plain loops


@pytest.mark.slow
@every_table
@every_share
@in_one_case("d", [1, 3])
def test_shares_are_those_of_plain_loops(make, share, d):
    X = make(np.random.default_rng(d), 25, d)
    grouped = MicroAggregator(k=4, refiner=None).fit_transform(X)
    for release in (shuffled_a_little(X), grouped):
        expected = shares_in_interval(X, release, share)
        assert_allclose(interval_disclosure(X, release, width=share), expected)
        assert_allclose(
            rank_disclosure(X, release, share=share), shares_in_ranks(X, release, share)
        )


few_numbers = st.sampled_from([-1.0, 0.0, -0.0, 1.0, 2.5, 4.0])


@pytest.mark.slow
@settings(deadline=None)
@given(st.data(), st.integers(1, 12), st.integers(1, 3), st.integers(0, 12))
def test_ranks_with_ties(data, n, d, ranks):
    X, release = (data.draw(arrays(float, (n, d), elements=few_numbers)) for _ in range(2))
    share = min(ranks / n, 1.0)
    expected = shares_in_ranks(X, release, share)
    assert_allclose(rank_disclosure(X, release, share=share), expected)


# By hand


def test_an_interval_includes_its_ends():
    # The standard deviation is 2.
    X, release = [[0.0], [4.0], [0.0], [4.0]], [[1.0], [4.0], [-1.0], [5.5]]
    assert interval_disclosure(X, release, width=0.5) == [0.75]
    assert interval_disclosure(X, release, width=0.4999) == [0.25]
    assert interval_disclosure(X, release, width=0.75) == [1.0]


def test_ranks_by_hand():
    X = np.arange(100.0)[:, np.newaxis]
    # A rank difference of 29: 28 lie between, and the two values count half each.
    release = X + 29
    release[X >= 71] = X[X >= 71] - 29
    assert rank_disclosure(X, release, share=0.29) == [1.0]
    assert rank_disclosure(X, release, share=0.28) == [0.0]
    # A value between two records is half a rank from either.
    assert rank_disclosure(X, X + 0.5, share=0.005) == [1.0]
    assert rank_disclosure(X, X + 0.5, share=0.0049) == [0.0]


@every_metric
def test_a_constant_column_is_disclosed_where_it_is_unchanged(metric):
    X = np.full((10, 2), 0.1)
    release = X.copy()
    release[:3, 0] += 1e-9
    assert_allclose(metric(X, release), [0.7, 1.0])


def test_changed_values_of_a_constant_column_differ_by_half_the_ranks():
    X = np.full((10, 1), 0.1)
    assert rank_disclosure(X, X + 1, share=0.5) == [1.0]
    assert rank_disclosure(X, X + 1, share=0.499) == [0.0]


# Properties for any table


@every_metric
@in_one_case("make", TABLES.values())
def test_unchanged_records_are_disclosed(metric, make):
    X = make(np.random.default_rng(0), 50, 2)
    assert_array_equal(metric(X, X), [1.0, 1.0])
    # Even with an interval of width 0.
    assert_array_equal(metric(X, X, **{"width" if metric is METRICS[0] else "share": 0}), [1, 1])


@pytest.mark.slow
@every_metric
def test_wider_intervals_disclose_more(metric):
    X = in_units()
    release = MicroAggregator(k=20).fit_transform(X)
    option = "width" if metric is interval_disclosure else "share"
    shares = [metric(X, release, **{option: value}) for value in (0, 0.01, 0.1, 0.3, 0.6, 1)]
    assert (np.diff(shares, axis=0) >= 0).all()
    assert (shares[0] < 0.1).all()
    if metric is rank_disclosure:
        assert_array_equal(shares[-1], 1.0)


@pytest.mark.slow
@every_metric
def test_larger_groups_disclose_less(metric):
    X = in_units()
    shares = [metric(X, MicroAggregator(k=k).fit_transform(X)) for k in (1, 3, 10, 40, 200)]
    assert (np.diff(np.mean(shares, axis=1)) < 0).all()


@every_metric
def test_order_units_and_direction_do_not_matter(metric):
    X = in_units()
    release = MicroAggregator(k=10).fit_transform(X)
    expected = metric(X, release)
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(metric(X[order], release[order]), expected)
    assert_allclose(metric(-1024 * X, -1024 * release), expected)
    assert_allclose(metric(X[:, ::-1], release[:, ::-1]), expected[::-1])


def test_ranks_do_not_depend_on_units():
    X = in_units()
    release = shuffled_a_little(X)
    release[::7] = X[::7] + X.std(axis=0) / 3
    expected = rank_disclosure(X, release)
    assert_array_equal(rank_disclosure(np.arctan(X / 300), np.arctan(release / 300)), expected)


@every_metric
def test_tiny_values_have_a_spread(metric):
    X = TABLES["normal"](np.random.default_rng(0), 200, 2)
    release = shuffled_a_little(X)
    assert_array_equal(metric(2.0**-600 * X, 2.0**-600 * release), metric(X, release))


@pytest.mark.slow
@every_metric
@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_lists_are_accepted(metric, frame):
    X = in_units()
    release = MicroAggregator(k=10).fit_transform(X)
    tables = [frame(dict(zip("abc", table.T, strict=True))) for table in (X, release)]
    assert_array_equal(metric(*tables), metric(X, release))
    assert_array_equal(metric(X.tolist(), release.tolist()), metric(X, release))


# Bad arguments


@in_one_case(
    ("metric", "options", "error", "message"),
    [
        (interval_disclosure, {"width": -0.1}, ValueError, r"^width=-0.1\b"),
        (interval_disclosure, {"width": np.inf}, ValueError, r"^width=inf\b"),
        (interval_disclosure, {"width": np.nan}, ValueError, r"^width=nan\b"),
        (interval_disclosure, {"width": "10%"}, TypeError, "^width='10%'"),
        (rank_disclosure, {"share": 10}, ValueError, r"^share=10\b"),
        (rank_disclosure, {"share": -1}, ValueError, r"^share=-1\b"),
        (rank_disclosure, {"share": True}, TypeError, r"^share=True\b"),
    ],
)
def test_bad_options(metric, options, error, message):
    with pytest.raises(error, match=message):
        metric([[1.0], [2.0]], [[1.0], [2.0]], **options)


@in_one_case(
    "metric", [*METRICS, record_linkage, attribute_changes, correlation_change, propensity_mse]
)
@in_one_case(
    ("X", "release", "message"),
    [
        ([[1.0], [2.0]], [[1.0]], r"^release of shape \(1, 1\)"),
        ([[1.0]], [[1.0, 2.0]], r"^release of shape \(1, 2\)"),
        (
            [[1.0], [2.0]],
            [[1.0], [np.inf]],
            "^Column 0 of release: 1 of 2 cells is infinite",
        ),
        ([[1.0], [2.0]], [[1.0], ["[1, 3]"]], "Column 0 of release: 1 of 2 cells is no number"),
        (
            [[1.0], [2.0]],
            [[1.0], [1e200]],
            "^Column 0 of release: 1 of 2 cells is infinite",
        ),
        ([1.0, 2.0], [1.0, 2.0], "two dimensions"),
        (
            pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
            pd.DataFrame({"b": [3, 4], "a": [1, 2]}),
            r"^release has the columns \['b', 'a'\]",
        ),
    ],
)
def test_tables_that_do_not_match_raise(metric, X, release, message):
    with pytest.raises(ValueError, match=message):
        metric(X, release)


@in_one_case("metric", [attribute_changes, correlation_change, propensity_mse])
@in_one_case(
    ("X", "message"),
    [
        ([[1.0], [np.nan]], "^Input X contains NaN"),
        ([[1.0], ["a"]], "^Column 0 of X: 1 of 2 cells is no number, at position 1"),
    ],
)
def test_metrics_of_numbers_only(metric, X, message):
    with pytest.raises(ValueError, match=message):
        metric(X, [[1.0], [2.0]])


def test_released_columns_may_have_other_names():
    X = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert_array_equal(interval_disclosure(X, X.add_suffix("_released")), [1, 1])
