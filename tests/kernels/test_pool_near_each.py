"""Neighbors that are nearly the nearest ones, and deadlines of the searches for neighbors."""

import numpy as np
import pytest
from example_tables.drawn import cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from marks import in_one_case

from sk_microagg._kernels import Pool
from sk_microagg._utils._deadline import Deadline

# The distances of the others are 0, or denormal squares.
SPREAD_OUT = ["normal", "duplicates", "constant_column", "line", "huge", "heavy_tails"]

# Pools of fewer records have no tree: all distances are computed.
FEWEST_FOR_TREE = 500


def nearest_of_each(X, m):
    """Exactly, in the order of distances."""
    return Pool(X).around_each(m + 1)[:, 1:]


def distances_to(X, records):
    """From each record to those in its row."""
    return np.sqrt(((X[:, None] - X[records]) ** 2).sum(axis=2))


@settings(deadline=None, max_examples=50)
@given(drawn=cases(n=900, d=12, k=(2, 3)))
def test_near_records_are_distinct_other_ones_in_the_order_of_their_distance(drawn):
    (X, rng), n = drawn.make(), drawn.n
    m = int(rng.integers(1, min(n, 40)))
    near = Pool(X).near_each(m)
    assert near.shape == (n, m)
    assert near.dtype == np.int32
    assert near.min() >= 0
    assert near.max() < n
    assert not (near == np.arange(n)[:, None]).any()
    assert all(len(set(row)) == m for row in near.tolist())
    distances = distances_to(X, near)
    # The kernel sums columns in another order.
    assert np.all(np.diff(distances, axis=1) >= -1e-12 * distances.max())


@pytest.mark.slow
@in_one_case("table", TABLES)
@in_one_case("n", [2, 3, 16, FEWEST_FOR_TREE - 1])
def test_all_distances_are_compared_where_there_are_few_records(table, n):
    X = TABLES[table](np.random.default_rng(n), n, 3)
    exact = distances_to(X, nearest_of_each(X, n - 1))
    for m in {1, min(n - 1, 15), n - 1}:
        assert np.array_equal(distances_to(X, Pool(X).near_each(m)), exact[:, :m])


@in_one_case("table", ["normal", "duplicates", "grid"])
def test_all_other_records_are_near_if_so_many_are_asked_for(table):
    for n in (2, 40, FEWEST_FOR_TREE + 200):
        X = TABLES[table](np.random.default_rng(0), n, 3)
        near = Pool(X).near_each(n - 1)
        assert all(len({i, *row}) == n for i, row in enumerate(near.tolist()))


@in_one_case("table", SPREAD_OUT)
@pytest.mark.parametrize(
    ("n", "d"), [pytest.param(1500, d, marks=pytest.mark.slow) for d in (2, 10)] + [(1500, 20)]
)
def test_most_near_records_are_the_nearest_and_the_others_not_much_farther_away(table, n, d):
    X = TABLES[table](np.random.default_rng(0), n, d)
    exact = distances_to(X, nearest_of_each(X, 15))
    near = distances_to(X, Pool(X).near_each(15))
    assert np.mean(near <= exact[:, -1:]) > 0.75
    assert near.mean() < 1.1 * exact.mean()


@pytest.mark.slow
@in_one_case("table", SPREAD_OUT)
@in_one_case("d", [1, 3, 8])
def test_no_near_record_is_twice_as_far_away_as_the_last_of_the_nearest(table, d):
    # Few enough records that the search ends only where boxes are too far away.
    X = TABLES[table](np.random.default_rng(0), 1500, d)
    exact = distances_to(X, nearest_of_each(X, 20))
    near = distances_to(X, Pool(X).near_each(20))
    assert np.all(near[:, -1] <= (2 + 1e-9) * exact[:, -1])


def test_near_records_take_fewer_distances_in_many_columns():
    X = np.random.default_rng(0).normal(size=(6000, 20))
    pool = Pool(X)
    pool.near_each(15)
    assert pool.n_distances < 0.3 * len(X) ** 2


def test_exact_answers_stay_exact_after_approximate_ones():
    X = np.random.default_rng(0).normal(size=(2000, 6))
    pool = Pool(X, search="tree")
    pool.near_each(10)
    assert np.array_equal(pool.around_each(11), Pool(X, search="scan").around_each(11))


@in_one_case("table", TABLES)
@in_one_case("n", [1, 2, 17, 700])
def test_the_order_of_a_pool_holds_each_record_once(table, n):
    pool = Pool(TABLES[table](np.random.default_rng(n), n, 3))
    assert sorted(pool.in_order()) == list(range(n))
    pool.remove(np.arange(0, n, 3))
    assert sorted(pool.in_order()) == [record for record in range(n) if record % 3]


def test_each_record_is_near_to_the_one_before_it():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    order = Pool(X).in_order()
    gaps, at_random = (
        np.linalg.norm(np.diff(X[records], axis=0), axis=1) for records in (order, np.arange(4000))
    )
    assert np.median(gaps) < 0.1 * np.median(at_random)


def test_a_search_for_neighbors_ends_at_its_deadline():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    pool = Pool(X)
    pool.near_each(9, deadline=Deadline(0.0))
    n_distances = pool.n_distances
    # It ended early, and the next one answers as ever.
    found = pool.near_each(9, deadline=Deadline())
    assert n_distances < 0.3 * (pool.n_distances - n_distances)
    assert np.array_equal(found, Pool(X).near_each(9))


def test_after_the_deadline_near_records_are_those_next_in_the_order():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    pool = Pool(X)
    place = np.argsort(pool.in_order())
    # The deadline is asked for now and then: the first records in the order have the nearest.
    late = place >= 1100
    found = pool.near_each(9, deadline=Deadline(0.0))[late]
    assert np.abs(place[found] - place[late][:, np.newaxis]).max() <= 9
    assert (found != np.flatnonzero(late)[:, np.newaxis]).all()
    assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()


@in_one_case(
    ("m", "message"),
    [(5, "pool of 5 .* 6"), (-1, r"m=0\b")],
)
def test_more_near_records_than_there_are_are_refused(m, message):
    with pytest.raises(ValueError, match=message):
        Pool(np.arange(5.0)[:, None]).near_each(m)


def test_records_that_left_have_no_near_ones():
    pool = Pool(np.arange(5.0)[:, None])
    pool.remove(np.array([2]))
    with pytest.raises(ValueError, match=r"^1 records"):
        pool.near_each(2)
