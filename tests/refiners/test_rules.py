"""Refiners under rules beyond k: those that keep to them, and those that refuse."""

import numpy as np
import pytest
from example_tables.numbers import TABLES
from example_tables.sensitive import SENSITIVE, Spread, possible_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.partition import total_sse

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.builders import MDAV
from sk_microagg.privacy import LDiversity, Rules, TCloseness, UnitShare
from sk_microagg.refiners import (
    REFINERS,
    Annealing,
    Auto,
    Chain,
    Exchange,
    IteratedLocalSearch,
    LocalSearch,
    Recombination,
    Refiner,
    make_chain,
)

KEEPING = [name for name, refiner in REFINERS.items() if refiner.keeps_rules]
REFUSING = [name for name in REFINERS if name not in KEEPING]
every_keeping = pytest.mark.parametrize("name", KEEPING)
every_refusing = in_one_case("name", REFUSING)

SHORT = {
    "iterated_local_search": IteratedLocalSearch(max_iter=40),
    "annealing": Annealing(max_iter=4000, n_init=2),
    "recombination": Recombination(n_init=2, max_iter=1, annealing_max_iter=10_000),
}


def short(name):
    return SHORT.get(name) or REFINERS[name]()


def test_some_refiners_keep_rules_and_some_do_not():
    assert {*KEEPING} == {
        "auto",
        "local_search",
        "annealing",
        "iterated_local_search",
        "recombination",
    }
    assert {"exchange", "decompose", "decompose_shrink"} == {*REFUSING}


# Those that keep rules


@pytest.mark.slow
@settings(deadline=None, max_examples=45)
@given(
    name=st.sampled_from(KEEPING),
    seed=st.integers(0, 2**32 - 1),
    table=st.sampled_from(sorted(TABLES)),
    sensitive=st.sampled_from(sorted(SENSITIVE)),
    n=st.integers(1, 60),
    d=st.integers(1, 3),
    share=st.floats(0, 1),
    t=st.sampled_from([0.0, 0.02, 0.1, 0.2, 0.3, 0.5, 1.0]),
)
def test_groups_meet_the_rules_and_the_loss_is_not_higher(
    name, seed, table, sensitive, n, d, share, t
):
    rng = np.random.default_rng(seed)
    k = 1 + round(share**3 * (n - 1))  # small k more often, but up to n
    X = TABLES[table](rng, n, d)
    rules = possible_rules(rng, n, k, sensitive, t)
    labels = MDAV().build(X, k, rules)
    refined, again = (short(name).refine(X, labels, k, seed, rules) for _ in range(2))
    assert_array_equal(refined, again)
    assert np.bincount(refined).min() >= k
    assert rules.are_met(refined).all()
    # Denormal squares are off by one unit each.
    assert total_sse(X, refined) <= total_sse(X, labels) * (1 + 1e-9) + 5e-324 * X.size


@pytest.fixture(name="table")
def records_and_values():
    rng = np.random.default_rng(0)
    return rng.normal(size=(150, 2)), rng.normal(size=150), rng.integers(0, 40, 150)


ABOUT_PEOPLE = [[], [UnitShare(0.25)]]
KINDS = [
    TCloseness(0.15),
    LDiversity(3),
    LDiversity(3, "entropy"),
    LDiversity(2, "recursive", c=1.5),
    Spread(2.0),
    [TCloseness(0.2), Spread(1.0)],
    *ABOUT_PEOPLE,
]


@pytest.mark.slow_but_first
@in_one_case("name", KEEPING)
@pytest.mark.parametrize("privacy", KINDS, ids=str)
def test_the_loss_is_lower_under_any_kind_of_rule(name, privacy, table):
    X, values, people = table
    if isinstance(privacy, LDiversity):
        values = np.digitize(values, [-1, 0, 1])
    rules = Rules.of_table(
        150, 4, privacy, values, unit=people if privacy in ABOUT_PEOPLE else None
    )
    labels = MDAV().build(X, 4, rules)
    refined = short(name).refine(X, labels, 4, 0, rules)
    assert rules.are_met(refined).all()
    assert total_sse(X, refined) < 0.95 * total_sse(X, labels)


@pytest.mark.slow
@every_keeping
def test_a_rule_that_every_group_meets_costs_little(name, table):
    X, values, _ = table
    labels = MDAV().build(X, 4)
    rules = Rules.of_table(150, 4, LDiversity(1), values)
    free, ruled = (short(name).refine(X, labels, 4, 0, given) for given in (None, rules))
    assert total_sse(X, ruled) < 1.1 * total_sse(X, free)


@pytest.mark.slow
@in_one_case("name", KEEPING)
@in_one_case("k", [1, 2])
def test_the_smallest_k(name, k, table):
    # Rules alone make groups of two or more.
    X, values, _ = table
    for privacy in (LDiversity(2), TCloseness(0.2)):
        labels = microaggregate(X, k, refiner=short(name), privacy=privacy, sensitive=values)
        assert np.bincount(labels).min() >= 2
        assert Rules.of_table(150, k, privacy, values).are_met(labels).all()


