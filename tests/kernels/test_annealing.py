import itertools
import subprocess
import sys

import numpy as np
import pytest
from example_tables.drawn import cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import case, in_one_case
from oracles.annealing import PlainAnnealer
from oracles.partition import canonical, total_sse

from sk_microagg._kernels import Annealer, Pool, RunningPartition, records_to_visit

ALL_STAGES = {
    "very cold": [1e-12],
    "cold": [0.01],
    "warm": [0.3],
    "very hot": [1e9],
    "hot to cold": [1e3, 1.0, 0.1, 1e-3],
}


def some_labels(rng, n, k):
    """Groups of k to 2k - 1 records."""
    return rng.permutation(np.arange(n) % (n // k))


def neighbors_of(X, n_neighbors):
    around = Pool(X).around_each(min(n_neighbors, len(X) - 1) + 1)
    return np.ascontiguousarray(around[:, 1:], dtype=np.int32)


def stage_at(temperature, first_for_jumps=0, chance_of_jump=0.1):
    return {
        "temperature": temperature,
        "first_for_jumps": first_for_jumps,
        "chance_of_jump": chance_of_jump,
    }


def shuffled(rng, n):
    return rng.permutation(n).astype(np.int32)


def in_order(n):
    return np.arange(n, dtype=np.int32)


def both(X, k, rng, n_neighbors=12, looks_ahead=False):
    """The kernel and the oracle, at the start of the same run."""
    labels, by_scale = some_labels(rng, len(X), k), shuffled(rng, len(X))
    neighbors, seed = neighbors_of(X, n_neighbors), int(rng.integers(2**64, dtype=np.uint64))
    partition = RunningPartition(X, labels, k)
    annealer = Annealer(partition, neighbors, by_scale, seed=seed, looks_ahead=looks_ahead)
    plain = PlainAnnealer(X, labels, k, neighbors, by_scale, seed, looks_ahead)
    return partition, annealer, plain


def assert_same_way(X, k, rng, temperatures, chance_of_jump, n_neighbors=12, n_steps=250, **ahead):
    """Run both through the same stages; return the numbers of groups in between."""
    n, n_groups = len(X), []
    scale = X.var(axis=0).sum()
    partition, annealer, plain = both(X, k, rng, n_neighbors, **ahead)
    for temperature in temperatures:
        stage = stage_at(temperature * scale, int(rng.integers(n)), chance_of_jump)
        for n_passes in (1, 4):
            # Some records more often than others, in any order.
            records = rng.integers(n, size=n_steps // 5).astype(np.int32)
            annealer.run(records, n_passes, **stage)
            plain.run(records, n_passes, **stage)
            assert partition.labels().tolist() == plain.labels()
            n_groups.append(partition.n_groups)
    return n_groups


# The oracle rounds differently. Where no two partitions cost the same, no change is so close to 0
# that this matters. Swaps of twins cost exactly 0 in the kernel and in the oracle. One value has
# 2k - 3 records, all others one. With more, two groups could have k - 1 of them each, and swapping
# their last records would change nothing.


def twins(rng, n, d, k):
    X = rng.normal(size=(n, d))
    X[rng.permutation(n)[: 2 * k - 3]] = rng.normal(size=d)
    return X


WITHOUT_TIES = ["normal", "constant_column", "line", "heavy_tails", "huge"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "d", "chance_of_jump"),
    [(2, 1, 0.5), (2, 3, 0.0), (3, 1, 0.0), (3, 2, 0.5), (5, 2, 0.0), (5, 5, 0.5)],
)
def test_same_partitions_as_with_errors_from_scratch(k, d, chance_of_jump):
    for stages, n in itertools.product(ALL_STAGES, (2 * k - 1, 2 * k, 3 * k + 1, 24)):
        rng = np.random.default_rng([k, d, n])
        X = rng.normal(size=(n, d))
        with case(stages, n=n):
            ahead = {"looks_ahead": n == 24, "n_steps": 100}
            assert_same_way(X, k, rng, ALL_STAGES[stages], chance_of_jump, **ahead)


@pytest.mark.slow
@pytest.mark.parametrize("looks_ahead", [False, True])
@pytest.mark.parametrize("k", [2, 5])
def test_same_partitions_while_groups_come_and_go(k, looks_ahead):
    # High temperatures dissolve groups, low ones create new ones.
    rng = np.random.default_rng(k)
    X = rng.normal(size=(31, 2))
    n_groups = assert_same_way(
        X, k, rng, [10.0, 1e-3] * 3, 0.1, n_steps=600, looks_ahead=looks_ahead
    )
    assert min(np.diff(n_groups)) < 0 < max(np.diff(n_groups))


@pytest.mark.slow
def test_same_partitions_on_any_table():
    tables = [*itertools.product(WITHOUT_TIES, (2, 3, 5)), ("twins", 3), ("twins", 5)]
    others = itertools.cycle([(2, 3), (4, 12)])
    for (table, k), (d, n_neighbors) in zip(tables, others, strict=False):
        rng = np.random.default_rng([k, d])
        X = twins(rng, 35, d, k) if table == "twins" else TABLES[table](rng, 35, d)
        with case(table, k=k):
            assert_same_way(X, k, rng, ALL_STAGES["hot to cold"], 0.2, n_neighbors, n_steps=150)


# On a grid most changes cost exactly 0, and are accepted without a draw. Two groups of k, a power
# of 2, allow nothing but swaps, whose costs the kernel computes without rounding. Attempts to
# dissolve a group make groups of up to 2k - 1 records: with these multiples, means are integers at
# any size.
@pytest.mark.slow
@pytest.mark.parametrize(("k", "unit"), [(2, 6), (4, 420)])
def test_same_partitions_where_most_changes_cost_nothing(k, unit):
    for stages, d in itertools.product(ALL_STAGES, (1, 2, 3)):
        rng = np.random.default_rng([k, d])
        X = unit * rng.integers(0, 3, size=(2 * k, d)).astype(float)
        with case(stages, d=d):
            assert_same_way(X, k, rng, ALL_STAGES[stages], 0.2)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(drawn=cases(n=90, d=5, k=(2, 6)))
def test_sizes_stay_from_k_to_2k_minus_1_and_the_sse_is_that_of_the_labels(drawn):
    (X, rng), n, k, seed = drawn.make(), drawn.n, drawn.k, drawn.seed
    partition = RunningPartition(X, some_labels(rng, n, k), k)
    neighbors = neighbors_of(X, int(rng.integers(1, 20)))
    annealer = Annealer(partition, neighbors, shuffled(rng, n), seed=seed)
    for exponent in rng.uniform(-6, 6, size=6):
        annealer.run(
            rng.integers(n, size=rng.integers(60)).astype(np.int32),
            int(rng.integers(60)),
            temperature=max(10**exponent * X.var(), 1e-300),
            first_for_jumps=int(rng.integers(n)),
            chance_of_jump=rng.random(),
        )
        labels = partition.labels()
        sizes = np.bincount(labels)
        assert k <= sizes.min() <= sizes.max() < 2 * k
        assert len(sizes) == partition.n_groups
        # Denormal squares are off by one unit each.
        expected = pytest.approx(total_sse(X, labels), rel=1e-9, abs=5e-324 * X.size)
        assert partition.measure() == expected


# A call of `measure` computes all means anew. If they had drifted in between, a run that calls it
# would continue differently.
@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.05, 1.0, 1e6])
def test_running_means_do_not_drift_in_a_million_steps(temperature):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    labels, neighbors, records = some_labels(rng, 150, 4), neighbors_of(X, 15), in_order(150)
    unseen, seen = (RunningPartition(X, labels, 4) for _ in range(2))
    Annealer(unseen, neighbors, records, seed=1).run(records, 7000, **stage_at(temperature))
    annealer = Annealer(seen, neighbors, records, seed=1)
    for _ in range(1000):
        annealer.run(records, 7, **stage_at(temperature))
        seen.measure()
    assert np.array_equal(unseen.labels(), seen.labels())
    assert unseen.measure() == pytest.approx(total_sse(X, unseen.labels()), rel=1e-12)


