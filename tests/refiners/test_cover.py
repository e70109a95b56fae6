import itertools
import math
from functools import cache

import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from oracles.partition import canonical, total_sse

from sk_microagg._utils._deadline import Deadline
from sk_microagg.refiners import LocalSearch
from sk_microagg.refiners import _selection as cover
from sk_microagg.refiners._catalog import members_of_all
from sk_microagg.refiners._relaxation import Relaxation
from sk_microagg.refiners._selection import SeenGroups

PLENTY = 1000


def some_partition(rng, n, k):
    """Groups of k to 2k - 1 records."""
    n_groups = rng.integers(-(-n // (2 * k - 1)), n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


def pooled(X, k, partitions):
    groups = SeenGroups(X, k)
    for labels in partitions:
        groups.add(labels)
    return groups


class NoDuals:
    """A relaxation with duals of 0: the reduced costs of groups are their costs."""

    def reduced_costs(self, groups, cost):
        return cost

    def uses(self, groups):
        return np.zeros(len(groups))


def recombined(groups, labels, seed=0, node_limit=PLENTY, deadline=None):
    random_state = np.random.RandomState(seed)
    return groups.recombine(labels, random_state, node_limit, deadline or Deadline(), NoDuals())


def exact_covers(n, groups):
    """All choices of groups that hold each of n records once, by plain enumeration."""

    def extend(left, chosen):
        if not left:
            yield list(chosen)
            return
        for group in groups:
            if min(left) in group and left.issuperset(group):
                yield from extend(left.difference(group), [*chosen, group])

    yield from extend(frozenset(range(n)), [])


def assert_of_seen_groups(groups, labels, k):
    members = members_of_all(labels)
    assert set(members) <= set(groups.cost)
    assert min(map(len, members)) >= k
    assert sorted(record for group in members for record in group) == list(range(len(labels)))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(6, 2), (11, 2), (12, 3), (12, 4)])
def test_the_cheapest_of_all_covers_is_found(n, k):
    for seed, table in enumerate(TABLES):
        rng = np.random.default_rng([n, k, seed])
        X = TABLES[table](rng, n, 2)
        partitions = [some_partition(rng, n, k) for _ in range(12)]
        groups = pooled(X, k, partitions)
        costs = [sum(map(groups.cost.get, chosen)) for chosen in exact_covers(n, groups.cost)]
        # The tolerance of the solver is a millionth of the mean cost of a group.
        tolerance = 1e-6 * np.mean(list(groups.cost.values()))
        for labels in partitions[:1]:
            for best in (
                recombined(groups, labels, seed),
                groups.recombine_undecided(labels, PLENTY, NoDuals(), 60.0),
            ):
                assert_of_seen_groups(groups, best, k)
                assert groups.cost_of(best) == pytest.approx(min(costs), rel=1e-9, abs=tolerance)


def test_the_good_halves_of_two_partitions_are_combined():
    X = np.array([0.0, 1.0, 5.0, 6.0, 20.0, 21.0, 25.0, 26.0])[:, None]
    left_is_good = np.array([0, 0, 1, 1, 2, 3, 2, 3])
    right_is_good = np.array([0, 1, 0, 1, 2, 2, 3, 3])
    groups = pooled(X, 2, [left_is_good, right_is_good])
    for labels in (left_is_good, right_is_good):
        best = recombined(groups, labels)
        assert canonical(best).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        assert groups.cost_of(best) == total_sse(X, best) == 2.0


def test_groups_are_stored_with_their_records_and_costs():
    X = np.array([[0.0], [4.0], [1.0], [6.0]])
    groups = SeenGroups(X, 2)
    assert groups.add(np.array([0, 1, 0, 1])) == [(0, 2), (1, 3)]
    assert groups.add(np.array([1, 1, 0, 0])) == [(2, 3), (0, 1)]
    assert groups.cost == {(0, 2): 0.5, (1, 3): 2.0, (2, 3): 12.5, (0, 1): 8.0}
    assert groups.cost_of(np.array([0, 0, 1, 1])) == 20.5


