import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from example_tables.drawn import cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import case, in_one_case
from oracles import builders as oracles
from oracles.pool import ScanPool

from sk_microagg._utils._deadline import Deadline
from sk_microagg.builders import CBFS, DBFS, GSMS, MDAV, TFRP

GROWING = [
    (MDAV(growth, ending), oracles.mdav)
    for growth in ("nn", "nc")
    for ending in ("fixed", "classic")
]
GROWING += [(CBFS(growth), oracles.cbfs) for growth in ("nn", "nc")]
GROWING += [(DBFS(growth), oracles.dbfs) for growth in ("nn", "nc")]
GROWING += [
    (TFRP(growth, reference), oracles.tfrp)
    for growth in ("nn", "nc")
    for reference in ("attribute", "global")
]
BUILDERS = [builder for builder, _ in GROWING] + [GSMS()]
any_builder = st.sampled_from(BUILDERS)


def same_partition(builder, oracle, X, k):
    return np.array_equal(builder.build(X, k), oracle(X, k, **builder.get_params()))


def groups_of(labels):
    return {tuple(np.flatnonzero(labels == number)) for number in np.unique(labels)}


# Small k more often, but up to n.
@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(drawn=cases(n=90, k=(1, 9)) | cases(n=90, k=(1, 60)), pair=st.sampled_from(GROWING))
def test_same_partition_as_the_oracle(drawn, pair):
    assert same_partition(*pair, drawn.make()[0], drawn.k)


def test_at_the_smallest_numbers_of_records():
    for (builder, oracle), k in itertools.product(GROWING, (1, 2, 7)):
        rng = np.random.default_rng(k)
        for n in (k, 2 * k - 1, 2 * k, 3 * k - 1, 3 * k):
            assert same_partition(builder, oracle, rng.normal(size=(n, 2)), k), (builder, k, n)


# Enough records for the tree, the choice of scans and the sorted outermost records to matter. Each
# builder gets every fourth table, and each table is built upon in few and in many columns.
@pytest.mark.slow
@pytest.mark.parametrize("first_d", [3, 15])
def test_same_partition_on_many_records(first_d):
    pairs = [pair for pair in GROWING if pair[1] is not oracles.dbfs]
    for i, (builder, oracle) in enumerate(pairs[first_d == 15 :: 2]):
        for j, (table, make) in enumerate([*TABLES.items()][i % 4 :: 4]):
            d = first_d if (i // 2 + j) % 2 else 18 - first_d
            X = make(np.random.default_rng(d), 700, d)
            assert same_partition(builder, oracle, X, 4), (builder, table, d)


@pytest.mark.slow
def test_dbfs_on_many_records():
    # The oracle compares all pairs of records for every two groups.
    for table, make in TABLES.items():
        X = make(np.random.default_rng(0), 400, 3)
        assert same_partition(DBFS(), oracles.dbfs, X, 15), table


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 45), d=st.integers(1, 4), k=st.integers(1, 9)
)
def test_gsms_takes_the_groups_with_the_least_squared_error(seed, n, d, k):
    X = np.random.default_rng(seed).normal(size=(n, d))
    k = min(k, n)
    # The last two groups have equal costs, so either may come first.
    assert groups_of(GSMS().build(X, k)) == groups_of(oracles.gsms(X, k))


@pytest.mark.slow
def test_gsms_groups_have_the_least_cost_also_among_ties():
    for (table, make), k in itertools.product(TABLES.items(), (1, 3, 8)):
        with case(table, k=k):
            assert_least_costs(make(np.random.default_rng(k), 6 * k, 2), k)


def assert_least_costs(X, k):
    # If costs are equal up to rounding, several choices are correct, so each choice is verified.
    labels = GSMS().build(X, k)
    pool = ScanPool(X)
    for number in range(labels.max() + 1):
        members = np.flatnonzero(labels == number)
        costs = [
            oracles.gsms_cost(X, proposal, pool.records) for proposal in oracles.proposals(pool, k)
        ]
        cost = oracles.gsms_cost(X, members, pool.records)
        assert cost <= min(costs) + 1e-12 * oracles.sse(X)
        pool.remove(members)


@settings(deadline=None, max_examples=100)
@given(drawn=cases(n=200, k=(1, 30)), builder=any_builder)
def test_every_group_has_k_to_2k_minus_1_records(drawn, builder):
    X, _ = drawn.make()
    before = X.copy()
    sizes = np.bincount(builder.build(X, drawn.k))
    assert sizes.min() >= drawn.k
    assert sizes.max() < 2 * drawn.k
    assert np.array_equal(X, before)


@pytest.mark.slow
def test_same_partition_from_two_threads_at_once():
    tables = [np.random.default_rng(seed).normal(size=(1000, 3)) for seed in range(4)]
    for builder in BUILDERS:
        alone = [builder.build(X, 5) for X in tables]
        with ThreadPoolExecutor(2) as threads:
            together = list(threads.map(lambda X, build=builder.build: build(X, 5), tables))
        assert np.array_equal(alone, together), builder


@pytest.mark.slow
@in_one_case("builder", [MDAV("nc"), CBFS("nc"), GSMS()])
def test_groups_of_hundreds(builder):
    oracle = {MDAV: oracles.mdav, CBFS: oracles.cbfs, GSMS: oracles.gsms}[type(builder)]
    X = np.random.default_rng(0).normal(size=(700, 2))
    expected = oracle(X, 200, **builder.get_params())
    assert groups_of(builder.build(X, 200)) == groups_of(expected)


def test_classic_ending_splits_the_last_records_in_two():
    X = np.arange(8.0).reshape(-1, 1)
    assert sorted(np.bincount(MDAV(ending="classic").build(X, 3))) == [3, 5]
    assert sorted(np.bincount(MDAV(ending="classic").build(X[:5], 3))) == [5]


def test_a_deadline_ends_mdav_without_a_result():
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert MDAV()._build(X, 3, Deadline(0.0)) is None
    np.testing.assert_array_equal(MDAV()._build(X, 3, Deadline()), MDAV().build(X, 3))
