import re

import numpy as np
import pytest
from callbacks import StopAfter
from marks import in_one_case
from oracles.iterated import iterated_local_search
from oracles.partition import total_sse
from sklearn.base import clone

from sk_microagg.builders import MDAV
from sk_microagg.refiners import Exchange, IteratedLocalSearch, LocalSearch
from sk_microagg.refiners._exchange import FinalExchange


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(200, 3))


@pytest.fixture(name="labels")
def built(X):
    return MDAV().build(X, 4)


def assert_valid(X, labels, refined):
    sizes = np.bincount(refined)
    assert 4 <= sizes.min() <= sizes.max() <= 7
    assert total_sse(X, refined) <= total_sse(X, labels)


def test_ends_below_local_search_and_exchange(X, labels):
    refined = IteratedLocalSearch(max_iter=500).refine(X, labels, 4, random_state=0)
    for refiner in (LocalSearch(), Exchange()):
        other = refiner.refine(X, labels, 4, random_state=0)
        assert total_sse(X, refined) < 0.97 * total_sse(X, other)


@pytest.mark.slow
def test_about_as_good_as_the_oracle(X):
    X = X[:80]
    labels = MDAV().build(X, 4)
    ours = [IteratedLocalSearch(max_iter=8).refine(X, labels, 4, random_state=s) for s in range(2)]
    plain = [iterated_local_search(X, labels, 4, max_iter=8, seed=s) for s in range(2)]
    sse = [np.mean([total_sse(X, refined) for refined in runs]) for runs in (ours, plain)]
    assert sse[0] < 1.03 * sse[1]


@in_one_case("seed", range(3))
@in_one_case("n_init", [1, 3])
def test_trace_records_every_improvement_and_ends_at_the_result(X, labels, seed, n_init):
    search = IteratedLocalSearch(max_iter=100, n_init=n_init)
    refined = search.refine(X, labels, 4, random_state=seed)
    iteration, seconds, sse = search.trace_.T
    assert iteration[0] == 0
    assert iteration[-1] <= 100
    assert np.all(np.diff(iteration[:-1]) > 0)
    assert np.all(np.diff(iteration) >= 0)
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(sse) <= 0)
    assert sse[-1] == pytest.approx(total_sse(X, refined), rel=1e-12)
    assert search.n_iter_ == n_init * 100


def test_more_searches_give_the_best_of_them(X, labels):
    sse = [
        total_sse(
            X, IteratedLocalSearch(max_iter=40, n_init=n).refine(X, labels, 4, random_state=0)
        )
        for n in (1, 2, 5)
    ]
    assert sse == sorted(sse, reverse=True)


def test_number_of_jobs_changes_nothing(X, labels):
    searches = [IteratedLocalSearch(max_iter=60, n_init=3, n_jobs=jobs) for jobs in (None, 2)]
    one, other = (search.refine(X, labels, 4, random_state=0) for search in searches)
    assert np.array_equal(one, other)
    # Everything but the seconds.
    traces = [search.trace_[:, [0, 2]] for search in searches]
    assert np.array_equal(*traces)
    assert {search.n_iter_ for search in searches} == {180}


@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.usefixtures("fake_clock")
def test_time_limit_ends_the_search_with_the_best_so_far(X, labels, n_init):
    search = IteratedLocalSearch(max_iter=10**8, time_limit=3, n_init=n_init)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert 0 < search.n_iter_ <= 300
    assert len(search.trace_) > 2


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.filterwarnings("ignore:The search ended")
def test_a_time_limit_that_is_over_at_once_still_gives_a_partition():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    labels = MDAV().build(X, 4)
    search = IteratedLocalSearch(time_limit=1e-9)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert search.n_iter_ == 0


@pytest.mark.slow
@pytest.mark.parametrize("n_init", [1, 3])
def test_starts_are_part_of_the_time_limit(fake_clock, monkeypatch, n_init):
    X = np.random.default_rng(0).normal(size=(2500, 3))
    labels = np.arange(len(X)) // 4
    ends = []

    def run(self, neighborhoods, labels):
        ends.append(fake_clock.now)
        return labels

    monkeypatch.setattr(FinalExchange, "run", run)
    began = fake_clock.now
    search = IteratedLocalSearch(time_limit=3, n_init=n_init)
    # Each group takes a reading of the clock: without a limit, the first start alone takes 12 s.
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert ends[0] - began < 3.3


@in_one_case("patience", [1, 20])
def test_stops_after_n_iter_no_change_iterations_without_improvement(X, labels, patience):
    search = IteratedLocalSearch(max_iter=10**6, n_iter_no_change=patience)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    # The last row is the final exchange.
    assert search.n_iter_ == search.trace_[-2, 0] + patience


@in_one_case("acceptance", [0, 0.0, 0.8, np.float32(0.5), 1.0, "dynamic"])
def test_acceptance(X, labels, acceptance):
    search = IteratedLocalSearch(max_iter=80, acceptance=acceptance)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert search.n_iter_ == 80


