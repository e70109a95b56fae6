import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles.root_search import least_of_roots, reduced_costs, squared_distances

from sk_microagg._kernels import RootSearch
from sk_microagg._utils._deadline import Deadline

NAMES = ("normal", "grid", "duplicates", "constant_column", "constant", "line", "heavy_tails")
every_k = pytest.mark.parametrize("k", [2, 3, 4, 5, 6])


def each_table(*others):
    """Names of tables and seeds, each with one of the others in turn: every pair comes up."""
    for number, name in enumerate(NAMES):
        for seed in range(max(len(others), 2)):
            yield name, seed, others[(number + seed) % len(others)]


def nearest_sums(X, k):
    return np.cumsum(np.sort(squared_distances(X), axis=1), axis=1)[:, : max(k - 1, 1)].copy()


class Case:
    """Records with random duals and cuts, and a search among them."""

    def __init__(self, make, k, seed, n=10, n_cuts=0):
        rng = np.random.default_rng(seed)
        self.X = make(rng, n, int(rng.integers(1, 4)))
        self.k = k
        unit = squared_distances(self.X).mean() / 4 or 1.0
        self.duals = rng.uniform(-0.2, 1.0, n) * unit
        self.shift = -rng.choice([0.0, 0.5, 1.0]) * self.duals
        sizes = rng.integers(k, min(3 * k, n) + 1, size=n_cuts)
        self.cuts = [rng.choice(n, size, replace=False) for size in sizes]
        self.cut_duals = rng.uniform(0.0, unit, n_cuts)
        self.search = RootSearch(self.X, k, nearest_sums(self.X, k))
        self.search.set_duals(self.duals, self.shift)
        self.search.set_cuts(
            np.cumsum([0, *sizes]).astype(np.int32),
            np.concatenate([np.empty(0), *self.cuts]).astype(np.int32),
            self.cut_duals,
        )
        self.roots = np.arange(n)

    def costs(self, duals=None):
        duals = self.duals if duals is None else duals
        return dict(reduced_costs(self.X, self.k, duals, self.cuts, self.cut_duals))

    def least_of_roots(self):
        return least_of_roots(self.X, self.k, self.duals, self.shift, self.cuts, self.cut_duals)


@pytest.mark.slow
@every_k
def test_the_least_reduced_cost_is_found(k):
    for name, seed, n_cuts in each_table(0, 6):
        case = Case(TABLES[name], k, seed, n_cuts=n_cuts)
        values, members, complete = case.search.sweep(case.roots)
        costs = case.costs()
        least = case.least_of_roots()
        assert complete, (name, seed)
        # Where several members tie for the root, the search may count a set for either.
        assert np.all(values <= least + 1e-9), (name, seed)
        assert_allclose(
            values.min(), min(0.0, *costs.values()), rtol=1e-9, atol=1e-12, err_msg=name
        )
        for value, found in zip(values, members, strict=True):
            if value < 0:
                assert_allclose(value, costs[tuple(sorted(found.tolist()))], rtol=1e-9, atol=1e-12)
            else:
                assert_array_equal(found, -1)


@pytest.mark.slow
@every_k
def test_a_search_that_is_cut_short_gives_a_bound(k):
    for name, seed, node_limit in each_table(0, 3):
        case = Case(TABLES[name], k, seed, n_cuts=3)
        values, _, _ = case.search.sweep(case.roots, node_limit=node_limit)
        assert np.all(values <= case.least_of_roots() + 1e-9), (name, seed, node_limit)


@pytest.mark.slow
@every_k
def test_after_lowering_no_set_violates_its_constraint(k):
    for name, seed, node_limit in each_table(-1, 0, 3):
        case = Case(TABLES[name], k, seed, n_cuts=3)
        roots = np.random.default_rng(seed).permutation(case.roots)
        case.search.sweep(roots, lower=True, node_limit=node_limit)
        lowered = case.search.get_duals()
        which = (name, seed, node_limit)
        assert np.all(lowered <= case.duals), which
        assert min(case.costs(lowered).values()) >= -1e-9 * np.abs(case.duals).max(), which


