"""Categories of many values are codes: the groups, the release and the model are as without."""

import pickle

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg import TableAggregator
from sk_microagg._kernels import Partition
from sk_microagg._model._points import SparsePoints
from sk_microagg.metrics import anonymity_level
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing
from sk_microagg.tables import Hierarchy, _coordinates

pytestmark = pytest.mark.usefixtures("few_steps")


def make_table(n=900, n_values=70, seed=0, numbers=2):
    """Two columns of codes, one of few categories, and numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "zip": np.char.add("z", np.sort(rng.integers(n_values, size=n)).astype(str)),
            "diagnosis": np.char.add("d", rng.integers(n_values, size=n).astype(str)),
            "sex": rng.choice(["f", "m", "x"], size=n),
        }
    )
    for number in range(numbers):
        table[f"x{number}"] = rng.normal(size=n).round(2)
    table.loc[rng.random(n) < 0.05, "diagnosis"] = None
    table.loc[:2, "zip"] = ["only one", "nobody else", "rare"]
    return table.sample(frac=1.0, random_state=seed, ignore_index=True)


def power_distances(aggregator, table):
    """The power distance of each row to each cell, from all coordinates."""
    points = aggregator._encoder.points(table).matrix.toarray()
    cells = aggregator._cells
    return ((points[:, None] - cells.centroids.toarray()) ** 2).sum(axis=2) - cells.weights


@pytest.fixture(scope="module")
def fitted():
    table = make_table()
    return table, TableAggregator(k=4, random_state=0).fit(table)


@pytest.mark.slow
def test_many_values_become_codes(fitted):
    table, aggregator = fitted
    points = aggregator._encoder.points(table)
    assert isinstance(points, SparsePoints)
    coded = points.coded()
    # Codes of two columns; numbers, and a coordinate per value of the third one.
    assert coded.codes.shape == (900, 2)
    assert coded.numbers.shape == (900, 5)
    full = points.matrix.toarray()
    some = np.arange(0, 900, 30)
    expected = ((full - full[some[np.arange(900) % 30]]) ** 2).sum(axis=1)
    assert coded.squared_distances(some[np.arange(900) % 30]) == pytest.approx(expected)


@pytest.mark.slow
def test_transform_is_exact_and_that_of_all_coordinates(fitted):
    table, aggregator = fitted
    release = TableAggregator(k=4, random_state=0).fit_transform(table)
    assert aggregator.exact_transform_
    pd.testing.assert_frame_equal(aggregator.transform(table), release)
    assert anonymity_level(release) >= 4
    new = make_table(200, n_values=90, seed=1)
    found = aggregator._cells.find(aggregator._encoder.points(new))
    keys = power_distances(aggregator, new)
    assert keys[np.arange(200), found] == pytest.approx(keys.min(axis=1))
    alone = [aggregator.transform(new.iloc[[row]]) for row in range(5)]
    pd.testing.assert_frame_equal(
        pd.concat(alone, ignore_index=True), aggregator.transform(new.head(5))
    )
    again = pickle.loads(pickle.dumps(aggregator))
    pd.testing.assert_frame_equal(again.transform(new), aggregator.transform(new))


@pytest.mark.slow
def test_the_loss_is_that_of_coordinates_or_less(fitted, monkeypatch):
    table, aggregator = fitted
    points = aggregator._encoder.points(table)
    sse = Partition(points.matrix.toarray(), aggregator.labels_, 4).sse
    assert aggregator.sse_ == pytest.approx(sse)
    monkeypatch.setattr(_coordinates, "MAX_WITHOUT_CODES", 10**6)
    dense = TableAggregator(k=4, random_state=0).fit(table)
    assert not isinstance(dense._encoder.points(table), SparsePoints)
    assert aggregator.sse_ <= 1.005 * dense.sse_
    # Such a model says nothing of codes, and neither did earlier ones.
    monkeypatch.undo()
    pd.testing.assert_frame_equal(dense.transform(table), dense.transform(table.copy()))
    assert dense.exact_transform_


@pytest.mark.slow
@in_one_case("refiner", ["exchange", "local_search", Annealing(max_iter=20_000), None])
@in_one_case("builder", ["mdav", "cbfs"])
def test_every_method_groups_tables_with_codes(refiner, builder):
    # Those that take no codes get arrays.
    table = make_table(300)
    aggregator = TableAggregator(k=3, builder=builder, refiner=refiner, random_state=0)
    release = aggregator.fit_transform(table)
    assert aggregator.group_sizes_.min() >= 3
    assert anonymity_level(release) >= 3


def test_refiners_that_take_no_codes_get_arrays():
    aggregator = TableAggregator(k=3, refiner="decompose").fit(make_table(300))
    assert aggregator.group_sizes_.min() >= 3


@pytest.mark.slow
def test_tables_of_codes_alone():
    table = make_table(700)[["zip", "diagnosis"]]
    aggregator = TableAggregator(k=3, random_state=0)
    assert anonymity_level(aggregator.fit_transform(table)) >= 3
    found = aggregator._cells.find(aggregator._encoder.points(table))
    keys = power_distances(aggregator, table)
    assert keys[np.arange(700), found] == pytest.approx(keys.min(axis=1))
    assert aggregator.column_losses_["zip"] < 0.5


@pytest.mark.slow
def test_a_number_that_one_person_of_a_group_has():
    table = make_table(600)
    table.loc[np.random.default_rng(0).random(600) < 0.9, "x0"] = np.nan
    aggregator = TableAggregator(k=4, column_weights={"x0": 1e-3}, random_state=0).fit(table)
    assert len(aggregator._hidden[0])
    points = aggregator._encoder.points(table)
    found = aggregator._cells.find(points)
    keys = power_distances(aggregator, table)
    assert keys[np.arange(600), found] == pytest.approx(keys.min(axis=1))
    assert aggregator.exact_transform_ == np.array_equal(found, aggregator.labels_)


@pytest.mark.slow
def test_nodes_of_hierarchies_are_codes_level_by_level():
    rng = np.random.default_rng(0)
    names = [f"{one}{two}" for one in "ABC" for two in "abcdefg"]
    leaves = {name: [f"{name}{digit}" for digit in "0123"] for name in names}
    tree = {one: {name: own for name, own in leaves.items() if name[0] == one} for one in "ABC"}
    tree["D"] = ["D0", "D1"]
    values = [leaf for own in leaves.values() for leaf in own] + ["D0", "D1"]
    table = pd.DataFrame({"code": rng.choice(values, size=1500), "x": rng.normal(size=1500)})
    table.loc[:30, "code"] = None
    hierarchy = Hierarchy.from_nested(tree)
    aggregator = TableAggregator(k=3, hierarchies={"code": hierarchy}, random_state=0).fit(table)
    points = aggregator._encoder.points(table)
    coded = points.coded()
    assert coded.codes.shape == (1500, 3)
    full, others = points.matrix.toarray(), rng.integers(1500, size=1500)
    expected = ((full - full[others]) ** 2).sum(axis=1)
    assert coded.squared_distances(others) == pytest.approx(expected)
    assert aggregator.exact_transform_
    assert aggregator.group_sizes_.min() >= 3


@pytest.mark.slow
@in_one_case("constraint", [LDiversity(2), TCloseness(0.3)])
def test_constraints_hold(constraint):
    table = make_table(200)
    table["stay"] = np.random.default_rng(0).integers(4, size=200)
    table["who"] = np.arange(200) // 2
    aggregator = TableAggregator(
        k=3, sensitive="stay", unit="who", privacy=constraint, random_state=0
    ).fit(table)
    assert aggregator.n_groups_ > 10
    groups = table.groupby(aggregator.labels_)
    assert groups["who"].nunique().min() >= 3
    assert groups["stay"].nunique().min() >= 2


@pytest.mark.slow
def test_strata_and_blocks():
    table = make_table(1600)
    table["region"] = np.arange(1600) % 2
    aggregator = TableAggregator(k=3, strata="region", block_size=400, random_state=0).fit(table)
    assert aggregator.n_blocks_ >= 4
    assert aggregator.exact_transform_
    for group in range(aggregator.n_groups_):
        assert table["region"][aggregator.labels_ == group].nunique() == 1
    release = aggregator.transform(table)
    assert anonymity_level(release) >= 3


@pytest.mark.slow
def test_blocks_do_not_depend_on_the_number_of_values():
    # As arrays, records with thousands of coordinates would be many blocks.
    table = make_table(6000, n_values=700, numbers=1)
    aggregator = TableAggregator(k=3, refiner=None).fit(table)
    assert aggregator._encoder.points(table).shape[1] > 1000
    assert aggregator.n_blocks_ == 1
