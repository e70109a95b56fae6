from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from oracles.root_search import squared_distances

from sk_microagg._kernels import CutCheck


class Case:
    """Records with prices, and cuts that overlap."""

    def __init__(self, k, seed, height=1.0):
        rng = np.random.default_rng(seed)
        self.k = k
        self.X = rng.normal(size=(2 * k + 2, 2))
        self.distances = squared_distances(self.X)
        sizes = rng.integers(k + 1, 2 * k, size=5)
        self.cuts = [rng.choice(len(self.X), size, replace=False) for size in sizes]
        self.cut_prices = rng.choice([0.0, 0.2, 0.6], 5)
        self.prices = rng.uniform(-0.2, height, len(self.X))
        self.check = CutCheck(
            self.X,
            k,
            np.cumsum([0, *sizes]).astype(np.int32),
            np.concatenate(self.cuts).astype(np.int32),
        )

    def excess(self, members, prices):
        members = list(members)
        may = self.distances[np.ix_(members, members)].sum() / (2 * len(members))
        for cut, price in zip(self.cuts, self.cut_prices, strict=True):
            if len(set(members) & set(cut.tolist())) >= self.k:
                may += price
        return prices[members].sum() - may

    def worst(self, prices):
        """The largest excess of the subsets of each cut that has a price, as far as above 0."""
        worst = []
        for cut, price in zip(self.cuts, self.cut_prices, strict=True):
            sizes = range(self.k + 1, len(cut) + 1) if price > 0 else ()
            subsets = [s for size in sizes for s in combinations(cut.tolist(), size)]
            worst.append(max([self.excess(s, prices) for s in subsets], default=0.0))
        return np.array(worst)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(8))
def test_no_larger_set_within_a_cut_pays_too_much_afterward(k, seed):
    case = Case(k, seed)
    lowered = case.prices.copy()
    found = case.check.lower(lowered, case.cut_prices)
    assert np.all(lowered <= case.prices)
    assert case.worst(lowered).max() <= 1e-12
    assert (len(found) > 0) == (case.worst(case.prices).max() > 1e-12)
    for members in found:
        assert case.excess(members, case.prices) > 0


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(8))
def test_prices_that_are_low_enough_stay(k, seed):
    case = Case(k, seed)
    prices = case.prices.copy()
    case.check.lower(prices, case.cut_prices)
    again = prices - 1e-9
    before = again.copy()
    assert case.check.lower(again, case.cut_prices) == []
    assert_array_equal(again, before)


@pytest.mark.parametrize("seed", range(8))
def test_no_price_is_lowered_by_more_than_all_sets_pay_too_much(seed):
    case = Case(3, seed)
    lowered = case.prices.copy()
    case.check.lower(lowered, case.cut_prices)
    paying = [
        excess
        for cut, price in zip(case.cuts, case.cut_prices, strict=True)
        if price > 0
        for size in range(4, len(cut) + 1)
        for members in combinations(cut.tolist(), size)
        if (excess := case.excess(members, case.prices)) > 0
    ]
    assert (case.prices - lowered).sum() <= sum(paying) + 1e-12


def test_what_cannot_be_is_said_and_time_is_kept():
    case = Case(3, 0)
    assert case.check.lower(case.prices, case.cut_prices, deadline=0.0) is None
    with pytest.raises(ValueError, match="Cut 0 has more than 32 members"):
        CutCheck(
            np.zeros((40, 1)),
            20,
            np.array([0, 33], dtype=np.int32),
            np.arange(33, dtype=np.int32),
        )
