"""Sampling weights: sums of weight times value are those of the original table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import case, in_one_case
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg import TableAggregator
from sk_microagg.privacy import Dominance, PopulationSize
from sk_microagg.refiners import Annealing

pytestmark = pytest.mark.usefixtures("few_steps")

FAST = Annealing(max_iter=2000)


def draw(seed):
    """A table with weights and strata; numbers of any size, and as many decimals."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 80)), int(rng.integers(2, 6))
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.lognormal(8, 1.5, n), int(rng.integers(0, 4))),
            "size": rng.lognormal(0, 3, n) * 10.0 ** rng.integers(-6, 7),
            "region": rng.choice(["north", "south"], n),
            "w": np.round(rng.lognormal(3, 1, n), 2) + 0.01,
        }
    )
    table.loc[:k, "region"], table.loc[n - k - 1 :, "region"] = "north", "south"
    return table, k


NUMBERS = ["age", "income", "size"]
# Parts of 20 tables: one of them here, and 200 tables before a release.
every_part = pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.release) for part in range(1, 10))]
)


@pytest.mark.slow
@every_part
def test_sums_are_those_of_the_original(part):
    for seed in range(20 * part, 20 * part + 20):
        table, k = draw(seed)
        aggregator = TableAggregator(
            k, weight="w", strata="region", decimals=None, refiner=None if seed % 5 else FAST
        )
        table["age"] = table["age"].astype(float)  # integers are rounded
        release = aggregator.fit_transform(table)
        with case(seed=seed):
            for groups in (aggregator.labels_, table["region"], np.zeros(len(table))):
                for name in NUMBERS:
                    sums = [
                        (each["w"] * each[name]).groupby(np.asarray(groups)).sum()
                        for each in (table, release)
                    ]
                    assert_allclose(sums[1], sums[0], rtol=1e-12)
                weights = [each["w"].groupby(np.asarray(groups)).sum() for each in (table, release)]
                assert_allclose(weights[1], weights[0], rtol=1e-12)


@pytest.mark.slow
@every_part
def test_rounding_changes_a_mean_by_half_a_unit_of_the_last_decimal(part):
    for seed in range(20 * part, 20 * part + 20):
        table, k = draw(seed)
        aggregator = TableAggregator(k, weight="w", strata="region", refiner=None)
        release = aggregator.fit_transform(table)
        with case(seed=seed):
            labels = aggregator.labels_
            totals = table["w"].groupby(labels).sum()
            for name, unit in (("age", 1.0), ("income", 10.0 ** -decimals_in(table["income"]))):
                sums = [(each["w"] * each[name]).groupby(labels).sum() for each in (table, release)]
                assert (abs(sums[1] - sums[0]) <= totals * unit / 2 * (1 + 1e-9)).all()


def decimals_in(column):
    return max(len(repr(value).partition(".")[2].rstrip("0")) for value in column.tolist())


def test_groups_are_those_without_weights():
    table, k = draw(3)
    with_weights = TableAggregator(k, weight="w", refiner=FAST, random_state=0).fit(table)
    without = TableAggregator(k, drop="w", refiner=FAST, random_state=0).fit(table)
    assert_array_equal(with_weights.labels_, without.labels_)
    assert with_weights.information_loss_ == without.information_loss_
    assert with_weights.exact_transform_ == without.exact_transform_


def test_values_of_small_groups():
    table = pd.DataFrame(
        {
            "age": [30.0, 40.0, 50.0, 80.0, 80.0, 86.0],
            "day": pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-05"] * 2),
            "town": ["Bonn", "Bonn", "Ulm", "Ulm", "Ulm", "Bonn"],
            "w": [1, 1, 8, 1, 2, 3],
        }
    )
    release = TableAggregator(3, weight="w").fit_transform(table)
    assert release["age"].tolist() == [47.0] * 3 + [83.0] * 3
    assert release["day"][0] == pd.Timestamp("2024-01-04")
    assert release["town"].tolist()[:3] == ["Ulm"] * 3
    assert release["w"].tolist() == [10 / 3] * 3 + [2.0] * 3
    by_age = {"town": 0.01, "day": 0.01}
    as_shares = TableAggregator(3, weight="w", categories="shares", column_weights=by_age)
    assert_allclose(as_shares.fit_transform(table)["town=Ulm"], [0.8] * 3 + [0.5] * 3)


