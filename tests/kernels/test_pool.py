import itertools
import subprocess
import sys

import numpy as np
import pytest
from example_tables.drawn import cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from marks import case, in_one_case
from oracles.pool import ScanPool

from sk_microagg._kernels import Pool

SEARCHES = ["auto", "tree", "scan"]


def pools_of(X):
    """One for each search: the oracle, which is slow, answers once for all of them."""
    return [Pool(X, search=search) for search in SEARCHES]


def assert_same_answers(pools, X, rng, most=12):
    """Send all pools the same queries and remove the same records, until none is left."""
    oracle, spread = ScanPool(X), max(X.max(), -X.min())
    while oracle.size:
        point = rng.normal(size=X.shape[1]) * spread
        m = int(rng.integers(0, min(oracle.size, most) + 1))
        record = rng.choice(oracle.records)
        farthest, farthest_of_record = oracle.farthest(point), oracle.farthest(X[record])
        nearest, around = oracle.nearest(point, m), oracle.around(record, max(m, 1))
        centroid = oracle.centroid()
        leaving = around if rng.random() < 0.5 else rng.permutation(oracle.records)[:m]
        oracle.remove(leaving)
        for pool in pools:
            assert pool.farthest(point) == farthest
            assert pool.farthest(point, anchor="random") == farthest
            assert pool.farthest(X[record]) == farthest_of_record
            assert pool.nearest(point, m).tolist() == nearest.tolist()
            assert pool.around(record, max(m, 1)).tolist() == around.tolist()
            assert_same_centroid(pool, centroid)
            pool.remove(leaving)
            assert pool.size == oracle.size


def assert_same_centroid(pool, centroid):
    assert np.all(np.abs(pool.centroid() - centroid) <= 1e-15 * np.abs(centroid) + 1e-25)


@settings(deadline=None, max_examples=50)  # times three searches
@given(drawn=cases(n=150, d=6, k=(1, 3)))
def test_answers_as_a_scan_does_until_empty(drawn):
    X, rng = drawn.make()
    assert_same_answers(pools_of(X), X, rng)


# Enough records for a tree to be built, given up, tried again and rebuilt.
@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "every"), [(1200, 2, 1), (1000, 40, 2)])
def test_answers_as_a_scan_does_on_many_records(n, d, every):
    for table, make in [*TABLES.items()][::every]:
        rng = np.random.default_rng(n + d)
        X = make(rng, n, d)
        with case(table):
            assert_same_answers(pools_of(X), X, rng, most=30)


@pytest.mark.slow
def test_farthest_from_a_drifting_point():
    for table, make in TABLES.items():
        rng = np.random.default_rng(3)
        with case(table):
            assert_same_farthest(make(rng, 4000, 3), rng)


def assert_same_farthest(X, rng):
    pools, oracle = pools_of(X), ScanPool(X)
    point = X.mean(axis=0)
    # With tiny steps the sorted records last long, with large ones they are used up.
    for step in np.repeat([0.0, 1e-9, 1e-3, 0.05, 1.0], 30):
        point = point + step * rng.normal(size=3) * X.std()
        record = oracle.farthest(point)
        leaving = oracle.around(record, 8)
        oracle.remove(leaving)
        for pool in pools:
            assert pool.farthest(point, anchor=0) == record
            pool.remove(leaving)


@pytest.mark.slow
def test_diameter():
    for table, n in itertools.product(TABLES, [1, 2, 5, 60, 550]):
        rng = np.random.default_rng(n)
        with case(table, n=n):
            assert_same_diameters(TABLES[table](rng, n, 3), rng)


