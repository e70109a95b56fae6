import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.root_search import reduced_costs, squared_distances

from sk_microagg._kernels import GroupFinder
from sk_microagg._utils._deadline import Deadline


def found_by(finder, duals):
    """The sets that a finder finds around all records, without repetitions."""
    found = finder.find(duals, 0.0)
    return {tuple(members) for members in np.sort(found, axis=1).tolist()}


@in_one_case("name", ["normal", "grid", "duplicates", "line", "heavy_tails"])
@in_one_case("k", [2, 3, 4])
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


@pytest.mark.slow
@in_one_case("name", ["normal", "grid", "duplicates", "line", "heavy_tails"])
@in_one_case("k", [2, 3, 4])
def test_sets_within_cuts_are_improved_by_the_best_exchange(name, k):
    n_escapes = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = TABLES[name](rng, 10, 2)
        distances = squared_distances(X)
        duals = rng.uniform(0.2, 1.0, 10) * (distances.mean() / 4 or 1.0)
        near = np.argsort(distances + np.diag(np.full(10, -1.0)), axis=1).astype(np.int32)
        costs = dict(reduced_costs(X, k, duals, (), ()))
        finder = GroupFinder(X, near, k)
        before = found_by(finder, duals)
        cut = np.sort(near[seed, : 2 * k - 1])
        start = np.array([0, len(cut)], dtype=np.int32)
        finder.set_cuts(start, cut, np.array([0.5]))
        after = found_by(finder, duals)
        assert before <= after
        raised = dict(reduced_costs(X, k, duals, [cut], [0.5]))
        for members in before:
            if set(members) <= set(cut):
                best = min(
                    (
                        tuple(sorted({*members, entering} - {leaving}))
                        for leaving in members
                        for entering in set(range(10)) - set(members)
                    ),
                    key=raised.get,
                )
                # Only sets that violate their constraints are of interest.
                if raised[best] < raised[members] - 1e-3 and costs[best] < -1e-9:
                    assert any(abs(raised[other] - raised[best]) < 1e-9 for other in after)
                    n_escapes += 1
        finder.set_cuts(start, cut, np.array([0.0]))
        same = found_by(finder, duals)
        assert same == before
    assert n_escapes > 0


def test_a_search_ends_early_if_there_is_no_time():
    X = np.arange(10_000.0)[:, None]
    near = (np.arange(10_000)[:, None] + np.arange(100)) % 10_000
    finder, duals = GroupFinder(X, near.astype(np.int32), 2), np.ones(10_000)
    found = finder.find(duals, 0.0)
    fewer = finder.find(duals, 0.0, deadline=Deadline(0.0))
    assert len(fewer) < len(found)
    assert_array_equal(fewer, found[: len(fewer)])
    around = finder.find(duals, 0.0, around=np.arange(7, 9))
    assert 0 < len(around) < len(found)
    assert around.min() >= 7


def test_too_few_neighbors_are_refused():
    with pytest.raises(ValueError, match=r"^2 near records .* 3\.$"):
        GroupFinder(np.zeros((4, 1)), np.zeros((4, 2), dtype=np.int32), 3)
