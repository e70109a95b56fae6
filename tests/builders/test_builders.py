from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import builders as oracles
from oracles.pool import ScanPool
from tables.numbers import TABLES

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


def same_partition(builder, oracle, X, k):
    return np.array_equal(builder.build(X, k), oracle(X, k, **builder.get_params()))


def groups_of(labels):
    return {tuple(np.flatnonzero(labels == number)) for number in np.unique(labels)}


def name_of(value):
    """A test id that is the same in every process, unlike the address of a function."""
    return getattr(value, "__name__", str(value))


@pytest.mark.slow
@pytest.mark.parametrize(("builder", "oracle"), GROWING, ids=name_of)
@pytest.mark.parametrize("table", TABLES)
@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 90),
    d=st.integers(1, 4),
    share=st.floats(0, 1),
)
def test_same_partition_as_the_oracle(builder, oracle, table, seed, n, d, share):
    X = TABLES[table](np.random.default_rng(seed), n, d)
    k = 1 + round(share**3 * (n - 1))  # small k more often, but up to n
    assert same_partition(builder, oracle, X, k)


@pytest.mark.parametrize(("builder", "oracle"), GROWING, ids=name_of)
@pytest.mark.parametrize("k", [1, 2, 7])
def test_at_the_smallest_numbers_of_records(builder, oracle, k):
    rng = np.random.default_rng(k)
    for n in (k, 2 * k - 1, 2 * k, 3 * k - 1, 3 * k):
        assert same_partition(builder, oracle, rng.normal(size=(n, 2)), k)


# Enough records for the tree, the choice of scans and the sorted outermost records to matter.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("builder", "oracle"), [pair for pair in GROWING if pair[1] is not oracles.dbfs], ids=name_of
)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("d", [3, 15])
def test_same_partition_on_many_records(builder, oracle, table, d):
    X = TABLES[table](np.random.default_rng(d), 1200, d)
    assert same_partition(builder, oracle, X, 4)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_dbfs_on_many_records(table):
    # The oracle compares all pairs of records for every two groups.
    X = TABLES[table](np.random.default_rng(0), 700, 3)
    assert same_partition(DBFS(), oracles.dbfs, X, 15)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), d=st.integers(1, 4), k=st.integers(1, 9)
)
def test_gsms_takes_the_groups_with_the_least_squared_error(seed, n, d, k):
    X = np.random.default_rng(seed).normal(size=(n, d))
    k = min(k, n)
    # The last two groups have equal costs, so either may come first.
    assert groups_of(GSMS().build(X, k)) == groups_of(oracles.gsms(X, k))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_gsms_groups_have_the_least_cost_also_among_ties(table, k):
    # If costs are equal up to rounding, several choices are correct, so each choice is verified.
    X = TABLES[table](np.random.default_rng(k), 6 * k, 2)
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


@pytest.mark.parametrize("builder", BUILDERS, ids=str)
@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    table=st.sampled_from(sorted(TABLES)),
    n=st.integers(1, 200),
    k=st.integers(1, 30),
)
def test_every_group_has_k_to_2k_minus_1_records(builder, seed, table, n, k):
    k = min(k, n)
    X = TABLES[table](np.random.default_rng(seed), n, 3)
    sizes = np.bincount(builder.build(X, k))
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@pytest.mark.slow
@pytest.mark.parametrize("builder", BUILDERS, ids=str)
def test_same_partition_from_two_threads_at_once(builder):
    tables = [np.random.default_rng(seed).normal(size=(3000, 3)) for seed in range(4)]
    alone = [builder.build(X, 5) for X in tables]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(lambda X: builder.build(X, 5), tables))
    assert np.array_equal(alone, together)


@pytest.mark.parametrize("builder", BUILDERS, ids=str)
def test_the_records_are_not_modified(builder):
    X = np.random.default_rng(0).normal(size=(100, 3))
    before = X.copy()
    builder.build(X, 3)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("builder", [MDAV("nc"), CBFS("nc"), GSMS()], ids=str)
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
