import inspect
import sys

import numpy as np
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.blocks import Blocks, cuts
from scipy.sparse import csr_array

from sk_microagg._model import _router
from sk_microagg._model._router import Router

every_table = pytest.mark.parametrize("table", TABLES)
some_blocks = given(
    table=st.sampled_from(sorted(TABLES)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 90),
    d=st.integers(1, 4),
    block_size=st.integers(1, 40),
    smallest=st.integers(1, 12),
    k=st.integers(1, 5),
)


def draw(table, seed, n, d):
    return TABLES[table](np.random.default_rng(seed), n, d)


def between(X, rng, n):
    """New records with values of the old ones and values in between."""
    rows = rng.integers(0, len(X), size=(2, n, X.shape[1]))
    share = rng.choice([0.0, 0.3, 0.5], size=(n, X.shape[1]))
    low, high = np.take_along_axis(X[None], rows, axis=1)
    return low + share * (high - low)


def four_blocks():
    """A router of four blocks of 10 in a row: 0 to 9, 10 to 19, 20 to 29, 30 to 39."""
    X = np.arange(40.0).reshape(-1, 1)
    return Router.fit(X, 10, 1, 1), X


# Blocks of the training records


@settings(deadline=None, max_examples=60)
@some_blocks
def test_same_blocks_as_the_oracle(table, seed, n, d, block_size, smallest, k):
    X = draw(table, seed, n, d)
    router, oracle = Router.fit(X, block_size, smallest, k), Blocks(X, block_size, smallest, k)
    assert router.n_blocks == len(oracle.rows)
    found = {block: rows.tolist() for block, rows in router.rows_of_blocks(X)}
    assert found == dict(enumerate(oracle.rows))
    new = between(X, np.random.default_rng(seed), 30)
    assert router.route(new).tolist() == [oracle.block_of(record) for record in new]


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@some_blocks
def test_blocks_are_neither_too_small_nor_larger_than_necessary(
    table, seed, n, d, block_size, smallest, k
):
    X = draw(table, seed, n, d)
    router = Router.fit(X, block_size, smallest, k)
    blocks = router.route(X)
    sizes = np.bincount(blocks, minlength=router.n_blocks)
    assert len(sizes) == router.n_blocks
    assert sizes.min() >= min(smallest, n)
    for block in np.flatnonzero(sizes > block_size + 2 * k - 2):
        # No cut leaves enough on both sides.
        columns = X[blocks == block].T
        assert all(n_smaller < smallest for column in columns for n_smaller, _ in cuts(column, k))


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@some_blocks
def test_equal_records_are_in_one_block(table, seed, n, d, block_size, smallest, k):
    X = draw(table, seed, n, d)
    X = np.vstack([X, X])
    _, kind = np.unique(X, axis=0, return_inverse=True)
    blocks = Router.fit(X, block_size, smallest, k).route(X)
    assert len(np.unique(np.column_stack([kind.ravel(), blocks]), axis=0)) == kind.max() + 1


def test_distinct_records_fill_blocks_of_half_the_size_or_more():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    for block_size in (30, 100, 333, 999):
        router = Router.fit(X, block_size, 10, 1)
        sizes = np.bincount(router.route(X))
        assert sizes.max() <= block_size
        assert sizes.min() >= block_size // 2


@in_one_case("n", [1, 2, 11, 500])
def test_equal_records_are_not_cut(n):
    X = np.full((n, 2), -0.3)
    assert Router.fit(X, 1, 1, 1).n_blocks == 1


@in_one_case(("n", "n_blocks"), [(1, 1), (7, 1), (8, 2), (14, 2), (15, 3)])
def test_parts_below_twice_the_smallest_stay_whole(n, n_blocks):
    assert Router.fit(np.arange(float(n)).reshape(-1, 1), 1, 4, 1).n_blocks == n_blocks


def test_one_block_if_all_records_fit():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert Router.fit(X, 50, 2, 1).n_blocks == 1
    assert Router.fit(X, np.inf, 2, 1).n_blocks == 1
    assert Router.fit(X, 49, 2, 1).n_blocks == 2


def test_the_widest_column_is_cut():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 5.0, 2.0]
    assert_array_equal(Router.fit(X, 50, 2, 1).route(X), X[:, 1] > np.median(X[:, 1]))


def test_a_wide_column_without_a_balanced_cut_is_skipped():
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:, 0] = 1000.0 * (np.arange(100) < 39)
    assert_array_equal(Router.fit(X, 50, 2, 1).route(X), X[:, 1] > np.median(X[:, 1]))
    X[39, 0] = 1000.0  # 40% of the records
    assert_array_equal(Router.fit(X, 60, 2, 1).route(X), X[:, 0] > 500)


def test_the_most_even_cut_if_none_is_balanced():
    X = np.zeros((100, 3))
    X[:10, 0], X[20:50, 2], X[60:80, 1] = 1000.0, 1.0, 100.0
    assert_array_equal(Router.fit(X, 70, 2, 1).route(X), X[:, 2] > 0.5)
    assert Router.fit(X, 70, 31, 1).n_blocks == 1


# Values that are hard to cut


@in_one_case("value", [0.0, 0.1, 1.0, 1.0 + 2.0**-52, -1.0, 5e-324, 1e140, -1e140])
@in_one_case("up", [True, False])
def test_adjacent_floats_cannot_be_cut(value, up):
    X = np.full((20, 2), value)
    X[::2] = np.nextafter(value, np.inf if up else -np.inf)
    assert Router.fit(X[:, :1], 10, 10, 1).n_blocks == 1
    # Another column can be cut.
    X[:5, 1] = value + 0.001 + abs(value) / 1000
    assert_array_equal(Router.fit(X, 10, 5, 1).route(X), np.arange(20) < 5)


