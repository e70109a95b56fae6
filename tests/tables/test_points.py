"""Columns as points: distances between records are those of slow, plain oracles."""

import numpy as np
import pandas as pd
import pytest
from example_tables.learned import learn
from example_tables.mixed import DEEP, UNEVEN
from marks import in_one_case
from numpy.testing import assert_allclose
from oracles import encoding as oracle

from sk_microagg.tables import CategoryColumn, Hierarchy, HierarchyColumn, TableEncoder

every_seed = in_one_case("seed", range(3))
every_share = in_one_case("share_missing", [0.0, 0.3, 0.9])


def dense(points):
    return points.toarray() if hasattr(points, "toarray") else points


def distances_of(points):
    points = dense(points)
    return ((points[:, None] - points[None]) ** 2).sum(axis=2)


def draw(rng, values, n, share_missing):
    cells = [values[j] for j in rng.integers(0, len(values), n)]
    return [None if rng.random() < share_missing else cell for cell in cells]


def points_of(cells, k, **options):
    table = pd.DataFrame({"column": pd.Series(cells, dtype=options.pop("dtype", object))})
    return TableEncoder(table, k, **options).points(table)


def variance_of(points):
    return dense(points).var(axis=0).sum()


@every_seed
@every_share
def test_numbers(seed, share_missing):
    rng = np.random.default_rng(seed)
    cells = draw(rng, (rng.normal(size=20) if seed % 2 else np.arange(4.0)).tolist(), 25, 0)
    cells = [*cells[:3], *(None if rng.random() < share_missing else cell for cell in cells[3:])]
    points = points_of(cells, 2, dtype="float64")
    assert_allclose(distances_of(points), oracle.number_distances(cells), atol=1e-9)
    if share_missing < 0.5:  # The scale of a column with missing values is coarse.
        assert variance_of(points) == pytest.approx(1, rel=0.1 if share_missing else 1e-9)


@in_one_case("cells", [[1.5] * 6, [1.5, 1.5, 1.5, None, 1.5, None]])
def test_equal_numbers(cells):
    points = points_of(cells, 2, dtype="float64")
    assert_allclose(distances_of(points), oracle.number_distances(cells), atol=1e-12)


@in_one_case("n_known", [2, 3])
def test_numbers_of_fewer_than_k_records_differ_from_missing_ones_only(n_known):
    cells = [7.5, -3.25, 4.0][:n_known] + [None] * (9 - n_known)
    distances = distances_of(points_of(cells, 4, dtype="float64"))
    assert_allclose(distances[:n_known, :n_known], 0)
    assert_allclose(distances[n_known:, n_known:], 0)
    assert np.all(distances[:n_known, n_known:] > 0)
    other = [9.5, 1e9, 4.0][:n_known] + [None] * (9 - n_known)
    assert_allclose(distances_of(points_of(other, 4, dtype="float64")), distances)


@every_seed
@every_share
@in_one_case("k", [1, 2, 5])
def test_categories(seed, share_missing, k):
    rng = np.random.default_rng(seed)
    cells = draw(rng, list("aaaabbbccd")[: rng.integers(1, 11)], 30, share_missing)
    column = pd.Series(cells, dtype=object)
    points = learn(CategoryColumn, column, k).points(column)
    expected = oracle.category_distances(cells, k)
    assert_allclose(distances_of(points), expected, atol=1e-9)
    assert variance_of(points) == pytest.approx(float(expected.any()))


def paths_of(tree, above=()):
    """Nodes above each leaf, from the leaf upwards, told apart by their paths."""
    if isinstance(tree, list):
        tree = dict.fromkeys(tree)
    paths = {}
    for label, below in tree.items():
        path = ((*above, label), *(above[: depth + 1] for depth in reversed(range(len(above)))))
        paths |= paths_of(below, (*above, label)) if below else {label: path}
    return paths


