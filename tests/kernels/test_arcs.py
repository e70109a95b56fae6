"""Arcs that are found in a tree or, in many columns, by matrix products; and their deadlines."""

import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from oracles.partition import centroid, groups_of, squared_distances
from oracles.refiners import power_assign

from sk_microagg._kernels import ExchangeGraph, Partition, Pool
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._statistics import twins_of
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Exchange

# Costs that are denormal numbers, or 0, are mostly rounding.
EXACT_TABLES = [table for table in TABLES if table != "tiny"]

# With fewer columns arcs are found in a tree, with more by matrix products.
COLUMNS_IN_TREE = 7


def offset(rng, n, d):
    """Far from the origin, compared with the distances."""
    return 1e9 + rng.normal(size=(n, d))


def one_far_away(rng, n, d):
    X = rng.normal(size=(n, d))
    X[0] = 1e5
    return X


HARD_TABLES = {table: TABLES[table] for table in EXACT_TABLES}
HARD_TABLES |= {"offset": offset, "one_far_away": one_far_away}


def exchanged(table, n, d, k, seed=0):
    X = HARD_TABLES[table](np.random.default_rng(seed), n, d)
    return X, Exchange().refine(X, MDAV().build(X, k), k)


def with_constant(X, value=0.0):
    return np.column_stack([X, np.full(len(X), value)])


def nearest_groups(X, labels, m):
    """The m groups with the nearest centroids of each record."""
    distances = [squared_distances(X, centroid(X, members)) for members in groups_of(labels)]
    return np.argsort(np.transpose(distances), axis=1, kind="stable")[:, :m]


def sparse_graph(X, labels):
    """A graph with few arcs, and potentials that hold for these."""
    graph = ExchangeGraph(Partition(X, labels, 1), twins_of(X))
    near = nearest_groups(X, labels, 2)
    graph.add(np.repeat(np.arange(len(X)), near.shape[1]), near.ravel())
    graph.start()
    assert graph.find_potentials()
    return graph


def pairs_with_arcs(graph):
    starts, targets, _ = graph.walls()
    sources = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return unordered(sources, targets)


def unordered(ones, others):
    """The pairs of two different groups, the lower number first."""
    pairs = np.sort(np.column_stack([ones, others]), axis=1)
    return set(map(tuple, pairs[pairs[:, 0] < pairs[:, 1]].tolist()))


def pairs_of_rivals(X, labels, weights, margin):
    """Pairs of groups of which one holds a record that is nearer to the other, by a margin."""
    groups, twins = groups_of(labels), twins_of(X)
    keys = np.array([squared_distances(X, centroid(X, members)) for members in groups]).T - weights
    own = keys[np.arange(len(X)), labels]
    pairs = set()
    for record, group in np.argwhere(keys < (own + margin)[:, None]):
        a, b = sorted((labels[record], group))
        has_twin = twins[record] >= 0 and twins[record] in twins[groups[group]]
        if a != b and not has_twin:
            pairs.add((a, b))
    return pairs


@pytest.mark.slow
@in_one_case(
    ("table", "n", "d", "m", "n_records"),
    [
        ("normal", 1600, 8, 8, None),
        ("grid", 1600, 8, 8, None),
        ("duplicates", 1530, 20, 3, 1000),
        ("one_far_away", 1530, 20, 3, 1000),
        ("duplicates", 1900, 9, 200, 10**9),
    ],
)
def test_in_many_columns_arcs_lead_to_the_nearest_groups(table, n, d, m, n_records):
    X = HARD_TABLES[table](np.random.default_rng(m), n, d)
    labels = MDAV().build(X, 3)
    graph = ExchangeGraph(Partition(X, labels, 3), twins_of(X))
    assert graph.add_near(0) == 0
    graph.add_near(m, n_records=n_records)
    near = nearest_groups(X, labels, m)[:n_records]
    assert pairs_with_arcs(graph) == unordered(np.repeat(labels[:n_records], m), near.ravel())


