"""Numbers, dates and ordinal values of groups as intervals on a safe grid."""

import numpy as np
import pandas as pd
import pytest
from example_tables.mixed import HIERARCHIES, covers, draw, ends_of
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.generalization._generalizer import GeneralizedGroups, Ranges
from sk_microagg.generalization._mixed_table import MixedTable
from sk_microagg.metrics import anonymity_level, generalization_loss
from sk_microagg.privacy import LDiversity
from sk_microagg.tables._grid import Grid

pytestmark = pytest.mark.usefixtures("few_steps")

GENERALIZED = {"numbers": "interval", "categories": "generalize"}


def as_kaim_writes(X, labels, k, hierarchies=None):
    """What KAIM would release of these groups."""
    table = MixedTable(X, estimator=None)
    trees = table.hierarchies(hierarchies)
    domains = table.domains(trees, Grid(k))
    records, weights = Ranges(None, *table.encode(domains)), np.ones(X.shape[1])
    return GeneralizedGroups.from_records(trees, domains, records, labels, weights).labels()


def with_dates(X, seed):
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2020-02-01") + pd.to_timedelta(rng.integers(0, 500, len(X)), "D")
    return X.assign(visit=days.where(rng.random(len(X)) > 0.1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Column .* has mostly", "ignore:k=1")
@in_one_case(("n", "k"), [(3, 3), (5, 3), (60, 1), (60, 4), (200, 7)])
def test_groups_are_released_as_kaim_would_release_them(n, k):
    for seed in range(1 if n == 200 else 2):
        X = with_dates(draw(n, seed), seed)
        model = TableAggregator(k, hierarchies=HIERARCHIES, refiner=None, **GENERALIZED)
        release = model.fit_transform(X)
        expected = as_kaim_writes(X, model.labels_, k, HIERARCHIES)[model.labels_]
        assert release.to_numpy().tolist() == expected.tolist()
        assert anonymity_level(release) >= k
        for name in X.columns.drop("visit"):
            assert all(map(covers, release[name], X[name]))


def test_its_loss_is_that_of_the_metric():
    X = draw(150, share_missing=0.05).assign(age=lambda table: table["age"].fillna(40.0) // 10)
    model = TableAggregator(3, hierarchies=HIERARCHIES, **GENERALIZED)
    release = model.fit_transform(X)
    assert {*X["income"].dropna()} <= set(np.r_[0.0:20.0:0.001].round(3))
    shown = X.assign(income=X["income"].clip(*income_shown(release)))
    found = generalization_loss(shown, release, hierarchies=HIERARCHIES)
    assert model.generalization_loss_ == pytest.approx(found)
    averages = TableAggregator(3, hierarchies=HIERARCHIES, categories="generalize").fit(X)
    assert averages.generalization_loss_ is None
    assert averages.labels_.tolist() == model.labels_.tolist()


def income_shown(release):
    ends = [end for cell in release["income"] for end in ends_of(cell)]
    return min(ends), max(ends)


def test_ends_of_ordinal_values_are_values_that_k_people_share():
    rng = np.random.default_rng(0)
    levels = list("ABCDE")
    cells = rng.choice(levels, 300, p=[0.01, 0.4, 0.3, 0.28, 0.01])
    column = pd.Categorical(cells, levels, ordered=True)
    X = pd.DataFrame({"level": column, "x": rng.normal(size=300)})
    release = TableAggregator(10, **GENERALIZED).fit_transform(X)
    shown = {end for cell in release["level"] for end in cell.strip("[]").split(", ")}
    assert shown - {"*"} == {"B", "C", "D"}
    place = {level: rank for rank, level in enumerate(levels)}
    for cell, value in zip(release["level"], cells, strict=True):
        low, *_, high = 2 * cell.strip("[]").split(", ")
        assert cell == "*" or place[low] <= place[value] <= place[high]


@in_one_case("n_rows", [1, 10])
def test_a_number_of_one_person_is_no_end_however_many_rows_they_have(n_rows):
    """With ten rows of one person, the number would be shared by k records."""
    rng = np.random.default_rng(1)
    ages = np.r_[rng.integers(20, 60, 80), np.full(n_rows, 93)].astype(float)
    people = np.r_[np.arange(80), np.full(n_rows, 80)]
    X = pd.DataFrame({"age": ages, "person": people})
    release = TableAggregator(5, unit="person", **GENERALIZED).fit_transform(X)
    ends = {end for cell in release["age"] for end in ends_of(cell)}
    assert 93 not in ends
    assert max(ends) > 93


@pytest.mark.filterwarnings("ignore:All records")
@pytest.mark.slow
def test_constraints_strata_and_new_records():
    X = draw(300, share_missing=0).assign(
        region=np.arange(300) % 2, illness=np.where(np.arange(300) % 3, "flu", "gout")
    )
    roles = {"sensitive": "illness", "strata": "region", "privacy": LDiversity(2)}
    model = TableAggregator(4, **roles, **GENERALIZED)
    release = model.fit_transform(X)
    classes = release.groupby([*X.columns[:4], "region"], sort=False)
    assert classes.size().min() >= 4
    assert classes["illness"].nunique().min() == 2
    new = model.transform(X.head(20).drop(columns="illness").assign(illness="flu"))
    rows = {*release[X.columns[:4]].itertuples(index=False, name=None)}
    assert {*new[X.columns[:4]].itertuples(index=False, name=None)} <= rows
    certificate = model.certificate(X, time_limit=1)
    assert certificate.loss == model.information_loss_


@in_one_case(
    "column",
    [
        pd.Series(pd.to_timedelta(range(10), "h")),
        pd.Series(pd.period_range("2020-01", periods=10, freq="M")),
    ],
)
def test_times_without_a_calendar_have_no_intervals(column):
    with pytest.raises(TypeError, match=r"^Column 'when' of X holds times of day"):
        TableAggregator(3, **GENERALIZED).fit(pd.DataFrame({"when": column}))


@in_one_case("kind", ["datetime64[ns]", "datetime64[ns, UTC]", "object", "date32[pyarrow]"])
def test_dates_of_any_type_are_released_as_iso_dates(kind):
    days = pd.Series(pd.date_range("2024-01-01", periods=40, freq="D"))
    dates = days.dt.tz_localize("UTC") if "UTC" in kind else days
    dates = days.dt.date if kind in ("object", "date32[pyarrow]") else dates
    X = pd.DataFrame({"day": dates.astype(kind)})
    release = TableAggregator(5, **GENERALIZED).fit_transform(X)
    for cell, day in zip(release["day"], days, strict=True):
        low, high = map(pd.Timestamp, cell.strip("[]").split(", "))
        assert low <= day <= high
        assert (high - low).days <= 40


def test_a_column_of_ordered_values_without_any_is_released_as_missing():
    table = pd.DataFrame({"size": [None] * 20, "x": range(20)})
    for intervals in ("overlapping", "disjoint"):
        aggregator = TableAggregator(
            3,
            ordinal={"size": ["small", "large"]},
            numbers="interval",
            categories="generalize",
            intervals=intervals,
        )
        assert set(aggregator.fit_transform(table)["size"]) == {"*"}
