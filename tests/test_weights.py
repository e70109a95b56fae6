"""Sampling weights: totals of weight times value are those of the original table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import case, in_one_case
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg import TableAggregator
from sk_microagg.privacy import Dominance, PopulationSize
from sk_microagg.refiners import Annealing

pytestmark = [
    pytest.mark.usefixtures("few_steps"),
    pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups"),
]

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

# By how much four significant digits change a mean weight, relatively.
DIGITS = 5e-4

# Parts of 20 tables: one of them here, and 200 tables before a release.
every_part = pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.release) for part in range(1, 10))]
)


def steps_of(aggregator):
    """To what means are rounded; 0 for all digits."""
    decimals = {name: aggregator.rounding_[name].decimals for name in NUMBERS}
    return {name: 0.0 if d is None else 10.0**-d for name, d in decimals.items()}


@pytest.mark.slow
@every_part
def test_totals_are_those_of_the_original_except_for_rounding(part):
    for seed in range(20 * part, 20 * part + 20):
        table, k = draw(seed)
        kept = seed % 2 == 0
        aggregator = TableAggregator(
            k,
            weight="w",
            weight_release="keep" if kept else "mean",
            strata="region",
            sensitive="note",
            refiner=None if seed % 5 else FAST,
        )
        table["note"] = table["size"]
        release = aggregator.fit_transform(table)
        steps = steps_of(aggregator)
        with case(seed=seed):
            for groups in (aggregator.labels_, table["region"], np.zeros(len(table))):
                groups = np.asarray(groups)
                weights = [each["w"].groupby(groups).sum() for each in (table, release)]
                assert_allclose(weights[1], weights[0], rtol=0 if kept else DIGITS)
                for name in NUMBERS:
                    sums = [(t["w"] * t[name]).groupby(groups).sum() for t in (table, release)]
                    rounding = weights[1] * steps[name] / 2 * (1 + 1e-9)
                    of_weights = abs(sums[0]) * (1e-12 if kept else DIGITS)
                    assert (abs(sums[1] - sums[0]) <= rounding + of_weights).all()
                if kept:
                    sums = [(t["w"] * t["note"]).groupby(groups).sum() for t in (table, release)]
                    assert_array_equal(*sums)


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
            "age": [30.0, 30.0, 60.0, 80.0, 80.0, 100.0],
            "day": pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-05"] * 2),
            "town": ["Bonn", "Bonn", "Ulm", "Ulm", "Ulm", "Bonn"],
            "part": [1, 1, 1, 2, 2, 2],
            "w": [1, 1, 4, 1, 1, 2],
        }
    )
    roles = {"weight": "w", "strata": "part"}
    release = TableAggregator(3, **roles).fit_transform(table)
    assert release["age"].tolist() == [50.0] * 3 + [90.0] * 3
    assert release["day"][0] == pd.Timestamp("2024-01-04")
    assert release["town"].tolist()[:3] == ["Ulm"] * 3
    assert release["w"].tolist() == table["w"].tolist()
    means = TableAggregator(3, **roles, weight_release="mean").fit_transform(table)
    assert means["w"].tolist() == [2.0] * 3 + [1.333] * 3
    assert means.drop(columns="w").equals(release.drop(columns="w"))


@pytest.mark.filterwarnings("ignore:Column 'town' has mostly values")
def test_a_value_of_one_person_is_not_released_however_heavy():
    table = pd.DataFrame({"town": ["Bonn", "Bonn", "Ulm"] * 2, "w": [1.0, 1.0, 8.0] * 2})
    table.loc[5, "town"] = "Bonn"
    release = TableAggregator(6, weight="w").fit_transform(table)
    assert set(release["town"]) == {"Bonn"}


def test_missing_values_keep_the_mean_of_the_known_ones():
    table = pd.DataFrame({"age": [30.0, 60.0, np.nan], "w": [1.0, 2.0, 6.0]})
    release = TableAggregator(3, weight="w").fit_transform(table)
    assert release["age"].tolist() == [50.0] * 3


@pytest.mark.slow
@in_one_case(
    ("frame", "kept"),
    [(pd.DataFrame, "keep"), (pd.DataFrame, "mean"), (pl.DataFrame, "mean")],
)
def test_new_rows_are_mapped_as_before(frame, kept):
    table, k = draw(5)
    table = frame(table.to_dict("list"))
    roles = {"weight": "w", "weight_release": kept, "strata": "region"}
    aggregator = TableAggregator(k, **roles, random_state=0)
    release = aggregator.fit_transform(table)
    assert list(release.columns) == list(table.columns)
    assert aggregator.exact_transform_
    assert aggregator.transform(table)["w"].to_list() == release["w"].to_list()
    assert aggregator.get_feature_names_out().tolist() == list(table.columns)
    assert aggregator.certificate(table, time_limit=0.2).loss == aggregator.information_loss_


@pytest.mark.filterwarnings("error:Most weights")
def test_weights_are_released_as_they_are():
    table, _ = draw(7)
    with pytest.warns(UserWarning, match=r"^Most weights .* k=5 .*weight_release='mean'\.$"):
        release = TableAggregator(5, weight="w").fit_transform(table)
    assert_array_equal(release["w"], table["w"])
    table["w"] = np.where(table["age"] > 40, 20.5, 31.0)
    release = TableAggregator(5, weight="w").fit_transform(table)
    assert_array_equal(release["w"], table["w"])


@pytest.mark.filterwarnings("error:With a weight")
def test_small_groups_of_weighted_means_are_a_warning():
    table, _ = draw(7)
    with pytest.warns(UserWarning, match=r"^With a weight, groups of k=4 .* Use k=5 or more\.$"):
        TableAggregator(4, weight="w").fit(table)
    generalized = {"numbers": "interval", "categories": "generalize"}
    TableAggregator(4, weight="w", **generalized).fit(table)  # No sums are released.
    TableAggregator(5, weight="w").fit(table)


def test_mean_weights_of_identical_records_make_transform_inexact():
    """`transform` cannot tell which group a record was in, and so which mean weight it has."""
    table = pd.DataFrame({"b": [True] * 4, "w": [7.0, 5.0, 8.0, 5.0]})
    parameters = {"weight": "w", "privacy": PopulationSize(5)}
    averaged = TableAggregator(2, **parameters, weight_release="mean")
    release = averaged.fit_transform(table)
    assert release["w"].nunique() == 2
    assert not averaged.exact_transform_
    with pytest.warns(UserWarning, match="^transform was given the training data"):
        assert averaged.transform(table)["w"].nunique() == 1
    kept = TableAggregator(2, **parameters)
    release = kept.fit_transform(table)
    assert kept.exact_transform_
    assert kept.transform(table).equals(release)


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
        ({"weight": "w", "categories": "shares"}, {}, "categories='shares'"),
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
    with pytest.raises(ValueError, match=r"weight='region': all .* cells are no numbers"):
        TableAggregator(k, weight="region").fit(table)
