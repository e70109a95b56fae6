"""Displays of tables with categories, dates and missing values."""

from datetime import time, timedelta

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.numbers import in_units
from example_tables.patients import draw
from marks import in_one_case
from matplotlib.dates import num2date
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.metrics import risk_utility
from sk_microagg.plotting import (
    AttributeDisplay,
    CertificateDisplay,
    ConvergenceDisplay,
    PartitionDisplay,
    RiskUtilityDisplay,
)
from sk_microagg.plotting._common import Bars, Histogram, Note, numbers_of_dates
from sk_microagg.plotting._distributions import compare_columns

pytestmark = pytest.mark.usefixtures("few_steps")

NAMES = ["age", "income", "ward", "admitted", "code", "smoker"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(name="X")
def table():
    return draw()


@pytest.fixture(name="aggregator")
def fitted(X):
    return TableAggregator(
        k=4, drop="name", sensitive="diagnosis", categorical=["code"], random_state=0
    ).fit(X)


@pytest.mark.slow
def test_kinds_of_panels(X, aggregator):
    display = AttributeDisplay.from_estimator(aggregator, X)
    assert [column.name for column in display.columns] == NAMES
    histograms = [isinstance(column, Histogram) for column in display.columns]
    assert histograms == [True, True, False, True, False, False]
    panel = display.ax_[NAMES.index("admitted")]
    display.figure_.canvas.draw()
    first, *_, last = (num2date(tick) for tick in panel.get_xticks())
    assert first.year in (2023, 2024)
    assert last.year == 2024


def test_bars_count_categories_and_missing_values(X, aggregator):
    ward = AttributeDisplay.from_estimator(aggregator, X).columns[2]
    release = aggregator.centroids_["ward"].iloc[aggregator.labels_]
    assert isinstance(ward, Bars)
    for label in ("Cardiology", "Surgery", "(missing)"):
        place = ward.categories.index(label)
        cells = [
            column.isna() if label == "(missing)" else column == label
            for column in (X["ward"], release)
        ]
        assert_allclose((ward.before[place], ward.after[place]), [cell.mean() for cell in cells])


def test_rare_categories_are_hidden(X, aggregator):
    ward = AttributeDisplay.from_estimator(aggregator, X, at_least=4).columns[2]
    assert "Quarantine" not in ward.categories
    assert (150 * ward.before[:-1] >= 4).all()


def test_histogram_of_dates_counts_days(X, aggregator):
    admitted = AttributeDisplay.from_estimator(aggregator, X).columns[3]
    days = (X["admitted"].dropna() - pd.Timestamp("1970-01-01")).dt.days
    counts = np.histogram(days, admitted.edges)[0]
    assert_allclose(admitted.before, counts / 150)
    assert admitted.are_integers
    assert admitted.missing == ("1.33%", "0%")


@pytest.mark.slow
@in_one_case("hours", [30, 60, 24 * 45, 24 * 365, 24 * 900, 24 * 1500, 24 * 9000])
def test_dates_of_any_span_have_ticks(hours):
    # Matplotlib warns if it finds no ticks, which is an error here.
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.linspace(0, hours, 50), "h")
    display = AttributeDisplay(columns=compare_columns(*[moments.to_frame(name="at")] * 2)).plot()
    display.figure_.canvas.draw()
    assert len(display.ax_[0].get_xticks()) >= 2


@in_one_case(
    ("cells", "numbers", "unit"),
    [
        (pd.Series(pd.to_datetime(["1970-01-02 06:00", None])), [1.25, np.nan], "date"),
        (
            pd.Series(pd.to_datetime(["2024-07-01"])).dt.tz_localize("Europe/Berlin"),
            [19905.0],
            "date",
        ),
        (pl.Series([None, pd.Timestamp("1970-01-03").date()]), [np.nan, 2.0], "date"),
        (np.array(["1970-01-11"], dtype="M8[D]"), [10.0], "date"),
        (pd.Series(pd.period_range("1970-02", periods=2, freq="M")), [31.0, 59.0], "date"),
        (pd.Series([timedelta(hours=36)]), [1.5], "days"),
        (pd.Series([time(6, 30)]), [6.5], "hours"),
        (pd.Series([1.0, 2.0]), None, None),
        (pd.Series([timedelta(1), time(6, 30)], dtype=object), None, None),
    ],
)
def test_dates_as_numbers(cells, numbers, unit):
    found, found_unit = numbers_of_dates(cells)
    assert found_unit == unit
    if numbers is None:
        assert found is None
    else:
        assert_allclose(found, numbers)


