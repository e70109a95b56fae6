"""Cells of records in a power diagram, after some of its weights have changed."""

import numpy as np
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles import center_weights as oracle
from scipy.sparse import coo_array

from sk_microagg import MicroAggregator
from sk_microagg._model import _power
from sk_microagg._model._power import (
    FoundDiagrams,
    _cells_after_change,
    _moved,
    fall_among_twins,
    nearest_cells,
    power_weights,
)
from sk_microagg._utils._statistics import group_means, twins_of
from sk_microagg.refiners import Annealing, Exchange


@settings(deadline=None, max_examples=80)
@given(
    table=st.sampled_from(sorted(TABLES)),
    seed=st.integers(0, 2**32 - 1),
    d=st.sampled_from([2, 5, 9]),
    share=st.sampled_from([0, 0.1, 1]),
)
def test_cells_after_a_change_are_those_found_anew(table, seed, d, share):
    rng = np.random.default_rng(seed)
    X = TABLES[table](rng, 120, d)
    centroids = np.unique(rng.choice(X, 30), axis=0)
    spread = np.ptp(X) ** 2
    before = spread * rng.integers(-4, 1, size=len(centroids)) / 16
    after = before.copy()
    is_changed = rng.random(len(centroids)) < share
    after[is_changed] += spread * rng.normal(size=is_changed.sum()) / 8
    cells = _cells_after_change(X, centroids, after, before, nearest_cells(X, centroids, before))
    assert np.array_equal(cells, nearest_cells(X, centroids, after))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), excess=st.sampled_from([0.01, 0.3, 3.0]))
def test_few_groups_move_to_what_new_walls_allow_or_all_do(seed, excess):
    rng = np.random.default_rng(seed)
    weights = -rng.exponential(size=400)
    weights[rng.integers(400)] = 0.0
    pairs = {(a, int(b)) for a in range(400) for b in (rng.integers(400), (a + 1) % 400) if a != b}
    pairs |= {(b, a) for a, b in pairs}
    walls = {(a, b): weights[b] - weights[a] + rng.exponential() for a, b in pairs}
    forbidden = rng.permutation(sorted(pairs))[: rng.integers(1, 3)].tolist()
    for a, b in forbidden:
        walls[a, b] = weights[b] - weights[a] - excess * rng.exponential()
    groups = np.unique(forbidden)
    sources, targets = np.array(list(walls), dtype=np.int32).T
    leaving = coo_array((list(walls.values()), (sources, targets)), (400, 400)).tocsr()
    moved = _moved((leaving.indptr, leaving.indices, leaving.data), weights, groups)

    expected = np.array(oracle.center_weights(walls, weights, 0, groups))
    if all(expected[b] - expected[a] < most for (a, b), most in walls.items()):
        assert np.array_equal(moved, expected - expected.max())
    else:
        assert moved is None


def test_many_groups_do_not_move_one_by_one():
    assert _moved((np.zeros(301, dtype=np.int32), [], []), np.zeros(300), np.arange(4)) is None


@in_one_case("n_values", [1, 3, 30, 1000])
def test_who_falls_among_identical_records(n_values):
    rng = np.random.default_rng(n_values)
    for n in (1, 2, 40):
        X = rng.integers(n_values, size=(n, 1)).astype(float)
        labels, cells = rng.integers(4, size=(2, n))
        records = np.flatnonzero(rng.random(n) < 0.5)
        values, counts = np.unique(X, return_counts=True)
        held = {x: set(labels[X[:, 0] == x]) for x in values[counts > 1]}
        np.testing.assert_array_equal(
            fall_among_twins(records, twins_of(X), labels, cells),
            [cells[i] in held.get(X[i, 0], ()) for i in records],
        )


@pytest.mark.slow_but_first
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("refiner", [Exchange(), Annealing(max_iter=20_000), ["exchange", "auto"]])
@pytest.mark.parametrize("d", [2, 10])
def test_weights_from_an_exchange_are_exact_where_others_are(refiner, d, monkeypatch):
    used = []
    take = FoundDiagrams.take
    monkeypatch.setattr(FoundDiagrams, "take", lambda *args: used.append(take(*args)) or used[-1])
    for table in sorted(TABLES):
        X = TABLES[table](np.random.default_rng(0), 120, d)
        models = []
        for least in (len(X) + 1, 0):
            monkeypatch.setattr(_power, "RECORDS_TO_KEEP_GRAPH", least)
            models.append(MicroAggregator(4, refiner=refiner, random_state=0).fit(X))
        assert np.array_equal(models[0].labels_, models[1].labels_)
        assert models[0].exact_transform_ == models[1].exact_transform_, table
    if not isinstance(refiner, list):  # In "auto", the last exchange is not always the best.
        assert any(found is not None for found in used)


def test_what_an_exchange_has_found_serves_its_own_partition_only(monkeypatch):
    monkeypatch.setattr(_power, "RECORDS_TO_KEEP_GRAPH", 0)
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.arange(60) // 3
    for other_X, is_moved in ((X, False), (X + 1, False), (X[1:], False), (X, True)):
        with FoundDiagrams.kept() as found:
            refined = Exchange().refine(X, labels, 3)
        twins = twins_of(other_X)
        other = refined[: len(other_X)].copy()
        other[0] += is_moved
        is_same = other_X is X and not is_moved
        assert (found.take(other_X, other, twins) is not None) == is_same
        assert found.take(X, refined, twins_of(X)) is None  # It is given once.
    Exchange().refine(X, labels, 3)  # Nobody asks for it.


def test_what_an_exchange_has_found_serves_groups_of_copies_that_were_merged(monkeypatch):
    monkeypatch.setattr(_power, "RECORDS_TO_KEEP_GRAPH", 0)
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), rng.integers(1, 9, size=30), axis=0)
    with FoundDiagrams.kept() as found:
        labels = Exchange().refine(X, np.minimum(np.arange(len(X)) // 3, len(X) // 3 - 1), 3)
    assert labels.max() + 1 < len(X) // 3  # Groups of copies became one.
    twins = twins_of(X)
    known = found.take(X, labels, twins)
    assert known is not None
    monkeypatch.setattr(found, "take", lambda *_: known)
    _, cells = power_weights(X, labels, group_means(X, labels), twins, found=found)
    assert fall_among_twins(np.flatnonzero(cells != labels), twins, labels, cells).all()
