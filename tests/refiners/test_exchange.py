"""Exchange in many columns, where only near groups are compared at first; and its deadline."""

import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import case, in_one_case
from oracles import refiners as oracles
from oracles.partition import canonical, total_sse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

from sk_microagg import MicroAggregator
from sk_microagg._kernels import Pool
from sk_microagg._utils._deadline import Deadline
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Exchange, _exchange
from sk_microagg.refiners._exchange import FinalExchange, _best_partners, exchange
from sk_microagg.refiners._neighborhoods import Neighborhoods

MOST_TABLES = [table for table in TABLES if table != "tiny"]


def some_labels(rng, n, k):
    return rng.permutation(np.arange(n) % (n // k))


def assert_partition(X, refined, k):
    sizes = np.bincount(refined)
    assert sizes.min() >= k
    for number in np.flatnonzero(sizes >= 2 * k):
        assert len(np.unique(X[refined == number], axis=0)) == 1


@pytest.mark.slow
@in_one_case("table", MOST_TABLES)
@in_one_case("d", [8, 13])
def test_no_cycle_of_negative_cost_is_left_in_many_columns(table, d):
    # With up to 15 records there are no lists of neighbors, with 16 they hold all others.
    for n, k in ((15, 2), (16, 2), (60, 3), (60, 5)):
        rng = np.random.default_rng([d, n, k])
        X, labels = TABLES[table](rng, n, d), some_labels(rng, n, k)
        refined = Exchange().refine(X, labels, k)
        assert_partition(X, refined, k)
        assert total_sse(X, refined) <= (1 + 1e-12) * total_sse(X, labels)
        assert oracles.negative_cycle_free(X, refined)
        if np.bincount(refined).max() < 2 * k:  # nothing was merged
            assert oracles.negative_cycle_free(X, refined, k)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
@pytest.mark.parametrize("k", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_transform_is_exact_in_many_columns(load, k):
    X = load().data
    aggregator = MicroAggregator(k=k, refiner="exchange")
    release = aggregator.fit_transform(X)
    assert aggregator.exact_transform_
    assert np.array_equal(aggregator.transform(X), release)


# In 7 columns rivals are found in a tree, in 8 by matrix products. A constant column makes no other
# difference.
@pytest.mark.slow
@in_one_case("table", [*MOST_TABLES, "offset"])
@in_one_case("value", [0.0, 1e9])
def test_a_constant_column_does_not_change_the_result(table, value):
    for seed, (n, k) in enumerate([(60, 3), (200, 4), (300, 3)]):
        rng = np.random.default_rng(seed)
        X = 1e9 + rng.normal(size=(n, 7)) if table == "offset" else TABLES[table](rng, n, 7)
        labels = some_labels(rng, n, k)
        neighbors = Pool(X).near_each(15)
        one, other = (
            exchange(Z, labels, k, neighbors=neighbors)
            for Z in (X, np.column_stack([X, np.full(n, value)]))
        )
        assert np.array_equal(one[0], other[0])
        assert one[1] == other[1]


def test_neighbors_change_nothing_but_where_swaps_are_tried():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 3)), some_labels(rng, 60, 3)
    # Without any near group, cycles do all the work.
    nowhere = np.arange(60, dtype=np.int32)[:, None].copy()
    for neighbors in (None, nowhere, Pool(X).near_each(5)):
        refined, _, _ = exchange(X, labels, 3, neighbors=neighbors)
        assert total_sse(X, refined) < total_sse(X, labels)
        assert oracles.negative_cycle_free(X, refined, 3)


def test_the_best_partner_of_a_record_is_found_among_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 9))
    labels = MDAV().build(X, 4)
    gains, before = np.full((40, 40), -np.inf), total_sse(X, labels)
    for x in range(40):
        for y in np.flatnonzero(labels != labels[x]):
            swapped = labels.copy()
            swapped[[x, y]] = labels[[y, x]]
            gains[x, y] = before - total_sse(X, swapped)
    means = np.array([X[labels == group].mean(0) for group in range(10)])
    spreads = ((X - means[labels]) ** 2).sum(1)
    is_asked = (labels != 3) & (spreads >= np.median(spreads))
    records = np.flatnonzero(labels != 3)
    assert 0 < np.sum(gains[is_asked].max(1) > 0) < np.sum(is_asked)
    expected = np.where(is_asked & (gains.max(1) > 0), gains.argmax(1), np.arange(40))
    for scale, offset in [(1.0, 0.0), (1e-150, 0.0), (1e150, 0.0), (1.0, 1e6)]:
        with case(scale=scale, offset=offset):
            partners = _best_partners(scale * X + offset, labels, 4, records, Deadline())[:, 0]
            assert partners.tolist() == expected.tolist()
    late = _best_partners(X, labels, 4, records, Deadline(0.0))[:, 0]
    assert late.tolist() == list(range(40))