@pytest.mark.slow
@in_one_case("table", sorted(HARD_TABLES.keys() - {"constant"}))
@in_one_case("d", [2, 8])
def test_every_group_has_arcs_to_near_ones(table, d):
    X, labels = exchanged(table, 1700, d, 3)
    graph = ExchangeGraph(Partition(X, labels, 1), twins_of(X))
    assert graph.add_near(3) == len(pairs_with_arcs(graph))
    assert {group for pair in pairs_with_arcs(graph) for group in pair} == set(labels)


# With 1800 records there are enough groups for a tree of them.
@pytest.mark.parametrize(
    ("table", "n"),
    [(table, 40) for table in HARD_TABLES]
    + [pytest.param(table, 1800, marks=pytest.mark.slow) for table in [*HARD_TABLES][::3]],
)
def test_arcs_are_added_to_all_rivals_by_products_and_to_some_by_the_tree(table, n):
    X, labels = exchanged(table, n, COLUMNS_IN_TREE, 3)
    Z = with_constant(X)
    in_tree, by_products = sparse_graph(X, labels), sparse_graph(Z, labels)
    assert np.array_equal(in_tree.weights(), by_products.weights())
    before = pairs_with_arcs(in_tree)
    missing = pairs_of_rivals(X, labels, in_tree.weights(), 0.99 * in_tree.margin) - before
    assert by_products.add_missing() == len(missing)
    assert pairs_with_arcs(by_products) == before | missing
    # The tree may leave some for later, but not all.
    n_added = in_tree.add_missing()
    assert min(len(missing), 1) <= n_added <= len(missing)
    assert pairs_with_arcs(in_tree) <= before | missing


@in_one_case("table", HARD_TABLES)
@in_one_case("d", [8, 20])
def test_in_many_columns_potentials_hold_once_no_arc_is_missing(table, d):
    X, labels = exchanged(table, 150, d, 3)
    graph = sparse_graph(X, labels)
    while graph.add_missing():
        assert graph.find_potentials()
    weights = graph.weights()
    assert not pairs_of_rivals(X, labels, weights, 0.98 * graph.margin) - pairs_with_arcs(graph)
    alone = twins_of(X) < 0
    centroids = np.array([centroid(X, members) for members in groups_of(labels)])
    assert np.array_equal(power_assign(X, centroids, weights)[alone], labels[alone])


def test_nothing_is_missing_twice():
    X, labels = exchanged("normal", 300, 10, 3)
    graph = sparse_graph(X, labels)
    assert graph.add_missing() > 0
    assert graph.find_potentials()
    while graph.add_missing():
        assert graph.find_potentials()
    n_arcs = len(pairs_with_arcs(graph))
    assert graph.add_missing() == 0
    assert len(pairs_with_arcs(graph)) == n_arcs


def long_search(d):
    """More records and groups than a search handles between two looks at the clock."""
    X = np.random.default_rng(0).normal(size=(14_000, d))
    labels = np.empty(14_000, dtype=int)
    labels[Pool(X).in_order()] = np.arange(14_000) // 5
    partition = Partition(X, labels, 5)
    return partition, ExchangeGraph(partition, np.full(14_000, -1))


@in_one_case("d", [2, 8])
def test_searches_for_arcs_end_at_their_deadline(d):
    partition, graph = long_search(d)
    assert graph.add_near(4, deadline=Deadline(0.0)) == -1
    graph.start(0.0, with_paths=True)
    assert graph.add_missing(deadline=Deadline(0.0)) == -1
    # They can be taken up again.
    assert graph.add_near(4, deadline=Deadline()) > 0
    assert partition.n_groups == 2800


def test_canceling_ends_at_its_deadline_with_a_partition():
    partition, graph = long_search(2)
    graph.add_near(4)
    before = partition.labels()
    graph.start(partition.sse / 14_000, with_paths=True)
    changed = graph.cancel(deadline=Deadline(0.0))
    after = partition.labels()
    sizes = np.bincount(after)
    assert 5 <= sizes.min() <= sizes.max() < 10
    assert set(before[before != after]) | set(after[before != after]) <= set(changed)
    stopped_at = partition.sse
    # It had not finished, and the next call goes on.
    assert graph.cancel()
    assert partition.sse < stopped_at
