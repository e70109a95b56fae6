import itertools

import numpy as np
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import case, in_one_case
from oracles.one_column import ROUNDING, ExactRuns

from sk_microagg._kernels import optimal_runs

PLACES = {
    "as they are": lambda X: X,
    "far away": lambda X: X + 1e9,
    "squares vanish": lambda X: 1e-161 * X,
    "denormal": lambda X: 1e-310 * X,
    "large": lambda X: 1e9 * X,
    "of all magnitudes": lambda X: np.exp(20.0 * np.clip(X, -9.0, 9.0)),
}


def assert_optimal(X, k):
    starts = optimal_runs(X, k)
    lengths = np.diff(starts, append=len(X))
    assert starts[0] == 0
    assert k <= lengths.min()
    assert lengths.max() < 2 * k
    runs = ExactRuns(X)
    assert runs.of_division(starts.tolist()) <= runs.least(k) * (1 + ROUNDING)


@settings(deadline=None, max_examples=100)
@given(
    table=st.sampled_from(sorted(TABLES)),
    place=st.sampled_from(sorted(PLACES)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    share=st.floats(0, 1),
)
def test_no_division_of_a_sorted_column_is_better(table, place, seed, n, share):
    X = PLACES[place](TABLES[table](np.random.default_rng(seed), n, 1))
    k = 1 + round(share**2 * (n - 1))  # small k more often, but up to n
    assert_optimal(np.sort(X, axis=0), k)


@settings(deadline=None, max_examples=60)
@given(
    place=st.sampled_from(sorted(PLACES)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    d=st.integers(1, 3),
    share=st.floats(0, 1),
)
def test_no_division_of_a_path_is_better(place, seed, n, d, share):
    rng = np.random.default_rng(seed)
    X = PLACES[place](rng.normal(size=(n, d)).cumsum(axis=0))
    assert_optimal(X, 1 + round(share**2 * (n - 1)))


# So many that the starts are found by division.
@pytest.mark.slow
@in_one_case("k", [11, 25, 75])
def test_large_k(k):
    sizes = itertools.cycle([150, 150 // k * k, 150 // k * k + 1])
    for table, n in zip(TABLES, sizes, strict=False):
        X = TABLES[table](np.random.default_rng(k), n, 1)
        with case(table, n=n):
            assert_optimal(np.sort(X, axis=0), k)


@in_one_case("k", [1, 2, 7, 20])
def test_at_the_smallest_numbers_of_records(k):
    rng = np.random.default_rng(k)
    for n in (k, k + 1, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k - 1, 3 * k):
        assert_optimal(np.sort(rng.normal(size=(n, 1)), axis=0), k)


@in_one_case("k", [0, 4])
def test_no_run_of_k(k):
    with pytest.raises(ValueError, match=f"^k={k}"):
        optimal_runs(np.zeros((3, 1)), k)


def test_the_last_of_equal_runs_are_the_longest():
    assert optimal_runs(np.zeros((11, 2)), 3).tolist() == [0, 3, 6]
    assert optimal_runs(np.zeros((40, 1)), 12).tolist() == [0, 17]
    assert optimal_runs(np.arange(5.0)[:, None], 2).tolist() == [0, 2]


def test_errors_of_early_runs_do_not_hide_those_of_later_ones():
    # Two values that no run can avoid cost 1e24 times as much as all others together.
    X = np.r_[-1e12, np.arange(40) % 4 * 0.3 + np.arange(40) // 4, 1e12][:, None]
    assert_optimal(X, 4)
    assert_optimal(X, 13)


def test_records_far_from_zero_keep_their_digits():
    values = np.sort(np.random.default_rng(0).normal(size=20_000))
    values = np.round(values * 2**20) / 2**20  # so that the offset rounds none of them
    for k in (5, 100):
        near, far = (optimal_runs((values + offset)[:, None], k) for offset in (0.0, 1e9))
        assert np.array_equal(near, far)
