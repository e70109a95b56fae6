import numpy as np
import pytest
from example_tables.drawn import cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from marks import case, in_one_case
from oracles.partition import (
    centroid,
    group_sse,
    groups_of,
    labels_of,
    squared_distances,
    total_sse,
)
from oracles.refiners import best_removal, dissolve

from sk_microagg._kernels import Partition


class PlainPartition:
    """What `Partition` promises: members by slot, and everything else from scratch."""

    def __init__(self, X, labels, k):
        self.X, self.k = X, k
        self.groups = groups_of(labels)
        self.groups += [np.arange(0)] * (len(X) // k - len(self.groups))
        self.centroids = np.array([centroid(X, members) for members in self.groups])

    @property
    def numbers(self):
        return [number for number, members in enumerate(self.groups) if len(members)]

    @property
    def n_free(self):
        return len(self.groups) - len(self.numbers)

    @property
    def larger(self):
        return [number for number in self.numbers if len(self.groups[number]) > self.k]

    def group(self, record):
        return next(g for g, members in enumerate(self.groups) if record in members)

    def put(self, number, members):
        self.groups[number] = np.sort(members).astype(int)
        self.centroids[number] = centroid(self.X, self.groups[number])

    def move(self, record, number):
        self.put(source := self.group(record), self.groups[source][self.groups[source] != record])
        self.put(number, np.append(self.groups[number], record))

    def swap(self, one, other):
        source, target = self.group(one), self.group(other)
        self.move(one, target)
        self.move(other, source)

    def create(self, records):
        number = next(g for g, members in enumerate(self.groups) if len(members) == 0)
        for record in records:
            self.move(record, number)
        return number

    def split(self, number, parts):
        members = self.groups[number]
        return [number] + [self.create(members[parts == p]) for p in range(1, max(parts) + 1)]

    def dissolve(self, number, full):
        full = np.inf if full < 0 else full
        after = dissolve(self.X, self.groups, self.centroids, number, full)
        if after is None:
            return []
        taken = set(range(len(after))) - {number}
        touched = sorted(g for g in taken if len(after[g]) > len(self.groups[g]))
        for g in [number, *touched]:
            self.put(g, after[g])
        return touched

    def distill(self, first):
        left = {record for number in self.larger for record in self.excess(number)} - {first}
        made, mean = [first], self.X[first].copy()
        while len(made) < self.k:
            by_distance = {r: squared_distances(self.X[r], mean) for r in sorted(left)}
            made.append(min(by_distance, key=by_distance.get))
            left.remove(made[-1])
            mean += (self.X[made[-1]] - mean) / len(made)
        robbed = sorted({self.group(record) for record in made})
        return self.create(made), robbed

    def excess(self, number):
        members = self.groups[number]
        far_to_near = np.argsort(
            -squared_distances(self.X[members], self.centroids[number]), kind="stable"
        )
        return members[far_to_near[: max(len(members) - self.k, 0)]].tolist()

    def nearest(self, point, m):
        return np.argsort(squared_distances(self.centroids, point), kind="stable")[:m].tolist()


def some_labels(rng, n, k):
    n_groups = rng.integers(1, n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


def change(partition, plain, rng):
    """The same random change of both."""
    X, k, number = plain.X, plain.k, int(rng.choice(plain.numbers))
    one, other = rng.integers(len(X), size=2).tolist()
    kind = rng.choice(["move", "swap", "create", "split", "dissolve", "distill"])
    if kind == "move":
        arguments = [one, number]
    elif kind == "swap":
        arguments = [one, other]
    elif kind == "create" and plain.n_free:
        arguments = [rng.permutation(len(X))[: rng.integers(1, 2 * k + 1)]]
    elif kind == "split":
        n_parts = min(rng.integers(1, plain.n_free + 2), len(plain.groups[number]))
        arguments = [number, rng.permutation(np.arange(len(plain.groups[number])) % n_parts)]
    elif kind == "dissolve":
        arguments = [number, int(rng.choice([-1, 1, k, 2 * k]))]
    elif kind == "distill" and len(X) - k * len(plain.numbers) >= k:
        arguments = [rng.choice(plain.excess(rng.choice(plain.larger)))]
    else:
        return
    assert getattr(partition, kind)(*arguments) == getattr(plain, kind)(*arguments)


def assert_same(partition, plain, rng):
    X, numbers = plain.X, plain.numbers
    labels = labels_of(plain.groups)
    assert partition.n_groups == len(numbers)
    assert partition.groups().tolist() == numbers
    assert partition.labels().tolist() == labels.tolist()
    assert partition.sse == pytest.approx(total_sse(X, labels), rel=1e-9, abs=0)
    assert sorted(map(partition.larger_group, range(partition.n_larger))) == plain.larger
    assert np.array_equal(partition.all_centroids(), plain.centroids[numbers])
    assert partition.all_costs().tolist() == [group_sse(X, plain.groups[g]) for g in numbers]
    for number, members in enumerate(plain.groups):
        assert partition.size(number) == len(members)
    for number in numbers:
        members = plain.groups[number]
        assert partition.members_of(number).tolist() == members.tolist()
        assert {partition.group(record) for record in members} == {number}
        assert np.array_equal(partition.centroid(number), plain.centroids[number])
        assert partition.cost_of(number) == group_sse(X, members)
        assert partition.excess(number).tolist() == plain.excess(number)
        if len(members) > 1 < len(numbers):
            gain, record, target = best_removal(X, plain.groups, plain.centroids, number)
            assert partition.best_departure(number) == (record, target, gain)
    assert_same_nearest(partition, plain, rng)


def assert_same_nearest(partition, plain, rng):
    spread = max(plain.X.max(), -plain.X.min())
    m = int(rng.integers(0, min(partition.n_groups, 12) + 1))
    points = [rng.normal(size=plain.X.shape[1]) * spread, rng.choice(plain.X)]
    points += [plain.centroids[rng.choice(plain.numbers)]]
    for point in points:
        assert partition.nearest(point, m).tolist() == plain.nearest(point, m)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(drawn=cases(n=30, k=(1, 5)))
def test_equals_a_partition_from_scratch_after_any_changes(drawn):
    (X, rng), k = drawn.make(), drawn.k
    labels = some_labels(rng, drawn.n, k)
    partition, plain = Partition(X, labels, k), PlainPartition(X, labels, k)
    assert_same(partition, plain, rng)
    for _ in range(12):
        # Changes come singly or several at a time, with no query in between.
        for _ in range(rng.integers(1, 4)):
            change(partition, plain, rng)
        assert_same(partition, plain, rng)


@settings(deadline=None, max_examples=30)
@given(drawn=cases(n=30, k=(1, 5)))
def test_rollback_returns_to_the_mark(drawn):
    (X, rng), k = drawn.make(), drawn.k
    labels = some_labels(rng, drawn.n, k)
    partition, plain = Partition(X, labels, k), PlainPartition(X, labels, k)
    for _ in range(4):
        change(partition, plain, rng)
    partition.mark()
    groups, sse = list(plain.groups), partition.sse
    # The mark stays, so that rollback works again.
    for _ in range(3):
        for _ in range(rng.integers(1, 8)):
            change(partition, plain, rng)
            assert partition.n_groups == len(plain.numbers)
        partition.rollback()
        for number, members in enumerate(groups):
            plain.put(number, members)
        # Groups are the same to the last bit; the sum of all may differ in its last digit.
        assert partition.sse == pytest.approx(sse, rel=1e-12, abs=0)
        assert_same(partition, plain, rng)


def test_rollback_from_far_worse_partitions_gives_the_same_sse():
    rng = np.random.default_rng(0)
    X = 1e-3 * rng.normal(size=(200, 2))
    X[:40] = 1e6 * rng.normal(size=(10, 2)).repeat(4, axis=0)
    partition = Partition(X, np.arange(200) // 4, 4)
    partition.mark()
    sse = partition.sse
    for _ in range(300):
        for one, other in rng.integers(200, size=(20, 2)).tolist():
            partition.swap(one, other)
            _ = partition.sse
        partition.rollback()
        assert partition.sse == pytest.approx(sse, rel=1e-12, abs=0)


@pytest.mark.slow
def test_nearest_among_hundreds_of_groups_that_come_go_and_move():
    # Enough for the tree to prune, and on some tables to be built anew after thousands of changes.
    for table, make in TABLES.items():
        rng = np.random.default_rng(0)
        n_steps = 2000 if table == "normal" else 100
        with case(table):
            assert_same_nearest_after(n_steps, make(rng, 2100, 2), rng)


def assert_same_nearest_after(n_steps, X, rng):
    labels = np.arange(2100) % 650
    partition, plain = Partition(X, labels, 3), PlainPartition(X, labels, 3)
    group_of = labels.copy()
    for step in range(n_steps):
        one, other, *others = rng.choice(2100, size=4, replace=False)
        if step % 16 == 0:
            members = plain.groups[group_of[one]]
            assert partition.dissolve(group_of[one]) == plain.dissolve(group_of[one], -1)
            group_of[members] = [partition.group(record) for record in members]
        elif step % 8 == 4 and plain.n_free:
            number = partition.create(np.array([one, other, *others]))
            move(plain, group_of, [one, other, *others], number)
        elif step % 8 == 1:
            partition.move(one, group_of[other])
            move(plain, group_of, [one], group_of[other])
        else:
            partition.swap(one, other)
            target, source = group_of[[other, one]]
            move(plain, group_of, [one], target)
            move(plain, group_of, [other], source)
        if step % 3 == 0:
            assert_same_nearest(partition, plain, rng)
        _ = partition.sse  # All dirty groups are updated.
    assert 600 <= partition.n_groups <= 700
    assert partition.labels().tolist() == labels_of(plain.groups).tolist()


def move(plain, group_of, records, number):
    for record in records:
        source = group_of[record]
        plain.put(source, plain.groups[source][plain.groups[source] != record])
        plain.put(number, np.append(plain.groups[number], record))
        group_of[record] = number


@pytest.mark.slow
@in_one_case("n_groups", [20, 200])
def test_distill_takes_the_nearest_excess_record_each_time(n_groups):
    # A few larger groups are scanned, many are searched through the tree.
    for table, make in TABLES.items():
        rng = np.random.default_rng(n_groups)
        X = make(rng, 6 * n_groups, 3)
        labels = rng.permutation(np.arange(6 * n_groups) % n_groups)
        partition, plain = Partition(X, labels, 4), PlainPartition(X, labels, 4)
        for _ in range(6):
            first = rng.choice(plain.excess(rng.choice(plain.larger)))
            assert partition.distill(first) == plain.distill(first), table
        assert partition.labels().tolist() == labels_of(plain.groups).tolist(), table


@pytest.mark.slow
def test_sse_is_right_after_a_million_moves_of_small_and_huge_records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * 10 ** rng.uniform(-3, 6, size=(300, 1))
    partition = Partition(X, np.arange(300) // 3, 3)
    for _ in range(10):
        # A swap is two moves.
        for one, other in rng.integers(300, size=(50_000, 2)).tolist():
            partition.swap(one, other)
            _ = partition.sse
        expected = total_sse(X, partition.labels())
        assert partition.sse == pytest.approx(expected, rel=1e-9, abs=0)


def test_sse_is_right_when_huge_records_are_back_among_themselves():
    # From 1e30 back to 1 at once: the rounding error of the one exceeds the other.
    X = np.concatenate([np.arange(12.0), np.full(4, 1e15), np.full(4, 3e15)])[:, None]
    partition = Partition(X, np.arange(20) // 4, 4)
    sse = partition.sse
    rng = np.random.default_rng(0)
    for _ in range(200):
        swaps = rng.integers(20, size=(6, 2)).tolist()
        for one, other in swaps + swaps[::-1]:
            partition.swap(one, other)
            assert partition.sse > 0
        assert partition.sse == pytest.approx(sse, rel=1e-9, abs=0)


def test_the_only_group_cannot_be_left_or_dissolved():
    partition = Partition(np.arange(4.0)[:, None], np.zeros(4, dtype=int), 2)
    assert partition.best_departure(0) == (-1, -1, -np.inf)
    assert partition.dissolve(0) == []
    assert partition.labels().tolist() == [0, 0, 0, 0]
    assert partition.sse == 5


def two_groups_of_three():
    return Partition(np.arange(6.0)[:, None], np.repeat([0, 1], 3), 3)


@in_one_case(
    ("ask", "message"),
    [
        (lambda p: p.move(6, 0), r" record 6\b"),
        (lambda p: p.move(-1, 0), r" record -1\b"),
        (lambda p: p.move(0, 2), r" group 2\b"),
        (lambda p: p.move(0, -1), r" group -1\b"),
        (lambda p: p.swap(0, 6), r" record 6\b"),
        (lambda p: p.swap(-1, 0), r" record -1\b"),
        (lambda p: p.create(np.array([0, 9])), r" record 9\b"),
        (lambda p: p.create(np.array([0])), r"group of 1\b"),
        (lambda p: p.create(np.arange(0)), r"group of 0\b"),
        (lambda p: p.split(2, np.zeros(3, dtype=int)), r" group 2\b"),
        (lambda p: p.split(0, np.zeros(2, dtype=int)), r"^2 parts for 3 records\.$"),
        (lambda p: p.dissolve(2), r" group 2\b"),
        (lambda p: p.distill(6), r" record 6\b"),
        (lambda p: p.distill(0), r"k=3\b"),
        (lambda p: p.rollback(), r"^rollback"),
        (lambda p: p.group(6), r" record 6\b"),
        (lambda p: p.size(2), r"^group=2\b"),
        (lambda p: p.members_of(-1), r" group -1\b"),
        (lambda p: p.centroid(2), r" group 2\b"),
        (lambda p: p.cost_of(2), r" group 2\b"),
        (lambda p: p.excess(2), r" group 2\b"),
        (lambda p: p.larger_group(0), r"^place=0\b"),
        (lambda p: p.best_departure(2), r" group 2\b"),
        (lambda p: p.nearest(np.zeros(2), 1), r"^A point of 2 columns, but X has 1\.$"),
        (lambda p: p.nearest(np.zeros(1), 3), r"^m=3\b"),
    ],
)
def test_refused_queries_and_changes_change_nothing(ask, message):
    partition = two_groups_of_three()
    with pytest.raises(ValueError, match=message):
        ask(partition)
    assert partition.labels().tolist() == [0, 0, 0, 1, 1, 1]
    assert partition.sse == 4


def test_a_group_of_one_cannot_be_left():
    partition = Partition(np.arange(3.0)[:, None], np.array([0, 1, 1]), 1)
    with pytest.raises(ValueError, match=r"^group=0\b"):
        partition.best_departure(0)


@in_one_case(
    ("labels", "k", "message"),
    [
        ([0, 0, 1], 0, r"^k=0\b"),
        ([0, 0], 1, r"^2 labels for 3 records\.$"),
        ([0, 0, 2], 1, r"^Labels"),
    ],
)
def test_invalid_labels_are_refused(labels, k, message):
    with pytest.raises(ValueError, match=message):
        Partition(np.zeros((3, 1)), np.array(labels), k)
