import numpy as np
from example_tables.numbers import TABLES
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles.root_search import squared_distances

from sk_microagg._bound._repair import near_records, scaled, sum_of_nearest, sums_of_nearest
from sk_microagg._utils._deadline import Deadline


@in_one_case("name", ["normal", "grid", "duplicates", "constant_column", "line"])
@in_one_case("m", [1, 2, 7, 30])
def test_near_records_are_the_nearest(name, m):
    X = TABLES[name](np.random.default_rng(m), 30, 3)
    near, distances = near_records(X, m)
    expected = squared_distances(X)
    assert_array_equal(near[:, 0], np.arange(30))
    assert_allclose(distances, np.take_along_axis(expected, near, axis=1), rtol=1e-12)
    assert_allclose(distances, np.sort(expected, axis=1)[:, :m], rtol=1e-12)


def test_near_records_are_those_of_the_first_records_if_time_is_short(set_clock):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    near, distances = near_records(X, 5)
    set_clock(1.0)
    some, their_distances = near_records(X, 5, Deadline(4.0))
    assert 0 < len(some) < len(X)
    assert_array_equal(some, near[: len(some)])
    assert_array_equal(their_distances, distances[: len(some)])
    assert near_records(X, 5, Deadline(0.0))[0].shape == (0, 5)


@in_one_case("n", [1, 3, 4, 9])
def test_the_last_sum_of_nearest_distances(n):
    distances = np.sort(np.random.default_rng(n).uniform(size=(20, 5)), axis=1)
    distances[:, 0] = 0.0
    assert_allclose(sum_of_nearest(distances, n), sums_of_nearest(distances, n + 1)[:, -1])


def test_scaling_drops_constant_columns_and_loses_nothing():
    X = np.random.default_rng(0).normal(size=(10, 3)) * [1.0, 0.0, 1e6] + [0.1, 7.0, 3.0]
    records, exponent = scaled(X)
    assert_array_equal(np.ldexp(records, exponent), X[:, [0, 2]])
    assert 0.5 <= np.ptp(records[:, 1]) <= 1.0
