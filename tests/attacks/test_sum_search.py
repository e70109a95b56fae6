"""An attacker who knows nobody computes the values of a group from its mean, if that has digits."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from attacks.sum_search import share_guessed, steps_of
from marks import in_one_case
from sklearn.linear_model import LogisticRegression

from sk_microagg import MicroAggregator, ReleaseSeries, TableAggregator, TrainOnRelease

TRANSFORMED = {
    "logarithm of age": (lambda rng, n: rng.integers(18, 91, n), np.log),
    "root of days": (lambda rng, n: rng.geometric(0.04, n), np.sqrt),
    "logarithm of income": (lambda rng, n: np.round(rng.lognormal(3.2, 0.5, n)), np.log10),
}
AGES = "age", (lambda rng, n: rng.integers(18, 91, n), lambda age: 1.0 * age)


def draw(name, n=300, seed=0):
    """A table with a column whose possible values are known, and two others; and these values."""
    values, transform = dict([*TRANSFORMED.items(), AGES])[name]
    rng = np.random.default_rng(seed)
    x = values(rng, n).astype(np.float64)
    table = pd.DataFrame({"x": transform(x)})
    for other in "yz":
        table[other] = rng.normal(size=n).round(2)
    return table, transform(np.arange(x.min(), x.max() + 1.0))[:, None]


def guessed(aggregator, table, possible, k, **how):
    release = np.asarray(aggregator.fit_transform(table), dtype=np.float64)
    steps = steps_of([aggregator.rounding_["x"]])
    original = table[["x"]].to_numpy()
    return share_guessed(possible, original, release[:, :1], steps, aggregator.labels_, k, **how)


def test_an_exact_mean_tells_its_values():
    for name in TRANSFORMED:
        table, possible = draw(name)
        with pytest.warns(UserWarning, match="^Means of 'x'"):
            assert guessed(TableAggregator(5, decimals=None), table, possible, 5) > 0.5
        assert guessed(MicroAggregator(5), table, possible, 5) > 0.5


@in_one_case("name", TRANSFORMED)
def test_a_released_mean_does_not(name):
    table, possible = draw(name)
    assert guessed(TableAggregator(5), table, possible, 5) <= 0.05
    assert guessed(MicroAggregator(5, decimals="auto"), table, possible, 5) <= 0.05
    median = TableAggregator(5, numbers="median")
    assert guessed(median, table, possible, 5, average=np.median) <= 0.05


@pytest.mark.slow
@in_one_case(
    ("name", "k", "at_most"),
    [
        (name, k, {2: 0.6, 3: 0.25, 5: 0.05, 10: 0.01}[k])
        for name in TRANSFORMED
        for k in (2, 3, 5, 10)
    ],
)
def test_nor_in_larger_tables_from_five_on(name, k, at_most):
    """Groups of two and three are guessed more often: the threat model says so."""
    table, possible = draw(name, n=1000, seed=1)
    assert guessed(TableAggregator(k), table, possible, k) <= at_most


def test_columns_that_determine_each_other_are_several_sums_of_the_same_people():
    table, possible = draw("age")
    powers = np.arange(1, 4)
    original = table[["x"]].to_numpy() ** powers

    def tried(decimals, *others):
        X = np.column_stack([original, *(table[name] for name in others)])
        aggregator = MicroAggregator(5, decimals=decimals)
        release = aggregator.fit_transform(X)[:, :3]
        about = steps_of([*aggregator.rounding_.values()][:3]), aggregator.labels_, 5
        return share_guessed(possible**powers, original, release, *about)

    assert tried(None, "y", "z") > 0.8
    assert tried("auto", "y", "z") <= 0.05
    # Without other columns, groups hold neighbors, and rounding is not enough.
    assert tried("auto") > 0.3


def test_many_zeros_do_not_hide_how_close_other_values_are():
    """The gap of a zero is that to the smallest price, which one record has."""
    rng = np.random.default_rng(0)
    prices = np.sort(np.append(rng.lognormal(4, 1, 2_000).round(4), 0.0007))
    n = 1_000
    x = np.where(rng.random(n) < 0.6, 0.0, rng.choice(prices, n))
    x[0] = prices[0]
    table = pd.DataFrame({"x": x})
    aggregator = TableAggregator(5)
    release = aggregator.fit_transform(table)[["x"]].to_numpy()
    # That all members of a group have zero is no secret: k-anonymity does not hide it.
    has_zeros = np.bincount(aggregator.labels_, x == 0.0) > 0
    rows = ~has_zeros[aggregator.labels_]
    labels = np.unique(aggregator.labels_[rows], return_inverse=True)[1]
    about = release[rows], steps_of([aggregator.rounding_["x"]]), labels, 5
    assert share_guessed(prices[:, None], x[rows, None], *about) <= 0.05


def test_whole_numbers_are_what_nothing_can_be_coarser_than():
    table, possible = draw("age")
    assert guessed(TableAggregator(5), table, possible, 5) <= 0.05


def draw_places(n, n_known, seed=3):
    """Coordinates of some of the addresses in a public list, and the list."""
    rng = np.random.default_rng(seed)
    known = np.c_[48 + rng.normal(0, 0.05, n_known), 11 + rng.normal(0, 0.08, n_known)].round(7)
    return known[rng.choice(n_known, n, replace=False)], known


def places_guessed(aggregator, places, known, k):
    release = aggregator.fit_transform(places)
    steps = steps_of(aggregator.rounding_.values())
    labels = aggregator.labels_
    return share_guessed(known, places, release, steps, labels, k, without_repetition=True)


@pytest.mark.parametrize(
    ("n", "n_known", "at_most"),
    [(300, 2_000, 0.05), pytest.param(20_000, 40_000, 0.25, marks=pytest.mark.slow)],
)
def test_coordinates_do_not_tell_addresses(n, n_known, at_most):
    """Of the larger list, every second address is in the table: exact means tell 96%."""
    places, known = draw_places(n, n_known)
    assert places_guessed(MicroAggregator(5, decimals="auto"), places, known, 5) <= at_most
    if n < 1000:
        assert places_guessed(TableAggregator(5), places, known, 5) <= at_most


def test_exact_coordinates_tell_them():
    places, known = draw_places(2_000, 5_000)
    assert places_guessed(MicroAggregator(5), places, known, 5) > 0.8


def test_a_model_has_exact_means_and_its_release_does_not():
    table, possible = draw("logarithm of age")
    model = MicroAggregator(5).fit(table)
    shared = model.release_only()
    original, labels = table[["x"]].to_numpy(), model.labels_
    for holder, is_guessed in ((model, True), (shared, False)):
        release = holder.centroids_[labels, :1]
        steps = steps_of([holder.rounding_["x"]])
        share = share_guessed(possible, original, release, steps, labels, 5)
        assert (share > 0.5) is is_guessed
        assert is_guessed or share <= 0.05


@in_one_case("decimals", [None, 6])
def test_a_table_without_cells_has_rounded_means_whatever_it_released(decimals):
    table, possible = draw("logarithm of age")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Means of")
        model = TableAggregator(5, decimals=decimals).fit(table)
    shared = model.release_only()
    original, labels = table[["x"]].to_numpy(), model.labels_
    for holder, is_guessed in ((model, True), (shared, False)):
        release = holder.centroids_[["x"]].to_numpy()[labels]
        steps = steps_of([holder.rounding_["x"]])
        share = share_guessed(possible, original, release, steps, labels, 5)
        assert (share > 0.5) is is_guessed
        assert is_guessed or share <= 0.05


def test_a_model_is_shipped_with_the_means_that_it_released():
    table, _ = draw("logarithm of age")
    target = table["y"] > 0
    model = TrainOnRelease(LogisticRegression(), TableAggregator(5)).fit(table, target)
    held = pickle.dumps(model)
    exact = TableAggregator(5).fit(table)
    means = np.bincount(exact.labels_, table["x"]) / exact.group_sizes_
    # The space of coordinates would give them back.
    scaled = exact._cells.centroids[:, 0]
    for figures in (means, np.asarray(scaled, dtype=np.float64)):
        assert not any(np.float64(figure).tobytes() in held for figure in figures)


def test_on_dask_means_are_as_coarse():
    dd = pytest.importorskip("dask.dataframe")
    from sk_microagg.scale import DaskTableAggregator

    for name in TRANSFORMED:
        table, _ = draw(name, n=1200)
        here = TableAggregator(5).fit(table)
        there = DaskTableAggregator(5).fit(dd.from_pandas(table, npartitions=3))
        assert there.rounding_ == here.rounding_
    table, possible = draw(name)
    there = DaskTableAggregator(5)
    release = there.fit_transform(dd.from_pandas(table, npartitions=3)).compute()
    groups = release.groupby([*release.columns], sort=False).ngroup().to_numpy()
    steps = steps_of([there.rounding_["x"]])
    about = table[["x"]].to_numpy(), release[["x"]].to_numpy(), steps, groups, 5
    assert share_guessed(possible, *about) <= 0.05


def test_in_a_series_each_release_is_as_coarse():
    table, possible = draw("logarithm of age", n=600)
    table["person"] = [f"P{number:03}" for number in range(len(table))]
    shares = []
    for decimals, step in ((None, 0.0), ("auto", 0.01)):
        series = ReleaseSeries(TableAggregator(5, unit="person", decimals=decimals))
        for part in (table[:300], table):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Means of")
                release = series.release(part)
        groups = release.groupby([*release.columns], sort=False).ngroup().to_numpy()
        # Released rows are in random order.
        original = table.set_index("person").loc[series.units_, ["x"]].to_numpy()
        about = release[["x"]].to_numpy(), [step], groups, 5
        shares.append(share_guessed(possible, original, *about))
    assert shares[0] > 0.5
    assert shares[1] <= 0.05


def test_dates_are_coarse_too():
    rng = np.random.default_rng(0)
    n = 300
    first_days = pd.date_range("2010-01-01", periods=60, freq="MS")
    table = pd.DataFrame(
        {
            "month": first_days[rng.integers(0, 60, n)],
            "second": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**8, n), "s"),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
        }
    )
    aggregator = TableAggregator(5).fit(table)
    assert {name: each.decimals for name, each in aggregator.rounding_.items()} == {
        "month": "10 days",
        "second": "10 days",
        "day": "day",
    }
