"""Guards answer like plain loops over the members of a group."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles.guards import CODES, STRICT, Case

from sk_microagg._kernels import CallbackGuard, EqualGuard, Guards, OrderedGuard

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
    ("dominance", 0.50003, 1),
    ("dominance", 0.80003, 3),
    ("p percent", 10.003),
    ("p percent of units", 60.003),
    ("sum of units", 7.5),
    ("callback",),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: " ".join(map(str, kind)))
every_strict_kind = pytest.mark.parametrize("kind", STRICT, ids=str)


def sets_of_members(rng, n):
    """All records, each single one, and some of any number; in any order."""
    yield rng.permutation(n)
    yield from np.arange(n)[:, None]
    for _ in range(10):
        yield rng.choice(n, rng.integers(1, n + 1), replace=False)
        yield rng.choice(n, rng.integers(1, min(n, 9) + 1), replace=False)


@in_one_case("kind", KINDS)
@in_one_case("codes", CODES)
def test_a_guard_answers_like_plain_loops(kind, codes):
    for n in (1, 2, 7, 20):
        rng = np.random.default_rng(n)
        case = Case(kind, CODES[codes](rng, n))
        guards = Guards([case.guard()])
        for members in sets_of_members(rng, n):
            assert guards.hold(members) is case.allows(members)


@pytest.mark.slow_but_first
@every_strict_kind
def test_both_answers_occur(kind):
    rng = np.random.default_rng(0)
    case = Case(kind, CODES["random"](rng, 50))
    guards = Guards([case.guard()])
    assert {guards.hold(members) for members in sets_of_members(rng, 50)} == {True, False}


@in_one_case("n", [33, 34, 200])
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


@in_one_case("kind", ["equal", "ordered"])
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
