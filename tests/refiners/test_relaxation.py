from functools import cache
from itertools import combinations

import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from oracles.partition import canonical, total_sse
from scipy import sparse

from sk_microagg._utils._deadline import Deadline
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Exchange, Recombination
from sk_microagg.refiners._catalog import members_of_all
from sk_microagg.refiners._relaxation import Relaxation

# Where all records are equal there is nothing to relax.
DIFFERING = [
    name for name, table in TABLES.items() if np.ptp(table(np.random.default_rng(0), 9, 2))
]


def solved(X, k, groups=()):
    relaxation = Relaxation(X, k)
    relaxation.add([np.array(group) for group in groups])
    for _ in range(50):
        if not relaxation.is_settled:
            relaxation.advance(Deadline())
    return relaxation


@cache
def solved_table(table, n, k):
    X = TABLES[table](np.random.default_rng(n), n, 2)
    return X, solved(X, k)


def bound_of(relaxation):
    """The sum of the duals of records, less those of cuts for each group that they can hold."""
    n = relaxation.n
    total = relaxation.duals[:n].sum() - relaxation.cuts.limits() @ relaxation.duals[n:]
    return np.ldexp(total, 2 * relaxation.exponent)


def sse_of(X, group):
    return total_sse(X[list(group)], np.zeros(len(group), dtype=int))


def reduced_costs(relaxation, X, groups):
    rows = [np.isin(np.arange(len(X)), group).astype(float) for group in groups]
    cost = np.array([sse_of(X, group) for group in groups])
    return relaxation.reduced_costs(sparse.csr_array(np.array(rows)), cost)


@pytest.mark.slow
@in_one_case("k", [2, 3, 4])
def test_duals_are_nearly_a_bound(k):
    X = np.random.default_rng(k).normal(size=(60, 2)) * 1000
    relaxation = solved(X, k)
    best = Recombination(n_init=2, max_iter=1, annealing_max_iter=20_000).refine(
        X, MDAV().build(X, k), k, random_state=0
    )
    sse = total_sse(X, best)
    assert relaxation.is_settled
    assert 0.9 * sse < bound_of(relaxation) < 1.01 * sse


def test_reduced_cost_is_the_cost_less_the_duals_of_records_and_plus_those_of_cuts():
    X = np.random.default_rng(0).normal(size=(60, 2))
    relaxation = solved(X, 3)
    assert len(relaxation.cuts)
    rng = np.random.default_rng(1)
    cuts = [set(relaxation.cuts.sets.members_of(i).tolist()) for i in range(len(relaxation.cuts))]
    groups = [rng.choice(60, size, replace=False).tolist() for size in (3, 4, 5)]
    groups += [sorted(cut) for cut in cuts]
    duals = np.ldexp(relaxation.duals, 2 * relaxation.exponent)
    expected = [
        sse_of(X, group)
        - sum(duals[group])
        + sum(duals[60 + i] for i, cut in enumerate(cuts) if len(cut.intersection(group)) >= 3)
        for group in groups
    ]
    assert reduced_costs(relaxation, X, groups) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@in_one_case(("seed", "k"), [(0, 2), (1, 3), (2, 4)])
def test_no_set_is_overlooked(seed, k):
    # Groups of outliers, which are not among the nearest records of each other, are hard to find.
    X = np.random.default_rng(seed).standard_cauchy(size=(20, 3))
    relaxation = solved(X, k)
    assert relaxation.is_settled
    sets = [list(chosen) for chosen in combinations(range(20), k)]
    reduced = reduced_costs(relaxation, X, sets)
    assert reduced.min() > -1e-3 * bound_of(relaxation) / (20 / k)


def test_uses_are_those_of_the_columns():
    X = np.random.default_rng(0).normal(size=(60, 2))
    relaxation = solved(X, 3)
    pool = relaxation.pool
    groups = [tuple(sorted(pool.members_of(c).tolist())) for c in range(len(pool))]
    assert relaxation.uses(groups).tolist() == pool.use.tolist()
    assert relaxation.uses([tuple(range(40))]).tolist() == [0.0]
    covered = np.zeros(60)
    for group, use in zip(groups, pool.use, strict=True):
        covered[list(group)] += use
    assert covered == pytest.approx(np.ones(60), abs=0.2)


