"""Ends of released intervals: shared by k records, or round, and never a single person's number."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from example_tables.mixed import HIERARCHIES, covers, draw, ends_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg import KAIM
from sk_microagg.datasets import fetch_census
from sk_microagg.generalization import KMember
from sk_microagg.metrics import anonymity_level
from sk_microagg.tables import Hierarchy
from sk_microagg.tables._grid import N_NEARBY, _first_step, _Nearby, make_grid


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


@in_one_case("n", [2, 3, 9, 10, 11, 19, 20, 21, 40])
def test_nothing_but_the_numbers_decides_how_far_they_are_apart(n):
    """In SciPy 1.17, also what is in memory behind an array of about half its window does."""
    numbers = np.cumsum(np.random.default_rng(n).lognormal(size=n))
    gaps = np.diff(numbers, append=2 * numbers[-1] - numbers[-2])
    there_and_back = np.concatenate([gaps, gaps[-2:0:-1]])
    for place, gap in enumerate(_Nearby(numbers, np.ones(n), k=5)._gaps):
        window = np.arange(place - N_NEARBY // 2, place + N_NEARBY // 2)
        assert gap == np.sort(there_and_back[window % len(there_and_back)])[N_NEARBY // 10]


def test_a_number_shared_by_k_records_is_an_end():
    assert ends([3, 3, 3, 8.5, 9, 9, 9], k=3, grid=5)[0] == (3, 3)
    # The interval of a number that one in four records has reaches to its shared neighbors.
    assert ends([3, 3, 3, 8.5, 9, 9, 9], k=3, grid=5)[1] == (5, 9)
    # Two of five are too many: that somebody has another number would be a good guess.
    assert ends([3, 3, 3, 8.5, 8.7, 9, 9, 9], k=3, grid=5)[1] == (5, 10)


def test_a_number_shared_by_many_more_is_an_end_beyond_shared_ones():
    ages = [*range(20, 60)] * 9 + [60, 61, 61, 62, 62, 62, 62, 62] + [90] * 60
    low, high = np.transpose(ends(ages, k=5))
    assert [*high[40:42]] == [90, 90]  # and not 62, that five people have
    assert low[41] < 60


def test_a_round_number_shared_by_fewer_records_is_not_an_end_of_theirs():
    assert ends([10.5, 11, 20], k=2, grid=10) == [(10, 20), (10, 20), (10, 30)]
    assert ends([*range(10, 21)], k=2, grid=10)[0] == (0, 20)


def test_ends_of_negative_numbers_and_across_zero():
    expected = [(-30, -20), (-10, 0), (-10, 0), (0, 10), (40, 50)]
    assert ends([-25, -5, -3, 3, 41], k=2, grid=10) == expected
    assert not np.signbit(ends([-3, 3], k=2, grid=10)[0][1])


FINE = np.random.default_rng(0).uniform(0, 1, size=1000)


@pytest.mark.parametrize(
    ("values", "k", "step"),
    [
        (FINE * 100, 2, 1),
        (FINE * 230, 5, 2),
        (FINE * 480, 5, 5),
        (FINE * 1e-7, 5, 1e-9),
        (1e9 + FINE * 100, 5, 1),
        (-1e6 - FINE * 5e4, 5, 500),
        # Outliers do not count if there are fewer than k.
        ([*FINE * 100, 1e7, 1e8, 1e9, -1e12], 5, 1),
        # So coarse that at least k numbers are possible within a step.
        (np.arange(100), 5, 5),
        (np.arange(100), 10, 10),
        (np.arange(100) / 10, 5, 0.5),
        (np.arange(100) * 1000, 5, 5000),
        (np.arange(40, 140, 2), 5, 10),
    ],
    ids=range(12),
)
def test_step_is_a_hundredth_of_the_range_or_coarser_than_the_values(values, k, step):
    values = np.sort(values)
    low, high = np.transpose(ends(values, k))
    middle = slice(len(values) // 4, -len(values) // 4)  # not next to outliers
    width = high[middle] - low[middle]
    is_multiple = low[middle] + step == values[middle]
    np.testing.assert_allclose(width, np.where(is_multiple, 2, 1) * step, rtol=1e-6)


def test_the_step_is_coarser_where_the_numbers_are():
    rng = np.random.default_rng(0)
    fine, coarse = np.sort(rng.uniform(0, 100, 200).round(2)), 1000.0 * np.arange(1, 101)
    low, high = np.transpose(ends([*fine, *coarse], k=5, grid=1))
    assert np.median((high - low)[:150]) == 1
    assert np.all((high - low)[-80:] >= 5000)


def test_a_given_step_becomes_coarser_than_the_values():
    """Otherwise a number could be inferred from the end next to it: 12 from 11, among integers."""
    numbers = np.arange(1, 41)
    for grid, step in ((0.1, 2), (1, 2), (1.2, 2.4), (2, 2), (5, 5)):
        low = np.transpose(ends(numbers, k=2, grid=grid))[0]
        np.testing.assert_allclose(low, step * (np.ceil(numbers / step) - 1))


@in_one_case("grid", ["auto", 1, 1.2])
@in_one_case("unit", [1, 2.54, 3, 7, 12, 25])
def test_ends_do_not_reveal_numbers_that_are_multiples_of_a_unit(unit, grid):
    """An intruder who knows the unit, as of inches in centimeters, cannot decide between k."""
    rng = np.random.default_rng(0)
    column = np.round(unit * rng.choice(np.arange(-100, 100), 120, replace=False), 2)
    numbers = np.sort(column)
    for sign, some_ends in zip((1, -1), np.transpose(ends(column, k=5, grid=grid)), strict=True):
        widths = sign * (numbers - some_ends)
        assert np.all(widths > 0)
        # From every end, the numbers that have it reach over at least k possible ones, nearly.
        assert np.mean(widths > unit * 1.001) > 1 - 1.5 / 5


def test_multiples_are_exact_decimals():
    rng = np.random.default_rng(0)
    for grid in (0.1, 0.2, 0.05, 1e-7, 3e-5, 0.25):
        values = rng.uniform(-1000, 1000, 300) * grid
        for end in np.ravel(ends(values, k=2, grid=grid)):
            assert Decimal(repr(float(end))) % Decimal(repr(grid)) == 0


@in_one_case(
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
    # The ends below a number are below all larger ones.
    assert np.isfinite(ends([*values, *[1e31] * 5], k=5)).all()


# Releases


every_kind_of_number = st.one_of(
    st.integers(-30, 30),
    st.integers(-(10**15), 10**15),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 2)),
    st.floats(-1e140, 1e140),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
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
    step = _first_step(numbers, counts, k) if grid == "auto" else grid
    shared = set(numbers[counts >= k].tolist())
    for end in {end for cell in release.ravel() for end in ends_of(cell)}:
        if end not in shared:
            # Exact: a quotient in floating point may round to a neighbor of the multiple.
            exact = Fraction(repr(step))
            assert float(round(Fraction(end) / exact) * exact) == end


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([0, 0.2]))
def test_the_refiner_never_raises_the_loss(n, k, seed, share_missing):
    assume(n >= k)
    X = draw(n, seed, share_missing)
    # The search lowers the loss of intervals that end at numbers of members, the published ones.
    # The release must show the extremes, since the loss is a share of the range that it shows.
    for name in ("age", "income"):
        X[name] = X[name].fillna(50)
    losses = [
        KAIM(k, hierarchies=HIERARCHIES, grid=None, refiner=refiner, random_state=seed)
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


@in_one_case("method", [KAIM, KMember])
@in_one_case("grid", ["auto", 3])
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


@pytest.mark.slow
def test_census_shows_no_number_of_a_single_person(data_folder, monkeypatch):
    if not (data_folder / "census.csv").exists():
        pytest.skip("needs census.csv in the folder that SK_MICROAGG_DATA names")
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    X = fetch_census().data
    published = shares(X, KAIM(5, grid=None, random_state=0).fit_transform(X), 5)
    assert published[0] > 0.4
    assert published[1] > 0.28
    assert shares(X, KAIM(5, random_state=0).fit_transform(X), 5)[1] == 0


@in_one_case("method", [KAIM, KMember])
@in_one_case(
    ("grid", "error", "message"),
    [
        (0, ValueError, r"^grid=0\b"),
        (-1.5, ValueError, r"^grid=-1\.5\b"),
        (float("inf"), ValueError, r"^grid=inf\b"),
        (float("nan"), ValueError, r"^grid=nan\b"),
        ("fine", ValueError, r"^grid='fine'"),
        (True, TypeError, r"^grid=True\b"),
        ([1, 2], TypeError, r"^grid=\[1, 2\]"),
    ],
)
def test_bad_grids(method, grid, error, message):
    with pytest.raises(error, match=message):
        method(2, grid=grid).fit([[1], [2], [3], [4]])
