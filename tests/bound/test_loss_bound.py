import itertools
from collections import Counter
from functools import partial
from math import inf

import numpy as np
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_allclose
from oracles.bound import least_squared_errors, value_of_program
from oracles.partition import sst
from sklearn.preprocessing import StandardScaler

from sk_microagg.datasets import fetch_census, fetch_eia, fetch_tarragona
from sk_microagg.metrics import information_loss, loss_bound, optimality_gap

# A budget of iterations instead of seconds.
loss_bound_after = partial(loss_bound, time_limit=inf)

SCALES = {
    "plain": lambda X: X,
    "huge": lambda X: 1e100 * X,
    "tiny": lambda X: 1e-100 * X,
    "offset": lambda X: X + 1e6,
}
SMALL_TABLES = ("normal", "grid", "duplicates", "constant_column", "line", "heavy_tails")
SMALL_SIZES = [(k, n) for k in (2, 3, 4, 5) for n in (2 * k, 2 * k + 1, 12)]


def small_tables(rng, n, k):
    """Tables of each kind, on scales in turn, of 1 to 3 columns, padded with zeros to 3."""
    pairs = [*itertools.product(SMALL_TABLES, SCALES.values())]
    # One of five pairs, but for the smallest tables, few of which need a repair.
    pairs = pairs[(n + k) % 5 :: 5] if n > 4 else pairs
    tables = np.zeros((len(pairs), n, 3))
    for number, (X, (name, rescale)) in enumerate(zip(tables, pairs, strict=True)):
        columns = 1 + (number + number // len(SCALES) + n + k) % 3
        X[:, :columns] = rescale(TABLES[name](rng, n, columns))
    return tables


def random_partition(rng, n, k):
    """Labels of groups of at least k, at random."""
    labels = np.arange(n) // k
    labels[labels == n // k] = 0
    return rng.permutation(labels)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n"), SMALL_SIZES)
def test_no_partition_of_a_small_table_is_below_the_bound(k, n, counting_work):
    tables = small_tables(np.random.default_rng(n), n, k)
    work = Counter()
    for X, error in zip(tables, least_squared_errors(tables, k), strict=True):
        with counting_work() as done:
            assert loss_bound_after(X, k, max_iter=6) * sst(X) <= error
        # Without a time limit no repair is given up.
        assert done["repairs"] == done["iterations"]
        work.update(done)
    assert work["repairs"] >= len(tables)
    assert work["ascents"] >= work["repairs"]
    assert work["columns"] > 0
    # Two groups of k records are the only ones possible in 2k records: cuts would not help.
    assert work["cuts"] > 0 or n == 2 * k


@pytest.mark.slow
@in_one_case("k", [2, 3, 4])
def test_the_bound_is_not_below_the_linear_program(k):
    for name in SMALL_TABLES:
        rng = np.random.default_rng(k)
        for n in (2 * k, 11):
            X = TABLES[name](rng, n, 2)
            least = (1 - 1e-3) * value_of_program(X, k) - 1e-8 * sst(X)
            assert loss_bound_after(X, k, max_iter=200, tol=1e-5) * sst(X) >= least, (name, n)


def test_cuts_prove_that_a_group_of_five_is_best(counting_work):
    # Sets of 3 alone prove 5/6 of it: a group of m records counts with m(k-1) / (k(m-1)).
    X = np.concatenate([np.eye(5), np.eye(5) + 100])
    best = information_loss(X, np.repeat([0, 1], 5))
    with counting_work() as work:
        bound = loss_bound_after(X, 3, max_iter=20)
    assert work["cuts"] > 0
    assert 0.99 * best <= bound <= best
    assert_allclose(value_of_program(X, 3) / sst(X), 5 / 6 * best, rtol=1e-6)


@pytest.mark.slow
@given(
    name=st.sampled_from(sorted(TABLES)),
    n=st.integers(1, 60),
    k=st.integers(1, 8),
    columns=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_no_partition_at_all_is_below_the_bound(counting_work, name, n, k, columns, seed):
    rng = np.random.default_rng(seed)
    X = TABLES[name](rng, max(n, k), columns)
    labels = random_partition(rng, len(X), k)
    with counting_work() as work:
        assert loss_bound_after(X, k, max_iter=3) <= information_loss(X, labels)
    assert work["repairs"] == work["iterations"] <= work["ascents"]


@in_one_case("n", [5, 7, 9])
def test_one_possible_group_gives_the_exact_loss(n):
    X = np.random.default_rng(n).normal(size=(n, 2)) + 0.1
    labels = np.zeros(n, dtype=int)
    assert loss_bound(X, 5) == information_loss(X, labels) == pytest.approx(1)
    assert optimality_gap(X, labels, 5) == 0


def test_groups_of_one_or_of_equal_records_lose_nothing():
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert loss_bound(X, 1) == 0
    assert optimality_gap(X, np.arange(20), 1) == 0
    same = np.full((20, 2), 7.1)
    assert loss_bound(same, 3) == 0
    assert loss_bound(np.full((4, 1), 7.1), 3) == 0
    assert optimality_gap(same, np.arange(20) // 5, 3) == 0


def test_the_gap_is_infinite_where_the_bound_is_zero():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    assert optimality_gap(X, np.repeat([0, 1], 10), 5, max_iter=1) == 0
    assert optimality_gap(X, np.arange(20) % 2, 5, max_iter=1) == inf


def test_the_gap_compares_the_loss_with_the_bound():
    X = [[0.0], [2.0], [10.0], [12.0]]
    gap = partial(optimality_gap, X, k=2, time_limit=inf, max_iter=5)
    assert_allclose(gap([0, 0, 1, 1]), 0, atol=1e-8)
    assert_allclose(gap([0, 1, 0, 1]), 24, rtol=1e-8)


def test_the_trace_rises_to_the_bound(set_clock):
    X = np.random.default_rng(0).normal(size=(200, 2))
    set_clock(0.001)
    bound, trace = loss_bound_after(X, 4, max_iter=6, return_trace=True)
    assert trace.shape == (len(trace), 2)
    assert len(trace) > 2
    assert np.all(np.diff(trace, axis=0) > 0)
    assert trace[-1, 1] == bound
    assert isinstance(bound, float)


@in_one_case("k", [1, 3, 15])
def test_special_cases_have_a_trace(k):
    X = np.random.default_rng(0).normal(size=(20, 2))
    bound, trace = loss_bound_after(X, k, max_iter=2, return_trace=True)
    assert trace.shape == (len(trace), 2)
    assert bound == (trace[-1, 1] if len(trace) else 0)


def test_the_progress_line_says_what_is_proven(capsys):
    X = np.random.default_rng(0).normal(size=(100, 2))
    bound = loss_bound_after(X, 4, max_iter=2, verbose=1)
    printed = capsys.readouterr().out
    assert f"information loss at least {bound:.4%}" in printed
    assert printed.endswith("\n")
    loss_bound_after(X, 4, max_iter=2)
    assert capsys.readouterr().out == ""


@in_one_case(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, ValueError, r"k=0\b"),
        ({"k": 21}, ValueError, r"k=21\b"),
        ({"k": 2.0}, TypeError, r"k=2.0\b"),
        ({"k": 3, "time_limit": 0}, ValueError, r"time_limit=0\b"),
        ({"k": 3, "time_limit": "1"}, TypeError, "time_limit='1'"),
        ({"k": 3, "tol": -1e-3}, ValueError, r"tol=-0.001\b"),
        (
            {"k": 3, "time_limit": inf},
            ValueError,
            r"time_limit=inf\b",
        ),
        ({"k": 3, "max_iter": 0}, ValueError, r"max_iter=0\b"),
        ({"k": 3, "max_iter": 2.0}, TypeError, r"max_iter=2.0\b"),
        ({"k": 3, "time_limit": float("nan")}, ValueError, "time_limit=nan"),
    ],
)
def test_invalid_parameters_are_refused(arguments, error, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(error, match=message):
        loss_bound(X, **arguments)


def test_labels_must_be_a_partition():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="at least k=3"):
        optimality_gap(X, [0] * 18 + [1] * 2, 3)
    with pytest.raises(ValueError, match="20 integers"):
        optimality_gap(X, [0] * 19, 3)


FETCHERS = {
    "tarragona": fetch_tarragona,
    "census": fetch_census,
    "eia": partial(fetch_eia, variant=10),
}

# Data set, k, iterations, the bound that they prove, and the least loss that is known.
KNOWN = [
    ("tarragona", 3, 10, 0.1421, 0.14468),
    pytest.param("tarragona", 5, 10, 0.20137, 0.20153, marks=pytest.mark.release),
    ("census", 3, 10, 0.04662, 0.04668),
    pytest.param("census", 4, 10, 0.06018, 0.06039, marks=pytest.mark.release),
    ("eia", 3, 10, 0.0035, 0.003603),
    pytest.param("eia", 3, 40, 0.0036, 0.003603, marks=pytest.mark.release),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "max_iter", "proven", "known"), KNOWN)
def test_bounds_of_the_reference_data_sets(
    data_folder, monkeypatch, name, k, max_iter, proven, known
):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    X = StandardScaler().fit_transform(FETCHERS[name](return_X=True))
    bound = loss_bound_after(X, k, max_iter=max_iter, tol=2e-3)
    assert 0.995 * proven <= bound <= known


@in_one_case("far", [1e60, 1e76, 1e78, 1e100, 1e139])
def test_a_bound_with_values_that_are_far_away(far):
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[:3] = far
    labels = np.repeat(np.arange(5), [3, 5, 4, 4, 4])
    bound = loss_bound_after(X, 3, max_iter=2)
    assert 0 < bound <= information_loss(X, labels)
