import itertools
import math

import numpy as np
import pytest
from example_tables.mixed import KINDS, SMALL, some_case
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles import generalization as oracle
from oracles.generalization import PlainPartition
from oracles.partition import canonical

from sk_microagg._kernels import CenterIndex, RangeColumns, RangeDescent, RangePartition, RangePool
from sk_microagg._utils._deadline import Deadline
from sk_microagg.generalization._mixed_table import MixedTable
from sk_microagg.tables import Hierarchy

seeds = st.integers(0, 2**32 - 1)
few_columns = st.lists(st.sampled_from([*SMALL]), min_size=1, max_size=4)
# Columns with more leaves than the kernel tabulates, alone and together with small ones.
LARGE_TABLES = [
    ["many numbers", "large tree"],
    ["many numbers"],
    ["many numbers", "two outliers"],
    ["large tree", "integers"],
]
every_distance = pytest.mark.parametrize(
    ("distance", "c"), [("ncp", "own"), ("entropy", "own"), ("entropy", 0.3)]
)


def some_center(rng, case):
    """The center of some records: for the oracle, and its ends for the kernel."""
    rows = rng.choice(case.n, size=rng.integers(1, min(case.n, 4) + 1), replace=False)
    center = oracle.center(case.plain, [case.records[row] for row in rows])
    return center, case.lo[rows].min(axis=0), case.hi[rows].max(axis=0)