@pytest.mark.slow
@in_one_case("table", DIFFERING)
@in_one_case(("n", "k"), [(9, 2), (23, 3), (40, 4)])
def test_promising_groups_have_their_sizes_and_costs(table, n, k):
    X = TABLES[table](np.random.default_rng(n), n, 2)
    known = [tuple(range(k)), tuple(range(k, 2 * k))]
    promising = solved(X, k, known).promising_groups(known, 2)
    assert set(map(len, promising)) <= set(range(k, 2 * k))
    for group, cost in promising.items():
        assert list(group) == sorted(set(group))
        # Squares of the smallest numbers have few digits.
        tolerance = max(1e-9 * np.ptp(X) ** 2, 1e-300)
        assert cost == pytest.approx(sse_of(X, group), rel=1e-9, abs=tolerance)


def test_promising_groups_have_small_reduced_costs():
    X = np.random.default_rng(0).normal(size=(80, 2))
    relaxation = solved(X, 3)
    few, many = (list(relaxation.promising_groups([], number)) for number in (1, 4))
    assert {record for group in few for record in group} == set(range(80))
    assert len(few) < len(many)
    assert reduced_costs(relaxation, X, few).mean() < reduced_costs(relaxation, X, many).mean()


@pytest.mark.slow
@in_one_case("table", DIFFERING)
@in_one_case(("n", "k"), [(8, 4), (9, 2), (23, 3), (40, 4)])
def test_rounding_gives_partitions(table, n, k):
    X, relaxation = solved_table(table, n, k)
    random_state = np.random.RandomState(0)
    preferred = members_of_all(MDAV().build(X, k))
    for groups in ((), preferred, preferred):
        labels = relaxation.rounded(random_state, groups)
        sizes = np.bincount(labels)
        assert labels.shape == (n,)
        assert sizes.min() >= k


def test_rounded_partitions_are_good_and_differ():
    X = np.random.default_rng(0).normal(size=(90, 2))
    relaxation = solved(X, 3)
    random_state = np.random.RandomState(0)
    rounded = [relaxation.rounded(random_state) for _ in range(5)]
    costs = [total_sse(X, labels) for labels in rounded]
    assert min(costs) < total_sse(X, MDAV().build(X, 3))
    assert len(set(costs)) > 1


def test_preferred_groups_are_kept_more_often_than_others():
    X = np.random.default_rng(0).normal(size=(90, 2))
    relaxation = solved(X, 3)
    preferred = members_of_all(Exchange().refine(X, MDAV().build(X, 3), 3))

    def n_kept(groups):
        random_state = np.random.RandomState(0)
        rounded = [relaxation.rounded(random_state, groups) for _ in range(20)]
        return sum(len(set(preferred).intersection(members_of_all(labels))) for labels in rounded)

    assert n_kept(preferred) > n_kept(())


def test_if_no_column_is_used_preferred_groups_are_the_result():
    X = np.random.default_rng(0).normal(size=(23, 2))
    preferred = members_of_all(np.arange(23) % 7)
    labels = Relaxation(X, 3).rounded(np.random.RandomState(0), preferred)
    assert sorted(members_of_all(labels)) == preferred


@pytest.mark.slow
@in_one_case("table", DIFFERING)
@in_one_case(("n", "k"), [(8, 4), (9, 2), (23, 3), (40, 4)])
def test_decided_groups_are_those_that_are_used_most(table, n, k):
    _, relaxation = solved_table(table, n, k)
    labels, undecided = relaxation.decided(0.8)
    assert np.bincount(labels).min() >= k
    pool = relaxation.pool
    used = {tuple(sorted(pool.members_of(c))) for c in np.flatnonzero(pool.use >= 0.8)}
    if len(undecided) >= k:
        decided = [g for g in members_of_all(labels) if not set(g).intersection(undecided)]
        assert used.issuperset(decided)
        assert n - len(undecided) == sum(map(len, decided))


def test_what_is_not_used_is_undecided():
    X = np.random.default_rng(0).normal(size=(23, 2))
    labels, undecided = Relaxation(X, 3).decided(0.8)
    assert undecided.tolist() == [*range(23)]
    assert canonical(labels).tolist() == canonical(MDAV().build(X, 3)).tolist()


def test_a_deadline_ends_an_ascent():
    X = np.random.default_rng(0).normal(size=(90, 2))
    relaxation = Relaxation(X, 3)
    n_columns = len(relaxation.pool)
    relaxation.advance(Deadline(0.0))
    assert len(relaxation.pool) == n_columns
    assert not relaxation.is_settled
