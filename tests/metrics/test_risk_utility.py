import numpy as np
import pandas as pd
import pytest
from example_tables.numbers import TABLES, in_units
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler

from sk_microagg import KAIM, MicroAggregator
from sk_microagg.metrics import (
    anonymity_level,
    closeness,
    correlation_change,
    diversity,
    homogeneity,
    interval_disclosure,
    rank_disclosure,
    record_linkage,
    risk_utility,
    unit_share,
    units_per_group,
)
from sk_microagg.privacy import LDiversity

pytestmark = pytest.mark.usefixtures("few_steps")

KS = [2, 3, 10]


def without_times(table):
    return table[[name for name in table.dtype.names if name != "seconds"]]


@pytest.mark.slow
def test_values_are_those_of_the_single_metrics():
    X = in_units()
    table = risk_utility(X, KS)
    assert table["k"].tolist() == KS
    for row in table:
        aggregator = MicroAggregator(k=row["k"])
        release = aggregator.fit_transform(X)
        linkage = record_linkage(X, release)
        assert row["information_loss"] == pytest.approx(aggregator.information_loss_)
        assert row["linked"] == linkage.linked
        assert row["expected_matches"] == linkage.expected_matches
        assert row["interval_disclosure"] == pytest.approx(interval_disclosure(X, release).mean())
        assert row["rank_disclosure"] == pytest.approx(rank_disclosure(X, release).mean())
        assert row["correlation_change"] == correlation_change(X, release).mean
        assert row["smallest_group"] == aggregator.group_sizes_.min()
        assert row["n_groups"] == aggregator.n_groups_
        assert row["seconds"] > 0


@pytest.mark.slow
def test_more_privacy_costs_more():
    table = risk_utility(in_units(), [1, 2, 5, 20, 100])
    for risk in ("expected_matches", "interval_disclosure", "rank_disclosure", "n_groups"):
        assert (np.diff(table[risk]) < 0).all(), risk
    assert (np.diff(table["information_loss"]) > 0).all()
    assert (table["smallest_group"] >= table["k"]).all()
    first = table[0]
    assert first["information_loss"] == first["correlation_change"] == 0
    assert first["linked"] == first["expected_matches"] == 1


@pytest.mark.slow
def test_jobs_and_type_of_table_change_nothing():
    X = in_units(100)
    table = without_times(risk_utility(X, KS))
    assert_array_equal(without_times(risk_utility(X.tolist(), iter(KS), n_jobs=2)), table)
    frame = pd.DataFrame(X, columns=list("abc"))
    assert_array_equal(without_times(risk_utility(frame, np.array(KS))), table)


@pytest.mark.slow
@in_one_case("make", TABLES.values())
@in_one_case("d", [1, 2])
def test_values_for_any_table_are_finite(make, d):
    table = risk_utility(make(np.random.default_rng(0), 40, d), [1, 3, 40])
    for name in table.dtype.names:
        assert np.isfinite(table[name]).all(), name


def test_order_of_records_does_not_matter():
    X = in_units()
    order = np.random.default_rng(0).permutation(len(X))
    builder_only = MicroAggregator(refiner=None)  # exchanges depend on the order of records
    table = risk_utility(X, KS, estimator=builder_only)
    other = risk_utility(X[order], KS, estimator=builder_only)
    for name in without_times(table).dtype.names:
        assert_allclose(other[name], table[name], rtol=1e-9)


@pytest.mark.slow
def test_the_result_can_be_made_a_frame():
    table = risk_utility(in_units(), KS)
    frame = pd.DataFrame(table)
    assert frame.columns.tolist() == [
        "k",
        "information_loss",
        "linked",
        "expected_matches",
        "interval_disclosure",
        "rank_disclosure",
        "correlation_change",
        "smallest_group",
        "n_groups",
        "seconds",
    ]
    assert_array_equal(frame["k"], KS)
    assert len(pd.DataFrame(risk_utility(in_units(), []))) == 0


@pytest.mark.slow
@in_one_case(
    "estimator",
    [
        MicroAggregator(k=7, refiner=None, scaler=None),
        MicroAggregator(block_size=50).set_output(transform="pandas"),
        KAIM(output="midpoint", refiner=None, random_state=0),
    ],
)
def test_any_estimator_that_releases_numbers(estimator):
    X = in_units(120)
    before = str(estimator.get_params())
    table = risk_utility(X, [2, 5], estimator=estimator)
    assert (table["smallest_group"] >= table["k"]).all()
    assert table["information_loss"][0] < table["information_loss"][1]
    assert str(estimator.get_params()) == before
    assert not hasattr(estimator, "labels_")


class AllAlike(TransformerMixin, BaseEstimator):
    """Releases the same row for all records."""

    def __init__(self, k=1):
        self.k = k

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.tile(np.mean(X, axis=0), (len(X), 1))


