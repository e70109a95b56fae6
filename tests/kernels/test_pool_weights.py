import numpy as np
import pytest
from example_tables.drawn import cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles.partition import squared_distances

from sk_microagg._kernels import Pool

SEARCHES = ["auto", "tree", "scan"]
every_search = in_one_case("search", SEARCHES)


def scan(X, weights, point, m):
    """The m records of least squared distance less weight; ties to the lowest."""
    return np.argsort(squared_distances(X, point) - weights, kind="stable")[:m].tolist()


def some_weights(rng, X):
    """From none that matter to some that outweigh all distances, with ties among them."""
    spread = np.ptp(X, axis=0).max() ** 2
    return rng.choice([0.0, 0.01, 1.0, 10.0]) * spread * rng.integers(-8, 1, size=len(X)) / 8


def some_points(rng, X, n_points):
    spread = max(X.max(), -X.min())
    far = spread * rng.normal(size=(n_points, X.shape[1]))
    return np.concatenate([far, rng.choice(X, n_points), rng.choice(X, n_points) + 1e-3 * far])


@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(drawn=cases(n=150, d=6, k=(1, 3)), search=st.sampled_from(SEARCHES))
def test_nearest_is_by_squared_distance_less_weight(drawn, search):
    (X, rng), n = drawn.make(), drawn.n
    weights, points = some_weights(rng, X), some_points(rng, X, 5)
    pool = Pool(X, weights=weights, search=search)
    m = int(rng.integers(1, n + 1))
    for point in points:
        assert pool.nearest(point, m).tolist() == scan(X, weights, point, m)
    expected = [scan(X, weights, point, 1)[0] for point in points]
    assert pool.nearest_each(points).tolist() == expected


@pytest.mark.slow
@in_one_case("table", TABLES)
@in_one_case(("n", "d"), [(2000, 2), (1200, 12)])
def test_nearest_among_many_records(table, n, d):
    rng = np.random.default_rng(n)
    X = TABLES[table](rng, n, d)
    weights, points = some_weights(rng, X), some_points(rng, X, 50)
    # Points in any order, many of them equal: one answer is the guess for the next.
    expected = [scan(X, weights, point, 1)[0] for point in points]
    expected_7 = [scan(X, weights, point, 7) for point in points[::10]]
    for search in SEARCHES:
        pool = Pool(X, weights=weights, search=search)
        assert pool.nearest_each(points).tolist() == expected, search
        for point, first in zip(points, expected, strict=True):
            assert pool.nearest(point, 1).tolist() == [first], search
        for point, near in zip(points[::10], expected_7, strict=True):
            assert pool.nearest(point, 7).tolist() == near, search


# Products skip zeros, and take several points and records at a time if they can.
@pytest.mark.slow
@in_one_case("share_of_zeros", [0.0, 0.3, 0.95])
@in_one_case(("n", "d"), [(64, 8), (640, 9), (1001, 33)])
@in_one_case("n_points", [3, 128, 131, 195])
def test_nearest_by_products(share_of_zeros, n, d, n_points):
    rng = np.random.default_rng([n, n_points])
    X, points = rng.normal(size=(n, d)), rng.normal(size=(n_points, d))
    X[rng.random(X.shape) < share_of_zeros] = 0.0
    points[rng.random(points.shape) < share_of_zeros] = 0.0
    points[10:31] = rng.normal(size=points[10:31].shape)  # some without zeros among the others
    weights = rng.random(n)
    expected = [scan(X, weights, point, 1)[0] for point in points]
    assert Pool(X, weights=weights).nearest_each(points).tolist() == expected


# Where squares overflow there is no nearest record, but the answer must be one of the pool.
def test_points_too_far_away_to_be_measured_find_some_record():
    table = np.random.default_rng(0).normal(size=(512, 8))
    table[505] = 1e200
    assert Pool(table[:501]).nearest_each(np.full((130, 8), 1e200)).max() < 501


@in_one_case("scale", [1e-161, 1e-155, 1e-30, 1e130])
def test_nearest_by_products_at_any_scale(scale):
    rng = np.random.default_rng(3)
    X, points = scale * rng.normal(size=(600, 8)), scale * rng.normal(size=(140, 8))
    expected = Pool(X, search="scan").nearest_each(points)
    assert np.array_equal(Pool(X).nearest_each(points), expected)


# Where single precision would leave nearly all records in doubt, the answers are the same, and as
# quick: products are in double precision then.
@in_one_case("apart", [0.0, 1e3, 1e7])
@in_one_case("weight", [0.0, 1.0, 1e6])
def test_nearest_among_clusters_that_are_far_apart(apart, weight):
    rng = np.random.default_rng(5)
    X, points = rng.normal(size=(900, 10)), rng.normal(size=(150, 10))
    X[::2] += apart
    points[::3] += apart
    points[7] = 1e30  # too far away for single precision
    weights = weight * rng.random(900)
    expected = [scan(X, weights, point, 1)[0] for point in points]
    assert Pool(X, weights=weights).nearest_each(points).tolist() == expected


def test_nearest_among_equal_records_is_the_first():
    X, points = np.ones((1300, 9)), np.random.default_rng(4).normal(size=(140, 9))
    assert not Pool(X).nearest_each(points).any()


@every_search
def test_records_that_left_are_not_found(search):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(900, 3)), rng.random(900)
    pool = Pool(X, weights=weights, search=search)
    left = np.arange(900)
    while len(left) > 1:
        leaving = rng.permutation(left)[: len(left) // 3 + 1]
        left = np.setdiff1d(left, leaving)
        pool.remove(leaving)
        points = some_points(rng, X, 20)
        expected = [left[scan(X[left], weights[left], point, 1)[0]] for point in points]
        assert pool.nearest_each(points).tolist() == expected


@every_search
def test_equal_weights_change_nothing(search):
    rng = np.random.default_rng(1)
    X = TABLES["grid"](rng, 700, 3)
    points = some_points(rng, X, 60)
    weighted = Pool(X, weights=np.full(700, -2.0), search=search)
    plain = Pool(X, search=search)
    assert weighted.nearest_each(points).tolist() == plain.nearest_each(points).tolist()
    assert [weighted.farthest(p) for p in points] == [plain.farthest(p) for p in points]


def test_every_batch_gets_the_same_answers():
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=(600, 2)), rng.random(600)
    points = rng.normal(size=(70_000, 2))  # more than one batch
    pool = Pool(X, weights=weights)
    together = pool.nearest_each(points)
    assert together[-9:].tolist() == [scan(X, weights, point, 1)[0] for point in points[-9:]]
    parts = [pool.nearest_each(part) for part in np.array_split(points, 7)]
    assert np.array_equal(np.concatenate(parts), together)
    assert pool.nearest_each(points[:0]).tolist() == []


def test_weights_must_be_one_per_record():
    with pytest.raises(ValueError, match=r"^3 weights"):
        Pool(np.zeros((4, 2)), weights=np.zeros(3))
