"""Tests of the default refiner, beyond those of all refiners."""

import math
import re

import numpy as np
import pytest
from callbacks import StopAfter
from example_tables.numbers import TABLES
from example_tables.sensitive import Spread
from marks import in_one_case
from oracles import refiners as oracles
from oracles.partition import canonical, total_sse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss
from sk_microagg.privacy import LDiversity, Rules
from sk_microagg.refiners import Annealing, Auto, DecomposeShrink, Exchange, _auto
from sk_microagg.refiners._auto import default_max_iter
from sk_microagg.refiners._base import N_STEPS

REAL = {
    "normal": lambda: np.random.default_rng(0).normal(size=(400, 3)),
    "wine": lambda: StandardScaler().fit_transform(load_wine().data),
    "iris": lambda: load_iris().data,
    "diabetes": lambda: StandardScaler().fit_transform(load_diabetes().data),
    "blobs": lambda: make_blobs(500, 8, centers=20, random_state=0)[0],
    "heavy tails": lambda: TABLES["heavy_tails"](np.random.default_rng(0), 400, 4),
}


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(200, 3))


@pytest.fixture(name="labels")
def built(X):
    return MDAV().build(X, 4)


# Guaranteed is only that a partition does not become worse than it was. But this is what users
# expect of the default.
@pytest.mark.parametrize("table", REAL)
@pytest.mark.parametrize("k", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_less_loss_than_exchange(table, k):
    X = REAL[table]()
    labels = MDAV().build(X, k)
    annealed, exchanged = (
        total_sse(X, refiner.refine(X, labels, k)) for refiner in (Auto(), Exchange())
    )
    assert annealed < exchanged


# Records of many unrelated columns have no neighbors that are much nearer than others.
@pytest.mark.slow_but_first
@pytest.mark.parametrize(("d", "k"), [(40, 2), (100, 3)])
def test_with_many_records_of_unrelated_columns_it_is_no_worse_than_exchange(monkeypatch, d, k):
    monkeypatch.setattr(_auto, "FEW_RECORDS", 0)
    X = np.random.default_rng(0).normal(size=(600, d))
    labels = MDAV().build(X, k)
    refined, exchanged = (refiner.refine(X, labels, k) for refiner in (Auto(), Exchange()))
    assert total_sse(X, refined) <= total_sse(X, exchanged)


@pytest.mark.slow
def test_with_many_records_of_related_columns_it_is_better_than_exchange(monkeypatch):
    monkeypatch.setattr(_auto, "FEW_RECORDS", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 40)) + rng.normal(size=(1000, 40)) / 4
    labels = MDAV().build(X, 3)
    refined, exchanged = (refiner.refine(X, labels, 3) for refiner in (Auto(), Exchange()))
    assert total_sse(X, refined) < 0.97 * total_sse(X, exchanged)


@pytest.mark.slow
@in_one_case("seed", range(3))
def test_an_excellent_partition_does_not_become_worse(X, labels, seed):
    excellent = Annealing(max_iter=1_000_000).refine(X, labels, 4, random_state=seed)
    refined = Auto().refine(X, excellent, 4, random_state=seed)
    assert total_sse(X, refined) <= (1 + 1e-12) * total_sse(X, excellent)


@pytest.mark.slow
@in_one_case("table", ["normal", "grid", "duplicates", "heavy_tails"])
@in_one_case("d", [1, 3, 9])
def test_the_result_is_a_power_diagram(table, d):
    X = TABLES[table](np.random.default_rng(0), 90, d)
    refined = Auto().refine(X, MDAV().build(X, 3), 3)
    assert np.bincount(refined).min() >= 3
    assert oracles.negative_cycle_free(X, refined)


@in_one_case("table", ["wine", "normal"])
def test_transform_is_exact(table):
    X = REAL[table]()
    aggregator = MicroAggregator(k=3, refiner="auto")
    release = aggregator.fit_transform(X)
    assert aggregator.exact_transform_
    assert np.array_equal(aggregator.transform(X), release)


# Seeds: two partitions of one table could be intersected.


def test_without_a_random_state_the_result_is_always_the_same(X, labels):
    results = [Auto().refine(X, labels, 4, random_state=state) for state in (None, None, 0, 1)]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    assert not np.array_equal(canonical(results[0]), canonical(results[3]))


@pytest.mark.slow
@in_one_case("block_size", [None, 60])
def test_without_a_random_state_every_fit_gives_the_same_groups(X, block_size):
    aggregator = MicroAggregator(k=4, refiner="auto", block_size=block_size)
    first, second = (aggregator.fit(X).labels_ for _ in range(2))
    assert np.array_equal(first, second)
    other = clone(aggregator).set_params(random_state=1).fit(X).labels_
    assert not np.array_equal(canonical(first), canonical(other))


def test_by_name(X):
    named, given = (microaggregate(X, 4, refiner=refiner) for refiner in ("auto", Auto()))
    assert np.array_equal(named, given)


# Small and degenerate tables