def assert_same_diameters(X, rng):
    pools, oracle = pools_of(X), ScanPool(X)
    while oracle.size:
        diameter = oracle.diameter()
        # Sometimes both ends go, sometimes one, sometimes others.
        leaving = rng.permutation([*set(diameter), *oracle.records[:1]])[:2]
        leaving = np.unique(np.append(leaving, rng.permutation(oracle.records)[: oracle.size // 5]))
        oracle.remove(leaving)
        for pool in pools:
            assert pool.diameter() == diameter
            pool.remove(leaving)


def test_nearest_each_equals_nearest_for_every_point():
    for table, make in TABLES.items():
        rng = np.random.default_rng(0)
        X = make(rng, 900, 4)
        points = np.vstack([rng.normal(size=(50, 4)), X[:50]])
        oracle = ScanPool(X)
        expected = [oracle.nearest(point, 1)[0] for point in points]
        assert Pool(X).nearest_each(points).tolist() == expected, table


@pytest.mark.slow
def test_around_each_equals_around_for_every_record():
    for table, n in itertools.product(TABLES, [1, 2, 30, 500]):
        X = TABLES[table](np.random.default_rng(n), n, 3)
        oracle = ScanPool(X)
        for m in {1, min(n, 7), min(n, 30)}:
            expected = [oracle.around(record, m).tolist() for record in range(n)]
            for pool in pools_of(X):
                assert pool.around_each(m).tolist() == expected, (table, n, m)


@in_one_case("search", SEARCHES)
def test_refresh_takes_over_a_changed_row(search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    pool = Pool(X, search=search)
    pool.remove(np.arange(0, 300, 3))
    pool.diameter()
    for record in rng.permutation(np.arange(300, 800))[:100]:
        X[record] = 3 * rng.normal(size=3)
        pool.refresh(record)
        oracle = ScanPool(X)
        oracle.remove(np.arange(0, 300, 3))
        point = rng.normal(size=3)
        assert pool.farthest(point) == oracle.farthest(point)
        assert pool.farthest(point, anchor=0) == oracle.farthest(point)
        assert pool.nearest(point, 7).tolist() == oracle.nearest(point, 7).tolist()
        assert_same_centroid(pool, oracle.centroid())
    assert pool.diameter() == oracle.diameter()


@in_one_case(("factor", "n_more"), [(1e15, 0), (1e60, 100)])
def test_centroid_is_accurate_after_huge_records_have_left(factor, n_more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    X[:100] *= factor
    pool = Pool(X)
    pool.remove(np.arange(100 + n_more))
    assert_same_centroid(pool, ScanPool(X[100 + n_more :]).centroid())


def test_a_tree_computes_few_distances():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    pool = Pool(X)
    for record in range(100):
        pool.around(record, 5)
        pool.farthest(X[record])
    assert pool.n_distances < 200 * len(X) / 50


@in_one_case("n_values", [1, 2])
def test_ties_between_all_records_do_not_make_searches_long(n_values):
    X = np.random.default_rng(0).integers(0, n_values, size=(20_000, 3)).astype(float)
    pool = Pool(X, search="tree")
    for _ in range(100):
        record = pool.farthest(pool.centroid(), anchor=0)
        pool.remove(pool.around(record, 5))
        pool.remove(pool.around(pool.farthest(X[record]), 5))
    # Each sort around an anchor computes the distances of all records.
    assert pool.n_distances < 400 * len(X) / 50


INTERRUPTED = """
import _thread, threading
import numpy as np
from sk_microagg._kernels import Pool

X = np.random.default_rng(0).normal(size=(40_000, 20))
X /= np.linalg.norm(X, axis=1, keepdims=True)
for question in (
    lambda pool: pool.nearest_each(-X), lambda pool: pool.around_each(9), Pool.diameter,
    lambda pool: pool.take_opposite_groups(5, 10),
):
    pool = Pool(X)
    try:
        threading.Timer(0.1, _thread.interrupt_main).start()
        question(pool)
    except KeyboardInterrupt:
        print(max(pool.n_distances / len(X) ** 2, 1 - pool.size / len(X)))
"""


# In a separate process: an interrupt that comes too late would stop the tests.
@pytest.mark.slow
def test_long_work_can_be_interrupted():
    done = subprocess.run(
        [sys.executable, "-P", "-c", INTERRUPTED], capture_output=True, text=True, check=True
    )
    # Uninterrupted, every record would be compared with most others, or be in a group.
    shares = [float(share) for share in done.stdout.split()]
    assert len(shares) == 4
    assert max(shares) < 0.25


def test_a_record_that_left_is_not_in_the_pool():
    pool = Pool(np.arange(6.0).reshape(-1, 1))
    pool.remove(np.array([1, 4]))
    assert [record in pool for record in range(-1, 7)] == [
        False, True, False, True, True, False, True, False,
    ]  # fmt: skip


def test_works_on_a_read_only_table():
    X = np.arange(6.0).reshape(-1, 1)
    X.flags.writeable = False
    assert Pool(X).farthest(np.array([0.0])) == 5


@in_one_case(
    ("ask", "message"),
    [
        (lambda pool: pool.remove(np.array([7])), "Record 7 "),
        (lambda pool: pool.remove(np.array([-1])), "Record -1 "),
        (lambda pool: pool.remove(np.array([2, 2])), "Record 2 "),
        (lambda pool: pool.around(3, 2), "Record 3 "),
        (lambda pool: pool.refresh(3), "Record 3 "),
        (lambda pool: pool.nearest(np.zeros(2), 6), "pool of 5 .* 6"),
        (lambda pool: pool.nearest(np.zeros(2), -1), "pool of 5 .* -1"),
        (lambda pool: pool.around(0, 6), "pool of 5 .* 6"),
        (lambda pool: pool.around(0, 0), r"m=0\b"),
        (lambda pool: pool.around_each(6), "pool of 5 .* 6"),
        (lambda pool: pool.around_each(0), r"m=0\b"),
        (lambda pool: pool.around_each(2), "^1 records"),
        (lambda pool: pool.nearest(np.zeros(3), 1), "A point of 3 columns, but X has 2"),
        (lambda pool: pool.farthest(np.zeros(1)), "A point of 1 columns, but X has 2"),
        (lambda pool: pool.nearest_each(np.zeros((1, 3))), "A point of 3 columns, but X has 2"),
        (lambda pool: pool.take_group(3, 2), "Record 3 "),
        (lambda pool: pool.take_group(0, 6), "pool of 5 .* 6"),
        (lambda pool: pool.take_group(0, 0), r"m=0\b"),
        (lambda pool: pool.take_group(0, 2, growth="nearest"), "growth='nearest' must be one of"),
        (lambda pool: pool.take_opposite_groups(2, 3), "least=3 must be at least 2 k"),
        (lambda pool: pool.take_opposite_groups(0, 3), "k=0 at least 1"),
    ],
)
def test_queries_without_an_answer_are_refused(ask, message):
    pool = Pool(np.arange(12.0).reshape(6, 2))
    pool.remove(np.array([3]))
    with pytest.raises(ValueError, match=message):
        ask(pool)


def test_pairs_of_groups_are_taken_until_the_deadline():
    class Deadline:
        n_asked = 0

        def is_over(self):
            self.n_asked += 1
            return self.n_asked == 2

    X, k = np.random.default_rng(0).normal(size=(40_000, 4)), 20
    pool, whole = Pool(X), Pool(X)
    groups = pool.take_opposite_groups(k, 3 * k, deadline=Deadline())
    expected = whole.take_opposite_groups(k, 3 * k)
    assert 0 < len(groups) < len(expected) == 1998
    assert np.array_equal(groups, expected[: len(groups)])
    assert pool.size == len(X) - groups.size
    assert not np.isin(groups, expected[len(groups) :]).any()
    assert whole.size == 2 * k


def test_an_empty_pool_has_no_centroid_farthest_or_diameter():
    pool = Pool(np.zeros((1, 2)))
    pool.remove(np.array([0]))
    for ask in (pool.centroid, pool.diameter, lambda: pool.farthest(np.zeros(2), anchor=0)):
        with pytest.raises(ValueError, match=r"pool of 0 .* 1"):
            ask()


def test_search_must_be_known():
    with pytest.raises(ValueError, match="search='grid'"):
        Pool(np.zeros((2, 2)), search="grid")


@in_one_case("shape", [(0, 2), (2, 0)])
def test_a_pool_needs_records_and_columns(shape):
    with pytest.raises(ValueError, match="no record"):
        Pool(np.zeros(shape))
