import numpy as np
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sk_microagg._utils._deadline import Deadline
from sk_microagg.refiners._neighborhoods import (
    MAX_SHARE_OF_TWINS,
    MIN_NEIGHBORS,
    NEIGHBORS_PER_K,
    Neighborhoods,
)


def few_points(rng, n, d):
    """Two to four distinct points, some of one record only."""
    points = rng.normal(size=(rng.integers(2, 5), d))
    number = np.minimum(rng.geometric(0.6, size=n) - 1, len(points) - 1)
    number[:2] = 0, 1
    return points[number]


ALL_TABLES = {**TABLES, "few_points": few_points}

some_table = given(
    table=st.sampled_from(sorted(ALL_TABLES)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 150),
    d=st.integers(1, 5),
    k=st.integers(1, 12),
)


def all_equal(X):
    return (X[0] == X).all()


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@some_table
def test_neighbors_are_other_records_and_rows_are_complete(table, seed, n, d, k):
    X, k = ALL_TABLES[table](np.random.default_rng(seed), n, d), min(k, n)
    found = Neighborhoods.find(X, k)
    assert np.array_equal(np.sort(found.order), np.arange(n))
    assert np.array_equal(found.X, X[found.order])
    n_neighbors = min(max(MIN_NEIGHBORS, NEIGHBORS_PER_K * k), n - 1)
    assert found.neighbors.shape == (n, n_neighbors)
    assert found.neighbors.dtype == np.int32
    assert found.are_frozen == (not found.scales.any())
    if all_equal(X):
        assert found.are_frozen
        return
    assert found.neighbors.min() >= 0
    assert found.neighbors.max() < n
    assert not (found.neighbors == np.arange(n)[:, None]).any()
    is_twin = (found.X[found.neighbors] == found.X[:, None]).all(axis=2)
    # First come twins, if there are any, but not too many of them, and each once.
    assert np.all(is_twin[:, :-1] >= is_twin[:, 1:])
    assert is_twin.sum(axis=1).max() <= int(MAX_SHARE_OF_TWINS * n_neighbors)
    for row, twins in zip(found.neighbors, is_twin, strict=True):
        assert len(set(row[twins])) == twins.sum()


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@some_table
def test_scales_are_distances_to_the_nearest_other_points(table, seed, n, d, k):
    X, k = ALL_TABLES[table](np.random.default_rng(seed), n, d), min(k, n)
    found = Neighborhoods.find(X, k)
    assert np.array_equal(found.sorted_scales, np.sort(found.scales))
    assert np.array_equal(found.scales[found.by_scale], found.sorted_scales)
    assert found.by_scale.dtype == np.int32
    # Squares of tiny distances may all be 0.
    assert np.all(found.scales > 0) or all_equal(X) or table == "tiny"
    points = np.unique(found.X, axis=0)
    if len(points) == 1 or table == "tiny":
        return
    # There are too few records for a tree: the nearest are found exactly.
    n_nearest = min(max(k - 1, 2), len(points) - 1)
    squared = np.sort(cdist(found.X, points, "sqeuclidean"), axis=1)[:, 1 : n_nearest + 1]
    np.testing.assert_allclose(found.scales, squared.mean(axis=1), rtol=1e-9)


@settings(deadline=None, max_examples=50)
@some_table
def test_labels_of_the_table_and_of_the_search_are_each_others_inverse(table, seed, n, d, k):
    rng = np.random.default_rng(seed)
    found = Neighborhoods.find(ALL_TABLES[table](rng, n, d), min(k, n))
    labels = rng.integers(5, size=n)
    own = found.sorted_labels(labels)
    assert np.array_equal(own, labels[found.order])
    assert np.array_equal(found.labels_of_table(own), labels)
    assert np.array_equal(found.sorted_labels(found.labels_of_table(own)), own)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@some_table
def test_among_some_records_neighbors_are_their_own_and_scales_those_of_all(table, seed, n, d, k):
    rng, k = np.random.default_rng(seed), min(k, n)
    X = ALL_TABLES[table](rng, n, d)
    records = rng.permutation(n)[: rng.integers(1, n + 1)]
    whole, alone = Neighborhoods.find(X, k), Neighborhoods.find(X[records], k)
    part = whole.among(records)
    assert np.array_equal(part.X, X[records][part.order])
    assert np.array_equal(part.neighbors, alone.neighbors)
    assert part.k == k
    of_table = np.empty(n)
    of_table[whole.order] = whole.scales
    assert np.array_equal(part.scales, of_table[records][part.order])


def test_the_nearest_of_several_points_come_first():
    # Points with 1, 2, ..., 5 records.
    X = np.repeat([0.0, 1.0, 3.0, 6.0, 10.0], [1, 2, 3, 4, 5])[:, None]
    found = Neighborhoods.find(X, 2)
    row = np.flatnonzero(found.X == 6.0)[0]
    values = found.X[found.neighbors[row], 0].tolist()
    # Three twins, one record on each of the other points, and more of them.
    assert values[:7] == [6.0, 6.0, 6.0, 3.0, 10.0, 1.0, 0.0]
    assert values[7:] == [3.0, 10.0, 1.0, 0.0, 3.0, 10.0, 1.0]


def test_records_in_the_order_of_the_search_are_near_to_each_other():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    gaps = np.linalg.norm(np.diff(Neighborhoods.find(X, 3).X, axis=0), axis=1)
    assert np.median(gaps) < 0.2 * np.median(np.linalg.norm(np.diff(X, axis=0), axis=1))


def test_after_the_deadline_neighbors_are_rough():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    fine, rough = (
        Neighborhoods.find(X, 3, deadline=Deadline(seconds)) for seconds in (np.inf, 0.0)
    )
    np.testing.assert_array_equal(fine.order, rough.order)
    # In the same part of the table, but not the nearest.
    assert np.median(fine.scales) < np.median(rough.scales) < 0.1 * X.var(axis=0).sum()
    part = fine.among(np.arange(1500), deadline=Deadline(0.0))
    assert (part.neighbors != np.arange(1500)[:, np.newaxis]).all()


def test_a_single_record_has_no_neighbors():
    found = Neighborhoods.find(np.ones((1, 2)), 1)
    assert found.neighbors.shape == (1, 0)
    assert found.are_frozen