@cache
def local_optima(n=66, k=3):
    """Records, and partitions each of which is good in some regions."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    start = np.arange(n) % (n // k)
    return X, tuple(LocalSearch().refine(X, start, k, random_state=seed) for seed in range(8))


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "n_core_groups"), [(3, 1), (6, 6)])
def test_small_regions_improve_a_partition_and_never_worsen_it(
    monkeypatch, n_groups, n_core_groups
):
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    whole = groups.cost_of(recombined(groups, partitions[0]))
    monkeypatch.setattr(cover, "GROUPS_PER_REGION", n_groups)
    monkeypatch.setattr(cover, "CORE_GROUPS_PER_REGION", n_core_groups)
    before, after = [], []
    for seed, labels in enumerate(partitions):
        best = recombined(groups, labels, seed)
        assert_of_seen_groups(groups, best, 3)
        before.append(groups.cost_of(labels))
        after.append(groups.cost_of(best))
    assert np.all(np.array(after) <= before)
    assert min(after) >= (1 - 1e-6) * whole
    assert np.mean(after) < np.mean(before)


class Decided(NoDuals):
    """A relaxation that uses some groups, and no others."""

    def __init__(self, groups):
        self.groups = set(groups)

    def uses(self, groups):
        return np.array([float(group in self.groups) for group in groups])


def test_what_is_decided_is_kept():
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    labels = partitions[0]
    kept = members_of_all(labels)[:6]
    best = groups.recombine_undecided(labels, PLENTY, Decided(kept), 60.0)
    assert_of_seen_groups(groups, best, 3)
    assert set(kept) < set(members_of_all(best))
    free = groups.recombine_undecided(labels, PLENTY, NoDuals(), 60.0)
    costs = [groups.cost_of(partition) for partition in (free, best, labels)]
    assert costs == sorted(costs)
    assert costs[0] < costs[2]
    everything = Decided(members_of_all(labels))
    assert groups.recombine_undecided(labels, PLENTY, everything, 60.0) is labels


@pytest.mark.parametrize("n_undecided", [1, 5, 40])
def test_a_large_program_has_no_more_groups_than_it_may(monkeypatch, n_undecided):
    monkeypatch.setattr(cover, "MAX_UNDECIDED_TIMES_K2", 9 * n_undecided)
    monkeypatch.setattr(cover, "MIN_UNDECIDED", 0)
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    for labels in partitions:
        best = groups.recombine_undecided(labels, PLENTY, NoDuals(), 60.0)
        assert_of_seen_groups(groups, best, 3)
        assert groups.cost_of(best) <= groups.cost_of(labels)
        changed = set(members_of_all(labels)).difference(members_of_all(best))
        assert len(changed) <= n_undecided


def test_with_a_large_k_there_is_no_large_program():
    X = np.random.default_rng(0).normal(size=(60, 2))
    partitions = [np.arange(60) % 6, np.arange(60) // 10]
    groups = pooled(X, 10, partitions)
    assert groups.recombine_undecided(partitions[0], PLENTY, None, 60.0) is partitions[0]


def test_a_region_of_one_group_changes_nothing(monkeypatch):
    X, partitions = local_optima()
    monkeypatch.setattr(cover, "GROUPS_PER_REGION", 1)
    monkeypatch.setattr(cover, "CORE_GROUPS_PER_REGION", 1)
    best = recombined(pooled(X, 3, partitions), partitions[0])
    assert np.array_equal(best, partitions[0])


@pytest.mark.slow
@in_one_case("node_limit", [1, 2])
def test_with_few_nodes_the_result_is_still_a_partition(node_limit):
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    for labels in partitions:
        best = recombined(groups, labels, node_limit=node_limit)
        assert_of_seen_groups(groups, best, 3)
        assert groups.cost_of(best) <= groups.cost_of(labels)


def test_a_deadline_that_has_passed_changes_nothing():
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    best = recombined(groups, partitions[0], deadline=Deadline(0.0))
    assert np.array_equal(best, partitions[0])


def test_equal_seeds_give_equal_partitions():
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    one, other = (recombined(groups, partitions[0], seed=3) for _ in range(2))
    assert np.array_equal(one, other)


def test_a_single_partition_cannot_be_improved():
    X, (labels, *_) = local_optima()
    assert np.array_equal(recombined(pooled(X, 3, [labels]), labels), labels)


@pytest.mark.slow
def test_with_reduced_costs_the_result_is_as_good_or_better_than_the_start():
    X, partitions = local_optima()
    groups = pooled(X, 3, partitions)
    relaxation = Relaxation(X, 3)
    while not relaxation.is_settled:
        relaxation.advance(Deadline())
    groups.cost = relaxation.promising_groups(list(groups.cost), 5) | groups.cost
    seconds = itertools.cycle([math.inf, PLENTY])
    for seed, labels, limit in zip(range(8), partitions, seconds, strict=False):
        random_state = np.random.RandomState(seed)
        best = groups.recombine(labels, random_state, PLENTY, Deadline(), relaxation, limit)
        assert_of_seen_groups(groups, best, 3)
        # More groups than those of the partitions: the result is below all of these.
        assert groups.cost_of(best) < min(map(groups.cost_of, partitions))


def test_programs_with_more_choices_find_what_smaller_ones_miss(monkeypatch):
    X, (labels, *others) = local_optima()
    groups = pooled(X, 3, [labels, *others])
    relaxation = Relaxation(X, 3)

    def cost(numbers):
        monkeypatch.setattr(cover, "N_CHOICES", numbers)
        random_state = np.random.RandomState(0)
        best = groups.recombine(labels, random_state, PLENTY, Deadline(), relaxation, PLENTY)
        return groups.cost_of(best)

    assert cost((0,)) == groups.cost_of(labels)
    assert cost((0, PLENTY)) == cost((PLENTY,)) < groups.cost_of(labels)
