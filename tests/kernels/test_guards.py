"""Guards agree with plain figures, and no search leaves a group that violates them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow_but_first
from oracles import privacy as oracle
from oracles.partition import canonical, group_sse, groups_of, total_sse
from tables.numbers import TABLES

from sk_microagg._kernels import (
    Annealer,
    CallbackGuard,
    Descent,
    DistinctGuard,
    EntropyGuard,
    EqualGuard,
    Guards,
    OrderedGuard,
    Partition,
    Pool,
    RecursiveGuard,
    RunningPartition,
)

CODES = {
    "random": lambda rng, n: rng.integers(0, 6, n),
    "two": lambda rng, n: rng.integers(0, 2, n),
    "skewed": lambda rng, n: np.minimum(rng.geometric(0.6, n) - 1, 5),
    "one differs": lambda rng, n: (np.arange(n) == n // 2).astype(int),
    "all differ": lambda rng, n: rng.permutation(n),
    "constant": lambda rng, n: np.zeros(n, dtype=int),
}


class Case:
    """Codes of records, a kind of guard, and a plain version of what it asks of a group.

    The plain version is given as a figure, which a group needs at least or has at most. No group
    can have exactly the limit, unless the guard allows it: guards are a little stricter.
    """

    def __init__(self, name, codes):
        # Every code occurs, as with those of values.
        self.codes = np.unique(codes, return_inverse=True)[1].astype(np.int32)
        self.name, *self.parameters = name

    def guard(self):
        codes, counts = self.codes, np.bincount(self.codes).astype(np.int64)
        if self.name == "callback":
            return CallbackGuard(len(codes), lambda members: len(set(codes[members])) >= 2)
        if self.name in ("equal", "ordered"):
            kind = {"equal": EqualGuard, "ordered": OrderedGuard}[self.name]
            return kind(codes, counts, *self.parameters)
        kinds = {"distinct": DistinctGuard, "entropy": EntropyGuard, "recursive": RecursiveGuard}
        return kinds[self.name](codes, *self.parameters)

    def allows(self, members):
        values, table = self.codes[members].tolist(), self.codes.tolist()
        if self.name == "callback":
            return oracle.distinct(values) >= 2
        first, *others = self.parameters
        if self.name == "distinct":
            return oracle.distinct(values) >= first
        if self.name == "entropy":
            return oracle.entropy(values) >= first * (1 - 1e-9)
        if self.name == "recursive":
            return oracle.recursive(values, first) < others[0]
        return getattr(oracle, self.name)(values, table) <= first


# Limits that no group has exactly, but for 0 and 1, and whole numbers for an entropy.
KINDS = [
    ("distinct", 1),
    ("distinct", 2),
    ("distinct", 3),
    ("entropy", 1),
    ("entropy", 1.7),
    ("entropy", 2),
    ("entropy", 3),
    ("recursive", 1, 0.5003),
    ("recursive", 2, 1.5003),
    ("recursive", 3, 3.0003),
    ("equal", 0.0),
    ("equal", 0.21003),
    ("equal", 0.5003),
    ("ordered", 0.0),
    ("ordered", 0.1003),
    ("ordered", 0.25003),
    ("callback",),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: " ".join(map(str, kind)))

# What a search needs: neither always nor never true of small groups.
STRICT = [
    ("distinct", 2),
    ("entropy", 1.7),
    ("recursive", 2, 2.5003),
    ("equal", 0.35003),
    ("ordered", 0.15003),
    ("callback",),
]
every_strict_kind = pytest.mark.parametrize("kind", slow_but_first(STRICT), ids=str)
STRICT_ONES = st.sampled_from(STRICT)


# Answers


def sets_of_members(rng, n):
    """All records, each single one, and some of any number; in any order."""
    yield rng.permutation(n)
    yield from np.arange(n)[:, None]
    for _ in range(60):
        yield rng.choice(n, rng.integers(1, n + 1), replace=False)
        yield rng.choice(n, rng.integers(1, min(n, 9) + 1), replace=False)


@every_kind
@pytest.mark.parametrize("codes", CODES)
def test_a_guard_answers_like_plain_loops(kind, codes):
    for n in (1, 2, 7, 50):
        rng = np.random.default_rng(n)
        case = Case(kind, CODES[codes](rng, n))
        guards = Guards([case.guard()])
        for members in sets_of_members(rng, n):
            assert guards.hold(members) is case.allows(members)


@every_strict_kind
def test_both_answers_occur(kind):
    rng = np.random.default_rng(0)
    case = Case(kind, CODES["random"](rng, 50))
    guards = Guards([case.guard()])
    assert {guards.hold(members) for members in sets_of_members(rng, 50)} == {True, False}


@pytest.mark.parametrize("n", [33, 34, 200])
def test_large_groups_are_sorted_like_small_ones(n):
    rng = np.random.default_rng(n)
    case = Case(("ordered", 0.05003), rng.integers(0, 40, 300))
    guards = Guards([case.guard()])
    answers = []
    for size in range(n - 3, n + 1):
        for _ in range(20):
            # Some are near to the table, and some are cut off at one end.
            members = rng.choice(300, size, replace=False)
            if rng.random() < 0.5:
                members = np.argsort(case.codes + rng.normal(scale=15, size=300))[:size]
            answers.append(guards.hold(members))
            assert answers[-1] is case.allows(members)
    assert set(answers) == {True, False}


@pytest.mark.parametrize("kind", ["equal", "ordered"])
def test_distances_of_some_records_are_to_the_whole_table(kind):
    rng = np.random.default_rng(0)
    whole = Case((kind, 0.40003), rng.integers(0, 8, 80))
    records = np.flatnonzero(whole.codes < 6)  # the highest codes do not occur
    counts = np.bincount(whole.codes).astype(np.int64)
    guard = {"equal": EqualGuard, "ordered": OrderedGuard}[kind]
    guards = Guards([guard(whole.codes[records], counts, 0.40003)])
    answers = []
    for members in sets_of_members(rng, len(records)):
        answers.append(guards.hold(members))
        assert answers[-1] is whole.allows(records[members])
    assert set(answers) == {True, False}


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=5)
)
def test_several_guards_must_all_hold(seed, kinds):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    names = rng.choice(sorted(CODES), len(kinds))
    cases = [Case(kind, CODES[name](rng, n)) for kind, name in zip(kinds, names, strict=True)]
    guards = Guards([case.guard() for case in cases])
    for members in itertools.islice(sets_of_members(rng, n), n + 20):
        assert guards.hold(members) is all(case.allows(members) for case in cases)


def test_a_guard_in_python_receives_the_members():
    received = []
    guards = Guards([CallbackGuard(9, lambda members: received.append(members) or True)])
    assert guards.hold([3, 8, 1])
    assert received[0].tolist() == [3, 8, 1]


# Searches


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


@pytest.mark.parametrize("table", slow_but_first(TABLES))
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 70),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    kinds=st.lists(STRICT_ONES, min_size=1, max_size=3),
)
def test_annealing_leaves_no_group_that_violates_a_guard(table, seed, n, d, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n // 2)
    X, cases = TABLES[table](rng, n, d), some_cases(rng, n, kinds)
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
    for temperature in [10.0, 1e-3] * 15:
        for _ in range(4):
            anneal(annealer, 60, temperature, 5)
            assert_all_allowed(partition.labels(), [case], k)
            n_groups.append(partition.n_groups)
    # High temperatures dissolve groups, low ones create new ones.
    assert min(np.diff(n_groups)) < 0 < max(np.diff(n_groups))


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


def improves(X, case, a, b, new_a, new_b, k):
    """Whether two groups have clearly less error after a move that is allowed."""
    before = group_sse(X, a) + group_sse(X, b)
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
        assert not any(improves(X, case, a, b, *after, k) for after in moves(a, b))


# Gains that are denormal numbers, or 0, are mostly rounding.
@pytest.mark.parametrize("table", slow_but_first([name for name in TABLES if name != "tiny"]))
@pytest.mark.parametrize("seed", [None, 7])
@every_strict_kind
def test_descent_ends_where_no_allowed_move_improves(kind, table, seed):
    for k, n in ((2, 24), (3, 33)):
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


@pytest.mark.parametrize("table", slow_but_first(TABLES))
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    d=st.integers(1, 4),
    k=st.integers(1, 6),
    kinds=st.lists(STRICT_ONES, min_size=1, max_size=3),
)
def test_descent_leaves_no_group_that_violates_a_guard(table, seed, n, d, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n)
    X, cases = TABLES[table](rng, n, d), some_cases(rng, n, kinds)
    labels = allowed_start(rng, n, k, cases)
    if labels is None:
        return
    neighbors = near_each(X, 8) if seed % 2 else None
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


@pytest.mark.parametrize("full", [4, 7, 40])
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
    with pytest.raises(ValueError, match=r"^The groups of 8 records must have k=2 to 3 each\.$"):
        RunningPartition(X, labels, 2)
    with pytest.raises(ValueError, match=r"^The groups of 8 records must have k=2 to 4 each\.$"):
        RunningPartition(X, labels, 2, 4)
