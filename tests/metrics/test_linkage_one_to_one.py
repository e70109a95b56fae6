import numpy as np
import pandas as pd
import pytest
from example_tables.numbers import TABLES, in_units
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles.attacks import assignment, expected_links, least_cost
from scipy.spatial.distance import cdist

from sk_microagg import MicroAggregator, TableAggregator
from sk_microagg.metrics import record_linkage
from sk_microagg.metrics._linkage import cheapest_assignment

every_table = in_one_case("make", TABLES.values())


def distances_and_sizes(X, release):
    rows, sizes = np.unique(release, axis=0, return_counts=True)
    return cdist(X, rows, "sqeuclidean"), sizes


# Assignment


@pytest.mark.slow
@every_table
@in_one_case(("d", "k"), [(1, 1), (1, 3), (3, 4), (3, 60), (3, 31)])
def test_the_assignment_is_as_cheap_as_that_of_the_hungarian_method(make, d, k):
    rng = np.random.default_rng(d)
    X = make(rng, 60, d)
    # Rows that have little to do with the records, so that many have to give way.
    rows = make(rng, 60 // k, d)
    sizes = np.full(len(rows), k)
    sizes[-1] += 60 - sizes.sum()
    costs = cdist(X, rows, "sqeuclidean")
    found = cheapest_assignment(costs, np.arange(60), sizes)
    assert_array_equal(np.bincount(found, minlength=len(rows)), sizes)
    expected = costs[np.arange(60), assignment(costs, sizes)].sum()
    assert_allclose(costs[np.arange(60), found].sum(), expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(st.data(), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_no_assignment_of_a_few_records_is_cheaper(data, sizes):
    n = sum(sizes)
    costs = data.draw(arrays(float, (n, len(sizes)), elements=st.sampled_from([0.0, 1, 2, 5])))
    found = cheapest_assignment(costs, np.arange(n), np.array(sizes))
    assert_array_equal(np.bincount(found, minlength=len(sizes)), sizes)
    assert costs[np.arange(n), found].sum() == least_cost(costs, sizes)


def test_equal_records_share_their_costs():
    costs = np.array([[0.0, 3.0, 5.0], [1.0, 2.0, 7.0]])
    points = np.array([0, 1, 0, 1, 0])
    found = cheapest_assignment(costs, points, np.array([2, 2, 1]))
    assert costs[points, found].sum() == least_cost(costs[points], [2, 2, 1])


# Linkage


@in_one_case("d", [1, 3])
def test_links_are_those_of_the_hungarian_method(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(80, d))
    release = MicroAggregator(k=3).fit_transform(X)
    rows, own = np.unique(release, axis=0, return_inverse=True)
    rows = rows + rng.normal(size=rows.shape) / 2
    found = record_linkage(X, rows[own], scaler=None, one_to_one=True)
    linked = assignment(cdist(X, rows, "sqeuclidean"), np.bincount(own))
    assert found.linked == pytest.approx(np.mean(linked == own))
    assert found.linked < 1
    assert found.expected_matches == pytest.approx(np.mean((linked == own) / np.bincount(own)[own]))


def test_equal_records_are_linked_by_chance():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [9.0], [9.0]])
    release = np.array([[1.0], [1.0], [4.0], [4.0], [4.0], [4.0]])
    # Two of the four equal records are linked to the row of 1, and two to that of 4.
    found = record_linkage(X, release, scaler=None, one_to_one=True)
    costs, sizes = distances_and_sizes(X, release)
    expected = expected_links(X, [0, 0, 1, 1, 1, 1], assignment(costs, sizes))
    assert found.linked == pytest.approx(expected)
    assert found.linked == pytest.approx((4 / 2 + 2) / 6)


@in_one_case("value", [0.0, 7.1])
def test_constant_records_are_linked_by_chance(value):
    X = np.full((6, 2), value)
    release = np.arange(6)[:, None] // 2 + np.zeros((6, 2))
    found = record_linkage(X, release, one_to_one=True)
    assert found.linked == pytest.approx(1 / 3)
    assert found.expected_matches == pytest.approx(1 / 6)


def test_one_group_of_all_records():
    X = in_units(50)
    found = record_linkage(X, np.full_like(X, X.mean()), one_to_one=True)
    assert found == record_linkage(X, np.full_like(X, X.mean()))


@in_one_case("d", [1, 4])
def test_groups_that_are_a_power_diagram_are_all_linked(d):
    X = in_units(300, d=d)
    aggregator = MicroAggregator(k=4)
    release = aggregator.fit_transform(X)
    assert aggregator.exact_transform_
    found = record_linkage(X, release, one_to_one=True)
    assert found.linked == 1
    assert found.expected_matches == pytest.approx(found.expected_if_linked)
    assert found.expected_matches <= 1 / 4


def test_the_order_of_records_does_not_matter():
    X = in_units(200)
    release = MicroAggregator(k=3, refiner=None).fit_transform(X)
    order = np.random.default_rng(0).permutation(200)
    found = record_linkage(X, release, one_to_one=True)
    other = record_linkage(X[order], release[order], one_to_one=True)
    assert other.linked == pytest.approx(found.linked)


def test_columns_of_any_kind():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(150) < 0.1, np.nan, rng.integers(20, 60, 150)),
            "ward": rng.choice(list("ABCDE"), 150),
        }
    )
    release = TableAggregator(k=5).fit_transform(X)
    found = record_linkage(X, release, one_to_one=True)
    nearest = record_linkage(X, release)
    assert 0.5 < found.linked <= 1
    assert found.expected_if_linked == nearest.expected_if_linked
    assert found.expected_matches <= 1 / 5


def test_points_with_many_coordinates_are_compared_alike():
    """A column of more than 512 categories is sparse: one-hot distances are the same by hand."""
    n = 1200
    names = np.array([f"v{i}" for i in range(n // 2)])
    X = pd.DataFrame({"name": np.repeat(names, 2), "age": np.arange(n) % 7 * 1.0})
    shifted = X.assign(age=(X["age"] + 0.1) % 7)
    assert record_linkage(X, shifted, one_to_one=True).linked > 0.8
    assert record_linkage(X, X, one_to_one=True).linked == 1


def test_too_many_records_raise():
    """Before any cost is computed, however few of the records differ."""
    X = np.repeat([[0.0], [1.0]], 30_000, axis=0)
    with pytest.raises(ValueError, match=r"^one_to_one=True is possible for at most 5,000 records"):
        record_linkage(X, np.arange(60_000.0)[:, None], one_to_one=True)