def annealed(X, labels, k, seed, n_runs=1, n_passes=30):
    partition = RunningPartition(X, labels, k)
    annealer = Annealer(partition, neighbors_of(X, 15), in_order(len(X)), seed=seed)
    for _ in range(n_runs):
        annealer.run(in_order(len(X)), n_passes, **stage_at(0.1))
    return partition.labels()


def test_equal_seeds_give_equal_partitions_and_others_do_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    labels = some_labels(rng, 200, 3)
    results = [tuple(canonical(annealed(X, labels, 3, seed))) for seed in (7, 7, 8, 2**64 - 1)]
    assert results[0] == results[1]
    assert len(set(results)) == 3


def test_the_number_of_runs_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    labels = some_labels(rng, 60, 3)
    one, many = (annealed(X, labels, 3, 0, n_runs, 200 // n_runs) for n_runs in (1, 100))
    assert np.array_equal(one, many)


def test_the_sse_only_falls_at_a_very_low_temperature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    partition = RunningPartition(X, some_labels(rng, 100, 4), 4)
    annealer = Annealer(partition, neighbors_of(X, 15), in_order(100), seed=0)
    sse = [partition.measure()]
    for _ in range(100):
        annealer.run(in_order(100), 2, **stage_at(1e-12))
        sse.append(partition.measure())
    assert np.all(np.diff(sse) <= 1e-12 * sse[0])
    assert sse[-1] < 0.5 * sse[0]


def test_steps_begin_only_with_the_records_given_and_lead_to_neighbors():
    # Two clusters, and no neighbors in the other one: what is not visited stays as it is.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), 100 + rng.normal(size=(40, 2))])
    labels = np.concatenate([some_labels(rng, 40, 4), 10 + some_labels(rng, 40, 4)])
    partition = RunningPartition(X, labels, 4)
    annealer = Annealer(partition, neighbors_of(X, 12), in_order(80), seed=0)
    annealer.run(in_order(40), 100, **stage_at(0.3, chance_of_jump=0.0))
    after = canonical(partition.labels())
    assert np.array_equal(canonical(after[40:]), canonical(labels[40:]))
    assert not np.array_equal(canonical(after[:40]), canonical(labels[:40]))
    assert not set(after[:40]) & set(after[40:])


def test_long_jumps_lead_to_the_records_of_large_scale():
    # No record has a neighbor in another group: only jumps lead there.
    X = np.arange(12.0)[:, None]
    labels = np.arange(12) // 2
    neighbors = (in_order(12) ^ 1)[:, None].copy()
    partition = RunningPartition(X, labels, 2)
    annealer = Annealer(partition, neighbors, in_order(12)[::-1].copy(), seed=0)
    annealer.run(np.array([11], dtype=np.int32), 50, **stage_at(1e9, 8, chance_of_jump=1.0))
    moved = partition.labels() != labels
    # The last four in the order of scales are 3, 2, 1 and 0.
    assert moved[:4].any()
    assert not moved[4:10].any()


# Where every partner is equally likely, and records are visited at random, each step is as likely
# as its reverse. (Among neighbors, the nearest are drawn more often: position i of m with
# probability sqrt((i + 1) / m) - sqrt(i / m). It is the same for 1 + 3 + 5 + ... positions.)
@pytest.mark.slow
@in_one_case("temperature", [3.0, 10.0, 1e9])
@in_one_case("n", [4, 5])
def test_partitions_are_visited_as_often_as_the_temperature_says(n, temperature):
    # Four records in pairs have three partitions, between which swaps lead; five have ten, between
    # which swaps and shifts lead.
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [3.0, 3.5], [1.0, -2.0]])[:n]
    others = [[other for other in range(n) if other != record] for record in range(n)]
    neighbors = np.repeat(others, [1, 3, 5, 7][: n - 1], axis=1).astype(np.int32)
    partition = RunningPartition(X, np.arange(n) % 2, 2)
    annealer = Annealer(partition, neighbors, in_order(n), seed=0)
    rng = np.random.default_rng(0)
    visits = {}
    for records in rng.integers(n, size=(5_000, 20), dtype=np.int32):
        annealer.run(records, **stage_at(temperature, chance_of_jump=0.0))
        labels = partition.labels().tolist()
        labels = tuple(map(labels.index, labels))  # equal for equal partitions
        visits[labels] = visits.get(labels, 0) + 1
    assert len(visits) == {4: 3, 5: 10}[n]
    expected = np.exp([-total_sse(X, np.array(labels)) / temperature for labels in visits])
    shares = np.array(list(visits.values())) / 5_000
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.02)


