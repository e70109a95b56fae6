"""Kernels of records with codes do what the same kernels do with one column per coordinate."""

from dataclasses import replace

import numpy as np
import pytest
from marks import in_one_case
from oracles.coded import as_array, make_points
from oracles.partition import group_sse, groups_of, squared_distances, total_sse
from oracles.pool import ScanPool
from oracles.refiners import power_assign

from sk_microagg._kernels import (
    Annealer,
    CodedPool,
    Descent,
    ExchangeGraph,
    Partition,
    Pool,
    RunningPartition,
)
from sk_microagg._utils import _coded_points
from sk_microagg._utils._coded_points import if_few_codes
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import distinct_records, group_means, twins_of
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Annealing
from sk_microagg.refiners._exchange import exchange


def some_points(seed, n, **options):
    """Points of whole numbers, or of any, with some duplicates."""
    rng = np.random.default_rng(seed)
    points = make_points(rng, n, **options)
    if seed % 2:
        points = replace(points, numbers=rng.normal(size=points.numbers.shape))
    return points[rng.integers(n, size=n)] if seed % 3 == 0 else points


def some_labels(rng, n, k):
    return rng.permutation(np.arange(n) % rng.integers(-(-n // (2 * k - 1)), n // k + 1))


def shares_of(points, rows):
    """What pools take for the mean of some records."""
    return np.mean([points[row] for row in rows], axis=0)


# The pool


@in_one_case("seed", range(12))
@in_one_case("n", [1, 7, 60])
def test_a_pool_answers_as_a_plain_scan_does(seed, n):
    points, rng = some_points(2 * seed, n), np.random.default_rng(seed)
    pool, scan, X = CodedPool(points), ScanPool(as_array(points)), as_array(points)
    while pool.size:
        record = int(rng.choice(scan.records))
        m = int(rng.integers(1, min(pool.size, 9) + 1))
        assert pool.size == scan.size
        assert pool.farthest(points[record]) == scan.farthest(X[record])
        assert pool.nearest(points[record], m).tolist() == scan.nearest(X[record], m).tolist()
        around = pool.around(record, m)
        assert around.tolist() == scan.around(record, m).tolist()
        shares = pool.centroid()[points.numbers.shape[1] : -1]
        expected = scan.centroid()
        assert pool.centroid()[: points.numbers.shape[1]] == pytest.approx(expected[points.places])
        expected[points.places] = 0.0
        assert shares * np.sqrt(points.squares[:-1]) == pytest.approx(expected)
        pool.remove(around)
        scan.remove(np.sort(around))


@in_one_case("seed", range(12))
@in_one_case("n", [1, 9, 60])
def test_codes_beside_columns_change_no_answer(seed, n):
    points, rng = some_points(seed, n), np.random.default_rng(seed)
    X = as_array(points)
    pool, scan, same = Pool(X), ScanPool(X), Pool(X)
    pool._use_codes(points)
    k = int(rng.integers(1, min(n, 5) + 1))
    while pool.size >= 2 * k:
        groups = pool.take_opposite_groups(k, max(2 * k, pool.size - 2 * k))
        # Each pair of groups asks for the farthest from a record and the nearest to two of them.
        assert np.array_equal(groups, same.take_opposite_groups(k, max(2 * k, same.size - 2 * k)))
        scan.remove(np.sort(groups.ravel()))
        if pool.size:
            record, m = int(rng.choice(scan.records)), int(rng.integers(1, pool.size + 1))
            assert pool.around(record, m).tolist() == scan.around(record, m).tolist()
            pool.remove(scan.records[:1])
            same.remove(scan.records[:1])
            scan.remove(scan.records[:1])


def test_a_changed_row_is_measured_by_its_columns():
    points = some_points(1, 30)
    X = as_array(points)
    pool = Pool(X)
    pool._use_codes(points)
    X[3] = X[7]
    pool.refresh(3)
    assert pool.around(7, 2).tolist() == [7, 3]
    pool.remove(np.array([7]))
    with pytest.raises(ValueError, match="not in the pool"):
        pool._use_codes(points)


@pytest.fixture
def few_records(monkeypatch):
    monkeypatch.setattr(_coded_points, "MANY_RECORDS", 1)


@pytest.mark.usefixtures("few_records")
@in_one_case("seed", range(4))
def test_categories_of_few_values_become_codes(seed):
    points = some_points(seed, 80, d=seed % 2, n_values=(16, 24))
    X = as_array(points)
    X = X[:, np.random.default_rng(seed).permutation(X.shape[1])]
    X[:, 0] *= -1.0
    found = if_few_codes(X)
    assert np.array_equal(np.abs(as_array(found)), np.abs(X))
    # Values of two categories may share a slot by chance, so that more are needed.
    assert found.codes.shape[1] in (2, 3, 4)
    assert found.numbers.shape[1] == 1  # Of zeros, if there are no numbers.
    labels = MDAV().build(X, 4)
    for steps in (1, 3000):
        refined = Annealing(max_iter=steps).refine(X, labels, 4, random_state=0)
        assert total_sse(X, refined) <= total_sse(X, labels)
        assert np.bincount(refined).min() >= 4


@pytest.mark.usefixtures("few_records")
def test_other_columns_stay_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X = as_array(some_points(1, 80, d=0, n_values=(9, 17)))
    assert if_few_codes(X) is not None
    assert if_few_codes(X[:, :12]) is None  # Too many slots for so few columns.
    assert if_few_codes(np.where(X, rng.normal(size=X.shape), 0.0)) is None  # Numbers.
    assert if_few_codes(X + 1.0) is None  # Nothing is 0.
    assert if_few_codes(rng.choice([0.0, 2.0], p=[0.9, 0.1], size=X.shape)) is None  # No slots.
    monkeypatch.setattr(_coded_points, "MANY_RECORDS", 81)
    assert if_few_codes(X) is None


@in_one_case("seed", range(4))
def test_near_records_are_the_nearest(seed):
    points = some_points(seed, 80)
    X = as_array(points)
    near = CodedPool(points).near_each(6)
    for record, found in enumerate(near):
        distances = squared_distances(X, X[record])
        assert record not in found
        assert len(set(found)) == 6
        others = np.delete(distances, record)
        assert distances[found] == pytest.approx(np.sort(others)[:6])
    assert sorted(CodedPool(points).in_order()) == list(range(80))


def test_near_records_after_the_deadline_are_those_next_in_order():
    points = some_points(1, 3000)
    near = CodedPool(points).near_each(4, deadline=Deadline(0.0))
    assert near.shape == (3000, 4)
    assert all(record not in found for record, found in enumerate(near))


@in_one_case("wrong", ["record", "size", "point", "gone"])
def test_a_pool_rejects_what_it_does_not_hold(wrong):
    pool = CodedPool(some_points(1, 5))
    pool.remove(np.array([2]))
    asked = {
        "record": lambda: pool.around(2, 1),
        "size": lambda: pool.nearest(pool.centroid(), 5),
        "point": lambda: pool.farthest(np.zeros(3)),
        "gone": lambda: pool.near_each(2),
    }
    with pytest.raises(ValueError, match=r"not in the pool|cannot give|A point of"):
        asked[wrong]()


# The tree


@in_one_case("seed", range(6))
@in_one_case("weighted", [False, True])
def test_the_nearest_centroid_is_that_of_all_coordinates(seed, weighted):
    rng = np.random.default_rng(seed)
    points = some_points(seed, 700 if seed == 5 else 90)
    labels = some_labels(rng, len(points), 3)
    centroids = group_means(points, labels)
    X = as_array(points)
    means = np.array([X[members].mean(axis=0) for members in groups_of(labels)])
    assert centroids.toarray() == pytest.approx(means, abs=1e-12)
    weights = rng.normal(size=len(means)) if weighted else np.zeros(len(means))
    found = points.tree(centroids, weights).nearest_each(points.numbers, points.codes)
    keys = np.array([squared_distances(X, mean) for mean in means]).T - weights
    assert keys[np.arange(len(X)), found] == pytest.approx(keys.min(axis=1))


# Partitions


@in_one_case("seed", range(6))
@in_one_case("k", [1, 2, 5])
def test_a_partition_measures_what_the_coordinates_say(seed, k):
    rng = np.random.default_rng(seed)
    points = some_points(seed, 40)
    X, labels = as_array(points), some_labels(rng, 40, k)
    partition = Partition(points, labels, k)
    assert partition.sse == pytest.approx(total_sse(X, labels), abs=1e-12)
    for record in rng.integers(40, size=9):
        partition.move(record, rng.choice(partition.groups()))
    members = [partition.members_of(group) for group in partition.groups()]
    expected = [group_sse(X, own) for own in members]
    assert partition.all_costs() == pytest.approx(expected, abs=1e-12)
    means = np.array([X[own].mean(axis=0) for own in members])
    for number, group in enumerate(partition.groups()[: len(members) if len(members) > 1 else 0]):
        distances = squared_distances(np.delete(means, number, axis=0), means[number])
        nearest = np.flatnonzero(partition.groups() == partition.nearest_group(group))[0]
        assert squared_distances(means[nearest], means[number]) == pytest.approx(distances.min())


def test_records_that_share_all_codes_have_no_loss_in_these():
    points = some_points(0, 12)
    points = replace(points, codes=np.repeat(points.codes[:3], 4, axis=0))
    points = replace(points, numbers=np.zeros_like(points.numbers))
    labels = np.repeat(np.arange(3), 4)
    assert Partition(points, labels, 4).sse == 0.0
    assert RunningPartition(points, labels, 4).measure() == 0.0


@in_one_case("seed", range(4))
@in_one_case("n_values", [(5, 9), (900, 200)])  # Of very many, there are no counts by group.
def test_annealing_takes_the_same_steps(seed, n_values):
    rng = np.random.default_rng(seed)
    points = some_points(1, 150, n_values=n_values)
    points = replace(points, numbers=rng.normal(size=(150, 2)))
    X, labels = as_array(points), some_labels(rng, 150, 4)
    near, records = Pool(X).near_each(9), rng.permutation(150).astype(np.int32)
    found = []
    for table in (X, points):
        partition = RunningPartition(table, labels, 4)
        annealer = Annealer(partition, near, records, seed=seed)
        for temperature in (50.0, 5.0, 0.5, 0.05):
            annealer.run(
                records, 40, temperature=temperature, first_for_jumps=0, chance_of_jump=0.1
            )
            # Norms that follow every move are those of the members.
            assert partition.measure() == pytest.approx(total_sse(X, partition.labels()))
        found.append(partition.labels())
    assert np.array_equal(*found)
    assert total_sse(X, found[0]) < 0.8 * total_sse(X, labels)


@in_one_case("seed", range(4))
@in_one_case("listed", [False, True])
def test_a_local_search_makes_the_same_moves(seed, listed):
    rng = np.random.default_rng(seed)
    points = replace(some_points(1, 120), numbers=rng.normal(size=(120, 2)))
    X, labels = as_array(points), some_labels(rng, 120, 3)
    near = Pool(X).near_each(9) if listed else None
    found = []
    for table in (X, points):
        partition = Partition(table, labels, 3)
        Descent(partition, neighbors=near).run(partition.groups())
        found.append(partition.labels())
    assert np.array_equal(*found)


# Exchanges and weights


@in_one_case("seed", range(4))
@in_one_case("k", [2, 4])
def test_exchanges_end_in_a_power_diagram(seed, k):
    points = some_points(2 * seed + 1, 110)
    labels, _, is_diagram = exchange(points, MDAV()._build(points, k), k)
    assert is_diagram
    assert np.bincount(labels).min() >= k
    X = as_array(points)
    graph = ExchangeGraph(Partition(points, labels, k), twins_of(points))
    graph.add_near()
    graph.start()
    assert graph.find_potentials()
    while graph.add_missing():
        assert graph.find_potentials()
    means = np.array([X[members].mean(axis=0) for members in groups_of(labels)])
    assigned = power_assign(X, means, graph.weights())
    alone = twins_of(points) < 0
    assert np.array_equal(assigned[alone], labels[alone])


def test_missing_arcs_lead_to_all_rivals():
    rng = np.random.default_rng(0)
    points = replace(some_points(1, 90), numbers=rng.normal(size=(90, 2)))
    labels = exchange(points, MDAV()._build(points, 3), 3)[0]
    graph = ExchangeGraph(Partition(points, labels, 3), twins_of(points))
    graph.add(np.arange(90), (labels + 1) % (labels.max() + 1))
    graph.start()
    assert graph.find_potentials()
    before = set(walls_between(graph))
    X, groups = as_array(points), groups_of(labels)
    keys = np.array([squared_distances(X, X[own].mean(axis=0)) for own in groups]).T
    keys -= graph.weights()
    rivals = np.argwhere(keys < (keys[np.arange(90), labels] + 0.99 * graph.margin)[:, None])
    expected = {pair for record, b in rivals for pair in ((labels[record], b), (b, labels[record]))}
    expected = {(a, b) for a, b in expected if a != b} - before
    assert 2 * graph.add_missing() == len(expected) > 0
    walls = walls_between(graph)
    assert set(walls) == before | expected
    # Walls are the least that records of one group cost in the other.
    keys += graph.weights()
    for (a, b), wall in walls.items():
        assert wall == pytest.approx(np.min(keys[groups[a], b] - keys[groups[a], a]))


def walls_between(graph):
    starts, targets, walls = graph.walls()
    sources = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), walls, strict=True))


