"""Tests of recombination only; test_annealing.py tests what it shares with annealing."""

import itertools
import math
import signal
from types import SimpleNamespace

import numpy as np
import published
import pytest
from marks import in_one_case
from oracles.partition import canonical, total_sse

from sk_microagg import microaggregate
from sk_microagg._bound import _repair
from sk_microagg._utils._deadline import Deadline
from sk_microagg.builders import MDAV
from sk_microagg.metrics import information_loss
from sk_microagg.refiners import Annealing, Exchange, LocalSearch, Recombination, _annealing
from sk_microagg.refiners import _recombination as recombination
from sk_microagg.refiners._decompose import split_large_groups
from sk_microagg.refiners._selection import Selection


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(name="labels")
def built(X):
    return MDAV().build(X, 4)


def short(**parameters):
    return Recombination(**{"n_init": 3, "max_iter": 2, "annealing_max_iter": 3000} | parameters)


@pytest.fixture(scope="module", params=range(2))
def done(request):
    """A short search of the records: the errors of its runs of all of them, and the result."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    labels, runs = MDAV().build(X, 4), []

    def recording(neighborhoods, *arguments):
        result = plain(neighborhoods, *arguments)
        if len(neighborhoods.X) == len(X):
            runs.append(total_sse(X, result[0]))
        return result

    plain = recombination.anneal
    search = short()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recombination, "anneal", recording)
        refined = search.refine(X, labels, 4, random_state=request.param)
    return SimpleNamespace(seed=request.param, search=search, refined=refined, runs=runs)


class Endless:
    """The progress of a search without a limit."""

    time_limit = math.inf
    stopped = False


def assert_valid(X, labels, refined, k=4):
    sizes = np.bincount(refined)
    assert k <= sizes.min() <= sizes.max() < 2 * k
    assert total_sse(X, refined) <= total_sse(X, labels)


@pytest.mark.slow
def test_ends_below_local_search_and_exchange():
    X = np.random.default_rng(0).normal(size=(200, 3))
    labels = MDAV().build(X, 4)
    refined = short(n_init=2, max_iter=1).refine(X, labels, 4, random_state=0)
    for refiner in (LocalSearch(), Exchange()):
        other = refiner.refine(X, labels, 4, random_state=0)
        assert total_sse(X, refined) < 0.95 * total_sse(X, other)


@pytest.mark.slow
def test_ends_below_each_of_its_runs(X, done):
    assert len(done.runs) >= 3
    assert total_sse(X, done.refined) < min(done.runs)


@pytest.mark.slow
def test_a_partition_better_than_all_runs_is_kept_or_improved(X, labels):
    good = Annealing(max_iter=500_000).refine(X, labels, 4, random_state=0)
    search = short(n_init=1, max_iter=1, annealing_max_iter=1)
    assert_valid(X, good, search.refine(X, good, 4, random_state=0))
    assert search.n_iter_ == 1


@pytest.mark.slow
def test_trace_records_every_improvement_and_ends_at_the_result(X, labels, done):
    search, refined = done.search, done.refined
    number, seconds, sse = search.trace_.T
    assert number[0] == 0
    assert number[-1] == search.n_iter_ == 2
    assert np.all(np.diff(number) >= 0)
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(sse[:-1]) < 0)
    assert sse[-1] <= sse[-2]
    given = split_large_groups(X, labels, 4)
    assert sse[0] == pytest.approx(total_sse(X, given), rel=1e-12)
    assert sse[-1] == pytest.approx(total_sse(X, refined), rel=1e-12)


@pytest.mark.slow
def test_number_of_rounds(X, labels):
    search = short(n_init=2, max_iter=3)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert search.n_iter_ == 3


@pytest.mark.slow
def test_more_rounds_end_lower():
    X = np.random.default_rng(4).normal(size=(100, 3))
    labels = MDAV().build(X, 4)
    search = short(n_init=2, annealing_max_iter=1000)
    search.refine(X, labels, 4, random_state=0)
    number, _, sse = search.trace_[:-1].T  # Without the exchange at the end.
    assert sse[number > 1].min() < sse[number <= 1].min()


@pytest.mark.slow
def test_finds_the_optimum_of_few_records():
    # In one column, optimal groups are intervals (Hansen and Mukherjee, 2003): dynamic programming
    # over the number of records to the left of a group finds the optimum.
    k = 3
    X = np.sort(np.random.default_rng(0).normal(size=(25, 1)), axis=0)
    least = [0.0] + [np.inf] * len(X)
    for end in range(k, len(X) + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            cost = len(X[start:end]) * X[start:end].var()
            least[end] = min(least[end], least[start] + cost)
    refined = short(n_init=8, annealing_max_iter=20_000).refine(
        X, np.arange(25) % 8, k, random_state=0
    )
    assert total_sse(X, refined) == pytest.approx(least[-1], rel=1e-9)


@pytest.mark.slow
def test_node_limit_1_still_gives_a_partition(X, labels):
    assert_valid(X, labels, short(node_limit=1).refine(X, labels, 4, random_state=0))


def test_by_name(X, monkeypatch):
    # The default would take half a minute.
    searches = []

    def recording(search, task):
        searches.append((search.get_params(), task.labels.tolist(), task.random_state.randint(99)))
        return task.labels

    monkeypatch.setattr(Recombination, "_search", recording)
    for refiner in ("recombination", Recombination()):
        microaggregate(X, 3, refiner=refiner, random_state=0)
    named, given = searches
    assert named == given


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("fake_clock")
def test_time_limit_without_annealing_max_iter(X, labels, n_jobs):
    # Without the limit it would run for days.
    search = Recombination(time_limit=0.5, max_iter=10**7, n_jobs=n_jobs)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert search.n_iter_ < 10**7


@pytest.mark.slow
def test_a_time_limit_that_is_not_reached_changes_nothing(X, labels, done):
    timed = short(time_limit=10**6).refine(X, labels, 4, random_state=done.seed)
    assert np.array_equal(timed, done.refined)


@pytest.mark.slow
def test_disputed_records_are_annealed_alone(X, labels, monkeypatch):
    sizes = []

    def recording(neighborhoods, *arguments):
        sizes.append(len(neighborhoods.X))
        return plain(neighborhoods, *arguments)

    plain = recombination.anneal
    monkeypatch.setattr(recombination, "anneal", recording)
    # In one half there is nothing to dispute: groups of identical records, which no run splits.
    Z = X.copy()
    Z[:28] = 100.0 + np.repeat(np.arange(7.0), 4)[:, None] * 10
    search = short(annealing_max_iter=20_000)
    refined = search.refine(Z, np.arange(60) // 4, 4, random_state=0)
    assert canonical(refined)[:28].tolist() == (np.arange(28) // 4).tolist()
    assert sizes[:3] == [60] * 3
    assert max(sizes[3:]) <= 32


@pytest.mark.usefixtures("fake_clock")
def test_with_little_time_one_run_takes_all_of_it(X, labels, monkeypatch):
    n_runs = []

    def recording(*arguments):
        n_runs.append(1)
        return plain(*arguments)

    plain = recombination.anneal
    monkeypatch.setattr(recombination, "anneal", recording)
    monkeypatch.setattr(recombination, "MIN_STEPS_TO_RECOMBINE", 10**12)
    search = Recombination(time_limit=2.0)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert len(n_runs) == 1
    assert search.n_iter_ == 0
    assert len(search.trace_) == 3


@pytest.mark.parametrize("time_limit", [None, 20.0])
@pytest.mark.usefixtures("fake_clock")
def test_without_time_for_a_relaxation_the_best_run_is_kept(X, labels, monkeypatch, time_limit):
    # A tree of the records seems to take longer than there is.
    monkeypatch.setattr(_repair, "tree_seconds", lambda X: np.inf)
    search = Recombination(n_init=3, max_iter=2, annealing_max_iter=20_000, time_limit=time_limit)
    refined = search.refine(X, labels, 4, random_state=0)
    assert_valid(X, labels, refined)
    assert information_loss(X, refined) < information_loss(X, labels)
    assert search.n_iter_ > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_one_run_is_the_run_of_annealing(X, seed, set_clock, monkeypatch):
    # Time passes in annealing runs only, where every stage takes a hundredth of a second.
    set_clock(0.0)
    clock = SimpleNamespace(monotonic=itertools.count(step=0.01).__next__)
    monkeypatch.setattr(_annealing, "time", clock)
    # With so large a k, time is too short to recombine.
    labels = MDAV().build(X, 20)
    searches = Annealing(time_limit=2.0), Recombination(time_limit=2.0)
    one, other = (search.refine(X, labels, 20, random_state=seed) for search in searches)
    assert information_loss(X, one) < information_loss(X, labels)
    assert np.array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "recombines"), [(0.005, True), (0.5, False)])
def test_a_trial_decides_whether_to_recombine(X, labels, gap, recombines, monkeypatch, set_clock):
    set_clock(0.005)
    seconds = []

    def recording(*arguments):
        seconds.append(arguments[-2])
        return plain(*arguments)

    plain = recombination.anneal
    monkeypatch.setattr(recombination, "anneal", recording)
    # About twice as many steps as recombination needs.
    least = recombination.MIN_STEPS_TO_RECOMBINE * 4**2 * len(X)
    monkeypatch.setattr(recombination, "STEPS_PER_SECOND", 2 * least / 10)
    monkeypatch.setattr(Selection, "_relative_gap", lambda *_: gap)
    search = Recombination(time_limit=10.0)
    assert_valid(X, labels, search.refine(X, labels, 4, random_state=0))
    assert seconds[0] < 1.0
    if recombines:
        assert len(seconds) > 2
        assert max(seconds) < 5.0
    else:
        assert len(seconds) == 2
        assert seconds[1] > 8.0


@pytest.mark.parametrize(
    ("gaps", "is_near", "n_asked"),
    [
        # The last cuts brought it nearer by 0.1, and 0.2 is missing; then by too little.
        ([0.5, 0.4, 0.39], False, 3),
        ([0.5, 0.3, 0.25, 0.2], True, 4),
        ([0.5, 0.5], False, 2),
        # It is near although it has risen.
        ([0.5, 0.15, 0.19, 0.19], True, 4),
    ],
)
def test_cuts_that_do_too_little_end_the_trial(X, labels, gaps, is_near, n_asked, monkeypatch):
    class Relaxed:
        cuts = ()

    def ascents(*_):
        for n_cuts in range(1, 4):
            relaxation.cuts = n_cuts * ("cut",)
            yield relaxation

    relaxation, asked = Relaxed(), iter(gaps)
    monkeypatch.setattr(Selection, "_ascents", ascents)
    monkeypatch.setattr(Selection, "_relative_gap", lambda *_: next(asked))
    selection = Selection(X, 4, None, 10, Endless(), Deadline(), is_timed=True)
    assert selection.is_near(labels, 0.2) == is_near
    assert len(list(asked)) == len(gaps) - n_asked


def test_the_gap_is_the_distance_from_the_relaxation():
    X = np.random.default_rng(0).normal(size=(100, 3))
    labels = MDAV().build(X, 4)
    deadline = Deadline()
    selection = Selection(X, 4, np.random.RandomState(0), 10, Endless(), deadline, is_timed=False)
    good = Annealing(max_iter=500_000).refine(X, labels, 4, random_state=0)
    gaps = []
    for partition in (good, labels):
        selection.groups.add(partition)
        list(selection._ascents(partition))
        gaps.append(selection._relative_gap(partition))
    assert 0 < gaps[0] < 0.05
    # It is about the same relaxation for both.
    costs = [total_sse(X, partition) for partition in (good, labels)]
    assert costs[1] * (1 - gaps[1]) == pytest.approx(costs[0] * (1 - gaps[0]), rel=0.02)


def test_an_interrupt_ends_the_search_with_the_best_partition(X, labels, monkeypatch):
    def pressing(*arguments):
        result = plain(*arguments)
        signal.raise_signal(signal.SIGINT)
        return result

    plain = recombination.anneal
    monkeypatch.setattr(recombination, "anneal", pressing)
    # The second round would press again, which raises.
    search = short(n_init=1, max_iter=50)
    with pytest.warns(UserWarning, match="Ctrl-C"):
        refined = search.refine(X, labels, 4, random_state=0)
    assert_valid(X, labels, refined)
    assert search.n_iter_ == 0


@in_one_case(
    ("parameters", "error", "message"),
    [
        ({"n_init": 0}, ValueError, r"^n_init=0\b"),
        ({"n_init": 2.0}, TypeError, r"^n_init=2\.0\b"),
        ({"max_iter": 0}, ValueError, r"^max_iter=0\b"),
        ({"max_iter": None}, TypeError, r"^max_iter=None\b"),
        ({"annealing_max_iter": 0}, ValueError, r"^annealing_max_iter=0\b"),
        (
            {"annealing_max_iter": "9"},
            TypeError,
            "^annealing_max_iter='9'",
        ),
        ({"node_limit": 0}, ValueError, r"^node_limit=0\b"),
        ({"node_limit": True}, TypeError, r"^node_limit=True\b"),
        ({"time_limit": 0}, ValueError, r"^time_limit=0\b"),
        ({"time_limit": np.nan}, ValueError, r"^time_limit=nan\b"),
        ({"time_limit": "1"}, TypeError, "^time_limit='1'"),
    ],
)
def test_bad_parameters(X, labels, parameters, error, message):
    search = Recombination(**parameters)
    with pytest.raises(error, match=message):
        search.refine(X, labels, 4)
    assert not [name for name in vars(search) if name.endswith("_")]


@pytest.mark.release
def test_better_than_the_best_published_search_on_real_data(data_folder, monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    figure = published.published_figures()["Census", "ILSMC 5000 iterations, best of 20", 3]
    X = published.standardized("Census")
    search = Recombination(n_init=3, max_iter=1, annealing_max_iter=3_000_000)
    refined = search.refine(X, MDAV().build(X, 3), 3, random_state=0)
    assert 100 * information_loss(X, refined) < figure
