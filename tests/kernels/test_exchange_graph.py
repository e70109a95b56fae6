import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from oracles.partition import centroid, groups_of, total_sse
from oracles.refiners import (
    exchange_costs,
    minimum_cycle_mean,
    power_assign,
    with_dummy,
)

from sk_microagg._kernels import ExchangeGraph, Partition
from sk_microagg._model._power import power_weights
from sk_microagg._utils._statistics import group_means, twins_of
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Exchange, LocalSearch
from sk_microagg.refiners._decompose import split_large_groups

# Costs that are denormal numbers, or 0, are mostly rounding.
EXACT_TABLES = [table for table in TABLES if table != "tiny"]

CASES = [(12, d, k) for d in (1, 2, 4) for k in (1, 2, 4)]
CASES += [(50, d, k) for d in (1, 2, 4) for k in (2, 4)] + [(110, 1, 3), (110, 4, 3)]


def some_labels(rng, n, k):
    n_groups = rng.integers(1, n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


@cache
def exchanged(table, n, d, k):
    rng = np.random.default_rng([n, d, k])
    X = TABLES[table](rng, n, d)
    return X, Exchange().refine(X, some_labels(rng, n, k), k)


def graph_of(partition, twins, near=8):
    graph = ExchangeGraph(partition, twins)
    graph.add_near(near)
    return graph


def potentials(X, labels, near=8):
    """A graph whose potentials hold for all records and groups, or None if there are none."""
    graph = graph_of(Partition(X, labels, 1), twins_of(X), near)
    graph.start()
    while graph.find_potentials():
        if graph.add_missing() == 0:
            return graph
    return None


def weights_of(X, labels):
    return power_weights(X, labels, group_means(X, labels), twins_of(X))[0]


@cache
def costs_between(table, *case):
    """What the oracle says of the records and labels of `exchanged`."""
    return exchange_costs(*exchanged(table, *case), twins=False)


def has_split_twin(X, labels):
    """Whether a record is identical to one of another group."""
    same = (X[:, None] == X).all(axis=2)
    return (same & (labels[:, None] != labels)).any(axis=1)


def centroids_of(X, labels):
    return np.array([centroid(X, members) for members in groups_of(labels)])


@pytest.mark.slow
@in_one_case("table", EXACT_TABLES)
def test_the_margin_is_nearly_the_widest_there_is(table):
    for case in CASES:
        X, labels = exchanged(table, *case)
        costs = costs_between(table, *case)
        widest = minimum_cycle_mean(costs)
        for near in (2, 8):
            margin = potentials(X, labels, near).margin
            if has_split_twin(X, labels).any():
                # Twins fix the difference of the weights of their groups, whatever the margin.
                loosened = np.minimum(costs - 0.98 * margin, exchange_costs(X, labels))
                assert minimum_cycle_mean(loosened) >= -1e-9 * abs(costs[np.isfinite(costs)]).max()
            elif widest < math.inf:
                assert 0.98 * widest <= margin <= (1 + 1e-6) * widest


@pytest.mark.slow
@in_one_case("table", EXACT_TABLES)
def test_with_the_weights_every_record_is_nearest_to_its_own_group(table):
    for case in CASES:
        X, labels = exchanged(table, *case)
        alone = ~has_split_twin(X, labels)
        for weights in (potentials(X, labels).weights(), weights_of(X, labels)):
            assert weights.max() == 0
            assigned = power_assign(X, centroids_of(X, labels), weights)
            assert np.array_equal(assigned[alone], labels[alone])


@pytest.mark.slow
@in_one_case("table", EXACT_TABLES)
def test_there_are_weights_unless_a_cycle_has_negative_cost(table):
    rng = np.random.default_rng(0)
    n_without = 0
    for n, d, k in CASES:
        X = TABLES[table](rng, n, d)
        built = MDAV().build(X, k)
        searched = LocalSearch().refine(X, built, k, random_state=0)
        for labels in (some_labels(rng, n, k), built, searched):
            least = minimum_cycle_mean(exchange_costs(X, labels))
            if least == math.inf or abs(least) > 1e-9 * total_sse(X, labels):
                assert (potentials(X, labels) is None) == (least < 0)
                assert (weights_of(X, labels) is None) == (least < 0)
                n_without += least < 0
    assert n_without or table == "constant"


@pytest.mark.slow
@in_one_case("table", EXACT_TABLES)
def test_a_wall_is_the_least_cost_of_a_record_without_a_twin_on_the_other_side(table):
    for case in CASES:
        X, labels = exchanged(table, *case)
        centroids = centroids_of(X, labels)
        graph = graph_of(Partition(X, labels, 1), twins_of(X))
        starts, targets, walls = graph.walls()
        costs = costs_between(table, *case)
        for group in range(len(centroids)):
            found = slice(starts[group], starts[group + 1])
            between = ((centroids[targets[found]] - centroids[group]) ** 2).sum(axis=1)
            expected = costs[group, targets[found]]
            # Where all records have twins on the other side, the centroid stands for them.
            expected = np.where(np.isfinite(expected), expected, between)
            rounding = 1e-9 * between.max(initial=0)
            assert walls[found] == pytest.approx(expected, rel=1e-6, abs=rounding)


def test_arcs_are_added_for_records_and_groups():
    X = np.arange(12.0)[:, None]
    graph = ExchangeGraph(Partition(X, np.arange(12) // 3, 3), np.full(12, -1))
    assert graph.add(np.array([0, 1, 11]), np.array([1, 1, 0])) == 2
    starts, targets, _ = graph.walls()
    assert [targets[a:b].tolist() for a, b in pairwise(starts)] == [
        [1, 3],
        [0],
        [],
        [0],
    ]


@pytest.mark.slow
@in_one_case("table", EXACT_TABLES)
@in_one_case("margin", [0.0, 1.0])
def test_canceling_cycles_lowers_the_sse_and_keeps_sizes(table, margin):
    rng = np.random.default_rng(1)
    for n, d, k in CASES:
        X = TABLES[table](rng, n, d)
        partition = Partition(X, split_large_groups(X, some_labels(rng, n, k), k), k)
        before, labels = partition.sse, partition.labels()
        graph = graph_of(partition, twins_of(X))
        graph.start(margin * before / n, with_paths=True)
        changed = graph.cancel()
        after = partition.labels()
        sizes = np.bincount(after)
        assert k <= sizes.min() <= sizes.max() < 2 * k
        assert set(labels[labels != after]) | set(after[labels != after]) <= set(changed)
        assert bool(changed) == (total_sse(X, after) < total_sse(X, labels))
        assert bool(changed) == (partition.sse < before)


@pytest.mark.slow
@in_one_case("table", EXACT_TABLES)
@in_one_case("margin", [0.0, 1.0])
def test_no_cycle_or_path_of_negative_cost_is_left_once_all_are_canceled(table, margin):
    rng = np.random.default_rng(2)
    for n, d, k in CASES:
        X = TABLES[table](rng, n, d)
        partition = Partition(X, split_large_groups(X, some_labels(rng, n, k), k), k)
        graph = graph_of(partition, twins_of(X))
        graph.start(margin * partition.sse / n, with_paths=True)
        while graph.cancel() or graph.add_missing():
            pass
        labels = partition.labels()
        costs = with_dummy(exchange_costs(X, labels, twins=False), labels, k)
        assert minimum_cycle_mean(costs) >= -1e-9 * partition.sse


@in_one_case(("with_paths", "sizes"), [(True, [3, 3, 3]), (False, [4, 3, 2])])
def test_a_path_leads_from_a_group_that_can_spare_a_record_to_one_with_room(with_paths, sizes):
    # Every record is nearer to the next group.
    X = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0])[:, None]
    partition = Partition(X, np.array([0, 0, 0, 0, 1, 1, 1, 2, 2]), 2)
    graph = graph_of(partition, np.full(9, -1))
    graph.start(0.0, with_paths=with_paths)
    assert bool(graph.cancel()) == with_paths
    assert np.bincount(partition.labels()).tolist() == sizes


def test_arcs_are_counted_once():
    X = np.arange(9.0)[:, None]
    graph = ExchangeGraph(Partition(X, np.arange(9) // 3, 3), np.full(9, -1))
    assert graph.add_near(2, n_records=3) == 1
    assert graph.add_near(2) == 1
    assert graph.add_near(3) == 1
    assert graph.add_near(100) == 0


def test_groups_must_be_numbered_without_gaps():
    partition = Partition(np.arange(6.0)[:, None], np.arange(6) // 2, 2)
    partition.dissolve(1)
    with pytest.raises(ValueError, match="numbered from 0"):
        ExchangeGraph(partition, np.full(6, -1))