def test_the_largest_values():
    rng = np.random.default_rng(0)
    X = rng.choice([-1e140, -1e-140, 0.0, 1e-140, 1.0, 1e140], size=(600, 2))
    router, oracle = Router.fit(X, 20, 4, 1), Blocks(X, 20, 4, 1)
    assert router.n_blocks == 36  # every pair of values
    assert router.route(X).tolist() == [oracle.block_of(record) for record in X]


def test_zeros_are_equal():
    X = np.repeat([[0.0], [-0.0], [1.0]], 10, axis=0)
    router = Router.fit(X, 1, 5, 1)
    assert_array_equal(router.route(X), np.repeat([0, 0, 1], 10))


# Routing


def test_records_of_any_value_find_a_block():
    router, _ = four_blocks()
    far = np.array([[-1e140], [1e140], [-np.inf], [np.inf]])
    assert_array_equal(router.route(far), [0, 3, 0, 3])


def test_a_single_block_takes_all_records():
    X = np.random.default_rng(0).normal(size=(9, 2))
    assert Router.single_block().n_blocks == 1
    assert_array_equal(Router.single_block().route(X), np.zeros(9))


def test_the_block_of_a_record_does_not_depend_on_other_records():
    rng = np.random.default_rng(0)
    router = Router.fit(rng.normal(size=(2000, 3)), 40, 10, 1)
    X = rng.normal(size=(70_000, 3))  # more than are routed at a time
    together = router.route(X)
    assert len(np.unique(together)) == router.n_blocks
    assert_array_equal(np.concatenate([router.route(part) for part in np.split(X, 7)]), together)
    assert [router.route(X[[row]])[0] for row in range(100)] == together[:100].tolist()
    order = rng.permutation(len(X))
    assert_array_equal(router.route(X[order]), together[order])


def test_blocks_without_records_are_skipped():
    router, _ = four_blocks()
    X = np.array([[35.0], [12.0], [31.0], [13.0], [11.0]])
    found = [(block, rows.tolist()) for block, rows in router.rows_of_blocks(X)]
    assert found == [(1, [1, 3, 4]), (3, [0, 2])]
    assert list(router.rows_of_blocks(X[:0])) == []


@in_one_case("at_once", [100, 10**6])
def test_a_sparse_array_is_cut_as_an_array_is(monkeypatch, at_once):
    monkeypatch.setattr(_router, "BATCH_SIZE", 64)
    monkeypatch.setattr(_router, "MAX_CELLS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=700), np.eye(5)[rng.integers(5, size=700)] * 1.7])
    dense, sparse = Router.fit(X, 40, 10, 5), Router.fit(csr_array(X), 40, 10, 5)
    assert dense.n_blocks > 10
    for attribute, value in vars(dense).items():
        assert_array_equal(getattr(sparse, attribute), value)
    assert_array_equal(sparse.route(csr_array(X)), dense.route(X))


# Small blocks


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), smallest=st.integers(1, 30))
def test_no_small_block_is_left(seed, smallest):
    rng = np.random.default_rng(seed)
    X = draw(rng.choice(["normal", "grid", "duplicates"]), seed, 200, 2)
    router = Router.fit(X, 12, 2, 1)
    sizes = rng.integers(0, 30, size=router.n_blocks) * rng.integers(0, 2, size=router.n_blocks)
    merged, new_block = router.without_small_blocks(sizes, smallest)
    new_sizes = np.bincount(new_block, weights=sizes, minlength=merged.n_blocks)
    assert len(new_sizes) == merged.n_blocks
    assert new_sizes.min() >= smallest or merged.n_blocks == 1
    new = between(X, rng, 100)
    assert_array_equal(merged.route(new), new_block[router.route(new)])


@in_one_case(
    ("sizes", "new_block"),
    [
        ([5, 5, 5, 5], [0, 1, 2, 3]),
        ([4, 5, 5, 5], [0, 0, 1, 2]),
        ([5, 5, 90, 0], [0, 1, 2, 2]),
        ([4, 4, 4, 4], [0, 0, 1, 1]),
        ([2, 2, 5, 5], [0, 0, 0, 0]),  # all blocks on one side together are too small
        ([1, 1, 1, 1], [0, 0, 0, 0]),
        ([0, 0, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_small_blocks_are_merged_with_their_siblings(sizes, new_block):
    router, X = four_blocks()
    merged, found = router.without_small_blocks(np.array(sizes), 5)
    assert found.tolist() == new_block
    assert merged.n_blocks == max(new_block) + 1
    assert_array_equal(merged.route(X), np.repeat(new_block, 10))


def test_blocks_of_the_training_data_do_not_change():
    X = np.random.default_rng(0).normal(size=(500, 3))
    router = Router.fit(X, 40, 10, 1)
    same, new_block = router.without_small_blocks(np.bincount(router.route(X)), 10)
    assert_array_equal(new_block, np.arange(router.n_blocks))
    for attribute, value in vars(router).items():
        assert_array_equal(getattr(same, attribute), value)


@pytest.mark.slow
def test_a_tree_may_be_deeper_than_the_recursion_limit():
    X = np.repeat(np.eye(60), 4, axis=0)
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack()) + 40)
        router = Router.fit(X, 8, 4, 1)
        merged, _ = router.without_small_blocks(np.bincount(router.route(X)), 5)
    finally:
        sys.setrecursionlimit(limit)
    assert router.n_blocks > 40
    assert np.bincount(merged.route(X)).min() >= 5