@every_seed
@every_share
@in_one_case("k", [1, 3])
@in_one_case("tree", [DEEP, UNEVEN, list("abcdef")])
def test_hierarchies(seed, share_missing, k, tree):
    rng = np.random.default_rng(seed)
    paths = paths_of(tree)
    cells = draw(rng, sorted(paths)[: rng.integers(1, 9)], 30, share_missing)
    column = pd.Series(cells, dtype=object)
    points = learn(HierarchyColumn, column, k, hierarchy=Hierarchy.from_nested(tree)).points(column)
    expected = oracle.hierarchy_distances(cells, k, paths)
    assert_allclose(distances_of(points), expected, atol=1e-9)
    assert variance_of(points) == pytest.approx(float(expected.any()))


@every_seed
@every_share
@in_one_case("k", [1, 3])
@in_one_case("form", ["sorted", "categorical"])
def test_ordinal_values(seed, share_missing, k, form):
    rng = np.random.default_rng(seed)
    order = list("abcdefghij") if form == "sorted" else list("jbadcfehgi")
    weights = rng.dirichlet(np.full(10, 0.5))
    cells = [order[j] for j in rng.choice(10, 30, p=weights)]
    cells = [*cells[:9], *(None if rng.random() < share_missing else cell for cell in cells[9:])]
    if form == "sorted":
        order = sorted({*cells} - {None})
        points = points_of(cells, k, kinds={"column": "ordinal"})
    else:
        points = points_of(cells, k, dtype=pd.CategoricalDtype(order, ordered=True))
    if np.ptp(dense(points)[:, 0]) > 0 and None not in cells:
        assert variance_of(points) == pytest.approx(1)
    assert_allclose(distances_of(points), oracle.rank_distances(cells, order, k), atol=1e-9)


def test_named_values_have_the_ranks_that_users_give_them_however_rare():
    cells = ["mid", "low", "high", "low", None, "low"]
    points = points_of(cells, 3, orders={"column": ["low", "mid", "high"]})
    ranks = [{"low": 0, "mid": 1, "high": 2}.get(cell) for cell in cells]
    assert_allclose(distances_of(points), oracle.number_distances(ranks), atol=1e-12)


def mixed_table(rng, n=40):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "ward": rng.choice(["A", "B", "C"], n),
            "visit": pd.to_datetime(rng.integers(0, 10**9, n), unit="s"),
            "is_new": rng.random(n) < 0.4,
        }
    )


def test_weights_are_factors_of_squared_distances():
    table = mixed_table(np.random.default_rng(0))
    alone = {name: distances_of(TableEncoder(table[[name]], 2).points(table)) for name in table}
    weights = {"income": 3.0, "ward": 0.25}
    together = TableEncoder(table, 2, weights=weights).points(table)
    expected = sum(weights.get(name, 1.0) * distances for name, distances in alone.items())
    assert_allclose(distances_of(together), expected, atol=1e-9)


def test_dates_are_numbers():
    rng = np.random.default_rng(0)
    table = mixed_table(rng)
    seconds = table["visit"].astype("M8[s]").astype("int64")
    assert_allclose(
        distances_of(TableEncoder(table[["visit"]], 2).points(table)),
        oracle.number_distances(seconds.tolist()),
        atol=1e-6,
    )


def test_a_value_nobody_had_lies_as_far_from_all_others():
    column = pd.Series(list("aaabbbccc"))
    encoded = learn(CategoryColumn, column, 3)
    new = dense(encoded.points(pd.Series(["new", "b", None], dtype=object)))
    known = dense(encoded.points(column))
    far = ((new[[0, 2]][:, None] - known[None]) ** 2).sum(axis=2)
    assert_allclose(far, far[0, 0])
    assert_allclose(new[1], known[3])


def test_a_missing_number_in_a_column_without_any_lies_in_the_middle():
    table = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0]})
    encoder = TableEncoder(table, 2)
    assert encoder.points(pd.DataFrame({"age": [np.nan, 45.0]})).tolist() == [[0.0], [0.0]]
