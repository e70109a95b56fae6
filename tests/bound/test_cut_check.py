import itertools

import numpy as np
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.root_search import squared_distances

from sk_microagg._kernels import CutCheck
from sk_microagg._utils._deadline import Deadline


class Case:
    """Records with duals, and cuts that overlap."""

    def __init__(self, k, seed, height=1.0):
        rng = np.random.default_rng(seed)
        self.k = k
        self.X = rng.normal(size=(3 * k, 2))
        self.distances = squared_distances(self.X)
        sizes = rng.integers(k + 1, 3 * k, size=5)
        self.cuts = [rng.choice(len(self.X), size, replace=False) for size in sizes]
        self.cut_duals = rng.choice([0.0, 0.2, 0.6], 5)
        self.duals = rng.uniform(-0.2, height, len(self.X))
        self.check = CutCheck(
            self.X,
            k,
            np.cumsum([0, *sizes]).astype(np.int32),
            np.concatenate(self.cuts).astype(np.int32),
        )

    def excess(self, members, duals):
        return self.excesses([members], duals)[0]

    def excesses(self, sets, duals):
        """Those of sets of one size."""
        sets = np.array(sets)
        within = self.distances[sets[:, :, None], sets[:, None]]
        allowed = within.sum(axis=(1, 2)) / (2 * sets.shape[1])
        for cut, dual in zip(self.cuts, self.cut_duals, strict=True):
            allowed += dual * (np.isin(sets, cut).sum(axis=1) >= self.k)
        return duals[sets].sum(axis=1) - allowed

    def worst(self, duals):
        """The largest excess of the subsets of each cut with a positive dual, 0 for other cuts."""
        worst = []
        for cut, dual in zip(self.cuts, self.cut_duals, strict=True):
            subsets = self.subsets(cut) if dual > 0 else []
            worst.append(max([self.excesses(s, duals).max() for s in subsets], default=0.0))
        return np.array(worst)

    def subsets(self, cut):
        """All subsets of a cut with more than k and fewer than 2k records, by size."""
        sizes = range(self.k + 1, min(len(cut) + 1, 2 * self.k))
        return [list(itertools.combinations(cut.tolist(), size)) for size in sizes]


@pytest.mark.parametrize("k", [2, 3, *(pytest.param(k, marks=pytest.mark.slow) for k in (4, 5))])
def test_no_larger_set_within_a_cut_violates_its_constraint_afterward(k):
    for seed in range(4 if k == 5 else 8):
        case = Case(k, seed)
        lowered = case.duals.copy()
        found = case.check.lower(lowered, case.cut_duals)
        assert np.all(lowered <= case.duals), seed
        assert case.worst(lowered).max() <= 1e-12, seed
        assert (len(found) > 0) == (case.worst(case.duals).max() > 1e-12), seed
        for members in found:
            assert case.excess(members, case.duals) > 0, seed


@pytest.mark.slow
@in_one_case("k", [2, 3, 4])
def test_a_search_that_is_cut_short_lowers_duals_enough(k):
    for seed, node_limit in itertools.product(range(8), (0, 1, 5)):
        case = Case(k, seed)
        lowered = case.duals.copy()
        case.check.lower(lowered, case.cut_duals, node_limit=node_limit)
        assert np.all(lowered <= case.duals), (seed, node_limit)
        assert case.worst(lowered).max() <= 1e-12, (seed, node_limit)


@pytest.mark.slow
@in_one_case("k", [2, 3, 4])
def test_only_the_cuts_that_are_named_are_checked(k):
    n_lowered = 0
    for seed in range(8):
        case = Case(k, seed)
        lowered = case.duals.copy()
        case.check.lower(lowered, case.cut_duals, cuts=np.array([0, 3]))
        assert case.worst(lowered)[[0, 3]].max() <= 1e-12
        named = np.concatenate([case.cuts[0], case.cuts[3]])
        others = np.setdiff1d(np.arange(len(case.X)), named)
        assert_array_equal(lowered[others], case.duals[others])
        n_lowered += (lowered < case.duals).any()
    assert n_lowered > 0


@pytest.mark.slow
@in_one_case("k", [2, 3, 4])
def test_sets_found_quickly_violate_their_constraints(k):
    n_found = n_cases = 0
    for seed in range(8):
        case = Case(k, seed)
        found = case.check.find(case.duals, case.cut_duals, 0.01)
        for members in found:
            assert k < len(members) < 2 * k
            assert case.excess(members, case.duals) > 0.01 - 1e-12
        n_found += len(found) > 0
        n_cases += case.worst(case.duals).max() > 0.01
    # Only a heuristic.
    assert n_cases >= n_found > n_cases / 2


@in_one_case("k", [2, 3, 4, 5])
def test_feasible_duals_are_not_changed(k):
    for seed in range(8):
        case = Case(k, seed)
        duals = case.duals.copy()
        case.check.lower(duals, case.cut_duals)
        again = duals - 1e-9
        before = again.copy()
        assert case.check.lower(again, case.cut_duals) == [], seed
        assert_array_equal(again, before)


def test_duals_are_not_lowered_by_more_than_all_violations():
    for seed in range(8):
        case = Case(3, seed)
        lowered = case.duals.copy()
        case.check.lower(lowered, case.cut_duals)
        violations = [
            excess
            for cut, dual in zip(case.cuts, case.cut_duals, strict=True)
            if dual > 0
            for members in case.subsets(cut)
            for excess in case.excesses(members, case.duals)
            if excess > 0
        ]
        assert (case.duals - lowered).sum() <= sum(violations) + 1e-12, seed


def test_it_stops_at_the_deadline():
    case = Case(3, 0)
    assert case.check.lower(case.duals, case.cut_duals, deadline=Deadline(0.0)) is None
    assert case.check.find(case.duals, case.cut_duals, 0.0, deadline=Deadline(0.0)) == []


def test_cuts_with_too_many_members_are_refused():
    with pytest.raises(ValueError, match=r"Cut 0 .* 32 "):
        CutCheck(
            np.zeros((40, 1)),
            20,
            np.array([0, 33], dtype=np.int32),
            np.arange(33, dtype=np.int32),
        )
