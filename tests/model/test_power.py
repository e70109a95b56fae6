"""Cells of records in a power diagram, after some of its weights have changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables.numbers import TABLES

from sk_microagg._model._power import _cells_after_change, nearest_cells


@pytest.mark.parametrize("table", TABLES)
@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1), d=st.sampled_from([2, 5, 9]), share=st.sampled_from([0, 0.1, 1])
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
