import itertools

import numpy as np
import published
import pytest
from example_tables.drawn import ALL_BUT_TINY, cases
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import case, in_one_case
from oracles import refiners as oracles
from oracles.partition import canonical, total_sse
from sklearn.base import clone

from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss
from sk_microagg.refiners import (
    Auto,
    Decompose,
    DecomposeShrink,
    Exchange,
    IteratedLocalSearch,
    LocalSearch,
    Refiner,
    make_chain,
)
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._decompose_shrink import decompose_and_shrink, shrink

FAST = [Decompose(), DecomposeShrink(), LocalSearch()]
# Whether they terminate where squares underflow is shown in test_in_another_process.py.
EXCHANGING = [
    Exchange(),
    Auto(),
    IteratedLocalSearch(max_iter=30),
    make_chain(LocalSearch(), Exchange()),
]
REFINERS = FAST + EXCHANGING

every_refiner = in_one_case("refiner", REFINERS)
any_start = st.sampled_from(["mdav", "random"])


def some_labels(rng, n, k):
    n_groups = rng.integers(1, n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


def some_case(drawn, start):
    X, rng = drawn.make()
    return X, MDAV().build(X, drawn.k) if start == "mdav" else some_labels(rng, len(X), drawn.k)


def assert_refined(X, labels, refined, k, rounding=0.0):
    """A k-partition, numbered from 0, with no more squared error but a share of it for rounding."""
    sizes = np.bincount(refined)
    assert refined.shape == labels.shape
    assert sizes.min() >= k
    for number in np.flatnonzero(sizes >= 2 * k):
        assert len(np.unique(X[refined == number], axis=0)) == 1
    # Denormal squares have an error of one unit each. Groups are summed in the same order: another
    # numbering of the same partition may change the last digit.
    most = (1 + rounding) * total_sse(X, canonical(labels)) + 5e-324 * X.size
    assert total_sse(X, canonical(refined)) <= most


def assert_keeps_k_and_sse(refiner, drawn, start):
    (X, labels), k = some_case(drawn, start), drawn.k
    before = X.copy(), labels.copy()
    refined = clone(refiner).refine(X, labels, k, random_state=drawn.seed)
    # Among partitions of equal cost, rounding may prefer another one here.
    assert_refined(X, labels, refined, k, rounding=1e-12 if isinstance(refiner, Auto) else 0.0)
    if refiner in FAST:
        assert np.bincount(refined).max() < 2 * k
    assert np.array_equal(X, before[0])
    assert np.array_equal(labels, before[1])


@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(refiner=st.sampled_from(FAST), drawn=cases(), start=any_start)
def test_groups_keep_k_records_and_the_sse_does_not_rise(refiner, drawn, start):
    assert_keeps_k_and_sse(refiner, drawn, start)


@settings(deadline=None, max_examples=60)
@given(refiner=st.sampled_from(EXCHANGING), drawn=cases(names=ALL_BUT_TINY), start=any_start)
def test_groups_keep_k_records_and_the_sse_does_not_rise_by_exchanges(refiner, drawn, start):
    assert_keeps_k_and_sse(refiner, drawn, start)


@pytest.mark.slow
@every_refiner
def test_the_unit_of_the_table_does_not_matter(refiner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    labels = some_labels(rng, 80, 3)
    expected = refiner.refine(X, labels, 3, random_state=0)
    for exponent in (-300, 300):
        other = refiner.refine(2.0**exponent * X, labels, 3, random_state=0)
        assert np.array_equal(other, expected), exponent


@in_one_case("refiner", [Exchange(), Auto(), IteratedLocalSearch(max_iter=30)])
@in_one_case(
    "X",
    [
        np.append(1e-8 * np.arange(12), [1e6] * 4)[:, None],
        1e9 + 1e-4 * np.random.default_rng(0).normal(size=(16, 2)),
    ],
)
def test_groups_that_are_close_relative_to_the_size_of_values_are_not_merged(refiner, X):
    labels = np.arange(16) // 2
    assert_refined(X, labels, refiner.refine(X, labels, 2, random_state=0), 2)


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(
    refiner=st.sampled_from([DecomposeShrink(), LocalSearch()]),
    drawn=cases(names=ALL_BUT_TINY),
    start=any_start,
)
def test_refining_a_result_again_changes_nothing(refiner, drawn, start):
    (X, labels), k = some_case(drawn, start), drawn.k
    once = refiner.refine(X, labels, k, random_state=0)
    assert np.array_equal(refiner.refine(X, once, k, random_state=1), once)


# With denormal squares, a partition may change without a smaller error: one implementation goes on
# and the other stops.
PAIRS = [
    (Decompose().refine, oracles.decompose, tuple(TABLES)),
    (DecomposeShrink().refine, oracles.decompose_shrink, ALL_BUT_TINY),
    (shrink, oracles.shrink, tuple(TABLES)),
    (split_large_groups, oracles.split_large_groups, tuple(TABLES)),
]


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(data=st.data(), pair=st.sampled_from(PAIRS), start=any_start)
def test_same_partition_as_the_oracle(data, pair, start):
    refine, oracle, tables = pair
    drawn = data.draw(cases(names=tables))
    (X, labels), k = some_case(drawn, start), drawn.k
    assert np.array_equal(canonical(refine(X, labels, k)), canonical(oracle(X, labels, k)))


@pytest.mark.slow
@every_refiner
def test_at_the_smallest_numbers_of_records(refiner):
    for k, d in itertools.product((1, 2, 3, 7), (1, 3)):
        rng = np.random.default_rng(k)
        for n in (k, 2 * k - 1, 2 * k, 3 * k - 1):
            X = rng.normal(size=(n, d))
            labels = np.zeros(n, dtype=int)
            refined = refiner.refine(X, labels, k, random_state=0)
            with case(k=k, d=d, n=n):
                assert_refined(X, labels, refined, k)
                assert np.bincount(refined).max() < 2 * k


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(drawn=cases(names=ALL_BUT_TINY, n=60, k=(2, 4)), start=any_start)
def test_exchange_leaves_no_cycle_of_negative_cost(drawn, start):
    (X, labels), k = some_case(drawn, start), drawn.k
    refined = Exchange().refine(X, labels, k)
    assert oracles.negative_cycle_free(X, refined)
    if np.bincount(refined).max() < 2 * k:  # nothing was merged
        assert oracles.negative_cycle_free(X, refined, k)


@every_refiner
def test_equal_seeds_give_equal_labels(refiner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    labels = some_labels(rng, 150, 3)
    first, *others = (
        clone(refiner).refine(X, labels, 3, random_state=state)
        for state in (7, 7, np.random.RandomState(7))
    )
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.slow
def test_other_seeds_give_other_labels_if_the_refiner_is_random():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    labels = some_labels(rng, 500, 5)
    for refiner in (LocalSearch(), Auto(), Exchange(), Decompose(), DecomposeShrink()):
        results = {tuple(refiner.refine(X, labels, 5, random_state=s)) for s in range(3)}
        assert len(results) == (3 if refiner.is_random else 1)


@in_one_case("refiner", [DecomposeShrink, LocalSearch, Exchange])
def test_max_iter_limits_the_number_of_iterations(refiner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    labels = some_labels(rng, 500, 5)
    unlimited, limited = refiner(), refiner(max_iter=1)
    full = unlimited.refine(X, labels, 5, random_state=0)
    cut_short = limited.refine(X, labels, 5, random_state=0)
    assert limited.n_iter_ == 1 < unlimited.n_iter_
    assert total_sse(X, full) < total_sse(X, cut_short) < total_sse(X, canonical(labels))


@every_refiner
def test_labels_may_be_any_integers(refiner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    labels = some_labels(rng, 40, 3)
    expected = refiner.refine(X, labels, 3, random_state=0)
    assert set(expected) == set(range(expected.max() + 1))
    for other in (
        labels.tolist(),
        10 * labels - 7,
        labels.astype(np.int8),
        labels.astype(np.uint64),
        labels.repeat(2)[::2],
    ):
        refined = refiner.refine(X.tolist(), other, 3, random_state=0)
        assert np.array_equal(refined, expected), other


@in_one_case(
    ("labels", "message"),
    [
        ([7, 7, 7, -3, -3], "^labels with a group of 2 records.*at least k=3"),
        ([0, 0, 0], r"^labels of shape \(3,\) and type int"),
        (np.zeros((5, 1), dtype=int), r"^labels of shape \(5, 1\)"),
        (np.zeros(5), r"^labels of shape \(5,\) and type float64"),
        (["a"] * 5, r"^labels of shape \(5,\) and type <U1"),
        (np.zeros(5, dtype=bool), r"^labels of shape \(5,\) and type bool"),
        (None, r"^labels of shape \(\) and type object"),
    ],
)
def test_labels_that_are_not_a_k_partition(labels, message):
    for refiner in REFINERS:
        with case(refiner), pytest.raises(ValueError, match=message):
            refiner.refine(np.arange(5.0)[:, None], labels, 3)


@in_one_case(
    ("X", "k", "error", "message"),
    [
        ([[1.0], [np.nan], [2.0]], 2, ValueError, "Input X contains NaN"),
        (
            [[1.0], [np.inf], [2.0]],
            2,
            ValueError,
            "Column 0 of X: 1 of 3 cells is infinite",
        ),
        (
            [[1.0], [1e200], [2.0]],
            2,
            ValueError,
            "Column 0 of X: 1 of 3 cells is infinite",
        ),
        ([1.0, 2.0, 3.0], 2, ValueError, "two dimensions, rows and columns"),
        ([[1.0], [2.0], [3.0]], 4, ValueError, r"^k=4\b"),
        ([[1.0], [2.0], [3.0]], 0, ValueError, r"^k=0\b"),
        ([[1.0], [2.0], [3.0]], 2.0, TypeError, r"^k=2\.0\b"),
    ],
)
def test_bad_records_or_k(X, k, error, message):
    for refiner in map(clone, REFINERS):
        with case(refiner), pytest.raises(error, match=message):
            refiner.refine(X, [0, 0, 0], k)
        assert not [name for name in vars(refiner) if name.endswith("_")], refiner


@in_one_case(
    ("max_iter", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_bad_max_iter(max_iter, error):
    message = rf"^max_iter={max_iter}"
    for refiner in (DecomposeShrink, LocalSearch, Exchange):
        with case(refiner), pytest.raises(error, match=message):
            refiner(max_iter=max_iter).refine([[1.0], [2.0]], [0, 0], 2)


def test_a_custom_refiner_gets_validated_arguments():
    class Reverse(Refiner):
        def _refine(self, X, labels, k, random_state):
            assert X.dtype == np.float64
            assert isinstance(random_state, np.random.RandomState)
            return labels.max() - labels

    assert Reverse().refine([[1], [2], [3], [4]], [9, 9, 5, 5], 2).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(("dataset", "most"), [("Census", 5.30), ("Tarragona", 14.95)])
def test_local_search_only_on_real_data(dataset, most, data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    X = published.standardized(dataset)
    labels = MDAV().build(X, 3)
    for seed in range(5):
        refined = LocalSearch().refine(X, labels, 3, random_state=seed)
        assert 100 * information_loss(X, refined) <= most


# Deadlines


class OverAfter:
    """A deadline that is over when it has been asked a number of times."""

    def __init__(self, number):
        self.number = number

    def is_over(self):
        self.number -= 1
        return self.number < 0


@in_one_case("step", [split_large_groups, decompose_and_shrink])
@in_one_case("table", ["normal", "twins", "constant", "line"])
def test_what_a_deadline_cuts_short_is_a_partition_no_worse(step, table):
    X = {
        "normal": np.random.default_rng(0).normal(size=(90, 3)),
        "twins": np.random.default_rng(0).integers(0, 3, size=(90, 2)).astype(float),
        "constant": np.ones((90, 2)),
        "line": np.arange(90.0)[:, None],
    }[table]
    for labels in (np.zeros(90, dtype=np.intp), np.arange(90) // 20, np.arange(90) // 5):
        for number in (0, 1, 7, 60, 10**9):
            refined = step(X, labels, 4, OverAfter(number))
            sizes = np.bincount(refined)
            assert 4 <= sizes.min() <= sizes.max() <= 7, number
            assert total_sse(X, refined) <= total_sse(X, labels) * (1 + 1e-12), number
        np.testing.assert_array_equal(refined, step(X, labels, 4))


def test_a_deadline_cuts_steps_short():
    X = np.random.default_rng(0).normal(size=(90, 3))
    labels = np.zeros(90, dtype=np.intp)
    whole, cut = (split_large_groups(X, labels, 4, OverAfter(n)) for n in (10**9, 3))
    assert total_sse(X, whole) < total_sse(X, cut)
    labels = np.arange(90) // 5
    whole, cut = (decompose_and_shrink(X, labels, 4, OverAfter(n)) for n in (10**9, 3))
    assert total_sse(X, whole) < total_sse(X, cut)
