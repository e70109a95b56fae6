"""Cuts between blocks reveal nothing about single records: attacks on pickled models."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles.blocks import third_between

from sk_microagg import MicroAggregator
from sk_microagg._model import _router
from sk_microagg._model._router import Router, coarsest_between

# Any float that a record may contain, with many close to each other or to zero.
numbers = st.one_of(
    st.floats(-1e140, 1e140),
    st.floats(-2, 2),
    st.integers(-50, 50).map(float),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e140, np.nextafter(1.0, 2)]),
)


# A number between two values


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1]))
def test_the_coarsest_number_between_two_others(pair):
    low, high = sorted(pair)
    between = coarsest_between(low, high)
    assert between == third_between(low, high)
    assert between is None or low < between < high


@settings(deadline=None, max_examples=100)
@given(low=numbers, ulps=st.integers(8, 10**9))
def test_there_is_a_number_unless_values_are_adjacent_floats(low, ulps):
    high = low + ulps * float(np.spacing(abs(low)))
    assert low < coarsest_between(low, high) < high


@in_one_case("third", [1 / 3, 2 / 3, -1 / 3, 25 / 3])
def test_a_number_next_to_a_value_that_is_a_third(third):
    assert third < coarsest_between(third, third + 0.1) < third + 0.1
    assert third - 0.1 < coarsest_between(third - 0.1, third) < third


@in_one_case("value", [0.0, -0.0, 1.0, -1.0, 5e-324, 0.1, 1e140, -1e140])
def test_no_number_between_adjacent_floats(value):
    assert coarsest_between(value, float(np.nextafter(value, np.inf))) is None


def test_cuts_are_not_finite_decimals():
    rng = np.random.default_rng(0)
    for decimals in range(4):
        lattice = np.arange(-300, 301) / 10**decimals
        for low, high in np.sort(rng.choice(lattice, size=(200, 2)), axis=1):
            if low < high:
                assert coarsest_between(low, high) not in lattice
                assert Fraction(coarsest_between(low, high)).limit_denominator(10**6) % 1 != 0


# Attacks on models


def halfway(values, k, units):
    """The former rule: halfway between the values on both sides of the median."""
    median = np.sort(values)[(len(values) - 1) // 2]
    left, right = values[values <= median].max(), values[values > median].min(initial=np.inf)
    yield left + (right - left) / 2


def cut_of(model, column=0):
    """The first cut of a pickled model, in the units of the data."""
    model = pickle.loads(pickle.dumps(model))
    router = model._cells.router
    assert router.column[0] == column
    return router.cut[0] * model.scaler_.scale_[column] + model.scaler_.mean_[column]


def fit_in_blocks(X):
    return MicroAggregator(k=5, refiner=None, block_size=len(X) // 2 + 10).fit(X)


def spending(seed):
    """Spending, which is zero in more than half of the records, and a constant column."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.lognormal(3, 1, size=400), np.ones(400)])
    X[rng.random(400) < 0.55, 0] = 0.0
    return X


def claims(X):
    """What an intruder who knows all other records claims about the records next to the cut."""
    cut, values = cut_of(fit_in_blocks(X)), np.sort(X[:, 0])
    below, above = values[values <= cut].max(), values[values > cut].min()
    # The value on the right from that on the left, and vice versa.
    return [(2 * cut - below, above), (2 * cut - above, below)]


def n_right(tables):
    pairs = [pair for X in tables for pair in claims(X)]
    return sum(np.isclose(claim, truth, rtol=1e-9, atol=1e-9) for claim, truth in pairs)


def test_a_cut_halfway_reveals_the_smallest_positive_value(monkeypatch):
    monkeypatch.setattr(_router, "_cuts_near_median", halfway)
    for seed in range(10):
        X = spending(seed)
        assert 2 * cut_of(fit_in_blocks(X)) == pytest.approx(X[X[:, 0] > 0, 0].min(), rel=1e-9)
    assert n_right(map(spending, range(10))) == 20


def test_no_value_can_be_computed_from_a_cut():
    assert n_right(map(spending, range(10))) == 0
    normal = [np.random.default_rng(seed).normal(size=400) for seed in range(10)]
    assert n_right(np.column_stack([values, np.ones(400)]) for values in normal) == 0


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6), data=st.data())
def test_a_cut_does_not_depend_on_fewer_than_k_records(seed, k, data):
    """The records next to a cut may be anywhere between the k-th ones on both sides."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=100))
    router = Router.fit(values[:, None], 80, 10, k)
    assert router.n_blocks == 2
    low, high = values[50 - k], values[49 + k]
    between = np.flatnonzero((values > low) & (values < high))
    assert len(between) == 2 * (k - 1)
    moved = data.draw(st.lists(st.sampled_from(between), max_size=k - 1, unique=True))
    places = st.floats(low, high, exclude_min=True, exclude_max=True)
    values[moved] = data.draw(st.lists(places, min_size=len(moved), max_size=len(moved)))
    assert Router.fit(values[:, None], 80, 10, k).cut[0] == router.cut[0]


@in_one_case("n_positive", [1, 4, 5, 40])
def test_no_cut_with_fewer_than_k_records_on_a_side(n_positive):
    values = np.zeros(100)
    values[:n_positive] = np.random.default_rng(0).lognormal(size=n_positive)
    router = Router.fit(values[:, None], 50, 1, 5)
    assert router.n_blocks == (1 if n_positive < 5 else 2)
    if n_positive >= 5:
        fifth = np.sort(values[:n_positive])[4]
        assert router.cut[0] == coarsest_between(0.0, fifth)


def test_another_column_is_cut_if_ties_leave_no_cut():
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:, 0] = 0.0
    X[:4, 0] = [100.0, 200.0, 300.0, 400.0]  # the widest column, but only four records differ
    router = Router.fit(X, 60, 2, 5)
    assert router.column[0] == 1
    assert router.n_blocks == 2


def test_blocks_are_nearly_even():
    X = np.random.default_rng(0).normal(size=(40_000, 3))
    sizes = np.bincount(Router.fit(X, 5_000, 10, 5).route(X))
    assert len(sizes) == 8
    assert abs(sizes - 5_000).max() <= 2 * (5 - 1)
