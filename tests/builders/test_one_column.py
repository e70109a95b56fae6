"""The optimum for one column, and along a path through several."""

import numpy as np
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.one_column import ROUNDING, ExactRuns, least_error_of_any_partition

from sk_microagg import microaggregate
from sk_microagg.builders import CBFS, MDAV, Optimal1D, PathOptimal
from sk_microagg.builders._path_optimal import nearest_next, path_through_groups
from sk_microagg.refiners import Annealing, Exchange, IteratedLocalSearch

PATHS = ["mdav", "cbfs", "nearest"]


def exact_error(X, labels):
    groups = (X[labels == number] for number in np.unique(labels))
    return sum(ExactRuns(group).error(0, len(group)) for group in groups)


@pytest.mark.slow
@in_one_case(("n", "k"), [(1, 1), (5, 2), (6, 3), (8, 2), (8, 3), (9, 4), (5, 5)])
def test_no_partition_at_all_is_better(n, k):
    # There are thousands of partitions of 8 records: half of the tables are enough.
    for table, make in [*TABLES.items()][(n + k) % 2 if n > 6 else 0 :: 2 if n > 6 else 1]:
        X = make(np.random.default_rng(n + k), n, 1)
        labels = Optimal1D().build(X, k)
        least = least_error_of_any_partition(X, k)
        assert least <= exact_error(X, labels) <= least * (1 + ROUNDING), table


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    table=st.sampled_from(sorted(TABLES)),
    n=st.integers(1, 80),
    k=st.integers(1, 9),
)
def test_no_search_is_better(seed, table, n, k):
    X = TABLES[table](np.random.default_rng(seed), max(n, k), 1)
    best = exact_error(X, Optimal1D().build(X, k))
    built = MDAV().build(X, k)
    for refiner in (Exchange(), Annealing(max_iter=2000), IteratedLocalSearch(max_iter=20)):
        other = exact_error(X, refiner.refine(X, built, k, random_state=0))
        assert best <= other * (1 + ROUNDING)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 300),
    k=st.integers(1, 40),
    shift=st.sampled_from([0, -7, 2**30]),
)
def test_the_loss_depends_on_neither_order_nor_direction_nor_place_nor_unit(seed, n, k, shift):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 ** rng.integers(1, 20), size=(max(n, k), 1)).astype(float)
    error = exact_error(X, Optimal1D().build(X, k))
    for other in (X[::-1], -X, X + shift, rng.permutation(X)):
        assert exact_error(other, Optimal1D().build(other, k)) == pytest.approx(error, rel=1e-13)
    assert_array_equal(Optimal1D().build(1024.0 * X, k), Optimal1D().build(X, k))


@in_one_case("k", [1, 4, 15])
def test_groups_are_runs_of_k_to_2k_records_or_of_one_value(k):
    for table, make in TABLES.items():
        X = make(np.random.default_rng(k), 200, 1)
        labels = Optimal1D().build(X, k)
        order = np.argsort(X[:, 0], kind="stable")
        # Identical records are in record order.
        assert_array_equal(labels[order], np.sort(labels), err_msg=table)
        for number, size in enumerate(np.bincount(labels)):
            assert size >= k, table
            assert size < 2 * k or np.ptp(X[labels == number]) == 0, table


def test_groups_of_one_value_are_one():
    X = np.repeat([[3.0], [5.0], [-0.0], [0.0]], [20, 3, 4, 4], axis=0)
    labels = Optimal1D().build(X, 3)
    assert_array_equal(np.bincount(labels), [8, 20, 3])


@in_one_case("d", [2, 5])
def test_several_columns_are_an_error(d):
    X = np.random.default_rng(0).normal(size=(20, d))
    message = rf"^X has {d} columns: .*Optimal1D"
    for build in (Optimal1D().build, lambda X, k: microaggregate(X, k, builder="optimal_1d")):
        with pytest.raises(ValueError, match=message):
            build(X, 3)


# Along a path


@settings(deadline=None, max_examples=75)
@given(
    path=st.sampled_from(PATHS),
    table=st.sampled_from(sorted(TABLES)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 50),
    d=st.integers(1, 3),
    k=st.integers(1, 9),
)
def test_groups_are_the_best_runs_of_the_path(path, table, seed, n, d, k):
    X = TABLES[table](np.random.default_rng(seed), max(n, k), d)
    labels = PathOptimal(path).build(X, k)
    if path == "nearest":
        order = nearest_next(X)
    else:
        built = {"mdav": MDAV, "cbfs": CBFS}[path]().build(X, k)
        order = path_through_groups(X, built)
        # Each group is a run of the path, so the best runs are no worse.
        assert exact_error(X, labels) <= exact_error(X, built) * (1 + ROUNDING)
        assert (np.diff(built[order]) != 0).sum() == built.max()
    assert_array_equal(np.sort(order), np.arange(len(X)))
    assert_array_equal(labels[order], np.sort(labels))
    assert np.bincount(labels).min() >= k
    assert exact_error(X, labels) <= ExactRuns(X[order]).least(k) * (1 + ROUNDING)


def test_a_path_goes_to_the_nearest_record_that_is_left():
    X = np.random.default_rng(0).normal(size=(60, 2))
    path = nearest_next(X)
    assert path[0] == ((X - X.mean(axis=0)) ** 2).sum(axis=1).argmax()
    for step in range(59):
        distances = ((X[path[step + 1 :]] - X[path[step]]) ** 2).sum(axis=1)
        assert distances.argmin() == 0


def test_a_path_leads_through_a_group_from_the_previous_to_the_next():
    X = np.array([[4.1], [0.2], [8.0], [3.9], [7.9], [0.1], [0.0], [8.2], [4.0]])
    path = path_through_groups(X, np.array([1, 0, 2, 1, 2, 0, 0, 2, 1]))
    assert X[path, 0].tolist() in (sorted(X[:, 0]), sorted(X[:, 0])[::-1])


@in_one_case("path", ["MDAV", None, "tour"])
def test_bad_path(path):
    message = rf"^path={path!r}"
    with pytest.raises(ValueError, match=message):
        PathOptimal(path).build([[0.0], [1.0]], 1)