@pytest.mark.slow
def test_swaps_of_far_records_lower_the_loss_in_many_columns(monkeypatch):
    monkeypatch.setattr(_exchange, "RECORDS_FOR_NEIGHBORS", 500)
    X = np.random.default_rng(0).normal(size=(800, 40))
    labels = MDAV().build(X, 3)
    refined, _, is_diagram = exchange(X, labels, 3)
    assert is_diagram
    assert oracles.negative_cycle_free(X, refined, 3)
    monkeypatch.setattr(_exchange, "RECORDS_FOR_PAIRS", 0)
    assert total_sse(X, refined) < total_sse(X, exchange(X, labels, 3)[0])


@pytest.mark.slow
@in_one_case(("n", "d"), [(300, 2), (300, 10), (5000, 10)])
def test_a_deadline_that_has_passed_leaves_a_partition_and_says_so(n, d):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(n, d)), some_labels(rng, n, 4)
    refined, n_iter, is_diagram = exchange(X, labels, 4, deadline=Deadline(0.0))
    assert not is_diagram
    assert_partition(X, refined, 4)
    assert total_sse(X, refined) <= (1 + 1e-12) * total_sse(X, labels)
    assert n_iter <= 1
    complete, _, _ = exchange(X, labels, 4, deadline=Deadline())
    assert total_sse(X, complete) < total_sse(X, refined)


def test_the_later_the_deadline_the_lower_the_loss(set_clock):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    labels = MDAV().build(X, 4)
    sse = []
    for seconds in (0.0, 0.1, 1e9):
        set_clock(0.01)
        refined, _, _ = exchange(X, labels, 4, deadline=Deadline(seconds))
        sse.append(total_sse(X, refined))
    assert sse[0] > sse[1] > sse[2]


def test_a_deadline_that_is_not_over_changes_nothing():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(200, 3)), some_labels(rng, 200, 4)
    in_time, _, is_diagram = exchange(X, labels, 4, deadline=Deadline(3600.0))
    assert is_diagram
    assert np.array_equal(canonical(in_time), canonical(Exchange().refine(X, labels, 4)))


@pytest.mark.parametrize("seconds_for_neighbors", [0.05, 0.2])
def test_a_final_exchange_exceeds_the_time_limit_only_if_that_is_unlikely(
    set_clock, seconds_for_neighbors
):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(200, 3)), some_labels(rng, 200, 4)
    clock = set_clock(0.0)
    final = FinalExchange(Deadline(1.0), time_limit=1.0)
    neighborhoods = Neighborhoods.find(X, 4)
    clock.now += seconds_for_neighbors
    final.end_of_search()
    clock.now += 1.1 - seconds_for_neighbors
    if seconds_for_neighbors < 0.1:
        assert oracles.negative_cycle_free(X, final.run(neighborhoods, labels))
    else:
        with pytest.warns(ConvergenceWarning, match="power diagram"):
            assert np.array_equal(final.run(neighborhoods, labels), labels)
