"""KAIM releases dates as intervals of dates, whatever library the table is of."""

from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg import KAIM
from sk_microagg.generalization import KMember
from sk_microagg.metrics import anonymity_level, generalization_loss
from sk_microagg.report import make_report
from sk_microagg.tables import Hierarchy

N, K = 24, 3
DAYS = np.random.default_rng(0).integers(17_000, 19_000, N)


def table(n_missing=2):
    born = pd.Series(np.array(DAYS, dtype="datetime64[D]").astype("datetime64[us]"))
    return pd.DataFrame({"born": born.where(np.arange(N) >= n_missing), "size": np.arange(N) % 7})


def as_date(cell):
    return None if cell is pd.NaT else cell.date()


TABLES = {
    "pandas": lambda X: X,
    "objects": lambda X: X.astype(object).to_numpy(),
    "list of dates": lambda X: [[as_date(cell), size] for cell, size in X.to_numpy(object)],
    "time zone": lambda X: X.assign(born=X["born"].dt.tz_localize("Europe/Rome")),
    "nanoseconds": lambda X: X.astype({"born": "datetime64[ns]"}),
    "polars": pl.from_pandas,
    "dates of polars": lambda X: pl.from_pandas(X).cast({"born": pl.Date}),
    "arrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
}


def as_days(release):
    """The release of dates as that of days: ISO dates as numbers."""

    def number(text):
        return str((date.fromisoformat(text) - date(1970, 1, 1)).days)

    ends = [cell.strip("[]").split(", ") for cell in release]
    parts = [[part if part == "*" else number(part) for part in cell] for cell in ends]
    return [cell[0] if len(cell) == 1 else f"[{cell[0]}, {cell[1]}]" for cell in parts]


@in_one_case("form", TABLES)
def test_dates_are_released_as_their_days_would_be(form):
    X = table()
    days = X.assign(born=np.where(X["born"].isna(), np.nan, DAYS))
    expected = KAIM(K, random_state=0).fit(days)
    kaim = KAIM(K, random_state=0)
    release = kaim.fit_transform(TABLES[form](X))
    assert_array_equal(kaim.labels_, expected.labels_)
    assert as_days(release[:, 0]) == expected.centroids_[expected.labels_, 0].tolist()
    assert kaim.information_loss_ == expected.information_loss_
    assert anonymity_level(release) >= K
    assert "[20" in release[-1, 0]


@pytest.mark.parametrize("grid", ["auto", None, 100.0])
def test_intervals_contain_the_dates(grid):
    X = table(0)
    release = KAIM(K, grid=grid, random_state=0).fit_transform(X)
    for moment, cell in zip(X["born"], release[:, 0], strict=True):
        low, *_, high = [datetime.fromisoformat(end) for end in cell.strip("[]").split(", ")]
        assert low <= moment <= high


def test_times_of_day():
    X = table(0)
    X["born"] += pd.to_timedelta(np.arange(N) * 1_234_567, unit="ms")
    release = KAIM(K, grid=None, random_state=0).fit_transform(X)
    for moment, cell in zip(X["born"], release[:, 0], strict=True):
        low, high = [datetime.fromisoformat(end) for end in cell.strip("[]").split(", ")]
        assert low <= moment <= high
    assert generalization_loss(X, release) > 0


def test_the_loss_is_that_of_the_metric():
    X = table()
    kaim = KAIM(K, random_state=0)
    assert generalization_loss(X, kaim.fit_transform(X)) == pytest.approx(kaim.information_loss_)
    with pytest.raises(ValueError, match="does not stand for"):
        generalization_loss(X, np.full((N, 2), "[1990-01-01, 1990-01-02]"))


@in_one_case("form", ["pandas", "dates of polars", "arrow"])
@in_one_case("output", ["interval", "midpoint"])
def test_new_dates(form, output):
    kaim = KAIM(K, output=output, random_state=0).fit(TABLES[form](table()))
    X = table().iloc[:4].assign(born=pd.Timestamp("2100-01-01").as_unit("us"), size=[0, 1, 2, 3])
    shown = kaim.transform(TABLES[form](X))
    rows = {tuple(row) for row in kaim.centroids_.tolist()}
    assert {tuple(row) for row in shown.tolist()} <= rows
    assert shown[-1, 0] != "*"


def test_midpoints_are_dates():
    X = table()
    intervals, midpoints = (
        KAIM(K, output=output, random_state=0).fit_transform(X)[:, 0]
        for output in ("interval", "midpoint")
    )
    for interval, midpoint in zip(intervals, midpoints, strict=True):
        if interval == "*":
            assert midpoint == "*"
            continue
        low, *_, high = [datetime.fromisoformat(end) for end in interval.strip("[]").split(", ")]
        assert datetime.fromisoformat(midpoint) == low + (high - low) / 2


def test_dates_at_the_end_of_the_calendar():
    X = [[date(9999, 12, 31 - day)] for day in range(4)] + [[date(2020, 1, 1)]] * 4
    release = KAIM(4, random_state=0).fit_transform(X).ravel().tolist()
    assert release == ["*"] * 4 + ["2020-01-01"] * 4
    X = [[date(9999, 12, 31)]] * 4 + X[4:]
    assert KAIM(4, random_state=0).fit_transform(X)[0, 0] == "9999-12-31"


def test_hierarchies_of_dates():
    X = table()
    given = KAIM(K, hierarchies={"born": Hierarchy.intervals()}, random_state=0).fit_transform(X)
    assert_array_equal(given, KAIM(K, random_state=0).fit_transform(X))
    flat = KAIM(K, hierarchies={"born": Hierarchy.flat()}, random_state=0).fit_transform(X)
    assert {*flat[:, 0]} == {"*"}


def test_baseline():
    X = table(0)
    assert generalization_loss(X, KMember(K, random_state=0).fit_transform(X)) < 1


@in_one_case("library", [lambda X: X, pl.from_pandas])
@in_one_case("cell", [timedelta(days=2), time(12)])
def test_times_and_durations_are_an_error(library, cell):
    X = library(table().assign(stay=[cell] * N))
    message = (
        "^Column 'stay' of X holds times of day or durations, for which there are no intervals: "
        "convert them to numbers, such as hours, or to text, for categories"
    )
    with pytest.raises(TypeError, match=message):
        KAIM(K).fit(X)


def test_dates_among_other_values_are_categories():
    X = [[date(2020, 1, 1)], [date(2020, 1, 1)], ["unknown"], ["unknown"]]
    assert (
        KAIM(2, random_state=0).fit_transform(X)[:, 0].tolist()
        == ["2020-01-01"] * 2 + ["unknown"] * 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("output", ["interval", "midpoint"])
def test_report(tmp_path, output):
    X = table()
    kaim = KAIM(K, output=output, random_state=0).set_output(transform="pandas")
    release = kaim.fit_transform(X)
    page = make_report(kaim, X, release).save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "born" in page