@in_one_case("k", [2, 3, 4, 5, 6])
@in_one_case("n_cuts", [0, 6])
def test_only_sets_with_raised_records_are_looked_for(k, n_cuts):
    for seed in range(4):
        case = Case(TABLES["normal"], k, seed, n_cuts=n_cuts)
        raised = np.random.default_rng(seed).random(10) < 0.2
        case.search.set_raised(raised.astype(np.uint8))
        values, _, _ = case.search.sweep(case.roots)
        with_raised = [cost for s, cost in case.costs().items() if raised[list(s)].any()]
        assert values.min() <= min(0.0, *with_raised, 0.0) + 1e-9
        if not raised.any():
            assert_array_equal(values, 0.0)


@pytest.mark.slow
@every_k
def test_after_lowering_no_set_with_a_raised_record_violates_its_constraint(k):
    for name, seed, node_limit in each_table(-1, 0, 3):
        case = Case(TABLES[name], k, seed, n_cuts=3)
        raised = np.random.default_rng(seed).random(10) < 0.2
        case.search.set_raised(raised.astype(np.uint8))
        case.search.sweep(case.roots, lower=True, node_limit=node_limit)
        lowered = case.search.get_duals()
        which = (name, seed, node_limit)
        assert np.all(lowered <= case.duals), which
        with_raised = [cost for s, cost in case.costs(lowered).items() if raised[list(s)].any()]
        assert min(with_raised, default=0.0) >= -1e-9 * np.abs(case.duals).max(), which


@pytest.mark.slow
@in_one_case("k", [2, 3, 4, 5, 6])
def test_sets_that_violate_little_are_left_out(k):
    for seed in range(4):
        case = Case(TABLES["normal"], k, seed, n_cuts=3)
        least = case.least_of_roots()
        tolerance = max(-min(case.costs().values()) / 2, 1e-3)
        values, members, _ = case.search.sweep(case.roots, tolerance=tolerance)
        assert np.all(values[least < -tolerance] <= least[least < -tolerance] + 1e-9)
        assert_array_equal(values < 0, members[:, 0] >= 0)
        assert np.all(values[values < 0] < -tolerance)
        assert (values.min() < 0) == (min(case.costs().values()) < -tolerance)


@in_one_case("n", [4, 7, 8])
def test_few_records(n):
    case = Case(TABLES["normal"], 4, seed=n, n=n)
    values, _, _ = case.search.sweep(case.roots)
    assert_allclose(values.min(), min(0.0, *case.costs().values()), rtol=1e-9)


def test_fewer_sums_make_no_difference():
    case = Case(TABLES["normal"], 6, seed=1)
    coarse = RootSearch(case.X, 6, nearest_sums(case.X, 6)[:, :2].copy())
    coarse.set_duals(case.duals, case.shift)
    for one, other in zip(coarse.sweep(case.roots), case.search.sweep(case.roots), strict=True):
        assert_array_equal(one, other)


def test_it_stops_at_the_deadline(set_clock):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    search = RootSearch(X, 12, nearest_sums(X, 12))
    search.set_duals(np.full(300, 8.0), np.zeros(300))
    clock = set_clock(0.01)
    _, _, complete = search.sweep(np.arange(300), deadline=Deadline(0.095))
    assert not complete
    assert clock.n_readings == 11  # the first one when the deadline was set


def test_invalid_arguments_are_refused():
    X = np.zeros((70, 1))
    with pytest.raises(ValueError, match=r"k=1\b"):
        RootSearch(X, 1, np.zeros((70, 1)))
    search = RootSearch(X, 2, np.zeros((70, 1)))
    starts = np.arange(0, 132, 2, dtype=np.int32)
    members = np.tile([0, 1], 65).astype(np.int32)
    with pytest.raises(ValueError, match="Record 0 "):
        search.set_cuts(starts, members, np.zeros(65))
