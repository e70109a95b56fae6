"""No search leaves a group that violates its guards."""

import itertools

import numpy as np
import pytest
from example_tables import drawn as tables
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles.guards import CODES, STRICT, Case
from oracles.partition import canonical, group_sse, groups_of, total_sse

from sk_microagg._kernels import (
    Annealer,
    CallbackGuard,
    Descent,
    DistinctGuard,
    Guards,
    Partition,
    Pool,
    RunningPartition,
)

every_strict_kind = pytest.mark.parametrize("kind", STRICT, ids=str)
STRICT_ONES = st.sampled_from(STRICT)


def allowed_start(rng, n, k, cases):
    """Labels of a random partition; groups are merged until all are allowed, or None."""
    groups = groups_of(rng.permutation(np.arange(n) % (n // k)))
    while not all(case.allows(members) for members in groups for case in cases):
        bad = next(i for i, g in enumerate(groups) if not all(case.allows(g) for case in cases))
        if len(groups) == 1:
            return None
        members = groups.pop(bad)
        i = int(rng.integers(len(groups)))
        groups[i] = np.append(groups[i], members)
    labels = np.empty(n, dtype=np.intp)
    for number, members in enumerate(groups):
        labels[members] = number
    return labels


def some_cases(rng, n, kinds):
    names = rng.choice(["random", "two", "skewed", "all differ"], len(kinds))
    return [Case(kind, CODES[name](rng, n)) for kind, name in zip(kinds, names, strict=True)]


def assert_all_allowed(labels, cases, k):
    for members in groups_of(labels):
        assert len(members) >= k
        assert all(case.allows(members) for case in cases)


def near_each(X, n_neighbors):
    return Pool(X).near_each(min(n_neighbors, len(X) - 1))


def in_order(n):
    return np.arange(n, dtype=np.int32)


def anneal(annealer, n, temperature, n_passes, chance_of_jump=0.1):
    annealer.run(
        in_order(n),
        n_passes,
        temperature=temperature,
        first_for_jumps=0,
        chance_of_jump=chance_of_jump,
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(drawn=tables.cases(k=(2, 6)), kinds=st.lists(STRICT_ONES, min_size=1, max_size=3))
def test_annealing_leaves_no_group_that_violates_a_guard(drawn, kinds):
    (X, rng), n, k, seed = drawn.make(), drawn.n, drawn.k, drawn.seed
    cases = some_cases(rng, n, kinds)
    labels = allowed_start(rng, n, k, cases)
    if labels is None:
        return
    full = int(np.bincount(labels).max() + rng.integers(0, 2 * k))
    partition = RunningPartition(X, labels, k, full)
    annealer = Annealer(
        partition,
        near_each(X, int(rng.integers(1, 20))),
        rng.permutation(n).astype(np.int32),
        seed=seed,
        guards=Guards([case.guard() for case in cases]),
    )
    for exponent in rng.uniform(-9, 9, size=5):
        temperature = max(10**exponent * X.var(), 1e-300)
        anneal(annealer, n, temperature, int(rng.integers(1, 40)), rng.random())
        labels = partition.labels()
        assert_all_allowed(labels, cases, k)
        assert np.bincount(labels).max() <= full
        assert partition.n_groups == labels.max() + 1
        # Denormal squares are off by one unit each.
        expected = pytest.approx(total_sse(X, labels), rel=1e-9, abs=5e-324 * X.size)
        assert partition.measure() == expected


@pytest.mark.slow_but_first
@every_strict_kind
@pytest.mark.parametrize("k", [2, 3, 5])
def test_groups_are_created_and_dissolved_under_guards(kind, k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(60, 2))
    case = Case(kind, CODES["random"](rng, 60))
    labels = allowed_start(rng, 60, k, [case])
    partition = RunningPartition(X, labels, k, full=30)
    annealer = Annealer(
        partition, near_each(X, 20), in_order(60), seed=0, guards=Guards([case.guard()])
    )
    n_groups = [partition.n_groups]
    for temperature in [10.0, 1e-3] * 4:
        for _ in range(4):
            anneal(annealer, 60, temperature, 5)
            assert_all_allowed(partition.labels(), [case], k)
            n_groups.append(partition.n_groups)
    # High temperatures dissolve groups, low ones create new ones.
    assert min(np.diff(n_groups)) < 0 < max(np.diff(n_groups))


@pytest.mark.slow
def test_the_sse_only_falls_at_a_very_low_temperature():
    rng = np.random.default_rng(0)
    X, case = rng.normal(size=(90, 2)), Case(("ordered", 0.15003), rng.permutation(90))
    partition = RunningPartition(X, allowed_start(rng, 90, 3, [case]), 3, full=30)
    annealer = Annealer(
        partition, near_each(X, 20), in_order(90), seed=0, guards=Guards([case.guard()])
    )
    sse = [partition.measure()]
    for _ in range(60):
        anneal(annealer, 90, 1e-12, 5)
        sse.append(partition.measure())
    assert np.all(np.diff(sse) <= 1e-12 * sse[0])
    assert sse[-1] < 0.8 * sse[0]


def test_a_guard_that_always_holds_changes_nothing_but_the_largest_size():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    labels, codes = np.arange(80) // 4, np.zeros(80, dtype=np.int32)
    results = []
    for guards in (None, Guards([DistinctGuard(codes, 1)])):
        partition = RunningPartition(X, labels, 4)
        annealer = Annealer(partition, near_each(X, 12), in_order(80), seed=3, guards=guards)
        for temperature in (1.0, 0.1, 0.01):
            anneal(annealer, 80, temperature, 60)
        results.append(partition.labels())
    np.testing.assert_array_equal(*results)


@pytest.mark.slow_but_first
@every_strict_kind
def test_equal_seeds_give_equal_partitions_and_others_do_not(kind):
    rng = np.random.default_rng(0)
    X, case = rng.normal(size=(80, 2)), Case(kind, CODES["random"](rng, 80))
    labels = allowed_start(rng, 80, 3, [case])
    results = []
    for seed in (5, 5, 6):
        partition = RunningPartition(X, labels, 3, full=20)
        guards = Guards([case.guard()])
        annealer = Annealer(partition, near_each(X, 15), in_order(80), seed=seed, guards=guards)
        anneal(annealer, 80, 0.1, 50)
        results.append(tuple(canonical(partition.labels())))
    assert results[0] == results[1]
    assert results[0] != results[2]


class NoAnswerError(Exception):
    pass


def raises(members):
    raise NoAnswerError


def test_an_error_of_a_guard_in_python_ends_the_search():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 2)), np.arange(40) % 10
    partition = RunningPartition(X, labels, 3)
    guards = Guards([CallbackGuard(40, raises)])
    annealer = Annealer(partition, near_each(X, 15), in_order(40), seed=0, guards=guards)
    with pytest.raises(NoAnswerError):
        anneal(annealer, 40, 1.0, 50)
    partition = Partition(X, labels, 3)
    with pytest.raises(NoAnswerError):
        Descent(partition, guards=guards).run(partition.groups())
    with pytest.raises(NoAnswerError):
        guards.hold([0, 1])


def improves(X, case, before, new_a, new_b, k):
    """Whether two groups have clearly less error than before after a move that is allowed."""
    after = group_sse(X, new_a) + group_sse(X, new_b)
    return (
        after < before * (1 - 1e-9)
        and min(len(new_a), len(new_b)) >= k
        and case.allows(new_a)
        and case.allows(new_b)
    )


def moves(a, b):
    """All swaps and shifts between two groups."""
    for x in a:
        yield np.setdiff1d(a, x), np.append(b, x)
        for y in b:
            yield np.append(np.setdiff1d(a, x), y), np.append(np.setdiff1d(b, y), x)
    for y in b:
        yield np.append(a, y), np.setdiff1d(b, y)


def assert_no_move_improves(X, labels, case, k):
    for a, b in itertools.combinations(groups_of(labels), 2):
        before = group_sse(X, a) + group_sse(X, b)
        assert not any(improves(X, case, before, *after, k) for after in moves(a, b))


# Gains that are denormal numbers, or 0, are mostly rounding. One after another, each table meets
# each kind of guard, each size and each seed.
@pytest.mark.slow
@every_strict_kind
def test_descent_ends_where_no_allowed_move_improves(kind):
    sizes = itertools.cycle([(2, 12), (3, 15), (3, 15), (2, 12)])
    seeds = itertools.cycle([None, 7])
    for table, (k, n), seed in zip(tables.ALL_BUT_TINY, sizes, seeds, strict=False):
        rng = np.random.default_rng([k, n])
        X, case = TABLES[table](rng, n, 2), Case(kind, CODES["random"](rng, n))
        partition = Partition(X, allowed_start(rng, n, k, [case]), k)
        descent = Descent(partition, seed=seed, guards=Guards([case.guard()]))
        sse = [partition.sse]
        while descent.run(partition.groups(), max_sweeps=1):
            sse.append(partition.sse)
            assert_all_allowed(partition.labels(), [case], k)
        assert np.all(np.diff(sse) < 0)
        assert partition.sse == pytest.approx(total_sse(X, partition.labels()), rel=1e-12)
        assert_no_move_improves(X, partition.labels(), case, k)


def test_groups_of_2k_and_more_may_grow_in_a_descent():
    # One record of each group is needed there, all others belong to the left.
    X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0, 101.0])[:, None]
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    codes = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1], dtype=np.int32)
    partition = Partition(X, labels, 2)
    Descent(partition, guards=Guards([DistinctGuard(codes, 2)])).run(partition.groups())
    assert partition.labels().tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 1]


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    drawn=tables.cases(n=60, k=(2, 6)),
    kinds=st.lists(STRICT_ONES, min_size=1, max_size=3),
    near=st.booleans(),
)
def test_descent_leaves_no_group_that_violates_a_guard(drawn, kinds, near):
    (X, rng), n, k, seed = drawn.make(), drawn.n, drawn.k, drawn.seed
    cases = some_cases(rng, n, kinds)
    labels = allowed_start(rng, n, k, cases)
    if labels is None:
        return
    neighbors = near_each(X, 8) if near else None
    results = []
    for _ in range(2):
        partition = Partition(X, labels, k)
        guards = Guards([case.guard() for case in cases])
        descent = Descent(partition, seed=seed, neighbors=neighbors, guards=guards)
        n_sweeps = descent.run(partition.groups())
        results.append(partition.labels())
    assert_all_allowed(results[0], cases, k)
    np.testing.assert_array_equal(*results)
    if n_sweeps:
        assert total_sse(X, results[0]) < total_sse(X, labels)
    else:
        np.testing.assert_array_equal(results[0], labels)


# The largest size of a running partition


@in_one_case("full", [4, 7, 40])
def test_no_group_grows_beyond_the_largest_size(full):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    partition = RunningPartition(X, np.arange(40) // 4, 2, full)
    annealer = Annealer(partition, near_each(X, 15), in_order(40), seed=0)
    largest = []
    for _ in range(40):
        anneal(annealer, 40, 100.0, 5)
        largest.append(np.bincount(partition.labels()).max())
        assert partition.measure() == pytest.approx(total_sse(X, partition.labels()), rel=1e-9)
    assert max(largest) <= full
    assert max(largest) > min(full, 4) - 1


def test_without_a_largest_size_it_is_2k_minus_1():
    X = np.arange(8.0)[:, None]
    labels = np.array([0] * 5 + [1] * 3)
    assert RunningPartition(X, labels, 3).n_groups == 2
    assert RunningPartition(X, labels, 2, 5).n_groups == 2
    with pytest.raises(ValueError, match=r"k=2 to 3\b"):
        RunningPartition(X, labels, 2)
    with pytest.raises(ValueError, match=r"k=2 to 4\b"):
        RunningPartition(X, labels, 2, 4)
