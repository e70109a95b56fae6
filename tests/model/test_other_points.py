"""Weights for points that are not the means of their groups."""

import numpy as np
import pytest
from marks import in_one_case
from scipy.optimize import linprog

from sk_microagg import microaggregate
from sk_microagg._kernels import Partition
from sk_microagg._model._power import weights_of_points
from sk_microagg._utils._statistics import group_means


def costs(X, labels, points):
    """Plain: squared distances of all records to all points, less those to their own."""
    distances = ((X[:, None] - points) ** 2).sum(axis=2)
    return distances - distances[np.arange(len(X)), labels][:, None]


def have_weights(X, labels, points):
    """Plain: whether a linear program finds weights that leave every record in its own cell."""
    n_groups = len(points)
    rows, most = [], []
    for cost, own in zip(costs(X, labels, points), labels, strict=True):
        for group in range(n_groups):
            if group != own:
                row = np.zeros(n_groups)
                row[group], row[own] = 1.0, -1.0
                rows.append(row)
                most.append(cost[group])
    return linprog(np.zeros(n_groups), rows, most, bounds=(-100, 100)).status == 0


@pytest.mark.slow
@in_one_case("seed", range(8))
@in_one_case("shift", [0.01, 0.2, 1.0])
def test_every_record_lies_in_its_own_cell_where_that_is_possible(seed, shift):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    labels = microaggregate(X, 3)
    points = group_means(X, labels)
    points[::3] += shift * rng.normal(size=points[::3].shape)
    weights, cells = weights_of_points(X, labels, points)
    nearest = np.argmin(((X[:, None] - points) ** 2).sum(axis=2) - weights, axis=1)
    np.testing.assert_array_equal(cells, nearest)
    if have_weights(X, labels, points):
        np.testing.assert_array_equal(cells, labels)
    else:
        assert not weights.any()


def test_placed_centroids_stay_until_records_move():
    X = np.array([[0.0], [1.0], [5.0], [9.0]])
    partition = Partition(X, np.array([0, 0, 1, 1]), 1)
    partition.place_centroids(np.array([[2.0], [6.0]]))
    assert partition.centroid(0) == [2.0]
    np.testing.assert_array_equal(partition.nearest(np.array([5.0]), 2), [1, 0])
    np.testing.assert_array_equal(partition.excess(1), [3])
    partition.move(2, 0)
    assert partition.centroid(0) == [2.0]
    assert partition.centroid(1) == [9.0]
    with pytest.raises(ValueError, match="Points of shape"):
        partition.place_centroids(np.zeros((1, 1)))
