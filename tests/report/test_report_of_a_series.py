"""Reports on a release of a series, which is about the rows that follow the table."""

import numpy as np
import pandas as pd
import pytest
from marks import exact_means

from sk_microagg import LDiversity, ReleaseSeries, TableAggregator
from sk_microagg.metrics._given_groups import with_groups

pytest.importorskip("matplotlib")
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps")


def people(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": range(n),
            "age": rng.integers(20, 80, n),
            "income": rng.normal(3000, 800, n),
            "town": rng.choice(["Ulm", "Bonn"], n),
            "ill": rng.choice(["flu", "gout", "cold"], n),
            "secret": rng.normal(size=n),
        }
    )


def series_of(**settings):
    roles = {"unit": "id", "sensitive": "ill", "drop": "secret", "privacy": LDiversity(2)}
    aggregator = TableAggregator(4, **roles, random_state=0)
    return ReleaseSeries(aggregator, **settings)


def test_the_report_covers_the_rows_that_follow_the_table():
    series, table = series_of(), people()
    first = make_report(series, table[:40], series.release(table[:40])).to_dict()
    assert first["records"] == 40
    assert first["protection"]["k_achieved"] >= 4
    release = series.release(table[2:])
    page = make_report(series, table[2:], release, title="Two years", analysis="income ~ age")
    report = page.to_dict()
    n_covered = len(release) - 2 - len(series.frozen_)
    assert report["records"] == n_covered
    assert f"the {n_covered} of {len(release)} rows" in report["method"]["Series"]
    assert report["release"]["shuffled"] is True
    assert report["protection"]["k_achieved"] >= 4
    assert report["protection"]["units_per_group"] >= 4
    assert {
        "name": "secret",
        "role": "dropped",
        "technique": "removed",
        "reason": "",
    } in report["columns"]
    assert "the state of the series" in page.to_html()
    assert "broken" not in {one["state"] for one in report["verdicts"]}


@pytest.mark.filterwarnings("ignore:leavers='keep'. the rows of only")
def test_a_real_k_below_k_is_not_said_to_hold():
    series, table = series_of(leavers="keep"), people(40)
    series.aggregator.set_params(privacy=None)
    series.release(table)
    later = table[table["id"] % 2 == 0]
    report = make_report(series, later, series.release(later)).to_dict()
    assert report["protection"]["k_achieved"] == series.real_k_ < 4
    assert report["verdicts"][0]["state"] == "broken"


def test_what_a_report_of_a_series_needs():
    series, table = series_of(), people(12)
    release = table
    with pytest.raises(ValueError, match=r"^A report needs a release that this series has made"):
        make_report(series, table, release)
    release = series.release(table)
    with pytest.raises(ValueError, match=r"^X of 11 rows and release of 12 rows must be the table"):
        make_report(series, table[1:], release)
    later = table[table["id"] % 4 == 0]
    release = series.release(later)
    assert {*series.frozen_} == {*later["id"]}
    with pytest.raises(ValueError, match=r"needs groups whose rows follow the table, but there"):
        make_report(series, later, release)


@exact_means
def test_the_loss_of_given_groups_is_that_of_the_estimator():
    table = people().drop(columns=["id", "ill", "secret"])
    table.loc[:5, "income"] = np.nan
    aggregator = TableAggregator(4, random_state=0, decimals=None)
    released = aggregator.fit_transform(table)
    given = with_groups(aggregator, table, released, aggregator.labels_)
    assert given.information_loss_ == pytest.approx(aggregator.information_loss_, rel=0.01)
    assert given.column_losses_ == pytest.approx(aggregator.column_losses_, rel=0.02)
    # If the release is older than the table, it loses more.
    means = table["age"].groupby(aggregator.labels_).transform("mean")
    older = released.assign(age=means + 5)
    shift = len(table) * 25 / np.sum((table["age"] - table["age"].mean()) ** 2)
    losses = with_groups(aggregator, table, older, aggregator.labels_).column_losses_
    assert losses["age"] == pytest.approx(aggregator.column_losses_["age"] + shift)
