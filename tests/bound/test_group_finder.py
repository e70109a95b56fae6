import numpy as np
import pytest
from oracles.root_search import reduced_costs, squared_distances
from tables.numbers import TABLES

from sk_microagg._kernels import GroupFinder


@pytest.mark.parametrize("name", ["normal", "grid", "duplicates", "line", "heavy_tails"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_found_sets_violate_their_constraints(name, k):
    n_cases = n_found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = TABLES[name](rng, 10, 2)
        distances = squared_distances(X)
        duals = rng.uniform(-0.2, 1.0, 10) * (distances.mean() / 4 or 1.0)
        near = np.argsort(distances + np.diag(np.full(10, -1.0)), axis=1).astype(np.int32)
        tolerance = 1e-3 * np.abs(duals).max()
        costs = dict(reduced_costs(X, k, duals, (), ()))
        found = GroupFinder(X, near, k).find(duals, tolerance)
        for members in np.sort(found, axis=1).tolist():
            assert costs[tuple(members)] < -0.99 * tolerance
        n_cases += min(costs.values()) < -tolerance
        n_found += len(found) > 0
    # Only a heuristic, but with all records as neighbors it seldom finds nothing.
    assert n_cases > 0
    assert n_found >= n_cases - 1


def test_too_few_neighbors_are_refused():
    with pytest.raises(ValueError, match="2 near records are too few for sets of 3"):
        GroupFinder(np.zeros((4, 1)), np.zeros((4, 2), dtype=np.int32), 3)
