"""Tests of what a running partition measures; tests of annealing show that costs are right."""

import numpy as np
import pytest
from example_tables.drawn import cases
from hypothesis import given, settings
from marks import in_one_case
from oracles.partition import total_sse

from sk_microagg._kernels import Annealer, Pool, RunningPartition


def some_labels(rng, n, k):
    """Groups of k to 2k - 1 records."""
    return rng.permutation(np.arange(n) % rng.integers(-(-n // (2 * k - 1)), n // k + 1))


def shuffle(partition, X, rng, temperature=np.inf, n_passes=20):
    """Move records at random."""
    neighbors = Pool(X).near_each(min(6, len(X) - 1))
    records = rng.permutation(len(X)).astype(np.int32)
    annealer = Annealer(partition, neighbors, records, seed=int(rng.integers(2**32)))
    annealer.run(records, n_passes, temperature=temperature, first_for_jumps=0, chance_of_jump=0.2)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(drawn=cases(n=90, d=5))
def test_measures_the_sse_of_its_labels(drawn):
    (X, rng), n, k = drawn.make(), drawn.n, drawn.k
    labels = some_labels(rng, n, k)
    partition = RunningPartition(X, labels, k)
    assert np.array_equal(partition.labels(), labels)
    assert (partition.n_records, partition.n_groups) == (n, labels.max() + 1)
    # Denormal squares are off by one unit each.
    expected = pytest.approx(total_sse(X, labels), rel=1e-12, abs=5e-324 * X.size)
    assert partition.measure() == expected
    assert partition.measure() == expected


@in_one_case("d", [1, 3])
@in_one_case("k", [2, 3, 7])
def test_at_the_smallest_numbers_of_records(k, d):
    rng = np.random.default_rng(k)
    for n in (k, 2 * k - 1):
        X = rng.normal(size=(n, d))
        partition = RunningPartition(X, np.zeros(n, dtype=int), k)
        shuffle(partition, X, rng)
        # A single group stays, whatever the temperature.
        assert partition.labels().tolist() == [0] * n
        assert partition.measure() == pytest.approx(total_sse(X, np.zeros(n, dtype=int)))
    X = rng.normal(size=(2 * k, d))
    partition = RunningPartition(X, np.arange(2 * k) % 2, k)
    shuffle(partition, X, rng)
    assert np.bincount(partition.labels()).tolist() == [k, k]


@in_one_case("offset", [0.0, 1e9])
def test_a_large_offset_and_a_constant_column_cost_no_accuracy(offset):
    # Values that an offset of 1e9 does not round.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**20, size=(120, 3)) / 2.0**20
    Z = np.column_stack([X + offset, np.full(120, offset + 0.1)])
    labels = some_labels(rng, 120, 4)
    partition = RunningPartition(Z, labels, 4)
    assert partition.measure() == pytest.approx(total_sse(X, labels), rel=1e-6)
    shuffle(partition, Z, rng, n_passes=200)
    after = partition.labels()
    assert not np.array_equal(after, labels)
    assert partition.measure() == pytest.approx(total_sse(X, after), rel=1e-6)


def test_costs_are_right_far_from_the_origin():
    # At a low temperature a step is accepted only if it lowers the SSE.
    rng = np.random.default_rng(0)
    X = 1e9 + rng.normal(size=(120, 2))
    partition = RunningPartition(X, some_labels(rng, 120, 4), 4)
    sse = [partition.measure()]
    for _ in range(50):
        shuffle(partition, X, rng, temperature=1e-12, n_passes=2)
        sse.append(partition.measure())
    assert np.all(np.diff(sse) <= 1e-6 * sse[0])
    assert sse[-1] < 0.2 * sse[0]


@in_one_case(
    ("labels", "k"),
    [
        ([0, 0, 1, 1, 1, 2], 2),
        ([0, 0, 0, 0, 1, 1], 2),
        ([0, 0, 0, 2, 2, 2], 2),
        ([0, 0, 0, 0, 0], 3),
        ([0, 0, 0, 0, 0, 0, 0], 4),
        ([0, 0, 0, 0, 0, 0], 3),
        ([0, 0, 0, 0, 0, 0], 0),
    ],
)
def test_labels_with_other_sizes_are_refused(labels, k):
    with pytest.raises(ValueError, match=rf"k={k} to {2 * k - 1} "):
        RunningPartition(np.arange(6.0)[:, None], np.array(labels), k)


def test_negative_labels_are_refused():
    with pytest.raises(ValueError, match="negative"):
        RunningPartition(np.arange(4.0)[:, None], np.array([-1, -1, 0, 0]), 2)