@pytest.mark.filterwarnings("ignore:Column 'town' has mostly values")
def test_a_value_of_one_person_is_not_released_however_heavy():
    table = pd.DataFrame({"town": ["Bonn", "Bonn", "Ulm"] * 2, "w": [1.0, 1.0, 8.0] * 2})
    table.loc[5, "town"] = "Bonn"
    release = TableAggregator(6, weight="w").fit_transform(table)
    assert set(release["town"]) == {"Bonn"}


def test_missing_values_keep_the_mean_of_the_known_ones():
    table = pd.DataFrame({"age": [30.0, 40.0, np.nan], "w": [1.0, 3.0, 6.0]})
    release = TableAggregator(3, weight="w", decimals=None).fit_transform(table)
    assert release["age"].tolist() == [37.5] * 3


@pytest.mark.slow
@in_one_case("frame", [pd.DataFrame, pl.DataFrame])
def test_new_rows_are_mapped_as_before(frame):
    table, k = draw(5)
    table = frame(table.to_dict("list"))
    aggregator = TableAggregator(k, weight="w", strata="region", random_state=0)
    release = aggregator.fit_transform(table)
    assert list(release.columns) == list(table.columns)
    assert aggregator.exact_transform_
    assert aggregator.transform(table)["w"].to_list() == release["w"].to_list()
    assert aggregator.get_feature_names_out().tolist() == list(table.columns)
    assert aggregator.certificate(table, time_limit=0.2).loss == aggregator.information_loss_


def test_weights_that_are_kept():
    table, k = draw(7)
    with pytest.warns(UserWarning, match=r"^Most weights .* k=\d"):
        release = TableAggregator(k, weight="w", weight_release="keep").fit_transform(table)
    assert_array_equal(release["w"], table["w"])
    table["w"] = np.where(table["age"] > 40, 20.5, 31.0)
    release = TableAggregator(k, weight="w", weight_release="keep").fit_transform(table)
    assert_array_equal(release["w"], table["w"])


def test_constraints_on_the_weights():
    table, _ = draw(9)
    least = table["w"].sum() / 6
    privacy = [PopulationSize(least), Dominance(0.6, column="w")]
    aggregator = TableAggregator(2, weight="w", privacy=privacy)
    labels = aggregator.fit_predict(table)
    groups = table["w"].groupby(labels)
    assert (groups.sum() >= least).all()
    assert (groups.max() / groups.sum() <= 0.6).all()
    assert labels.max() > 0


@in_one_case(
    ("parameters", "change", "message"),
    [
        ({"weight": "W"}, {}, "weight names 'W'"),
        ({"weight": ["w", "age"]}, {}, "weight="),
        ({"weight": "w", "strata": "w"}, {}, "'w' is in both"),
        ({"weight": "w", "weight_release": "drop"}, {}, "weight_release='drop'"),
        ({"weight": "w", "numbers": "median"}, {}, "numbers='median'"),
        ({"weight": "w"}, {"w": 0.0}, "weight='w'"),
        ({"weight": "w"}, {"w": -2.5}, "weight='w'"),
        ({"weight": "w"}, {"w": np.inf}, "weight='w'"),
        ({"weight": "w"}, {"w": np.nan}, "weight='w'"),
        ({"weight": "w"}, {"w": 1e300}, "weight='w'"),  # Sums would be infinite, or inexact.
        ({"weight": "w"}, {"w": 1e-300}, "weight='w'"),
    ],
)
def test_bad_weights_are_errors(parameters, change, message):
    table, k = draw(1)
    for name, value in change.items():
        table.loc[3, name] = value
    aggregator = TableAggregator(k, **parameters)
    with pytest.raises(ValueError, match=message) as raised:
        aggregator.fit(table)
    assert not hasattr(aggregator, "labels_")
    assert "2.5" not in str(raised.value)


def test_weights_must_be_numbers():
    table, k = draw(1)
    with pytest.raises(TypeError, match="weight='region'"):
        TableAggregator(k, weight="region").fit(table)
