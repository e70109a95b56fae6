"""Tests of annealing, and of what it shares with recombination, which consists of such runs."""

import re

import numpy as np
import published
import pytest
from callbacks import StopAfter
from example_tables.drawn import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import case, in_one_case
from oracles.partition import canonical, total_sse
from sklearn.base import clone
from sklearn.datasets import load_wine

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss
from sk_microagg.refiners import (
    Annealing,
    Decompose,
    Exchange,
    LocalSearch,
    Recombination,
    make_chain,
)
from sk_microagg.refiners._decompose import split_large_groups

ANNEALING = Annealing(max_iter=3000)
RECOMBINATION = Recombination(n_init=2, max_iter=1, annealing_max_iter=1000)

either = pytest.mark.parametrize(
    "refiner", [ANNEALING, RECOMBINATION], ids=["Annealing", "Recombination"]
)


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(100, 3))


@pytest.fixture(name="labels")
def built(X):
    return MDAV().build(X, 4)


@pytest.fixture(name="many")
def many_records():
    """Records and their labels, for the course of a longer search."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    return X, MDAV().build(X, 4)


def some_labels(rng, n, k):
    n_groups = rng.integers(1, n // k + 1)
    return rng.permutation(np.arange(n) % n_groups)


def assert_refined(X, labels, refined, k):
    """A k-partition, numbered from 0, with no more squared error."""
    sizes = np.bincount(refined)
    assert refined.shape == labels.shape
    assert sizes.min() >= k
    for number in np.flatnonzero(sizes >= 2 * k):
        assert len(np.unique(X[refined == number], axis=0)) == 1
    # Among partitions of equal cost, rounding may prefer another one here.
    assert total_sse(X, refined) <= (1 + 1e-12) * total_sse(X, canonical(labels))


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(
    refiner=st.sampled_from([ANNEALING, RECOMBINATION]),
    drawn=cases(),
    start=st.sampled_from(["mdav", "random"]),
)
def test_groups_keep_k_records_and_the_sse_does_not_rise(refiner, drawn, start):
    (X, rng), k = drawn.make(), drawn.k
    labels = MDAV().build(X, k) if start == "mdav" else some_labels(rng, drawn.n, k)
    before = X.copy(), labels.copy()
    refined = clone(refiner).refine(X, labels, k, random_state=drawn.seed)
    assert_refined(X, labels, refined, k)
    assert np.array_equal(X, before[0])
    assert np.array_equal(labels, before[1])


@pytest.mark.slow
@either
def test_at_the_smallest_numbers_of_records(refiner):
    for k, d in ((1, 3), (2, 1), (3, 3), (7, 1)):
        rng = np.random.default_rng(k)
        for n in (k, 2 * k - 1, 2 * k, 3 * k - 1):
            X = rng.normal(size=(n, d))
            labels = np.zeros(n, dtype=int)
            refined = refiner.refine(X, labels, k, random_state=0)
            with case(k=k, d=d, n=n):
                assert_refined(X, labels, refined, k)
                assert np.bincount(refined).max() < 2 * k


@either
@pytest.mark.parametrize(
    ("X", "k"),
    [
        (np.full((40, 2), 0.1), 4),
        (np.arange(10.0).repeat(4)[:, None], 4),
        (np.random.default_rng(0).normal(size=(20, 2)), 1),
    ],
    ids=["constant", "twins", "k=1"],
)
def test_a_partition_without_error_is_kept(refiner, X, k):
    refined = clone(refiner)
    labels = refined.refine(X, np.arange(len(X)) // k, k, random_state=0)
    assert total_sse(X, labels) == 0
    # There is nothing to do.
    assert refined.n_iter_ == 0


@pytest.mark.slow
@either
def test_the_unit_of_the_table_does_not_matter(refiner, X):
    X = X[:60]
    labels = MDAV().build(X, 4)
    expected = refiner.refine(X, labels, 4, random_state=0)
    for exponent in (-300, 300):
        other = refiner.refine(2.0**exponent * X, labels, 4, random_state=0)
        assert np.array_equal(other, expected), exponent


@pytest.mark.slow
@either
def test_equal_seeds_give_equal_labels_and_others_do_not(refiner):
    # A table that is too large to always end in the same partition.
    X = np.random.default_rng(0).normal(size=(80, 4))
    labels = MDAV().build(X, 4)
    states = (7, np.random.RandomState(7), 8)
    first, *others = (clone(refiner).refine(X, labels, 4, random_state=s) for s in states)
    assert [np.array_equal(first, other) for other in others] == [True, False]


@pytest.mark.slow
@either
def test_number_of_jobs_changes_nothing(refiner, X):
    X = X[:60]
    labels = MDAV().build(X, 4)
    searches = [clone(refiner).set_params(n_init=3, n_jobs=n_jobs) for n_jobs in (None, 2)]
    one, other = (search.refine(X, labels, 4, random_state=0) for search in searches)
    assert np.array_equal(one, other)
    # Everything but the seconds.
    traces = [search.trace_[:, [0, 2]] for search in searches]
    assert np.array_equal(*traces)
    assert len({search.n_iter_ for search in searches}) == 1


@pytest.mark.slow
@in_one_case(("refiner", "columns"), [(ANNEALING, 13), (ANNEALING, 3), (RECOMBINATION, 3)])
def test_transform_is_exact(refiner, columns):
    X = load_wine().data[:, :columns]
    aggregator = MicroAggregator(k=3, refiner=refiner, random_state=0)
    release = aggregator.fit_transform(X)
    assert aggregator.exact_transform_
    assert np.array_equal(aggregator.transform(X), release)


@either
@pytest.mark.parametrize("n_init", [1, 2])
@pytest.mark.usefixtures("fake_clock")
def test_long_searches_end_at_the_time_limit_with_a_partition(refiner, n_init, X, labels):
    # Without the limit it would run for days.
    name = {Annealing: "max_iter", Recombination: "annealing_max_iter"}[type(refiner)]
    search = clone(refiner).set_params(n_init=n_init, time_limit=1.0, **{name: 10**13})
    assert_refined(X, labels, search.refine(X, labels, 4, random_state=0), 4)
    assert search.n_iter_ < 10**13


@either
@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.usefixtures("fake_clock")
@pytest.mark.filterwarnings("ignore:The search ended")
def test_a_time_limit_that_is_over_at_once_still_gives_a_partition(refiner, n_init):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    labels = MDAV().build(X, 4)
    search = type(refiner)(time_limit=1e-9, n_init=n_init)
    assert_refined(X, labels, search.refine(X, labels, 4, random_state=0), 4)
    # Both are sums over the same groups, in a different order of records.
    assert search.trace_[-1, 2] <= (1 + 1e-12) * search.trace_[0, 2]


@pytest.mark.slow_but_first
@either
def test_nothing_is_printed_by_default(refiner, X, labels, capsys):
    refiner.refine(X, labels, 4, random_state=0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow_but_first
@either
def test_verbose_prints_how_it_ended(refiner, X, labels, capsys):
    search = clone(refiner).set_params(verbose=1)
    refined = search.refine(X, labels, 4, random_state=0)
    out = capsys.readouterr().out
    assert "\r" not in out
    assert out.endswith("\n")
    *_, last = out.splitlines()
    words = last.split()
    assert words[0] == "run"
    assert words[1] == words[3].rstrip(",")
    assert re.search(r", \d+ s$", last)
    # The final exchange may improve it slightly.
    loss = float(words[6].rstrip("%,")) / 100
    assert loss == pytest.approx(information_loss(X, refined), rel=0.03)


@either
def test_verbose_on_a_table_without_variance(refiner, capsys):
    search = clone(refiner).set_params(verbose=1)
    search.refine(np.zeros((12, 1)), np.arange(12) // 4, 4, random_state=0)
    assert "information loss 0.0000%" in capsys.readouterr().out


@pytest.mark.slow
@either
def test_in_a_chain_and_in_a_list(refiner, X):
    X = X[:60]
    labels = MDAV().build(X, 4)
    state = np.random.RandomState(0)
    expected = refiner.refine(X, Decompose().refine(X, labels, 4), 4, random_state=state)
    chain = make_chain(Decompose(), refiner)
    assert np.array_equal(chain.refine(X, labels, 4, random_state=0), expected)
    one, other = (
        microaggregate(X, 4, refiner=given, random_state=0)
        for given in ([Decompose(), refiner], chain)
    )
    assert np.array_equal(one, other)


@either
def test_parameters_can_be_read_set_and_cloned(refiner):
    copy = clone(refiner)
    assert str(copy) == str(refiner)
    assert copy.set_params(n_init=9).get_params()["n_init"] == 9
    assert refiner.n_init != 9


@either
def test_a_callback_is_notified_of_the_search_and_can_end_it(refiner, X, labels):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    callback = StopAfter(3)
    search = clone(refiner).set_callbacks(callback)
    assert_refined(X, labels, search.refine(X, labels, 4, random_state=0), 4)
    steps = ["step begins", "step ends"] * 3
    assert callback.events == ["setup", "refine begins", *steps, "refine ends", "teardown"]
    # 3% of the steps, or no round after the initial runs.
    assert search.n_iter_ <= 0.04 * 3000
    assert (search.n_iter_ > 0) == isinstance(search, Annealing)


@pytest.mark.slow_but_first
@either
def test_a_callback_does_not_change_the_result(refiner, X, labels):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    callback = StopAfter(1000)
    observed = clone(refiner).set_callbacks(callback).refine(X, labels, 4, random_state=0)
    assert np.array_equal(observed, refiner.refine(X, labels, 4, random_state=0))
    if isinstance(refiner, Annealing):
        assert callback.events.count("step ends") == 100


# Annealing only


def test_ends_below_local_search_and_exchange(many):
    X, labels = many
    refined = Annealing(max_iter=50_000).refine(X, labels, 4, random_state=0)
    for refiner in (LocalSearch(), Exchange()):
        other = refiner.refine(X, labels, 4, random_state=0)
        assert total_sse(X, refined) < 0.95 * total_sse(X, other)


@pytest.mark.slow
def test_by_name(X):
    names, given = (
        microaggregate(X[:20], 4, refiner=refiner, random_state=0)
        for refiner in ("annealing", Annealing())
    )
    assert np.array_equal(names, given)


@in_one_case("max_iter", [1, 777, 40_000])
@in_one_case("n_init", [1, 3])
def test_trace_leads_from_the_initial_partition_to_the_result(X, labels, max_iter, n_init):
    search = Annealing(max_iter=max_iter, n_init=n_init)
    refined = search.refine(X, labels, 4, random_state=0)
    step, seconds, sse = search.trace_.T
    assert step[0] == 0
    assert step[-1] == max_iter
    assert np.all(np.diff(step[:-1]) > 0)
    assert step[-2] == step[-1]
    assert seconds[0] >= 0
    assert np.all(np.diff(seconds) >= 0)
    given = split_large_groups(X, labels, 4)
    assert sse[0] == pytest.approx(total_sse(X, given), rel=1e-12)
    assert sse[-1] == pytest.approx(total_sse(X, refined), rel=1e-12)
    assert search.n_iter_ == n_init * max_iter


def test_the_loss_rises_at_high_temperatures(many):
    X, labels = many
    search = Annealing(max_iter=100_000)
    search.refine(X, labels, 4, random_state=0)
    sse = search.trace_[:, 2]
    assert len(sse) > 10
    assert sse[1] > sse[0] > sse[-1]
    # Sums over the same groups in another order differ in the last digits.
    assert sse[-1] == pytest.approx(sse.min(), rel=1e-12)


def test_more_runs_give_the_best_of_them(X, labels):
    sse = []
    for n_init in (1, 2, 8):
        search = Annealing(max_iter=5000, n_init=n_init)
        search.refine(X, labels, 4, random_state=0)
        sse.append(search.trace_[-2, 2])  # before the exchange
    assert sse == sorted(sse, reverse=True)
    assert sse[-1] < sse[0]


def test_more_steps_end_lower(many):
    X, labels = many
    sse = [
        np.mean([
            total_sse(X, Annealing(max_iter=max_iter).refine(X, labels, 4, random_state=seed))
            for seed in range(5)
        ])
        for max_iter in (100, 3000, 100_000)
    ]  # fmt: skip
    assert sse[0] > sse[1] > sse[2]


def test_the_default_number_of_steps_is_proportional_to_the_records():
    for n in (20, 40):
        X = np.random.default_rng(0).normal(size=(n, 2))
        search = Annealing()
        search.refine(X, MDAV().build(X, 3), 3, random_state=0)
        assert search.n_iter_ == 20_000 * n


@pytest.mark.usefixtures("fake_clock")
def test_the_time_limit_determines_the_number_of_steps(X, labels):
    search = Annealing(time_limit=1.0, n_init=2)
    assert_refined(X, labels, search.refine(X, labels, 4, random_state=0), 4)
    assert search.n_iter_ > 0
    assert len(search.trace_) > 2


def test_max_iter_ends_the_search_before_the_time_limit(X, labels):
    search = Annealing(time_limit=3600, max_iter=1000)
    refined = search.refine(X, labels, 4, random_state=0)
    assert search.n_iter_ == 1000
    without = Annealing(max_iter=1000).refine(X, labels, 4, random_state=0)
    assert_refined(X, labels, refined, 4)
    assert np.array_equal(refined, without)


@in_one_case(
    ("hottest", "coldest"), [(1e6, 1e-6), (1e-9, 1e-9), (1e9, 1e9), (0.3, 0.3), (np.float32(1), 1)]
)
def test_all_positive_temperatures_are_valid(X, labels, hottest, coldest):
    search = Annealing(max_iter=3000, hottest=hottest, coldest=coldest)
    assert_refined(X, labels, search.refine(X, labels, 4, random_state=0), 4)
    assert search.n_iter_ == 3000


def test_a_run_worse_than_the_initial_partition_is_discarded(X):
    good = Annealing(max_iter=300_000).refine(X, MDAV().build(X, 4), 4, random_state=0)
    search = Annealing(max_iter=500, hottest=1e9, coldest=1e9)
    refined = search.refine(X, good, 4, random_state=0)
    assert np.array_equal(canonical(refined), canonical(good))
    # It was worse before the initial partition was restored.
    assert search.trace_[-2, 2] > 1.01 * search.trace_[-1, 2]
    assert search.trace_[-1, 2] == pytest.approx(search.trace_[0, 2], rel=1e-12)


@in_one_case(
    ("parameters", "error", "message"),
    [
        ({"max_iter": 0}, ValueError, r"^max_iter=0\b"),
        ({"max_iter": 1e6}, TypeError, r"^max_iter=1000000\.0\b"),
        ({"n_init": 0}, ValueError, r"^n_init=0\b"),
        ({"n_init": None}, TypeError, r"^n_init=None\b"),
        ({"n_init": True}, TypeError, r"^n_init=True\b"),
        ({"time_limit": 0}, ValueError, r"^time_limit=0\b"),
        ({"time_limit": -1.0}, ValueError, r"^time_limit=-1\.0\b"),
        ({"time_limit": "1"}, TypeError, "^time_limit='1'"),
        (
            {"hottest": 0},
            ValueError,
            r"^hottest=0\b",
        ),
        ({"hottest": np.nan}, ValueError, r"^hottest=nan\b"),
        ({"hottest": None}, TypeError, r"^hottest=None\b"),
        ({"coldest": 0.0}, ValueError, r"^coldest=0\.0\b"),
        ({"coldest": 0.6}, ValueError, r"^coldest=0\.6\b"),
        ({"coldest": "0"}, TypeError, "^coldest='0'"),
    ],
)
def test_bad_parameters(X, labels, parameters, error, message):
    search = Annealing(**parameters)
    with pytest.raises(error, match=message):
        search.refine(X, labels, 4)
    assert not [name for name in vars(search) if name.endswith("_")]


@pytest.mark.slow
def test_better_than_the_published_search_on_real_data(data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    figure = published.published_figures()["Census", "ILSMC 5000 iterations, mean of 20", 3]
    X = published.standardized("Census")
    refined = Annealing(max_iter=10_000_000).refine(X, MDAV().build(X, 3), 3, random_state=0)
    assert 100 * information_loss(X, refined) < figure
