import itertools

import numpy as np
import pytest
from example_tables.drawn import ALL_BUT_TINY, cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import case, in_one_case
from oracles.partition import canonical, centroid, groups_of, total_sse
from oracles.refiners import improve_pair, local_search, no_pair_improves
from scipy.spatial.distance import cdist

from sk_microagg._kernels import Descent, Partition, Pool
from sk_microagg._utils._deadline import Deadline
from sk_microagg.builders import MDAV
from sk_microagg.refiners._decompose import split_large_groups

# Gains that are denormal numbers, or 0, are mostly rounding: which swap is the best of a pair, or
# whether one helps, depends on how a bound on the gain was rounded.
EXACT_TABLES = ALL_BUT_TINY


def some_labels(rng, n, k):
    n_groups = rng.integers(1, n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


def parted(X, labels, k):
    return Partition(X, split_large_groups(X, labels, k), k)


def descend(X, labels, k, seed=None):
    partition = parted(X, labels, k)
    Descent(partition, seed=seed).run(partition.groups())
    return partition.labels()


def is_local_optimum(X, labels, k):
    """As `no_pair_improves`, but quick enough for hundreds of groups.

    Groups whose centroids are farther apart than three times their radii have nothing to exchange:
    every record is at least twice as far from the other centroid as from its own.
    """
    groups = groups_of(labels)
    centroids = np.array([centroid(X, members) for members in groups])
    radii = np.array([cdist(X[m], centroids[[i]]).max() for i, m in enumerate(groups)])
    close = cdist(centroids, centroids) <= 3 * np.maximum(radii, radii[:, None]) + 1e-300
    return not any(
        improve_pair(X, groups[a], groups[b], k)[2] for a, b in np.argwhere(close) if a < b
    )


def assert_same_as_oracle(X, labels, k):
    assert np.array_equal(canonical(descend(X, labels, k)), canonical(local_search(X, labels, k)))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(drawn=cases(names=EXACT_TABLES, n=30, k=(1, 5)), start=st.sampled_from(["mdav", "random"]))
def test_same_partition_as_by_trying_all_swaps_and_shifts_of_all_pairs(drawn, start):
    X, rng = drawn.make()
    k = drawn.k
    labels = MDAV().build(X, k) if start == "mdav" else some_labels(rng, drawn.n, k)
    assert_same_as_oracle(X, labels, k)


@pytest.mark.slow
def test_same_partition_on_more_records():
    sizes = itertools.cycle([(2, 4), (3, 1), (5, 4), (3, 4), (5, 1), (5, 2)])
    for table, (k, d) in zip(EXACT_TABLES, sizes, strict=False):
        rng = np.random.default_rng([k, d])
        X = TABLES[table](rng, 60, d)
        with case(table, k=k, d=d):
            assert_same_as_oracle(X, MDAV().build(X, k), k)
            if k > 2:
                assert_same_as_oracle(X, some_labels(rng, 60, k), k)


@in_one_case("exponent", [-450, -300, 300, 450])
def test_the_unit_of_the_table_does_not_matter(exponent):
    # Powers of two: nothing is rounded. Squares stay numbers, their squares do not.
    rng = np.random.default_rng(0)
    for k in (2, 3, 5):
        X = rng.normal(size=(60, 3))
        labels = some_labels(rng, 60, k)
        assert np.array_equal(descend(X, labels, k), descend(2.0**exponent * X, labels, k))


@pytest.mark.slow
def test_no_pair_can_be_improved_in_the_end():
    for table, seed in zip(EXACT_TABLES, itertools.cycle([None, 7]), strict=False):
        rng = np.random.default_rng(0)
        X = TABLES[table](rng, 90, 3)
        assert no_pair_improves(X, descend(X, some_labels(rng, 90, 4), 4, seed), 4), table


@pytest.mark.slow
def test_no_pair_of_hundreds_of_groups_can_be_improved_in_the_end():
    for table, seed in zip(EXACT_TABLES, itertools.cycle([7, None]), strict=False):
        rng = np.random.default_rng(1)
        # Where all records are equal, all pairs of groups are tried, here and in the check.
        X = TABLES[table](rng, 90 if table == "constant" else 330, 2)
        assert is_local_optimum(X, descend(X, MDAV().build(X, 3), 3, seed), 3), table


@pytest.mark.slow
def test_starting_from_touched_groups_finds_every_pair_that_can_be_improved():
    for table in EXACT_TABLES:
        rng = np.random.default_rng(2)
        X = TABLES[table](rng, 60 if table == "constant" else 110, 3)
        partition = parted(X, MDAV().build(X, 4), 4)
        descent = Descent(partition, seed=0)
        descent.run(partition.groups())
        for _ in range(2):
            descent.run(partition.dissolve(rng.choice(partition.groups())))
            assert is_local_optimum(X, partition.labels(), 4), table


def test_groups_far_from_those_given_stay_as_they_are():
    X = np.array([0.0, 9.0, 1.0, 8.0, 1000.0, 1009.0, 1001.0, 1008.0])[:, None]
    partition = Partition(X, np.arange(8) // 2, k=2)
    assert Descent(partition).run([0]) == 1
    assert canonical(partition.labels()).tolist() == [0, 1, 0, 1, 2, 2, 3, 3]
    assert Descent(partition).run([]) == 0
    assert Descent(partition).run([3]) == 1
    assert canonical(partition.labels()).tolist() == [0, 1, 0, 1, 2, 3, 2, 3]


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(drawn=cases(n=150, d=5))
def test_sizes_stay_from_k_to_2k_minus_1_and_the_sse_falls(drawn):
    (X, rng), k = drawn.make(), drawn.k
    partition = parted(X, some_labels(rng, drawn.n, k), k)
    before, sse = partition.labels(), partition.sse
    n_sweeps = Descent(partition, seed=drawn.seed).run(partition.groups())
    labels = partition.labels()
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    if n_sweeps:
        assert total_sse(X, labels) < total_sse(X, before)
        assert partition.sse < sse
    else:
        assert np.array_equal(labels, before)


def test_equal_seeds_give_equal_partitions_and_others_mostly_do_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    labels = some_labels(rng, 500, 5)
    results = [descend(X, labels, 5, seed) for seed in (0, 0, 1, 2**63, None)]
    assert np.array_equal(results[0], results[1])
    assert len({tuple(canonical(result)) for result in results}) == 4


def a_long_way_to_go():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    return Partition(X, MDAV().build(X, 3), 3)


def assert_valid(partition):
    sizes = np.bincount(partition.labels())
    assert 3 <= sizes.min() <= sizes.max() <= 5


def test_a_deadline_that_has_passed_stops_the_search_early():
    partition = a_long_way_to_go()
    before = partition.labels()
    descent = Descent(partition)
    assert descent.run(partition.groups(), deadline=Deadline(0.0)) == 1
    assert_valid(partition)
    # The clock is read after some groups, not only after all.
    assert np.mean(partition.labels() != before) < 0.2
    stopped_at = partition.sse
    assert descent.run(partition.groups()) > 1
    assert partition.sse < 0.98 * stopped_at


def test_no_more_sweeps_than_allowed():
    partition = a_long_way_to_go()
    sse = [partition.sse]
    descent = Descent(partition)
    assert descent.run(partition.groups(), max_sweeps=0) == 0
    assert partition.sse == sse[0]
    for max_sweeps in (1, 2, 3):
        partition = a_long_way_to_go()
        assert Descent(partition).run(partition.groups(), max_sweeps=max_sweeps) == max_sweeps
        assert_valid(partition)
        sse.append(partition.sse)
    assert sse == sorted(sse, reverse=True)
    assert len(set(sse)) == 4


# With neighbors


def pairs_of_near_groups(labels, neighbors):
    """Pairs of groups of which each holds a neighbor of a record of the other."""
    near = np.zeros((labels.max() + 1,) * 2, dtype=bool)
    near[labels[:, None], labels[neighbors]] = True
    return [(a, b) for a, b in np.argwhere(near & near.T) if a < b]


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(drawn=cases(n=120, d=9, k=(2, 6)), near=st.booleans())
def test_among_near_groups_sizes_stay_and_the_sse_falls(drawn, near):
    (X, rng), n, k = drawn.make(), drawn.n, drawn.k
    m = int(rng.integers(1, min(n, 20)))
    neighbors = Pool(X).near_each(m) if near else rng.integers(n, size=(n, m), dtype=np.int32)
    partition = parted(X, some_labels(rng, n, k), k)
    before = partition.labels()
    n_sweeps = Descent(partition, neighbors=neighbors).run(partition.groups())
    labels = partition.labels()
    sizes = np.bincount(labels)
    assert k <= sizes.min() <= sizes.max() < 2 * k
    if n_sweeps:
        assert total_sse(X, labels) < total_sse(X, before)
    else:
        assert np.array_equal(labels, before)


@pytest.mark.slow
@in_one_case("n_neighbors", [4, 69])
def test_no_pair_of_near_groups_can_be_improved_in_the_end(n_neighbors):
    for table in EXACT_TABLES:
        rng = np.random.default_rng(0)
        X = TABLES[table](rng, 70, 3)
        neighbors = Pool(X).near_each(n_neighbors)
        partition = parted(X, some_labels(rng, 70, 4), 4)
        Descent(partition, neighbors=neighbors).run(partition.groups())
        labels = partition.labels()
        groups, pairs = groups_of(labels), pairs_of_near_groups(labels, neighbors)
        assert len(pairs) > 0
        # With all other records as neighbors, these are all pairs.
        assert len(pairs) == len(groups) * (len(groups) - 1) // 2 or n_neighbors < 69
        assert not any(improve_pair(X, groups[a], groups[b], 4)[2] for a, b in pairs), table


@in_one_case("of_the_first", [True, False])
def test_neighbors_on_one_side_are_enough(of_the_first):
    X = np.array([0.0, 9.0, 1.0, 8.0])[:, None]
    partition = Partition(X, np.array([0, 0, 1, 1]), 2)
    neighbors = [[2], [3], [3], [2]] if of_the_first else [[1], [0], [0], [1]]
    descent = Descent(partition, neighbors=np.array(neighbors, dtype=np.int32))
    assert descent.run(partition.groups()) == 1
    assert canonical(partition.labels()).tolist() == [0, 1, 0, 1]


def test_groups_without_neighbors_in_each_other_are_not_compared():
    X = np.array([0.0, 9.0, 1.0, 8.0])[:, None]
    partition = Partition(X, np.array([0, 0, 1, 1]), 2)
    neighbors = np.array([[1], [0], [3], [2]], dtype=np.int32)
    assert Descent(partition, neighbors=neighbors).run(partition.groups()) == 0
    assert partition.labels().tolist() == [0, 0, 1, 1]


def test_every_record_needs_a_row_of_neighbors():
    partition = Partition(np.arange(4.0)[:, None], np.array([0, 0, 1, 1]), 2)
    with pytest.raises(ValueError, match=r"^neighbors of 3 records"):
        Descent(partition, neighbors=np.zeros((3, 1), dtype=np.int32))


def test_near_groups_suffice_for_most_of_what_can_be_gained():
    X = np.random.default_rng(0).normal(size=(1000, 8))
    labels = MDAV().build(X, 4)
    near, complete = (Partition(X, labels, 4) for _ in range(2))
    Descent(near, neighbors=Pool(X).near_each(15)).run(near.groups())
    Descent(complete).run(complete.groups())
    before = total_sse(X, labels)
    assert before - near.sse > 0.8 * (before - complete.sse)
