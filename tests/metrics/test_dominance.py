"""What the largest contributors have of the sum of a group."""

import numpy as np
import pytest
from marks import in_one_case
from oracles import privacy as oracle

from sk_microagg.metrics import dominance, p_percent


def groups_of(labels, *columns):
    return [[column[labels == group].tolist() for column in columns] for group in np.unique(labels)]


@in_one_case("seed", range(5))
def test_they_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    amounts, units, labels = rng.integers(0, 99, 40), rng.integers(0, 20, 40), np.arange(40) // 8
    release = np.column_stack([labels, labels % 2])
    own = [group for [group] in groups_of(labels, amounts)]
    added = [oracle.added_up(*group) for group in groups_of(labels, amounts, units)]
    for n in (1, 2, 3):
        assert dominance(release, amounts, n=n) == float(max(oracle.dominance(g, n) for g in own))
        assert dominance(labels, amounts, n=n, unit=units) == pytest.approx(
            float(max(oracle.dominance(g, n) for g in added))
        )
    assert p_percent(release, amounts) == pytest.approx(float(min(map(oracle.p_percent, own))))
    assert p_percent(labels, amounts, unit=units) == pytest.approx(
        float(min(map(oracle.p_percent, added)))
    )


def test_weights_multiply_amounts():
    rng = np.random.default_rng(0)
    amounts, weights, units = (
        rng.integers(0, 99, 40),
        rng.integers(1, 9, 40),
        rng.integers(0, 20, 40),
    )
    labels = np.arange(40) // 8
    for unit in (None, units):
        for function in (dominance, p_percent):
            multiplied = function(labels, amounts * weights, unit=unit)
            assert function(labels, amounts, unit=unit, weight=weights) == multiplied


def test_arguments_are_checked():
    for function in (dominance, p_percent):
        with pytest.raises(ValueError, match="inconsistent"):
            function([0, 0, 1], [1, 2])
        with pytest.raises(ValueError, match="at least 0"):
            function([0, 0, 1], [1, 2, -1])
        with pytest.raises(ValueError, match="all 3 cells are no numbers"):
            function([0, 0, 1], ["a", "b", "c"])
        with pytest.raises(ValueError, match="inconsistent"):
            function([0, 0, 1], [1, 2, 3], weight=[1, 2])
        for bad in (0, -1, np.nan):
            with pytest.raises(ValueError, match=r"^weight: 1 of 3 cells is .*at position 2"):
                function([0, 0, 1], [1, 2, 3], weight=[1, 2, bad])
    with pytest.raises(ValueError, match=r"n=0\b"):
        dominance([0, 0], [1, 2], n=0)