@in_one_case("n", [1, 5])
def test_groups_of_one_stay(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    refiner = Auto()
    assert refiner.refine(X, np.arange(n), 1).tolist() == list(range(n))
    assert refiner.n_iter_ == 0


@in_one_case("n", [2, 7, 12])
def test_a_single_group_stays_if_it_cannot_be_split(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    for k in {n, n // 2 + 1}:
        refiner = Auto()
        assert refiner.refine(X, np.zeros(n, dtype=int), k).tolist() == [0] * n
        assert refiner.n_iter_ == 0


def test_equal_records_become_one_group():
    X = np.full((40, 2), 0.1)
    assert Auto().refine(X, np.arange(40) // 4, 4).tolist() == [0] * 40


def test_equal_groups_of_copies_are_merged():
    X = np.arange(10.0).repeat(8)[:, None]
    refined = Auto().refine(X, np.arange(80) % 20, 4)
    assert total_sse(X, refined) == 0
    assert np.bincount(refined).tolist() == [8] * 10


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_integer_tables_with_duplicates(seed):
    X = np.random.default_rng(seed).integers(0, 5, size=(500, 3)).astype(float)
    labels = MDAV().build(X, 3)
    loss = information_loss(X, Auto().refine(X, labels, 3))
    assert loss <= information_loss(X, DecomposeShrink().refine(X, labels, 3))
    annealing = Annealing(max_iter=3_000_000)
    assert loss <= 1.1 * information_loss(X, annealing.refine(X, labels, 3, random_state=0))


# The number of steps, and their progress


def test_the_number_of_steps_depends_on_the_number_of_records_only(X, labels):
    for Z in (X, 1000 * X[:, :1], np.hstack([X, X**2])):
        refiner = Auto()
        refiner.refine(Z, labels, 4, random_state=5)
        assert refiner.n_iter_ == default_max_iter(200)


def test_under_compiled_constraints_few_records_are_annealed_twice(X, monkeypatch):
    rules = Rules.of_table(200, 4, LDiversity(2), np.arange(200) % 5)
    labels = MDAV().build(X, 4, rules)
    refiner = Auto()
    twice = refiner.refine(X, labels, 4, rules=rules)
    assert refiner.n_iter_ == 2 * default_max_iter(200, rules)
    in_python = Rules.of_table(200, 4, Spread(0.1), X[:, 0])
    refiner.refine(X, np.zeros(200, dtype=int), 4, rules=in_python)
    assert refiner.n_iter_ == default_max_iter(200, in_python)
    monkeypatch.setattr(_auto, "RUNS_UNDER_RULES", 1)
    assert total_sse(X, twice) <= total_sse(X, refiner.refine(X, labels, 4, rules=rules))


@pytest.mark.parametrize("n_columns", [4, 10, 50])
def test_the_number_of_steps_never_falls_and_is_constant_per_record_in_the_end(n_columns):
    sizes = (1, 10, 1000, 5000, 9_999, 10_000, 100_000, 1_000_000)
    numbers = [default_max_iter(n, None, n_columns) for n in sizes]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 10 * numbers[-2]


@pytest.mark.slow
def test_searches_of_large_tables_are_exact_and_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_auto, "MANY_RECORDS", 100)
    for d in (3, 9):
        X = np.random.default_rng(d).normal(size=(480, d))
        one, two = (MicroAggregator(4, block_size=160, n_jobs=n).fit(X) for n in (1, 2))
        assert np.array_equal(one.labels_, two.labels_)
        assert one.exact_transform_
        assert one.group_sizes_.min() >= 4


def test_nothing_is_printed_by_default(X, labels, capsys):
    Auto().refine(X, labels, 4)
    assert capsys.readouterr() == ("", "")


def test_verbose_prints_how_it_ended(X, labels, capsys):
    refined = Auto(verbose=1).refine(X, labels, 4)
    out = capsys.readouterr().out
    assert "\r" not in out
    assert out.endswith("\n")
    *_, last = out.splitlines()
    assert last.startswith("run 1 of 1, information loss ")
    assert re.search(r", \d+ s$", last)
    # The final exchange may improve it slightly.
    loss = float(last.split()[6].rstrip("%,")) / 100
    assert loss == pytest.approx(information_loss(X, refined), rel=0.03)
    assert np.array_equal(refined, Auto().refine(X, labels, 4))


@in_one_case(("verbose", "error"), [(-1, ValueError), ("1", TypeError), (None, TypeError)])
def test_bad_verbose(X, labels, verbose, error):
    refiner = Auto(verbose=verbose)
    with pytest.raises(error, match=r"^verbose="):
        refiner.refine(X, labels, 4)
    assert not hasattr(refiner, "n_iter_")


@pytest.mark.parametrize("stop_after", [None, 3])
def test_a_callback_is_notified_of_the_search_and_can_end_it(X, labels, stop_after):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    callback = StopAfter(math.inf if stop_after is None else stop_after)
    refiner = Auto().set_callbacks(callback)
    refined = refiner.refine(X, labels, 4)
    steps = ["step begins", "step ends"] * (stop_after or N_STEPS)
    assert callback.events == ["setup", "refine begins", *steps, "refine ends", "teardown"]
    if stop_after is None:
        assert np.array_equal(refined, Auto().refine(X, labels, 4))
    else:
        assert 0 < refiner.n_iter_ <= 0.04 * default_max_iter(200)
        assert total_sse(X, refined) <= total_sse(X, labels)
        assert oracles.negative_cycle_free(X, refined, 4)
