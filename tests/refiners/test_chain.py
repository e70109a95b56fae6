import numpy as np
import pytest
from marks import in_one_case
from oracles.partition import total_sse
from sklearn.base import clone

from sk_microagg import MicroAggregator
from sk_microagg.builders import MDAV
from sk_microagg.refiners import (
    Auto,
    Chain,
    Decompose,
    DecomposeShrink,
    Exchange,
    IteratedLocalSearch,
    LocalSearch,
    make_chain,
)


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(150, 3))


@pytest.fixture(name="labels")
def built(X):
    return MDAV().build(X, 4)


def test_without_a_seed_a_chain_with_auto_is_reproducible(X, labels):
    chain = make_chain(Auto(), IteratedLocalSearch(max_iter=20))
    first, second = (chain.refine(X, labels, 4) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert make_chain(Exchange(), LocalSearch()).default_seed is None
    assert make_chain(Exchange(), LocalSearch()).is_random
    assert not make_chain(Exchange(), Decompose()).is_random


def decompose_then_search():
    return Chain([("decompose", Decompose()), ("local", LocalSearch())])


def test_each_refiner_starts_from_the_result_of_the_previous_one(X, labels):
    expected = LocalSearch().refine(X, Decompose().refine(X, labels, 4), 4, random_state=0)
    refined = decompose_then_search().refine(X, labels, 4, random_state=0)
    assert np.array_equal(refined, expected)
    assert total_sse(X, refined) < total_sse(X, labels)


def test_refiners_draw_from_one_generator_in_turn(X, labels):
    search = IteratedLocalSearch(max_iter=20, acceptance=0.9)
    state = np.random.RandomState(0)
    expected = search.refine(X, labels, 4, random_state=state)
    expected = search.refine(X, expected, 4, random_state=state)
    refined = make_chain(search, search).refine(X, labels, 4, random_state=0)
    assert np.array_equal(refined, expected)


def test_the_given_refiners_are_not_modified(X, labels):
    chain = decompose_then_search()
    chain.refine(X, labels, 4, random_state=0)
    assert [name for name, _ in chain.steps_] == ["decompose", "local"]
    for (_, given), (_, used) in zip(chain.steps, chain.steps_, strict=True):
        assert type(given) is type(used)
        assert not hasattr(given, "n_iter_")
        assert used.n_iter_ >= 1
    assert chain.n_iter_ == sum(used.n_iter_ for _, used in chain.steps_)


def test_a_chain_in_a_chain(X, labels):
    nested = Chain([("first", decompose_then_search()), ("exchange", Exchange())])
    flat = make_chain(Decompose(), LocalSearch(), Exchange())
    nested.set_params(first__local__max_iter=2)
    flat.set_params(local_search__max_iter=2)
    assert np.array_equal(
        nested.refine(X, labels, 4, random_state=0), flat.refine(X, labels, 4, random_state=0)
    )
    assert nested.n_iter_ == flat.n_iter_


def test_parameters_of_steps_are_parameters_of_the_chain(X, labels):
    chain = decompose_then_search()
    assert chain.set_params(local__max_iter=1) is chain
    assert chain.get_params()["local__max_iter"] == 1
    assert chain.get_params()["local"] is chain.steps[1][1]
    assert set(chain.get_params(deep=False)) == {"steps"}
    chain.refine(X, labels, 4, random_state=0)
    assert dict(chain.steps_)["local"].n_iter_ == 1


def test_a_step_can_be_replaced():
    chain = decompose_then_search().set_params(local=Exchange())
    assert str(chain) == "Chain(steps=[('decompose', Decompose()), ('local', Exchange())])"


@in_one_case("name", ["global", "local__min_iter", "other__max_iter"])
def test_unknown_parameters(name):
    with pytest.raises(ValueError, match="Invalid parameter"):
        decompose_then_search().set_params(**{name: 1})


def test_clone_and_representation():
    chain = decompose_then_search().set_params(local__max_iter=3)
    copy = clone(chain)
    assert str(copy) == str(chain)
    assert str(copy) == (
        "Chain(steps=[('decompose', Decompose()), ('local', LocalSearch(max_iter=3))])"
    )
    copy.set_params(local__max_iter=None)
    assert chain.get_params()["local__max_iter"] == 3


@in_one_case(
    ("refiners", "names"),
    [
        ([Decompose()], ["decompose"]),
        ([DecomposeShrink(), Exchange()], ["decompose_shrink", "exchange"]),
        (
            [LocalSearch(), Exchange(), LocalSearch(max_iter=2)],
            ["local_search-1", "exchange", "local_search-2"],
        ),
    ],
)
def test_names_of_a_chain_made_of_refiners(refiners, names, X, labels):
    chain = make_chain(*refiners)
    assert [name for name, _ in chain.steps] == names
    assert [refiner for _, refiner in chain.steps] == refiners
    assert np.bincount(chain.refine(X, labels, 4, random_state=0)).min() >= 4
    assert set(names) <= set(chain.get_params())


def test_a_chain_of_names(X, labels):
    chain = make_chain("decompose_shrink", "exchange", "exchange")
    names, refiners = zip(*chain.steps, strict=True)
    assert names == ("decompose_shrink", "exchange-1", "exchange-2")
    assert [*map(type, refiners)] == [DecomposeShrink, Exchange, Exchange]
    assert np.bincount(chain.refine(X, labels, 4)).min() >= 4
    aggregator = MicroAggregator(4, refiner=["decompose_shrink", "exchange"]).fit(X)
    assert [name for name, _ in aggregator.refiner_.steps] == ["decompose_shrink", "exchange"]
    with pytest.raises(ValueError, match=r"^refiner='swap'"):
        make_chain("swap")


BAD_STEP = "must be a tuple of a name and a refiner"


@in_one_case(
    ("steps", "error", "message"),
    [
        ([], TypeError, r"^steps=\[\]"),
        (None, TypeError, r"^steps=None\b"),
        (Exchange(), TypeError, r"^steps=Exchange\(\)"),
        ([Exchange()], TypeError, rf"^step Exchange\(\) {BAD_STEP}"),
        ([("a", Exchange()), ("b", None)], TypeError, rf"^step \('b', None\) {BAD_STEP}"),
        ([("a", Exchange(), 1)], TypeError, rf"^step \('a', Exchange\(\), 1\) {BAD_STEP}"),
        ([("a", MDAV())], TypeError, rf"^step \('a', MDAV\(\)\) {BAD_STEP}"),
        ([("a", Exchange)], TypeError, rf"^step \('a', <class .*Exchange'>\) {BAD_STEP}"),
        ([("a", Exchange()), ("a", Exchange())], ValueError, "[Nn]ames.* not unique"),
        ([("a__b", Exchange())], ValueError, "must not contain __"),
        ([("steps", Exchange())], ValueError, "conflict with constructor arguments"),
    ],
)
def test_bad_steps(X, labels, steps, error, message):
    chain = Chain(steps)
    with pytest.raises(error, match=message):
        chain.refine(X, labels, 4)
    assert not hasattr(chain, "steps_")


def test_a_step_that_fails_leaves_nothing_behind(X, labels):
    chain = make_chain(Decompose(), LocalSearch(max_iter=-1))
    with pytest.raises(ValueError, match=r"^max_iter=-1\b"):
        chain.refine(X, labels, 4)
    assert not [name for name in vars(chain) if name.endswith("_")]