def test_durations_say_their_unit():
    X = pd.DataFrame({"stay": pd.to_timedelta([1, 2, 3, 4], "D")})
    display = AttributeDisplay.from_data(X, X)
    assert display.ax_[0].get_xlabel() == "days"


def test_dates_that_are_released_as_text_have_a_note():
    X = pd.DataFrame({"birth": pd.to_datetime(["1980-01-01", "1990-01-01"])})
    [column] = compare_columns(X, pd.DataFrame({"birth": ["*", "*"]}))
    assert column == Note("birth", "no value is released")
    [column] = compare_columns(X, pd.DataFrame({"birth": ["198x", "199x"]}))
    assert column == Note("birth", "dates are released as text")


def test_generalized_and_missing_values_are_one_category():
    X = pd.DataFrame({"ward": ["A", "A", "B", "B", None, None] * 3})
    release = KAIM(k=4, random_state=0).fit_transform(X)
    [ward] = compare_columns(X, release)
    assert "(missing)" not in ward.categories
    assert "*" in ward.categories


def test_shares_have_no_panels(X):
    aggregator = TableAggregator(k=4, drop="name", categories="shares").fit(X)
    with pytest.raises(ValueError, match=r"^categories='shares'"):
        AttributeDisplay.from_estimator(aggregator, X)


def test_partition_of_a_table(X, aggregator):
    display = PartitionDisplay.from_estimator(aggregator, X)
    assert len(display.centroids_.get_xdata()) == aggregator.n_groups_


@in_one_case("d", [1, 3])
def test_partition_of_numbers_with_missing_values(d):
    X = in_units(60, d=d)
    X[::5, 0] = np.nan
    aggregator = MicroAggregator(k=4).fit(X)
    display = PartitionDisplay.from_estimator(aggregator, X)
    assert len(display.centroids_.get_xdata()) == aggregator.n_groups_


@pytest.mark.slow
@in_one_case("estimator", [MicroAggregator(k=4), TableAggregator(k=4)])
def test_search_and_proof_with_missing_values(estimator):
    X = in_units(60)
    X[::5, 0] = np.nan
    estimator.set_params(refiner="annealing", random_state=0).fit(X)
    display = ConvergenceDisplay.from_estimator(estimator, X)
    assert_allclose(display.trace[-1, 2] / display.total, estimator.information_loss_, rtol=1e-6)
    display = CertificateDisplay.from_estimator(estimator, X, time_limit=0.2)
    assert display.ax_.get_ylabel() == "information loss"


@pytest.mark.slow
def test_risk_and_utility_of_a_table(X, aggregator):
    display = RiskUtilityDisplay.from_estimator(aggregator, X, ks=[3, 6])
    table = risk_utility(X, [3, 6], estimator=aggregator)
    assert_array_equal(display.line_.get_ydata(), table["expected_matches"])


def test_bars_and_bins_stand_for_people():
    """Many rows of one person are no crowd: neither bar nor bin is for that person alone."""
    person = np.r_[np.arange(40), np.full(20, 40)]
    table = pd.DataFrame(
        {
            "person": person,
            "ward": np.where(person == 40, "isolation", np.where(person < 20, "A", "B")),
            "age": np.where(person == 40, 97.0, 20.0 + person % 20),
        }
    )
    aggregator = TableAggregator(5, unit="person").fit(table)
    ward, age = AttributeDisplay.from_estimator(aggregator, table, at_least=5).columns
    assert "isolation" not in ward.categories
    # All rows of a bin: 60 times its share.
    ages = table["age"].clip(age.edges[0], age.edges[-1])
    for low, high, share in zip(age.edges[:-1], age.edges[1:], age.before, strict=True):
        is_in = (ages >= low) & ((ages < high) | (high == age.edges[-1]))
        assert is_in.sum() == pytest.approx(60 * share)
        assert share == 0 or table["person"][is_in].nunique() >= 5
    rows = AttributeDisplay.from_data(
        table[["ward"]], aggregator.transform(table)[["ward"]], at_least=5
    )
    assert "isolation" in rows.columns[0].categories
