"""Power diagrams of one column: the cells of any, and weights for groups that are intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg._kernels import Pool
from sk_microagg._model._power import cells_on_a_line, nearest_cells, weights_on_a_line
from sk_microagg._utils._statistics import group_means
from sk_microagg.builders import Optimal1D


def fitted(values, k):
    labels = Optimal1D().build(values[:, None], k)
    centroids = group_means(values[:, None], labels)[:, 0]
    return labels, centroids, weights_on_a_line(values, labels, centroids)


@in_one_case("seed", range(20))
def test_cells_are_those_with_the_least_power_distance(seed):
    rng = np.random.default_rng(seed)
    values, centroids = rng.normal(size=500), rng.normal(size=20)
    weights = 0.01 * rng.normal(size=20) * (seed % 2)
    cells = nearest_cells(values[:, None], centroids[:, None], weights)
    assert_array_equal(
        cells, Pool(centroids[:, None], weights=weights).nearest_each(values[:, None])
    )


@in_one_case("weight", [0.0, 0.25])
def test_cells_of_values_on_walls(weight):
    centroids = np.random.default_rng(0).permutation(np.arange(0.0, 10.0, 0.1))
    weights = np.random.default_rng(1).choice([0.0, weight], size=100) / 100
    values = np.linspace(0, 10, 4001)
    cells = cells_on_a_line(values, centroids, weights)
    assert_array_equal(
        cells, Pool(centroids[:, None], weights=weights).nearest_each(values[:, None])
    )
    # Where one looks first changes nothing.
    anywhere = np.random.default_rng(2).integers(100, size=len(values))
    for likely in (cells, anywhere, np.zeros_like(cells)):
        assert_array_equal(cells_on_a_line(values, centroids, weights, likely), cells)


def test_only_diagrams_with_a_cell_for_every_centroid_are_intervals():
    values, centroids = np.linspace(-1, 5, 50), np.array([0.0, 4.0, 2.0])
    assert_array_equal(np.unique(cells_on_a_line(values, centroids, np.zeros(3))), [0, 1, 2])
    assert cells_on_a_line(values, centroids, np.array([0.0, 0.0, -9.0])) is None
    assert cells_on_a_line(values, np.array([0.0, 4.0, 4.0]), np.zeros(3)) is None
    assert cells_on_a_line(values, 1e-160 * centroids, np.zeros(3)) is None
    # These cells are found in another way.
    cells = nearest_cells(values[:, None], centroids[:, None], np.array([0.0, 0.0, -9.0]))
    assert_array_equal(np.unique(cells), [0, 1])


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 120),
    k=st.integers(1, 7),
    n_values=st.integers(1, 60),
)
def test_records_are_in_the_cell_of_their_group_or_of_an_identical_one(seed, n, k, n_values):
    rng = np.random.default_rng(seed)
    values = rng.choice(rng.normal(size=n_values), size=max(n, k))
    labels, centroids, weights = fitted(values, k)
    assert weights.max() == 0.0
    cells = cells_on_a_line(values, centroids, weights)
    for record in np.flatnonzero(cells != labels):
        assert cells[record] in labels[values == values[record]]


def test_walls_are_in_the_middle_half_of_the_gaps():
    values = np.random.default_rng(0).normal(size=300)
    labels, centroids, weights = fitted(values, 4)
    # Groups are numbered from left to right.
    walls = (centroids[1:] + centroids[:-1] - np.diff(weights) / np.diff(centroids)) / 2
    low = np.array([values[labels == group].max() for group in range(len(walls))])
    high = np.array([values[labels == group + 1].min() for group in range(len(walls))])
    place = (walls - low) / (high - low)
    assert place.min() > 0.1
    assert place.max() < 0.9
    assert np.median(np.abs(place - 0.5)) < 0.25


def test_identical_records_in_two_groups_make_no_wall():
    # With 1 in both groups, the wall may be anywhere between 0 and 2; with 1.0001 it may not.
    split, other = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0001, 2.0])
    labels = np.array([0, 0, 1, 1])
    assert_array_equal(weights_on_a_line(split, labels, np.array([0.5, 1.5])), [0.0, 0.0])
    above = weights_on_a_line(other, labels, np.array([0.4, 1.4]))
    assert np.diff(above) == pytest.approx(1.4**2 - 0.4**2 - 2 * 1.00005, abs=2e-4)


def test_a_group_between_identical_records_keeps_a_cell():
    values = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0])
    centroids = np.array([0.5, 1.5, 2.5])
    weights = weights_on_a_line(values, np.arange(6) // 2, centroids)
    cells = cells_on_a_line(np.array([0.0, 1.5, 3.0]), centroids, weights)
    assert_array_equal(cells, [0, 1, 2])


@in_one_case(("values", "labels"), [([0, 1, 2, 3], [0, 1, 0, 1]), ([5, 5, 5, 5], [0, 0, 1, 1])])
def test_groups_that_overlap_have_no_weights(values, labels):
    values, labels = np.array(values, dtype=float), np.array(labels)
    centroids = group_means(values[:, None], labels)[:, 0]
    assert weights_on_a_line(values, labels, centroids) is None
