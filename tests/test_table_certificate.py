"""The certificate of whole tables, points of many coordinates, and weights by a target."""

import pickle

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg.metrics import anonymity_level, information_loss, loss_bound
from sk_microagg.tables import TableEncoder, _coordinates

pytestmark = pytest.mark.usefixtures("few_steps")


def visits(n=120, n_codes=12, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
            "code": rng.choice([f"{code:03d}" for code in range(n_codes)], n),
            "cost": rng.gamma(2.0, 100.0, n).round(2),
        }
    )


@pytest.mark.slow
@in_one_case("k", [2, 5])
def test_certificate_is_the_bound_of_the_points(k):
    table = visits()
    aggregator = TableAggregator(k=k).fit(table)
    points, n_single = aggregator._fitted_points(table)
    hidden = points != TableEncoder(table, k).points(table)
    assert hidden.sum() == len(aggregator._hidden[0]) == n_single < 10
    found = aggregator.certificate(table, time_limit=2)
    assert found.n_single == n_single
    assert found.loss == pytest.approx(information_loss(points, aggregator.labels_))
    assert 0 < found.bound <= found.loss * (1 + 1e-9)
    assert found.bound == pytest.approx(loss_bound(points, k, time_limit=2), rel=0.02)
    assert found.trace[-1, 1] == found.bound


def test_bounds_of_two_fits_say_that_they_are_about_different_cells():
    """A number that only one member of a group has counts as the groups say."""
    g = np.random.default_rng(48)
    n = int(g.integers(6, 40))
    table = pd.DataFrame({"x": g.normal(size=n)})
    table["m"] = np.where(g.random(n) < 0.5, np.nan, g.normal(size=n))
    one, other = (TableAggregator(3, refiner=refiner).fit(table) for refiner in (None, "auto"))
    proven = one.certificate(table, time_limit=1)
    assert proven.bound > other.information_loss_
    assert proven.verdict().endswith("with 1 single number counted as in these groups")
    assert proven.reason().endswith("with 1 single number counted as in these groups")
    complete = TableAggregator(3).fit(table[["x"]]).certificate(table[["x"]], time_limit=1)
    assert complete.n_single == 0
    assert "counted" not in complete.verdict()


def test_certificate_needs_the_table_of_fit():
    table = visits()
    aggregator = TableAggregator(k=3).fit(table)
    with pytest.raises(ValueError, match=r"^X of 60 records"):
        aggregator.certificate(table.head(60))
    with pytest.raises(ValueError, match=r"time_limit=0\b"):
        aggregator.certificate(table, time_limit=0)


@pytest.mark.slow
@pytest.mark.parametrize("n_dense", [512, 8])
def test_certificate_of_another_table_is_refused(monkeypatch, n_dense):
    """The groups lose less than the bound of a table in which records are farther apart."""
    monkeypatch.setattr(_coordinates, "MAX_DENSE", n_dense)
    table = visits()
    aggregator = TableAggregator(k=3).fit(table)
    loaded = pickle.loads(pickle.dumps(aggregator))
    for model in (aggregator, loaded):
        assert model.certificate(table, time_limit=0.2).loss == aggregator.information_loss_
        for other in (visits(seed=1), table.assign(cost=table["cost"] + (table.index == 7))):
            with pytest.raises(ValueError, match=r"^X "):
                model.certificate(other, time_limit=0.2)


@pytest.fixture
def few_dense_coordinates(monkeypatch):
    monkeypatch.setattr(_coordinates, "MAX_DENSE", 8)


@pytest.mark.slow
def test_sparse_points_give_the_same_groups_as_dense_ones(monkeypatch):
    table = visits(300, 20)
    new = visits(100, 25, seed=1)
    dense = TableAggregator(k=3).fit(table)
    transformed, score = dense.transform(new), dense.score(new)
    monkeypatch.setattr(_coordinates, "MAX_DENSE", 8)
    sparse = TableAggregator(k=3).fit(table)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert sparse.information_loss_ == pytest.approx(dense.information_loss_)
    assert sparse.column_losses_ == pytest.approx(dense.column_losses_)
    pd.testing.assert_frame_equal(sparse.transform(new), transformed)
    assert sparse.score(new) == pytest.approx(score)


@pytest.mark.slow
@pytest.mark.usefixtures("few_dense_coordinates")
def test_blocks_of_sparse_points():
    table = visits(1000, 200)
    aggregator = TableAggregator(k=3, block_size=250)
    release = aggregator.fit_transform(table)
    assert aggregator.n_blocks_ >= 4
    assert anonymity_level(release) >= 3
    assert aggregator.exact_transform_
    pd.testing.assert_frame_equal(aggregator.transform(table), release)
    found = aggregator.certificate(table, time_limit=1)
    assert 0 <= found.bound <= found.loss
    by_strata = TableAggregator(k=3, strata="stratum")
    stratified = table.assign(stratum=np.arange(1000) % 2)
    release = by_strata.fit_transform(stratified)
    assert anonymity_level(release) >= 3
    assert by_strata.exact_transform_
    pd.testing.assert_frame_equal(by_strata.transform(stratified), release)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column_weights='target'")
def test_columns_count_by_what_they_tell_of_the_target():
    table = visits(400)
    plain = TableAggregator(k=5).fit(table)
    weighted = TableAggregator(k=5, column_weights="target").fit(table, table["cost"] > 150)
    assert weighted.column_losses_["cost"] < plain.column_losses_["cost"]
    assert weighted.column_losses_["code"] > plain.column_losses_["code"]
    numbers = TableAggregator(k=5, column_weights="target").fit(table, table["cost"] * 2.5)
    assert numbers.column_losses_["cost"] < plain.column_losses_["cost"]


def test_weights_by_the_target_need_one():
    with pytest.raises(ValueError, match="column_weights='target'"):
        TableAggregator(k=5, column_weights="target").fit(visits())