@in_one_case("temperature", [1e-300, 1e-20, 1e300])
def test_all_positive_temperatures_are_valid(X, labels, temperature):
    search = IteratedLocalSearch(max_iter=300, temperature=temperature)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    # Many changes of the error, up and down, that are smaller than rounding errors.
    assert np.bincount(search.refine(X[:, :1] ** 9, labels, 4, random_state=0)).min() >= 4


@in_one_case("n_groups", [1, 2])
def test_with_one_group_there_is_nothing_to_search(n_groups):
    X = np.random.default_rng(0).normal(size=(4 * n_groups + 3, 2))
    search = IteratedLocalSearch(max_iter=50)
    refined = search.refine(X, np.zeros(len(X), dtype=int), 4, random_state=0)
    assert refined.max() + 1 <= n_groups
    assert search.n_iter_ == (0 if n_groups == 1 else 50)


@in_one_case(
    ("X", "k"),
    [
        (np.full((40, 2), 0.1), 4),
        (np.arange(10.0).repeat(4)[:, None], 4),
        (np.random.default_rng(0).normal(size=(20, 2)), 1),
    ],
)
@in_one_case("acceptance", ["dynamic", 0.8])
def test_a_partition_without_error_is_kept(X, k, acceptance):
    labels = np.arange(len(X)) // k
    search = IteratedLocalSearch(max_iter=50, acceptance=acceptance)
    assert total_sse(X, search.refine(X, labels, k, random_state=0)) == 0


# Progress line


def test_verbose_prints_how_it_ended(X, labels, capsys):
    IteratedLocalSearch(max_iter=50, verbose=1).refine(X, labels, 4, random_state=0)
    out = capsys.readouterr().out
    assert "\r" not in out
    assert out.endswith("\n")
    *_, last = out.splitlines()
    assert "iteration 50 of 50" in last
    assert "information loss" in last
    assert re.search(r", \d+ s$", last)


def test_nothing_is_printed_by_default(X, labels, capsys):
    IteratedLocalSearch(max_iter=50).refine(X, labels, 4, random_state=0)
    assert capsys.readouterr() == ("", "")


def test_verbose_on_a_table_without_variance(capsys):
    search = IteratedLocalSearch(max_iter=5, verbose=1, acceptance=0.5)
    search.refine(np.zeros((12, 1)), np.arange(12) // 4, 4, random_state=0)
    assert "information loss 0.0000%" in capsys.readouterr().out


# Invalid parameters


@in_one_case(
    ("parameters", "error", "message"),
    [
        ({"max_iter": 0}, ValueError, r"^max_iter=0\b"),
        ({"max_iter": None}, TypeError, r"^max_iter=None\b"),
        ({"max_iter": 5.0}, TypeError, r"^max_iter=5\.0\b"),
        ({"n_candidates": 0}, ValueError, r"^n_candidates=0\b"),
        ({"n_candidates": True}, TypeError, r"^n_candidates=True\b"),
        ({"n_init": -2}, ValueError, r"^n_init=-2\b"),
        ({"n_init": "5"}, TypeError, "^n_init='5'"),
        ({"n_iter_no_change": 0}, ValueError, r"^n_iter_no_change=0\b"),
        ({"n_iter_no_change": 1.5}, TypeError, r"^n_iter_no_change=1\.5\b"),
        ({"temperature": 0}, ValueError, r"^temperature=0\b"),
        ({"temperature": -1.0}, ValueError, r"^temperature=-1\.0\b"),
        ({"temperature": np.nan}, ValueError, r"^temperature=nan\b"),
        ({"temperature": None}, TypeError, r"^temperature=None\b"),
        ({"time_limit": 0}, ValueError, r"^time_limit=0\b"),
        ({"time_limit": "1"}, TypeError, "^time_limit='1'"),
        ({"acceptance": 1.1}, ValueError, r"^acceptance=1\.1\b"),
        ({"acceptance": -0.1}, ValueError, r"^acceptance=-0\.1\b"),
        ({"acceptance": np.nan}, ValueError, r"^acceptance=nan\b"),
        ({"acceptance": True}, TypeError, r"^acceptance=True\b"),
        ({"acceptance": "always"}, ValueError, "^acceptance='always'"),
        ({"acceptance": None}, TypeError, r"^acceptance=None\b"),
    ],
)
def test_bad_parameters(X, labels, parameters, error, message):
    search = IteratedLocalSearch(**parameters)
    with pytest.raises(error, match=message):
        search.refine(X, labels, 4)
    assert not [name for name in vars(search) if name.endswith("_")]


def test_parameters_can_be_read_set_and_cloned():
    search = IteratedLocalSearch(max_iter=7, acceptance=0.8)
    assert str(clone(search)) == "IteratedLocalSearch(acceptance=0.8, max_iter=7)"
    assert search.set_params(n_init=2).get_params()["n_init"] == 2


def test_a_callback_is_notified_of_the_search_and_can_end_it(X, labels):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    callback = StopAfter(3)
    search = IteratedLocalSearch(max_iter=1000).set_callbacks(callback)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert search.n_iter_ == 30
    steps = ["step begins", "step ends"] * 3
    assert callback.events == ["setup", "refine begins", *steps, "refine ends", "teardown"]
