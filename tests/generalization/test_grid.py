"""Ends of released intervals: shared by k records, or round, and never a single person's number."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tables.mixed import HIERARCHIES, covers, draw, ends_of

from sk_microagg import KAIM
from sk_microagg.datasets import fetch_census
from sk_microagg.generalization import Hierarchy, KMember
from sk_microagg.generalization._grid import make_grid
from sk_microagg.metrics import anonymity_level


def ends(values, k, grid="auto"):
    """Lower and upper ends of intervals, for each distinct value."""
    distinct, counts = np.unique(np.array(values, dtype=float), return_counts=True)
    low, high = make_grid(grid, k).ends(distinct, counts)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def shares(X, release, k):
    """Shares of cells that show their own value, and that show one of fewer than k records."""
    shown, rare = [], []
    for values, cells in zip(np.asarray(X).T, release.T, strict=True):
        counts = pd.Series(values).map(pd.Series(values).value_counts())
        shown += [value in ends_of(cell) for value, cell in zip(values, cells, strict=True)]
        rare += (counts < k).tolist()
    return np.mean(shown), np.mean(np.logical_and(shown, rare))


# Possible ends


def test_a_number_shared_by_k_records_is_an_end():
    assert ends([3, 3, 3, 8, 8, 9, 9, 9], k=3, grid=5)[0] == (3, 3)
    # The interval of the two eights extends to the nearest possible ends.
    assert ends([3, 3, 3, 8, 8, 9, 9, 9], k=3, grid=5)[1] == (5, 9)


def test_a_round_number_shared_by_fewer_records_is_not_an_end_of_theirs():
    assert ends([10, 11, 20], k=2, grid=10) == [(0, 20), (10, 20), (10, 30)]


def test_ends_of_negative_numbers_and_across_zero():
    expected = [(-30, -20), (-10, 0), (-10, 0), (0, 10), (40, 50)]
    assert ends([-25, -5, -3, 3, 41], k=2, grid=10) == expected
    assert not np.signbit(ends([-3, 3], k=2, grid=10)[0][1])


@pytest.mark.parametrize(
    ("values", "k", "step"),
    [
        (np.linspace(0, 99.9, 1000) + 1e-5, 1, 1),
        (np.linspace(0, 230.3, 1000) + 1e-5, 5, 2),
        (np.linspace(0, 480.7, 1000) + 1e-5, 5, 5),
        (np.linspace(0, 1e-7, 1000) + 1e-17, 5, 1e-9),
        (1e9 + np.linspace(0, 99.9, 1000), 5, 1),
        (-1e6 - np.linspace(0, 5e4, 1000), 5, 500),
        # Outliers do not count if there are fewer than k.
        ([*np.linspace(0, 99.9, 1000) + 1e-5, 1e7, 1e8, 1e9, -1e12], 5, 1),
        # Not finer than the values, which could otherwise be inferred from the ends.
        (np.arange(100), 5, 2),
        (np.arange(100) / 10, 5, 0.2),
        (np.arange(100) * 1000, 5, 2000),
        (np.arange(40, 140, 2), 5, 5),
        ([*range(17, 91)], 5, 2),
    ],
    ids=str,
)
def test_step_is_a_hundredth_of_the_range_or_coarser_than_the_values(values, k, step):
    numbers, counts = np.unique(values, return_counts=True)
    assert make_grid("auto", k)._step_for(numbers, counts) == step


def test_a_given_step_becomes_coarser_than_the_values():
    """Otherwise a number could be inferred from the end next to it: 12 from 11, among integers."""
    assert ends([1, 2, 3], k=2, grid=0.1) == [(0, 2), (0, 4), (2, 4)]
    assert ends([1.5, 2, 3], k=2, grid=0.1) == [(1, 2), (1, 3), (2, 4)]
    for grid, step in ((1, 2), (1.2, 2.4), (2, 4), (5, 5)):
        numbers = np.array([10, 11, 12, 14, 18, 20] if grid != 2 else [10, 12, 14, 18, 20])
        counts = np.ones(len(numbers), dtype=int)
        assert make_grid(grid, 2)._step_for(numbers * 1.0, counts) == step


@pytest.mark.parametrize("grid", ["auto", 1, 1.2])
@pytest.mark.parametrize("unit", [1, 2.54, 3, 7, 12, 25])
def test_ends_do_not_reveal_numbers_that_are_multiples_of_a_unit(unit, grid):
    """An intruder who knows the unit, as of inches in centimeters, cannot decide between two."""
    rng = np.random.default_rng(0)
    column = np.round(unit * rng.integers(-100, 100, 150), 2)
    numbers, counts = np.unique(column, return_counts=True)
    step = make_grid(grid, 5)._step_for(numbers, counts)
    possible = np.round(unit * np.arange(-300, 300), 2)
    for low, high in set(ends(column[~np.isin(column, numbers[counts >= 5])], k=5, grid=step)):
        assert np.sum((possible > low) & (possible <= low + step)) > 1
        assert np.sum((possible < high) & (possible >= high - step)) > 1


def test_multiples_are_exact_decimals():
    rng = np.random.default_rng(0)
    for grid in (0.1, 0.2, 0.05, 1e-7, 3e-5, 0.25):
        values = rng.uniform(-1000, 1000, 300) * grid
        for end in np.ravel(ends(values, k=2, grid=grid)):
            assert Decimal(repr(float(end))) % Decimal(repr(grid)) == 0


@pytest.mark.parametrize(
    ("values", "k"),
    [
        ([0] * 20 + [123_456_789], 5),  # nearly constant
        ([1.5, 2.5, 3.5], 3),  # n = k
        ([1, 2, 3, 4, 5], 3),  # n = 2k - 1
        ([7], 2),  # fewer than k are known
        ([], 2),
        ([1e-320, 2e-320, 3e-320, 4e-320], 2),  # no float is a hundredth of the range
    ],
)
def test_without_a_range_only_shared_numbers_are_ends(values, k):
    allowed = {value for value in values if values.count(value) >= k} | {-np.inf, np.inf}
    assert {*np.ravel(ends(values, k)).tolist()} <= allowed


def test_numbers_too_large_for_the_grid_have_no_end():
    values = [*np.linspace(0, 10, 50) + 0.001, 1e30]
    assert ends(values, k=5)[-1][1] == np.inf
    release = KAIM(5, random_state=0).fit_transform(np.array(values)[:, None])
    assert release[-1, 0] == "*"
    assert (release == "*").sum() == 5
    # The ends below a number are those below all larger ones.
    low, high = np.transpose(ends([*values, *[1e31] * 5], k=5))
    assert np.all(np.diff(low) >= 0)
    assert np.all(np.diff(high) >= 0)


# Releases


every_kind_of_number = st.one_of(
    st.integers(-30, 30),
    st.integers(-(10**15), 10**15),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 2)),
    st.floats(-1e140, 1e140),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    st.data(),
    st.integers(1, 4),
    st.sampled_from(["auto", "auto", 1, 0.1, 250]),
    st.sampled_from([None, "local_search"]),
)
def test_guarantees_of_a_release_of_numbers(data, k, grid, refiner):
    values = data.draw(st.lists(every_kind_of_number, min_size=k, max_size=30))
    values = data.draw(st.lists(st.sampled_from(values), min_size=k, max_size=40))
    X = pd.DataFrame({"x": np.array(values, dtype=float)})
    kaim = KAIM(k, grid=grid, refiner=refiner, random_state=0)
    release = kaim.fit_transform(X)
    assert anonymity_level(release) >= k
    assert kaim.group_sizes_.min() >= k
    assert all(map(covers, release.ravel(), X["x"]))
    assert 0 <= kaim.information_loss_ <= 1
    assert shares(X, release, k)[1] == 0
    numbers, counts = np.unique(X["x"], return_counts=True)
    step = make_grid(grid, k)._step_for(numbers, counts)
    shared = set(numbers[counts >= k].tolist())
    for end in {end for cell in release.ravel() for end in ends_of(cell)}:
        assert end in shared or float(round(end / step) * Decimal(repr(step))) == end


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([0, 0.2]))
def test_the_refiner_never_raises_the_loss(n, k, seed, share_missing):
    assume(n >= k)
    X = draw(n, seed, share_missing)
    # The release must show the extremes, since the loss is a share of the range that it shows.
    for name in ("age", "income"):
        X[name] = X[name].fillna(50)
    losses = [
        KAIM(k, hierarchies=HIERARCHIES, refiner=refiner, random_state=seed)
        .fit(X)
        .information_loss_
        for refiner in (None, "local_search")
    ]
    assert losses[1] <= losses[0] * (1 + 1e-12)


def test_published_behavior_without_a_grid():
    X = np.random.default_rng(0).normal(size=(50, 1))
    kaim = KAIM(5, grid=None, random_state=0)
    release = kaim.fit_transform(X)
    for group in range(kaim.n_groups_):
        members = X[kaim.labels_ == group, 0]
        assert ends_of(kaim.centroids_[group, 0]) == [members.min(), members.max()]
    assert shares(X, release, 5)[1] > 0.1


@pytest.mark.parametrize("method", [KAIM, KMember])
@pytest.mark.parametrize("grid", ["auto", 3])
def test_no_cell_shows_a_number_of_fewer_than_k_records(method, grid):
    X = draw(300, share_missing=0.1)
    release = method(4, hierarchies=HIERARCHIES, grid=grid, random_state=0).fit_transform(X)
    numbers = [0, 3]
    shown, rare = shares(X.iloc[:, numbers], release[:, numbers], 4)
    assert shown > 0  # Some are shared.
    assert rare == 0


def test_a_shared_number_stays_precise():
    X = [[40]] * 6 + [[38.5], [39.25], [41.75], [42.5]]
    release = KAIM(2, random_state=0).fit_transform(X)
    assert (release[:6] == "40").all()


def test_midpoints_are_those_of_the_widened_intervals():
    X = draw(120, share_missing=0)[["age", "income"]]
    texts = KAIM(4, random_state=0).fit_transform(X)
    middles = KAIM(4, output="midpoint", random_state=0).fit_transform(X)
    for text, middle in zip(texts.ravel(), middles.ravel(), strict=True):
        low, high = ends_of(text)
        assert middle == low + (high - low) / 2


def test_bins_and_trees_that_are_given_are_not_rounded():
    X = [[21], [28], [34], [39]]
    hierarchies = {0: Hierarchy.from_bins([20, 31, 43])}
    release = KAIM(2, hierarchies=hierarchies, random_state=0).fit_transform(X)
    assert_array_equal(release.ravel(), ["[20, 31)"] * 2 + ["[31, 43)"] * 2)


def test_loss_of_bins_does_not_reveal_the_range_of_the_numbers():
    losses = {
        KAIM(2, hierarchies={0: Hierarchy.from_bins([0, 10, 100])}, random_state=0)
        .fit([[1], [2], [40], [largest]])
        .information_loss_
        for largest in (41, 67, 99)
    }
    assert losses == {(0.1 + 0.9) / 2}


def test_census_shows_no_number_of_a_single_person(data_folder, monkeypatch):
    if not (data_folder / "census.csv").exists():
        pytest.skip("needs census.csv in the folder that SK_MICROAGG_DATA names")
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    X = fetch_census().data
    published = shares(X, KAIM(5, grid=None, random_state=0).fit_transform(X), 5)
    assert published[0] > 0.4
    assert published[1] > 0.28
    assert shares(X, KAIM(5, random_state=0).fit_transform(X), 5)[1] == 0


@pytest.mark.parametrize("method", [KAIM, KMember])
@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        (0, ValueError, r"^grid=0 must be 'auto', a finite number above 0, or None\.$"),
        (-1.5, ValueError, r"^grid=-1\.5 must be 'auto', a finite number"),
        (float("inf"), ValueError, r"^grid=inf must be 'auto'"),
        (float("nan"), ValueError, r"^grid=nan must be 'auto'"),
        ("fine", ValueError, r"^grid='fine' must be 'auto'"),
        (True, TypeError, r"^grid=True must be 'auto', .*, got bool\.$"),
        ([1, 2], TypeError, r"^grid=\[1, 2\] must be 'auto', .*, got list\.$"),
    ],
)
def test_bad_grids(method, grid, error, message):
    with pytest.raises(error, match=message):
        method(2, grid=grid).fit([[1], [2], [3], [4]])
