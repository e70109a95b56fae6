"""Cells of records in a power diagram, after some of its weights have changed."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from tables.numbers import TABLES

from sk_microagg._model._power import _cells_after_change, fall_among_twins, nearest_cells
from sk_microagg._utils._statistics import twins_of


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