@every_keeping
def test_labels_that_violate_the_rules_are_refused(name, table):
    X, values, _ = table
    rules = Rules.of_table(150, 3, LDiversity(2), values > 0)
    message = r"^labels with .*LDiversity\(l=2\)"
    with pytest.raises(ValueError, match=message):
        short(name).refine(X, np.argsort(np.argsort(values)) // 3, 3, 0, rules)


@pytest.mark.slow
def test_threads_do_not_change_the_result(table):
    X, values, people = table
    rules = Rules.of_table(150, 3, [TCloseness(0.2), Spread(1.0)], values, people)
    labels = MDAV().build(X, 3, rules)
    one, two = (
        Annealing(max_iter=20_000, n_init=4, n_jobs=n_jobs).refine(X, labels, 3, 0, rules)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one, two)


def test_groups_larger_than_2k_minus_1_stay_if_the_rules_need_them():
    # Only two records are ill: there are at most two groups.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    is_ill = np.arange(60) < 2
    rules = Rules.of_table(60, 3, LDiversity(2), is_ill)
    labels = MDAV().build(X, 3, rules)
    refined = Auto().refine(X, labels, 3, rules=rules)
    assert rules.are_met(refined).all()
    assert np.bincount(refined).max() >= 30


# Those that do not


def refuses(refiner):
    return (
        rf"^refiner={refiner} does not support constraints beyond k, and would violate them\. With "
    )


class NeverBuilds:
    def build(self, X, k):
        raise AssertionError("built before the refiner was checked")


def assert_refused(refiner, table, words):
    X, values, people = table
    rules = Rules.of_table(150, 3, LDiversity(2), values > 0)
    for arguments in (
        {"privacy": LDiversity(2), "sensitive": values > 0},
        {"unit": people},
    ):
        with pytest.raises(ValueError, match=refuses(words)):
            microaggregate(X, 3, builder=NeverBuilds(), refiner=refiner, **arguments)
        privacy = arguments.pop("privacy", None)
        aggregator = MicroAggregator(3, builder=NeverBuilds(), refiner=refiner, privacy=privacy)
        with pytest.raises(ValueError, match=refuses(words)):
            aggregator.fit(X, **arguments)
        assert not [name for name in vars(aggregator) if name.endswith("_")]
    if isinstance(refiner, Refiner):
        labels = MDAV().build(X, 3, rules)
        with pytest.raises(ValueError, match=refuses(words)):
            refiner.refine(X, labels, 3, rules=rules)


@every_refusing
def test_refused_before_anything_is_built(name, table):
    words = rf"{REFINERS[name].__name__}\(\)"
    assert_refused(name, table, words)
    assert_refused(REFINERS[name](), table, words)


@every_refusing
def test_allowed_with_strata(name, table):
    X, values, _ = table
    labels = microaggregate(X, 3, refiner=short(name), strata=values > 0)
    assert not {*labels[values > 0]} & {*labels[values <= 0]}


class Unaware:
    """A refiner as users write it."""

    def refine(self, X, labels, k, random_state=None):
        return labels

    def __repr__(self):
        return "Unaware()"


class UnawareRefiner(Refiner):
    def _refine(self, X, labels, k, random_state):
        return labels


@in_one_case("refiner", [Unaware(), UnawareRefiner()])
def test_a_refiner_of_the_user_is_refused_unless_it_says_that_it_keeps_rules(refiner, table):
    assert_refused(refiner, table, rf"{type(refiner).__name__}\(\)")


class Aware(Refiner):
    keeps_rules = True

    def _refine(self, X, labels, k, random_state, rules=None):
        self.rules_ = rules
        return np.zeros_like(labels)


class Liar(Refiner):
    keeps_rules = True

    def _refine(self, X, labels, k, random_state, rules=None):
        return np.arange(len(X)) // k


def test_a_refiner_of_the_user_receives_the_rules(table):
    X, values, _ = table
    refiner = Aware()
    rules = Rules.of_table(150, 3, LDiversity(2), values > 0)
    refiner.refine(X, MDAV().build(X, 3, rules), 3, rules=rules)
    assert refiner.rules_ is rules


def test_what_a_refiner_returns_is_checked(table):
    X, values, _ = table
    message = r"^refiner=Liar\(\) .*LDiversity\(l=3\)"
    with pytest.raises(ValueError, match=message):
        microaggregate(
            X, 3, refiner=Liar(), privacy=LDiversity(3), sensitive=np.digitize(values, [-1, 0, 1])
        )


# Chains


@pytest.mark.slow
def test_a_chain_of_refiners_that_keep_rules_keeps_them(table):
    X, values, _ = table
    chain = Chain([("local", LocalSearch()), ("auto", Auto())])
    rules = Rules.of_table(150, 4, TCloseness(0.15), values)
    labels = MDAV().build(X, 4, rules)
    refined = chain.refine(X, labels, 4, 0, rules)
    assert chain.keeps_rules
    assert rules.are_met(refined).all()
    assert total_sse(X, refined) < total_sse(X, LocalSearch().refine(X, labels, 4, 0, rules))
    names = ["local_search", "auto"]
    by_name = microaggregate(
        X, 4, builder="mdav", refiner=names, privacy=TCloseness(0.15), sensitive=values
    )
    assert rules.are_met(by_name).all()


@in_one_case("other", [Exchange(), Unaware()])
def test_a_chain_with_one_that_does_not_is_refused(other, table):
    chain = make_chain(LocalSearch(), other)
    assert not chain.keeps_rules
    assert_refused(chain, table, r"Chain\(.*\)")