@in_one_case("n", [1, 5, 9])
def test_the_builder_at_the_smallest_numbers_of_records(n):
    points = some_points(1, n, d=1, n_values=(3,))
    labels = MDAV()._build(points, min(n, 5))
    assert np.bincount(labels).min() >= min(n, 5)


@in_one_case("seed", range(3))
@in_one_case("growth", ["nn", "nc"])
@in_one_case("ending", ["fixed", "classic"])
def test_the_builder_makes_the_groups_of_all_coordinates(seed, growth, ending):
    rng, builder = np.random.default_rng(seed), MDAV(growth, ending)
    points = replace(some_points(1, 100), numbers=rng.normal(size=(100, 2)))
    assert np.array_equal(builder._build(points, 4), builder.build(as_array(points), 4))


def test_equal_records_and_equal_centroids_are_told_apart():
    points = some_points(0, 60, d=1, n_values=(2,), spread=2)
    first, number, _counts = distinct_records(points)
    X = as_array(points)
    assert len(first) == len(np.unique(X, axis=0))
    assert np.array_equal(X[first][number], X)
    labels = np.arange(60) % 20
    means = group_means(points, labels)
    dense = np.array([X[members].mean(axis=0) for members in groups_of(labels)])
    _, dense_numbers = np.unique(dense.round(9), axis=0, return_inverse=True)
    numbers = distinct_records(points.told_apart(means).round(9))[1]
    assert np.array_equal(numbers[:, None] == numbers, dense_numbers[:, None] == dense_numbers)