def test_groups_of_one_have_no_partners():
    X = np.arange(3.0)[:, None]
    partition = RunningPartition(X, np.arange(3), 1)
    with pytest.raises(ValueError, match=r"^k=1\b"):
        Annealer(partition, neighbors_of(X, 2), in_order(3), seed=0)


@in_one_case(("n_rows", "n_neighbors", "n_by_scale"), [(5, 2, 6), (7, 2, 6), (6, 0, 6), (6, 2, 5)])
def test_every_record_needs_neighbors_and_a_place(n_rows, n_neighbors, n_by_scale):
    partition = RunningPartition(np.arange(6.0)[:, None], np.arange(6) % 2, 3)
    neighbors = np.zeros((n_rows, n_neighbors), dtype=np.int32)
    with pytest.raises(ValueError, match="6 records"):
        Annealer(partition, neighbors, in_order(n_by_scale), seed=0)


@in_one_case("first", [-1, 6])
def test_long_jumps_need_a_record_to_lead_to(first):
    X = np.arange(6.0)[:, None]
    annealer = Annealer(
        RunningPartition(X, np.arange(6) % 2, 3), neighbors_of(X, 2), in_order(6), seed=0
    )
    with pytest.raises(ValueError, match=f"^first_for_jumps={first}"):
        annealer.run(in_order(6), **stage_at(1.0, first))