def test_a_release_of_one_row_loses_everything():
    X = in_units(100)
    (row,) = risk_utility(X, [4], estimator=AllAlike())
    assert row["information_loss"] == pytest.approx(1)
    assert row["linked"] == 1
    assert row["expected_matches"] == pytest.approx(1 / 100)
    assert row["smallest_group"] == 100
    assert row["n_groups"] == 1


@pytest.mark.slow
def test_sensitive_columns():
    X = in_units(120)
    sensitive = pd.DataFrame({"ill": X[:, 0] > np.median(X[:, 0]), "size": X[:, 1].round(1)})
    table = risk_utility(X, [2, 5], sensitive=sensitive)
    assert table.dtype.names[-3:] == ("homogeneity", "diversity", "closeness")
    plain = without_times(risk_utility(X, [2, 5]))
    assert_array_equal(table[[*plain.dtype.names]], plain)
    for row in table:
        release = MicroAggregator(k=row["k"]).fit_transform(X)
        assert row["homogeneity"] == homogeneity(release, sensitive).max() > 0
        assert row["diversity"] == diversity(release, sensitive).min() == 1
        assert row["closeness"] == closeness(release, sensitive).max()


def test_constraints_are_kept():
    X = in_units(120)
    ill = X[:, 0] > np.median(X[:, 0])
    estimator = MicroAggregator(privacy=LDiversity(2))
    table = risk_utility(X, [2, 5], estimator=estimator, sensitive=ill)
    assert (table["diversity"] == 2).all()
    assert (table["homogeneity"] == 0).all()


@pytest.mark.slow
def test_units():
    X = in_units(120)
    visits = np.repeat(["Ann", "Bob", *range(40)], [30, 10, *[2] * 40])
    table = risk_utility(X, [2, 5], unit=visits)
    assert table.dtype.names[-2:] == ("units_per_group", "unit_share")
    for row in table:
        release = MicroAggregator(k=row["k"]).fit_transform(X, unit=visits)
        assert row["units_per_group"] == units_per_group(release, visits) >= row["k"]
        assert row["unit_share"] == unit_share(release, visits)
        linkage = record_linkage(X, release, unit=visits)
        assert row["expected_matches"] == linkage.expected_matches
        assert row["smallest_group"] == anonymity_level(release)
    for form in (pd.Series(visits), visits.tolist(), pd.DataFrame({"patient": visits})):
        assert_array_equal(without_times(risk_utility(X, [2, 5], unit=form)), without_times(table))


class CountsRows(TransformerMixin, BaseEstimator):
    """An estimator that does not know units."""

    def __init__(self, k=2):
        self.k = k

    def fit(self, X, y=None):
        return self

    def fit_transform(self, X, y=None):
        return MicroAggregator(self.k).fit_transform(X)


def test_units_of_an_estimator_that_does_not_know_them():
    X = in_units(120)
    visits = np.argsort(np.argsort(X[:, 0])) // 6
    table = risk_utility(X, [2, 5], estimator=CountsRows(), unit=visits, sensitive=visits)
    for row in table:
        release = MicroAggregator(k=row["k"]).fit_transform(X)
        assert row["units_per_group"] == units_per_group(release, visits) < row["k"]
    assert_array_equal(table["units_per_group"], table["diversity"])


@in_one_case(
    ("options", "error", "message"),
    [
        ({"ks": 5}, TypeError, r"^ks=5\b"),
        ({"ks": "5"}, TypeError, "^ks='5'"),
        ({"ks": [2, 0]}, ValueError, r"^k=0\b"),
        ({"ks": [2, 2.5]}, TypeError, r"^k=2.5\b"),
        ({"ks": [2, 101]}, ValueError, r"^k=101\b"),
        ({"estimator": MicroAggregator}, TypeError, "^estimator="),
        ({"estimator": TransformerMixin()}, TypeError, "^estimator="),
        ({"sensitive": [1, 2]}, ValueError, "^sensitive has 2 records"),
        ({"unit": [1, 2]}, ValueError, "^unit has 2 records"),
        ({"unit": np.ones((100, 2))}, ValueError, "^unit has 2 columns"),
        (
            {"X": [[np.inf]] * 3},
            ValueError,
            "^Column 0 of X: all 3 cells are infinite",
        ),
        (
            {"X": [["a"]] * 3, "estimator": MicroAggregator()},
            ValueError,
            "^Column 0 of X: all 3 cells",
        ),
    ],
)
def test_bad_arguments(options, error, message):
    arguments = {"X": in_units(100), "ks": [2, 3]} | options
    with pytest.raises(error, match=message):
        risk_utility(arguments.pop("X"), arguments.pop("ks"), **arguments)


def test_an_estimator_without_k():
    with pytest.raises(ValueError, match=r"^Invalid parameter 'k' for estimator StandardScaler"):
        risk_utility(in_units(100), [2], estimator=StandardScaler())
