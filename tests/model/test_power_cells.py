"""Blocks of strata."""

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from sk_microagg._model._power_cells import StratifiedRouter, n_hidden_rows, rows_of_strata
from sk_microagg._model._router import Router
from sk_microagg._utils._validation import seeds_of_parts

STRATA = np.array([2, 0, 2, 2, 0, 1, 2] * 40)


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(280, 2))


@pytest.fixture(name="router")
def router_of_three(X):
    return StratifiedRouter(tuple(Router.fit(X[s == STRATA], 30, 6, 3) for s in range(3)))


def test_rows_of_strata():
    found = {stratum: rows.tolist() for stratum, rows in rows_of_strata(np.array([3, 1, 3, 3]))}
    assert found == {1: [1], 3: [0, 2, 3]}
    assert list(rows_of_strata(np.array([], dtype=int))) == []


def test_a_block_has_records_of_one_stratum(X, router):
    blocks = router.route(X, STRATA)
    assert router.n_blocks == sum(part.n_blocks for part in router.parts) > 6
    for stratum, part in enumerate(router.parts):
        rows = stratum == STRATA
        assert_array_equal(blocks[rows] - router.starts[stratum], part.route(X[rows]))
        assert blocks[rows].min() == router.starts[stratum]
        assert blocks[rows].max() == router.starts[stratum + 1] - 1


def test_small_blocks_are_merged_within_their_stratum(X, router):
    sizes = np.bincount(router.route(X, STRATA))
    sizes[[0, *range(router.starts[1], router.starts[2])]] = 1  # stratum 1 has few rows altogether
    merged, new_block = router.without_small_blocks(sizes, 6)
    assert merged.parts[1].n_blocks == 1
    assert 1 < merged.n_blocks < router.n_blocks
    assert_array_equal(merged.route(X, STRATA), new_block[router.route(X, STRATA)])
    assert (np.diff(new_block) >= 0).all()


def test_records_near_cuts(X, router):
    rounding = np.full(2, 0.01)
    n_near = [part.n_near_cuts(X[s == STRATA], rounding) for s, part in enumerate(router.parts)]
    assert router.n_near_cuts(X, rounding, STRATA) == sum(n_near) > 0
    assert router.n_near_cuts(X, np.zeros(2), STRATA) == 0


def test_seeds_are_those_of_each_stratum_alone(router):
    seeds = np.split(router.seeds(7), router.starts[1:-1])
    for part, own, seed in zip(router.parts, seeds, seeds_of_parts(7, 3), strict=True):
        assert_array_equal(own, seeds_of_parts(seed, part.n_blocks))
    # Without strata, they are those of the blocks of a table.
    whole = StratifiedRouter(router.parts[2:])
    assert_array_equal(whole.seeds(7), seeds_of_parts(7, whole.n_blocks))


@in_one_case("form", [np.asarray, csr_array])
def test_rows_of_groups_at_one_place_are_hidden_unless_they_are_the_same(form):
    places = form([[0.0, 2.0], [1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [-0.0, 2.0], [3.0, 0.0]])
    same = pd.DataFrame(
        {"c": ["a", None, "a", None, "a", "b"], "w": [1.0, 2.0, 1.0, 2.0, 1.0, 3.0]}
    )
    assert n_hidden_rows(places, same) == 0
    assert n_hidden_rows(places[[0, 1, 5]], same[:3]) == 0
    other = same.assign(w=[1.0, 2.0, 1.5, 2.0, 2.5, 3.0])
    assert n_hidden_rows(places, other) == 2
    assert n_hidden_rows(places, same.assign(c=["a", None, "a", "b", "a", "b"])) == 1
