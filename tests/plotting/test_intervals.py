"""Pictures of columns that are released as intervals."""

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose

from sk_microagg.plotting._common import Bars, Histogram
from sk_microagg.plotting._distributions import compare_columns, count_in_bins


def spread(low, high, edges):
    """Every integer of every interval, counted one by one."""
    counts = np.zeros(len(edges) - 1)
    for start, stop in zip(low, high, strict=True):
        covered = np.arange(start, stop + 1)
        for value in covered:
            counts[np.searchsorted(edges[1:-1], value, side="right")] += 1 / len(covered)
    return counts


@in_one_case("seed", range(5))
def test_intervals_of_integers_in_bins(seed):
    rng = np.random.RandomState(seed)
    low = rng.randint(0, 30, size=40).astype(float)
    high = low + rng.randint(0, 10, size=40)
    edges = np.arange(-0.5, 41, 4)
    assert_allclose(count_in_bins(low, high, edges, are_integers=True), spread(low, high, edges))


def test_intervals_of_numbers_in_bins():
    low, high = np.array([0.0, 0.5, 2.0]), np.array([4.0, 1.5, 2.0])
    counts = count_in_bins(low, high, np.arange(5.0), are_integers=False)
    assert_allclose(counts, [0.75, 0.75, 1.25, 0.25])


def test_what_lies_outside_counts_at_the_ends():
    low, high = np.array([-9.0, -5.0, 8.0, 1.0]), np.array([-7.0, 1.0, 8.0, 9.0])
    counts = count_in_bins(low, high, np.array([0.0, 1.0, 2.0]), are_integers=False)
    assert_allclose(counts, [2, 2])


def test_a_column_of_intervals_is_a_histogram():
    before = pd.DataFrame({"age": [20, 21, 28, 29, 40, 41]})
    after = pd.DataFrame({"age": ["[20, 29]"] * 4 + ["*"] * 2})
    [drawn] = compare_columns(before, after)
    assert isinstance(drawn, Histogram)
    assert drawn.missing == ("0%", "33.3%")
    assert_allclose(drawn.before.sum(), 1)
    assert_allclose(drawn.after.sum(), 4 / 6)
    is_covered = drawn.edges[:-1] < 29.5
    assert_allclose(drawn.after[~is_covered], 0)


def test_the_range_is_that_of_the_release():
    # The intervals of a generalized release end at round numbers, not at 17 or 93.
    before = pd.DataFrame({"age": [17, *range(20, 60, 2), 93]})
    after = pd.DataFrame({"age": ["[10, 40]"] * 11 + ["[40, 90]"] * 11})
    [drawn] = compare_columns(before, after, at_least=5)
    assert (drawn.edges[0], drawn.edges[-1]) == (9.5, pytest.approx(90.5, abs=20))
    counts = np.round(drawn.before * 22)
    assert np.all((counts == 0) | (counts >= 5))


def test_nodes_of_a_hierarchy_of_numbers_are_bars():
    before = pd.DataFrame({"age": [20, 20, 21, 45, 45, 47]})
    after = pd.DataFrame({"age": ["young"] * 3 + ["old"] * 3})
    [drawn] = compare_columns(before, after, at_least=3)
    assert isinstance(drawn, Bars)
    assert drawn.categories == ["(others)", "young", "old"]
    assert_allclose(drawn.before, [1, 0, 0])
    assert_allclose(drawn.after, [0, 0.5, 0.5])


def test_only_frequent_nodes_are_named():
    before = [[f"v{number}"] for number in range(20)]
    after = [["n1"]] * 8 + [["n2"]] * 6 + [["rare"]] * 2 + [["n3"]] * 4
    [drawn] = compare_columns(before, after, at_least=3)
    assert drawn.categories == ["(others)", "n1", "n2", "n3", "(more general)"]
    assert_allclose(drawn.after * 20, [0, 8, 6, 4, 2])