def some_labels(rng, n, k):
    """Groups of k to 2k - 1 records."""
    n_groups = rng.integers(-(-n // (2 * k - 1)), n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


# Columns


@pytest.mark.slow
@in_one_case("kind", KINDS)
@in_one_case("c", ["own", 0.0, 0.3])
def test_a_range_loses_what_the_lowest_node_above_it_loses(kind, c):
    rng = np.random.default_rng(0)
    case = some_case(rng, 360, [kind], c)
    column = case.plain[0]
    n_leaves = len(column.leaves)
    ranges = [(lo, hi) for lo in range(n_leaves) for hi in range(lo, n_leaves)] + [(0, n_leaves)]
    for place in rng.permutation(len(ranges))[:2000]:
        lo, hi = ranges[place]
        node = column.covering(lo, hi)
        assert case.columns.loss_of(0, lo, hi) == column.loss(node)
        assert case.columns.info_of(0, lo, hi) == (column.info(node), column.content(node))


@in_one_case("kind", KINDS)
def test_no_range_loses_less_than_one_within_it(kind):
    rng = np.random.default_rng(1)
    columns, n_leaves = (case := some_case(rng, 360, [kind])).columns, len(case.plain[0].leaves)
    for a, b, c, d in np.sort(rng.integers(0, n_leaves + 1, size=(2000, 4))).tolist():
        assert columns.loss_of(0, b, c) <= columns.loss_of(0, a, d)


def test_losses_and_information_worked_out_by_hand():
    X = np.array([[30, "a"], [34, "a"], [39, "b"], [30, None]], dtype=object)
    table = MixedTable(X, None)
    domains = table.domains(table.hierarchies({1: {"A": ["a", "b"], "C": ["c", "d", "e"]}}))
    columns = RangeColumns(domains, [1.0, 3.0], constant=0.1)
    assert columns.loss_of(0, 0, 0) == 0
    assert columns.loss_of(0, 0, 1) == pytest.approx(5 / 10)
    assert columns.loss_of(0, 0, 2) == columns.loss_of(0, 0, 3) == 1
    assert [columns.loss_of(1, 0, hi) for hi in (0, 1, 2, 5)] == pytest.approx([0, 3 * 2 / 5, 3, 3])
    # 30 twice of four numbers and 34 once; "a" twice of three letters and "b" once.
    assert columns.info_of(0, 0, 1) == pytest.approx((math.log(2), math.log(2) + 0.1))
    entropy = math.log(3) - 2 / 3 * math.log(2)
    assert columns.info_of(1, 0, 1) == pytest.approx((entropy, entropy + 0.1))
    # Three records that lose [30, 39] and "A", instead of two that lose [30, 34] and "a".
    lo, hi = table.encode(domains)
    n_known = np.array([[2, 2]], dtype=np.int32)
    costs = columns.costs(lo[:1], hi[1:2], n_known, np.array([2]), lo[2], hi[2])
    assert costs == pytest.approx([(3 * 1 - 2 * 1 / 2) + 3 * 3 * 2 / 5])


@pytest.mark.slow
@in_one_case(
    ("distance", "c"), [("ncp", "own"), ("entropy", "own"), ("entropy", 0.3), ("entropy", 0.0)]
)
@in_one_case("kinds", [*LARGE_TABLES, ["decimals", "deep"], [*SMALL]])
def test_what_a_record_costs_groups(kinds, distance, c):
    rng = np.random.default_rng(0)
    case = some_case(rng, 360, kinds, c)
    centers, low, high = zip(*[some_center(rng, case) for _ in range(20)], strict=True)
    n_known = rng.integers(0, 9, size=(20, len(kinds)), dtype=np.int32)
    groups = np.array(low), np.array(high), n_known, rng.integers(1, 9, size=20)
    for row in rng.integers(360, size=10):
        record = case.lo[row], case.hi[row]
        costs = case.columns.costs(*groups, *record, by_entropy=distance == "entropy")
        assert costs.tolist() == [
            oracle.DISTANCES[distance](case.plain, case.records[row], *group)
            for group in zip(centers, *groups[2:], strict=True)
        ]


# The pool


def assert_same_as_a_scan_until_empty(rng, case, distance):
    pool = RangePool(case.columns, case.lo, case.hi, distance=distance)
    left = set(range(case.n))
    while left:
        center, low, high = some_center(rng, case)
        size = int(rng.integers(1, 6))
        n_known = rng.integers(0, size, size=len(low), endpoint=True, dtype=np.int32)
        near = oracle.nearest(case.plain, case.records, left, center, n_known, size, distance)
        assert pool.nearest(low, high, n_known, size) == near
        assert pool.farthest(low, high) == oracle.farthest(case.plain, case.records, left, center)
        for row in {near, *rng.choice(sorted(left), size=1 + len(left) // 20).tolist()}:
            pool.remove(row)
            left.remove(row)
        assert pool.size == len(left)
        assert [row for row in range(-1, case.n + 1) if row in pool] == sorted(left)


@pytest.mark.slow_but_first
@every_distance
@settings(deadline=None, max_examples=40)
@given(seed=seeds, n=st.integers(1, 70), kinds=few_columns)
def test_pool_answers_as_a_scan_does_until_it_is_empty(distance, c, seed, n, kinds):
    rng = np.random.default_rng(seed)
    assert_same_as_a_scan_until_empty(rng, some_case(rng, n, kinds, c), distance)


@pytest.mark.slow
@in_one_case(
    ("distance", "c", "missing"),
    [("ncp", "own", 0.1), ("entropy", "own", 0.0), ("entropy", 0.3, 0.1)],
)
@in_one_case("kinds", [*LARGE_TABLES, ["deep", "flat", "uneven"]])
def test_pool_of_hundreds_answers_as_a_scan_does(distance, c, missing, kinds):
    # Enough for the tree to prune, and to be built anew several times as it empties.
    rng = np.random.default_rng(0)
    assert_same_as_a_scan_until_empty(rng, some_case(rng, 180, kinds, c, missing), distance)


@in_one_case("seed", range(3))
def test_pool_finds_values_whose_rate_divides_by_0(seed):
    # With c=0 the content of a leaf is 0, and so is its rate; that of a missing cell is not.
    rng = np.random.default_rng(seed)
    case = some_case(rng, 60, ["flat", "deep"], 0.0, missing=0.3)
    assert_same_as_a_scan_until_empty(rng, case, "entropy")


def test_pool_refuses_records_that_it_does_not_hold():
    case = some_case(np.random.default_rng(0), 9, ["integers", "flat"])
    pool = RangePool(case.columns, case.lo, case.hi)
    pool.remove(3)
    for row in (3, -1, 9):
        with pytest.raises(ValueError, match=rf"Record {row}\b"):
            pool.remove(row)
    with pytest.raises(ValueError, match=r"2 columns"):
        pool.nearest(case.lo[0, :1], case.hi[0, :1], case.lo[0], 1)
    for row in (0, 1, 2, 4, 5, 6, 7, 8):
        pool.remove(row)
    with pytest.raises(ValueError, match=r"empty"):
        pool.nearest(case.lo[0], case.hi[0], case.lo[0], 1)
    with pytest.raises(ValueError, match=r"empty"):
        pool.farthest(case.lo[0], case.hi[0])
    with pytest.raises(ValueError, match=r"^distance='ncq'"):
        RangePool(case.columns, case.lo, case.hi, distance="ncq")
    with pytest.raises(ValueError, match=r"\(9, 1\) and \(9, 2\)"):
        RangePool(case.columns, case.lo[:, :1], case.hi)


# Partitions


def partition_of(case, labels, k):
    return RangePartition(case.columns, case.lo, case.hi, labels, k)


def both_partitions(case, labels, k):
    plain = PlainPartition(case.plain, case.records, labels.tolist(), k)
    return partition_of(case, labels, k), plain


def change(partition, plain, rng):
    """The same random change of both."""
    n, k, number = len(plain.records), plain.k, int(rng.choice(plain.numbers))
    one, other = rng.integers(n, size=2).tolist()
    kind = rng.choice(["move", "swap", "create", "split", "dissolve", "distill"])
    if kind == "move":
        arguments = [one, number]
    elif kind == "swap":
        arguments = [one, other]
    elif kind == "create" and plain.n_free:
        arguments = [rng.permutation(n)[: rng.integers(1, 2 * k + 1)]]
    elif kind == "split":
        n_parts = min(rng.integers(1, plain.n_free + 2), len(plain.groups[number]))
        arguments = [number, rng.permutation(np.arange(len(plain.groups[number])) % n_parts)]
    elif kind == "dissolve":
        arguments = [number]
    elif kind == "distill" and n - k * len(plain.numbers) >= k:
        arguments = [rng.choice(plain.excess(rng.choice(plain.larger)))]
    else:
        return
    assert getattr(partition, kind)(*arguments) == getattr(plain, kind)(*arguments)


def assert_same(partition, plain):
    numbers = plain.numbers
    costs = [plain.cost(plain.groups[number]) for number in numbers]
    assert partition.n_groups == len(numbers)
    assert partition.groups().tolist() == numbers
    assert partition.labels().tolist() == plain.labels()
    assert partition.cost == pytest.approx(math.fsum(costs), rel=1e-9, abs=0)
    assert sorted(map(partition.larger_group, range(partition.n_larger))) == plain.larger
    assert [partition.size(g) for g in range(partition.n_slots)] == list(map(len, plain.groups))
    low, high = partition.centers()
    for number, cost, *ends in zip(numbers, costs, low, high, strict=True):
        members = plain.groups[number]
        assert partition.members_of(number).tolist() == members
        assert {partition.group(record) for record in members} == {number}
        assert partition.cost_of(number) == cost
        assert partition.excess(number).tolist() == plain.excess(number)
        cells = zip(plain.columns, *ends, strict=True)
        assert tuple(c.covering(*position) for c, *position in cells) == plain.center(number)


SIZES = {"seed": seeds, "n": st.integers(1, 30), "k": st.integers(1, 5), "kinds": few_columns}


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(**SIZES)
def test_equals_a_partition_from_scratch_after_any_changes(seed, n, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n)
    partition, plain = both_partitions(some_case(rng, n, kinds), some_labels(rng, n, k), k)
    assert_same(partition, plain)
    for _ in range(8):
        # Changes come singly or several at a time, with no query in between.
        for _ in range(rng.integers(1, 4)):
            change(partition, plain, rng)
        assert_same(partition, plain)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(**SIZES)
def test_rollback_returns_to_the_mark(seed, n, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n)
    partition, plain = both_partitions(some_case(rng, n, kinds), some_labels(rng, n, k), k)
    with pytest.raises(ValueError, match=r"^rollback"):
        partition.rollback()
    for _ in range(3):
        change(partition, plain, rng)
    partition.mark()
    groups = [list(members) for members in plain.groups]
    # The mark stays, so that rollback works again.
    for _ in range(2):
        for _ in range(rng.integers(1, 6)):
            change(partition, plain, rng)
        partition.rollback()
        plain.groups = [list(members) for members in groups]
        assert_same(partition, plain)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [*LARGE_TABLES, ["deep", "decimals"]], ids="-".join)
def test_groups_that_come_and_go_among_a_hundred(kinds):
    # Enough for the index over the centers to prune, and to be built anew after many changes.
    rng = np.random.default_rng(0)
    partition, plain = both_partitions(some_case(rng, 300, kinds), some_labels(rng, 300, 3), 3)
    for step in range(40):
        if step % 2 and 300 - 3 * len(plain.numbers) >= 3:
            first = rng.choice(plain.excess(rng.choice(plain.larger)))
            assert partition.distill(first) == plain.distill(first)
        else:
            number = rng.choice(plain.numbers)
            assert partition.dissolve(number) == plain.dissolve(number)
        for one, other in rng.integers(300, size=(5, 2)).tolist():
            partition.swap(one, other)
            plain.swap(one, other)
    assert_same(partition, plain)


def test_cost_is_right_after_tens_of_thousands_of_moves():
    rng = np.random.default_rng(0)
    case = some_case(rng, 300, ["many numbers", "deep", "integers"])
    partition = partition_of(case, np.arange(300) // 3, 3)
    for _ in range(5):
        for one, other in rng.integers(300, size=(5000, 2)).tolist():
            partition.swap(one, other)
            _ = partition.cost
        expected = oracle.partition_cost(case.plain, case.records, partition.labels())
        assert partition.cost == pytest.approx(expected, rel=1e-12, abs=0)


@in_one_case(
    ("ask", "message"),
    [
        (lambda p: p.dissolve(2), r" group 2\b"),
        (lambda p: p.distill(6), r" record 6\b"),
        (lambda p: p.distill(0), r"k=3\b"),
        (lambda p: p.excess(-1), r" group -1\b"),
    ],
)
def test_refused_queries_and_changes_change_nothing(ask, message):
    case = some_case(np.random.default_rng(0), 6, ["integers", "flat"])
    partition, plain = both_partitions(case, np.repeat([0, 1], 3), 3)
    with pytest.raises(ValueError, match=message):
        ask(partition)
    assert_same(partition, plain)


# Local search


def assert_sizes(partition):
    sizes = np.bincount(partition.labels())
    assert partition.k <= sizes.min() <= sizes.max() < 2 * partition.k


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(**SIZES)
def test_descent_lowers_the_cost_and_keeps_sizes_from_k_to_2k_minus_1(seed, n, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n)
    case, before = some_case(rng, n, kinds), some_labels(rng, n, k)
    partition = partition_of(case, before, k)
    costs = [oracle.partition_cost(case.plain, case.records, before)]
    n_sweeps = RangeDescent(partition, seed=seed).run(partition.groups())
    costs.append(oracle.partition_cost(case.plain, case.records, partition.labels()))
    assert_sizes(partition)
    assert partition.cost == pytest.approx(costs[1], rel=1e-9, abs=0)
    if n_sweeps:
        assert costs[1] < costs[0]
    else:
        assert np.array_equal(partition.labels(), before)


@settings(deadline=None, max_examples=30)
@given(**SIZES)
def test_descents_end_where_no_shift_or_swap_gains(seed, n, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n)
    case = some_case(rng, n, kinds)
    partition = partition_of(case, some_labels(rng, n, k), k)
    # Records need not be compared with all groups, but here they are.
    descent = RangeDescent(partition, n_near=n)
    costs = [partition.cost]
    while descent.run(partition.groups()):
        costs.append(partition.cost)
    assert all(later < earlier for earlier, later in itertools.pairwise(costs))
    assert_sizes(partition)
    plain = PlainPartition(case.plain, case.records, partition.labels().tolist(), k)
    assert plain.best_gain() < 2e-9


def test_groups_far_from_those_given_stay_as_they_are():
    table = MixedTable([[0], [9], [1], [8], [1000], [1009], [1001], [1008]], None)
    columns = RangeColumns(domains := table.domains([Hierarchy.intervals()]), [1.0])
    partition = RangePartition(columns, *table.encode(domains), np.arange(8) // 2, k=2)
    assert RangeDescent(partition).run([]) == 0
    assert RangeDescent(partition).run([0]) == 1
    assert canonical(partition.labels()).tolist() == [0, 1, 0, 1, 2, 2, 3, 3]
    assert RangeDescent(partition).run([3]) == 1
    assert canonical(partition.labels()).tolist() == [0, 1, 0, 1, 2, 3, 2, 3]


def a_long_way_to_go(n=1500):
    rng = np.random.default_rng(0)
    case = some_case(rng, n, ["many numbers", "decimals", "deep"])
    return partition_of(case, some_labels(rng, n, 3), 3)


def test_changed_groups_are_visited_again_until_max_sweeps():
    changed, costs = [], []
    for max_sweeps in range(4):
        partition = a_long_way_to_go()
        before = partition.labels()
        assert RangeDescent(partition).run([0], max_sweeps=max_sweeps) == max_sweeps
        assert_sizes(partition)
        changed.append(len(set(before[partition.labels() != before])))
        costs.append(partition.cost)
    # On a visit each of at most five records changes one other group at most.
    assert 0 == changed[0] < changed[1] <= 1 + 5
    assert changed == sorted(set(changed))
    assert costs == sorted(set(costs), reverse=True)


@pytest.mark.slow
def test_equal_seeds_give_equal_partitions_and_others_mostly_do_not():
    results = []
    for seed in (0, 0, 1, 2**63, None):
        partition = a_long_way_to_go(500)
        RangeDescent(partition, seed=seed).run(partition.groups())
        results.append(canonical(partition.labels()))
    assert np.array_equal(results[0], results[1])
    assert len({tuple(result) for result in results}) == 4


def test_a_deadline_that_has_passed_stops_the_search_early():
    partition = a_long_way_to_go()
    before = partition.labels()
    descent = RangeDescent(partition)
    assert descent.run(partition.groups(), deadline=Deadline(0.0)) == 1
    assert_sizes(partition)
    # The clock is read after some groups, not only after all.
    assert np.mean(partition.labels() != before) < 0.5
    stopped_at = partition.cost
    assert descent.run(partition.groups()) > 1
    assert partition.cost < 0.9 * stopped_at


# Centers


def assert_same_centers(rng, case, n_centers):
    centers = [some_center(rng, case)[0] for _ in range(n_centers)]
    ends = [
        [c.positions(node) for c, node in zip(case.plain, center, strict=True)]
        for center in centers
    ]
    low, high = np.ascontiguousarray(np.moveaxis(np.array(ends, dtype=np.int32), 2, 0))
    found = CenterIndex(case.columns, low, high).nearest_each(case.lo, case.hi)
    assert found.tolist() == [
        oracle.nearest_center(case.plain, record, centers) for record in case.records
    ]


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(seed=seeds, n=st.integers(1, 40), kinds=few_columns, n_centers=st.integers(1, 40))
def test_a_record_goes_to_the_center_that_it_raises_least(seed, n, kinds, n_centers):
    rng = np.random.default_rng(seed)
    assert_same_centers(rng, some_case(rng, n, kinds), n_centers)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [*LARGE_TABLES, ["deep", "decimals"]], ids="-".join)
def test_a_record_goes_to_the_best_of_a_hundred_centers(kinds):
    rng = np.random.default_rng(0)
    assert_same_centers(rng, some_case(rng, 240, kinds), 120)
