"""Ctrl-C ends a search with the best partition so far, and a warning; a second one raises."""

import gc
import itertools
import signal

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from oracles.partition import canonical, total_sse
from sklearn.exceptions import ConvergenceWarning

from sk_microagg import (
    KAIM,
    MicroAggregator,
    TableAggregator,
    _microaggregator,
    _table_aggregator,
    microaggregate,
)
from sk_microagg._utils._deadline import is_interrupted
from sk_microagg.builders import MDAV
from sk_microagg.generalization import _generalizer, _kaim
from sk_microagg.refiners import (
    Annealing,
    Auto,
    Chain,
    Exchange,
    IteratedLocalSearch,
    LocalSearch,
    Recombination,
    _annealing,
    _auto,
    _iterated_local_search,
    _neighborhoods,
)
from sk_microagg.refiners._exchange import FinalExchange
from sk_microagg.refiners._neighborhoods import Neighborhoods

SO_FAR = "^The search was interrupted by Ctrl-C: the result is the best partition found so far.$"
JOBS = pytest.mark.parametrize("n_jobs", [None, 2])


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def no_garbage_of_other_tests():
    """Leave nothing to be collected meanwhile: Python drops a Ctrl-C that meets a destructor.

    What outlives a collection is not looked at by the next one, which then takes no time.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def a_moment_that_lasts(set_clock):
    """Give exchanges all the time that they need in the moment after Ctrl-C."""
    set_clock(1e-9)


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(240, 3))


@pytest.fixture(name="labels")
def built(X):
    return MDAV().build(X, 4)


def pressing(function, number=1):
    """The function, with Ctrl-C pressed before one of its calls, given the number of that call."""
    numbers = itertools.count(1)

    def pressed(*arguments, **settings):
        if next(numbers) == number:
            press()
        return function(*arguments, **settings)

    return pressed


@pytest.fixture
def press_before(monkeypatch):
    """Press Ctrl-C before a call of a function, given its number."""

    def press_before(owner, name, number=1):
        monkeypatch.setattr(owner, name, pressing(getattr(owner, name), number))

    return press_before


@pytest.fixture
def press_in_exchange(monkeypatch):
    """Press Ctrl-C a second time, in the exchange after a search."""
    run, numbers = FinalExchange.run, itertools.count(1)

    def pressed(*arguments):
        # Threads of other tests may not have ended yet.
        if is_interrupted() and next(numbers) == 1:
            press()
        return run(*arguments)

    monkeypatch.setattr(FinalExchange, "run", pressed)


def endless_search(number, **parameters):
    """A search that would take days, but Ctrl-C is pressed in an iteration, given its number."""
    numbers = itertools.count(1)

    class Pressed(IteratedLocalSearch):
        def _perturb(self, partition, rng):
            if next(numbers) == number:
                press()
            return super()._perturb(partition, rng)

    return Pressed(max_iter=10**9, **parameters)


def fitted_attributes(estimator):
    return [name for name in vars(estimator) if name.endswith("_")]


# Iterated local search


@JOBS
def test_a_search_ends_with_the_best_so_far(X, labels, n_jobs):
    search = endless_search(50, n_init=4, n_jobs=n_jobs)
    with pytest.warns(UserWarning, match=SO_FAR) as warned:
        refined = search.refine(X, labels, 4, random_state=0)
    assert [warning.filename for warning in warned] == [__file__]
    assert np.bincount(refined).min() >= 4
    assert total_sse(X, refined) == pytest.approx(search.trace_[-1, 2])
    assert total_sse(X, refined) < total_sse(X, Exchange().refine(X, labels, 4))
    if n_jobs is None:
        assert search.n_iter_ == 50
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("n_init", [1, 3])
def test_an_interrupt_in_a_start_goes_on_with_what_there_is(X, labels, monkeypatch, n_init):
    first, *others = _iterated_local_search.STARTS
    monkeypatch.setattr(_iterated_local_search, "STARTS", (pressing(first), *others))
    search = endless_search(0, n_init=n_init)
    with pytest.warns(UserWarning, match=SO_FAR):
        refined = search.refine(X, labels, 4, random_state=0)
    assert search.n_iter_ == 0
    assert total_sse(X, refined) < total_sse(X, labels)


def test_the_final_exchange_goes_on_for_a_moment(X, labels, press_before):
    press_before(FinalExchange, "run", 1)
    with pytest.warns(UserWarning, match=SO_FAR):
        refined = IteratedLocalSearch(max_iter=50).refine(X, labels, 4, random_state=0)
    expected = IteratedLocalSearch(max_iter=50).refine(X, labels, 4, random_state=0)
    np.testing.assert_array_equal(refined, expected)


def test_the_final_exchange_does_not_go_on_for_long(X, press_before, set_clock):
    set_clock(1.0)
    press_before(Neighborhoods, "__init__", 1)
    aggregator = MicroAggregator(4)
    with (
        pytest.warns(ConvergenceWarning, match="diagram") as warned,
        pytest.warns(UserWarning, match=SO_FAR),
    ):
        aggregator.fit(X)
    assert {warning.filename for warning in warned} == {__file__}
    assert not aggregator.exact_transform_
    assert aggregator.group_sizes_.min() >= 4


@pytest.mark.parametrize("number", [1, 5])
@pytest.mark.parametrize(
    "search",
    [Auto(), Annealing(max_iter=10**12), Recombination(annealing_max_iter=10**12)],
    ids=repr,
)
def test_annealing_ends_with_the_best_so_far(X, labels, press_before, search, number):
    press_before(_annealing.Cooling, "at", number)
    with pytest.warns(UserWarning, match=SO_FAR) as warned:
        refined = search.refine(X, labels, 4, random_state=0)
    assert [warning.filename for warning in warned] == [__file__]
    assert np.bincount(refined).min() >= 4
    assert total_sse(X, refined) < total_sse(X, labels)


@pytest.mark.parametrize(
    "place", [(_neighborhoods, "distinct_records"), (Neighborhoods, "__init__")], ids=str
)
def test_an_interrupt_while_neighbors_are_looked_for(X, labels, press_before, set_clock, place):
    for search in (Auto(), Annealing(), IteratedLocalSearch(), Recombination()):
        set_clock(1.0)
        press_before(*place, 1)
        with (
            pytest.warns(ConvergenceWarning, match="diagram"),
            pytest.warns(UserWarning, match=SO_FAR),
        ):
            refined = search.refine(X, labels, 4, random_state=0)
        assert np.bincount(refined).min() >= 4
        # Sums depend on the order of the groups.
        assert total_sse(X, canonical(refined)) <= total_sse(X, canonical(labels))


@pytest.mark.parametrize("presses", [1, 2])
def test_exchanges_in_the_place_of_annealing_end_too(monkeypatch, presses):
    X = np.random.default_rng(0).normal(size=(300, 30))
    labels = np.arange(300) // 4
    monkeypatch.setattr(_auto, "FEW_RECORDS", 100)
    monkeypatch.setattr(_auto, "RAISED_BY_TRIAL", -1.0)
    exchange = _auto.exchange

    def pressed(*arguments, **options):
        for _ in range(presses):
            press()
        return exchange(*arguments, **options)

    monkeypatch.setattr(_auto, "exchange", pressed)
    if presses == 2:
        with pytest.raises(KeyboardInterrupt):
            Auto().refine(X, labels, 4)
        return
    with pytest.warns(UserWarning, match=SO_FAR):
        refined = Auto().refine(X, labels, 4)
    np.testing.assert_array_equal(refined, Exchange().refine(X, labels, 4))


@JOBS
@pytest.mark.usefixtures("press_in_exchange")
def test_a_second_interrupt_raises_and_leaves_nothing(X, labels, n_jobs):
    search = endless_search(5, n_init=2, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        search.refine(X, labels, 4, random_state=0)
    assert fitted_attributes(search) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_exchange_and_local_search_raise_at_once(X, labels, press_before):
    for refiner in (Exchange(), LocalSearch()):
        press_before(type(refiner), "_refine", 1)
        with pytest.raises(KeyboardInterrupt):
            refiner.refine(X, labels, 4)


# Several searches, one after the other


def test_an_interrupt_ends_all_searches_of_a_chain(X, labels):
    first, second = endless_search(5), endless_search(0)
    chain = Chain([("first", first), ("second", second)])
    with pytest.warns(UserWarning, match=SO_FAR) as warned:
        chain.refine(X, labels, 4, random_state=0)
    assert [warning.filename for warning in warned] == [__file__]
    assert chain.n_iter_ == 5


def test_an_interrupt_ends_the_searches_of_all_strata(X):
    strata = np.arange(len(X)) % 3
    for fit in (
        lambda search: microaggregate(X, 4, refiner=search, strata=strata, random_state=0),
        lambda search: MicroAggregator(4, refiner=search, random_state=0).fit(X, strata=strata),
    ):
        message = "Ctrl-C: all strata"
        with pytest.warns(UserWarning, match=message) as warned:
            fit(endless_search(5))
        assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.usefixtures("press_in_exchange")
def test_a_second_interrupt_among_strata_raises(X):
    with pytest.raises(KeyboardInterrupt):
        microaggregate(X, 4, refiner=endless_search(5), strata=np.arange(len(X)) % 3)


# MicroAggregator


def test_a_release_from_an_interrupted_search_is_whole(X):
    aggregator = MicroAggregator(4, refiner=endless_search(5), random_state=0)
    with pytest.warns(UserWarning, match=SO_FAR) as warned:
        aggregator.fit(X)
    assert [warning.filename for warning in warned] == [__file__]
    assert aggregator.group_sizes_.min() >= 4
    assert aggregator.exact_transform_


@pytest.mark.parametrize("verbose", [0, 1])
@JOBS
def test_an_interrupt_ends_the_searches_of_all_blocks(X, n_jobs, verbose):
    aggregator = MicroAggregator(
        4,
        refiner=endless_search(5),
        block_size=60,
        n_jobs=n_jobs,
        random_state=0,
        verbose=verbose,
    )
    with pytest.warns(UserWarning, match="Ctrl-C: all blocks") as warned:
        release = aggregator.fit_transform(X)
    assert [warning.filename for warning in warned] == [__file__]
    assert aggregator.n_blocks_ == 4
    assert len(release) == aggregator.group_sizes_.sum() == len(X)
    assert aggregator.group_sizes_.min() >= 4
    if n_jobs is None:
        assert aggregator.n_iter_ == 5


@pytest.mark.parametrize("verbose", [0, 1])
@JOBS
@pytest.mark.usefixtures("press_in_exchange")
def test_a_second_interrupt_among_blocks_raises(X, n_jobs, verbose):
    aggregator = MicroAggregator(
        4,
        refiner=endless_search(5),
        block_size=60,
        n_jobs=n_jobs,
        random_state=0,
        verbose=verbose,
    )
    with pytest.raises(KeyboardInterrupt):
        aggregator.fit(X)
    assert fitted_attributes(aggregator) == []


@JOBS
def test_blocks_without_a_search_are_left_at_once(X, press_before, n_jobs):
    press_before(Exchange, "_refine", 2)
    aggregator = MicroAggregator(4, refiner="exchange", block_size=60, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        aggregator.fit(X)
    assert fitted_attributes(aggregator) == []


def test_building_raises(X, press_before):
    press_before(MDAV, "_build", 1)
    aggregator = MicroAggregator(4, refiner=endless_search(5), block_size=60)
    with pytest.raises(KeyboardInterrupt):
        aggregator.fit(X)


# Attributes


@in_one_case(
    ("model", "module", "name"),
    [
        (MicroAggregator(4, refiner=None), _microaggregator, "loss_share"),
        (TableAggregator(4, refiner=None), _table_aggregator, "loss_share"),
        (KAIM(4, refiner=None, random_state=0), _generalizer, "group_sizes"),
    ],
)
def test_attributes_change_together(model, module, name, press_before):
    rng = np.random.default_rng(0)
    model.fit(pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"]))
    before = vars(model).copy()
    press_before(module, name, 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[each] is before[each] for each in before)


# KAIM


@JOBS
def test_an_iterated_search_for_generalized_groups(X, n_jobs):
    kaim = KAIM(4, refiner=endless_search(5), n_jobs=n_jobs, random_state=0)
    message = "Ctrl-C: the groups"
    with pytest.warns(UserWarning, match=message) as warned:
        kaim.fit(X)
    assert [warning.filename for warning in warned] == [__file__]
    assert kaim.n_iter_ == kaim.refiner_.n_iter_ >= 5
    assert kaim.group_sizes_.min() >= 4


def test_building_and_refining_generalized_groups_raise(X, press_before):
    kaim = KAIM(4, random_state=0)
    for step in ("group_greedily", "refine"):
        press_before(_kaim, step, 1)
        with pytest.raises(KeyboardInterrupt):
            kaim.fit(X)
        assert fitted_attributes(kaim) == []