INTERRUPTED = """
import _thread, threading
import numpy as np
from sk_microagg._kernels import Annealer, RunningPartition

X = np.random.default_rng(0).normal(size=(100, 2))
partition = RunningPartition(X, np.arange(100) // 4, 4)
records = np.arange(100, dtype=np.int32)
annealer = Annealer(partition, np.tile(records, (100, 1)), records, seed=0)
stage = dict(temperature=1.0, first_for_jumps=0, chance_of_jump=0.1)
try:
    threading.Timer(0.1, _thread.interrupt_main).start()
    annealer.run(records, 10**12, **stage)
except KeyboardInterrupt:
    sizes = np.bincount(partition.labels())
    print(4 <= sizes.min() <= sizes.max() < 8)
"""


# In a separate process: an interrupt that comes too late would stop the tests.
@pytest.mark.slow
def test_a_long_run_can_be_interrupted_and_leaves_a_partition():
    # Uninterrupted, it would take months.
    done = subprocess.run(
        [sys.executable, "-P", "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "True\n"


@settings(deadline=None)
@given(
    scales=st.lists(st.integers(1, 6), min_size=1, max_size=40),
    ends=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    first_other=st.integers(0, 45),
    step=st.integers(1, 45),
)
def test_records_to_visit_are_those_in_the_range_and_some_others(scales, ends, first_other, step):
    lowest, highest = sorted(ends)
    others = range(first_other, len(scales), step)
    expected = [i for i, scale in enumerate(scales) if lowest <= scale <= highest or i in others]
    scales = np.array(scales, dtype=np.float64)
    visited = records_to_visit(scales, lowest, highest, first_other=first_other, step=step)
    assert visited.dtype == np.int32
    assert visited.tolist() == expected


@in_one_case(("first_other", "step"), [(-1, 1), (0, 0)])
def test_others_to_visit_must_be_records(first_other, step):
    with pytest.raises(ValueError, match=f"^first_other={first_other} and step={step} "):
        records_to_visit(np.ones(3), 0.0, 1.0, first_other=first_other, step=step)
