import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.mixed import ends_of, limited_to_what_is_shown
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal

from sk_microagg import KAIM
from sk_microagg.generalization import KMember
from sk_microagg.metrics import (
    anonymity_level,
    generalization_loss,
    record_missing_rate,
    value_missing_rate,
)
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps")

NAN = float("nan")
COUNTRIES = {
    "Europe": ["France", "Spain"],
    "Asia": {"East": ["Japan"], "South": ["India", "Nepal"]},
}
GRADES = {"passed": [1, 2, 3], "failed": [5]}
BINS = [[0, 5, 10, 20], [0, 10, 20]]
HIERARCHIES = {"country": COUNTRIES, "grade": GRADES, "visits": Hierarchy.from_bins(*BINS)}
every_seed = in_one_case("seed", range(5))


def objects(rows):
    return np.array(rows, dtype=object)


# A plain recomputation


def labels_above(tree, value):
    """Labels of the nodes above a leaf of nested dicts and lists, the lowest first."""
    for label in tree:
        below = tree[label] if isinstance(tree, dict) else None
        if below is None and str(label) == str(value):
            return []
        if below is not None and (labels := labels_above(below, value)) is not None:
            return [*labels, label]
    return None


def leaves_below(tree, above=()):
    """Each leaf of nested dicts and lists with the labels of the nodes above it."""
    if not isinstance(tree, dict):
        return [(leaf, above) for leaf in tree]
    return [pair for label in tree for pair in leaves_below(tree[label], (*above, label))]


def loss_of_tree(tree, label):
    nodes = [above for _, above in leaves_below(tree)]
    n_below = sum(label in above for above in nodes)
    # A node above a single leaf reveals the value.
    return n_below / len(nodes) if n_below > 1 else 0.0


def loss_of_cell(name, reached, value, label):
    """Loss of a value in a column with such numbers and ends of intervals."""
    if pd.isna(value):
        return 0.0
    if label == "*":
        return 1.0
    if name in ("country", "grade", "town"):
        tree = HIERARCHIES.get(name)
        return 0.0 if label == f"{value}" else loss_of_tree(tree, label)
    low, high = ends_of(label.replace(")", "]"))
    if low == high:
        return 0.0
    if name == "visits":  # A bin does not contain its upper edge.
        return (high - low) / (BINS[0][-1] - BINS[0][0])
    unit = 0 if name == "income" else 1
    return (high - low + unit) / (max(reached) - min(reached) + unit)


def losses_of_cells(X, release):
    release = np.asarray(release)
    losses = np.empty(X.shape)
    for j, name in enumerate(X.columns):
        reached = X[name].dropna().tolist()
        if name in ("age", "income"):
            reached += [end for cell in release[:, j] for end in ends_of(cell)]
        for i, value in enumerate(X[name].astype(object)):
            losses[i, j] = loss_of_cell(name, reached, value, release[i, j])
    return losses


def random_table(seed, n=60):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "income": rng.lognormal(size=n),
            "visits": rng.integers(0, 20, n),
            "country": rng.choice([leaf for leaf, _ in leaves_below(COUNTRIES)], n),
            "grade": rng.choice([1, 2, 3, 5], n),
            "town": rng.choice(["Bonn", "Ulm", "Jena"], n),
        }
    ).astype(object)
    return X.mask(rng.random(X.shape) < 0.15)


def random_cover(rng, name, known, value):
    """A label that covers a value: the value itself, a generalized one, or the root."""
    if pd.isna(value):
        return rng.choice(objects(["*", None, NAN]))
    covers = ["*", f"{value}"]
    if name in ("country", "grade"):
        covers += labels_above(HIERARCHIES[name], value)
    elif name in ("age", "income"):
        low, high = rng.choice(known[known <= value]), rng.choice(known[known >= value])
        covers += [f"[{low}, {high}]"] if low < high else []
    elif name == "visits":
        edges = BINS[rng.integers(2)]
        place = np.searchsorted(edges, value, side="right")
        covers.append(f"[{edges[place - 1]}, {edges[place]})")
    return rng.choice(covers)


def random_release(seed, X):
    rng = np.random.default_rng(seed)
    release = np.empty(X.shape, dtype=object)
    for j, name in enumerate(X.columns):
        known = X[name].dropna().to_numpy()
        release[:, j] = [random_cover(rng, name, known, value) for value in X[name]]
    return release


def assert_losses(X, release, expected, **options):
    """The three levels are the cells and means of them."""
    for level, losses in (
        ("cell", expected),
        ("record", expected.mean(axis=1)),
        ("table", expected.mean()),
    ):
        found = generalization_loss(X, release, level=level, **options)
        assert np.shape(found) == np.shape(losses)
        assert_allclose(found, losses, rtol=1e-12, atol=1e-15)
    assert type(generalization_loss(X, release, **options)) is float


@pytest.mark.slow
@every_seed
def test_loss_of_any_release_is_that_of_its_cells(seed):
    X = random_table(seed)
    release = random_release(seed, X)
    assert_losses(X, release, losses_of_cells(X, release), hierarchies=HIERARCHIES)


every_grid = in_one_case("grid", ["auto", 7, 0.25, None])


@pytest.mark.slow
@in_one_case(
    ("seed", "grid", "distance"),
    [
        (seed, grid, ("ncp", "entropy")[(seed + number) % 2])
        for seed in range(5)
        for number, grid in enumerate(["auto", 7, 0.25, None])
    ],
)
def test_loss_of_a_release_is_that_of_the_estimator(seed, grid, distance):
    X = random_table(seed)
    kaim = KAIM(k=4, hierarchies=HIERARCHIES, distance=distance, grid=grid, random_state=seed)
    release = kaim.set_params(refiner=None).fit_transform(X)
    assert_losses(X, release, losses_of_cells(X, release), hierarchies=HIERARCHIES)
    # The estimator does not reveal the range of numbers that are released as the root.
    shown = limited_to_what_is_shown(X, release)
    loss = generalization_loss(shown, release, hierarchies=HIERARCHIES)
    assert loss == pytest.approx(kaim.information_loss_, rel=1e-12)
    assert loss >= generalization_loss(X, release, hierarchies=HIERARCHIES)


@pytest.mark.slow
@every_seed
@every_grid
def test_loss_of_a_complete_table_is_that_of_the_estimator(seed, grid):
    X = random_table(seed)[["age", "income", "town"]].dropna()
    kaim = KAIM(k=3, grid=grid, random_state=0)
    release = kaim.fit_transform(X)
    assert_losses(X, release, losses_of_cells(X, release))
    assert generalization_loss(X, release) == pytest.approx(kaim.information_loss_, rel=1e-12)


def test_published_loss_of_intervals_that_end_at_their_members():
    X = [[30], [34], [39], [49]]
    kaim = KAIM(k=2, grid=None, random_state=0)
    assert kaim.fit_transform(X).ravel().tolist() == ["[30, 34]"] * 2 + ["[39, 49]"] * 2
    assert kaim.information_loss_ == generalization_loss(X, kaim.fit_transform(X)) == 8 / 20


def test_loss_of_intervals_that_extend_beyond_the_values():
    X = [[30], [34], [39], [49]]
    release = [["[28, 36]"], ["[28, 36]"], ["[38, 50]"], ["[38, 50]"]]
    assert_losses(X, release, np.array([[9], [9], [13], [13]]) / 23)
    # The range contains the released intervals and the values.
    release = [["[28, 36]"], ["[28, 36]"], ["*"], ["*"]]
    assert_losses(X, release, np.array([[9 / 22], [9 / 22], [1], [1]]))


def test_an_unchanged_table_loses_nothing():
    X = random_table(1)
    assert generalization_loss(X, X, hierarchies=HIERARCHIES) == 0


# Missing values and roots


@in_one_case("missing", [None, NAN, pd.NA, pd.NaT, "*"])
@in_one_case("released", [None, NAN, pd.NA, "*"])
def test_a_missing_value_released_as_missing_loses_nothing(missing, released):
    X = objects([["a", 1], [missing, missing], ["b", 3]])
    release = objects([["a", "1"], [released, released], ["b", "3"]])
    assert_losses(X, release, np.zeros((3, 2)))


@in_one_case("released", [None, NAN, pd.NA, "*"])
def test_a_known_value_released_as_missing_loses_everything(released):
    X = objects([["Spain", "Bonn", 1, 7], ["India", "Ulm", 3, 9]])
    release = objects([[released] * 4, ["India", "Ulm", "3", "9"]])
    hierarchies = {0: COUNTRIES, 3: Hierarchy.from_bins([0, 10])}
    assert_losses(X, release, np.array([[1.0] * 4, [0.0] * 4]), hierarchies=hierarchies)


def test_a_root_may_have_another_label():
    tree = Hierarchy.from_paths([("a", "any"), ("b", "any"), ("c", "any")])
    X = objects([["a"], ["b"], [None], [None], ["c"]])
    release = objects([["any"], ["*"], ["any"], [None], ["c"]])
    expected = np.array([[1.0], [1.0], [0.0], [0.0], [0.0]])
    assert_losses(X, release, expected, hierarchies={0: tree})


def test_a_column_without_a_known_value_loses_nothing():
    X = pd.DataFrame({"text": [None, None], "number": [NAN, NAN], "age": [3, 4]})
    release = [["*", "*", "[3, 4]"]] * 2
    assert_losses(X, release, np.array([[0.0, 0.0, 1.0]] * 2))


def test_dropped_records_lose_all_known_values():
    X = objects([[1, "a"], [2, "a"], [3, "b"], [4, "b"], [None, "b"]])
    release = KMember(k=2, random_state=0).fit_transform(X)
    assert release[4].tolist() == ["*", "*"]
    assert generalization_loss(X, release, level="cell")[4].tolist() == [0, 1]


# Tables of any kind


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas types": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"town": "category"}),
    "polars": lambda columns: pl.DataFrame(columns),
    "objects": lambda columns: objects(list(zip(*columns.values(), strict=True))),
    "list": lambda columns: list(zip(*columns.values(), strict=True)),
}
every_frame = in_one_case("frame", FRAMES.values())


@pytest.mark.slow
@every_frame
@in_one_case("released_as", ["pandas", "polars", "objects", "list"])
def test_loss_does_not_depend_on_the_kind_of_table(frame, released_as):
    X = frame({"age": [30, 39, None, 49], "town": ["Bonn", "Ulm", "Ulm", None]})
    release = FRAMES[released_as](
        {"age": ["[30, 39]", "[30, 39]", None, "49"], "town": ["*", "Ulm", "Ulm", None]}
    )
    assert_losses(X, release, np.array([[0.5, 1.0], [0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]))


@in_one_case("transform", ["pandas", "polars"])
def test_a_frame_returned_by_the_estimator(transform):
    X = random_table(3)
    kaim = KAIM(k=3, hierarchies=HIERARCHIES, refiner=None, random_state=0)
    release = kaim.set_output(transform=transform).fit_transform(X)
    loss = generalization_loss(X, release, hierarchies=HIERARCHIES)
    array = kaim.set_output(transform="default").fit_transform(X)
    assert loss == generalization_loss(X, array, hierarchies=HIERARCHIES)


def test_numbers_released_as_numbers():
    X = np.array([[1, 2.5], [2, 3.5], [3, NAN]])
    assert_losses(X, X, np.zeros((3, 2)))
    release = objects([[1, 2.5], ["[2, 3]", 3.5], ["[2, 3]", NAN]])
    assert_losses(X, release, np.array([[0, 0], [2 / 3, 0], [2 / 3, 0]]))


# Tables that are not a release of the original


@in_one_case(
    ("row", "column", "label"),
    [
        (0, "age", "31"),
        (0, "age", "[31, 49]"),
        (0, "age", "[39, 30]"),
        (1, "age", "[30, 39)"),
        (1, "age", "[30, 39, 49]"),
        (1, "age", "thirty"),
        (1, "age", 34.5),
        (0, "country", "Spain"),
        (0, "country", "Asia"),
        (0, "country", "Mars"),
        (1, "country", "france"),
        (0, "visits", "[0, 5)"),
        (0, "visits", "[5, 11)"),
        (0, "town", "Ulm"),
        (2, "age", "39"),
        (2, "country", "Europe"),
        (2, "visits", "[0, 5)"),
        (2, "town", "Bonn"),
    ],
)
def test_a_label_that_does_not_stand_for_the_value_is_refused(row, column, label):
    X = pd.DataFrame(
        {
            "age": [30, 39, None, 49],
            "country": ["France", "Spain", None, "Japan"],
            "visits": [7, 2, None, 3],
            "town": ["Bonn", "Ulm", None, "Ulm"],
        }
    )
    hierarchies = {name: HIERARCHIES[name] for name in ("country", "visits")}
    release = X.astype(object)
    assert generalization_loss(X, release, hierarchies=hierarchies) == 0
    release.loc[row, column] = label
    message = f"release has a value in column {column!r}, at position {row}, that does not"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        generalization_loss(X, release, hierarchies=hierarchies)


def test_a_release_of_midpoints_is_refused():
    X = np.array([[30.0], [40.0], [50.0], [60.0]])
    kaim = KAIM(k=2, output="midpoint", grid=None, refiner=None, random_state=0)
    release = kaim.fit_transform(X)
    with pytest.raises(ValueError, match=r"^release .*column 0, at position 0"):
        generalization_loss(X, release)


@in_one_case(
    ("options", "error", "message"),
    [
        ({"release": [["*", "*"]]}, ValueError, r"^release of shape \(1, 2\)"),
        (
            {"release": [["*"], ["*"]]},
            ValueError,
            r"^release of shape \(2, 1\)",
        ),
        ({"release": ["*", "*"]}, ValueError, "two dimensions"),
        ({"level": "row"}, ValueError, "^level='row'"),
        ({"level": None}, ValueError, r"^level=None\b"),
        ({"hierarchies": {"age": ["a"]}}, ValueError, "^hierarchies names 'age'"),
        ({"hierarchies": [["a"]]}, TypeError, "^hierarchies="),
        ({"hierarchies": {1: ["a"]}}, ValueError, "^Column 1: "),
        ({"X": [1, 2]}, ValueError, "two dimensions"),
    ],
)
def test_bad_arguments(options, error, message):
    X = options.pop("X", [[1, "a"], [2, "b"]])
    release = options.pop("release", [["1", "a"], ["2", "b"]])
    with pytest.raises(error, match=message):
        generalization_loss(X, release, **options)


# Missing rates


@in_one_case(
    ("X", "cells", "records"),
    [
        ([[1, 2], [3, 4]], 0, 0),
        (np.array([[1, 2], [3, 4]]), 0, 0),
        (np.array([[1.0, NAN], [NAN, NAN], [3, 4]]), 3 / 6, 2 / 3),
        ([["a", "*"], ["nan", "None"]], 1 / 4, 1 / 2),
        (objects([["a", None], ["", 0], [NAN, "*"], [pd.NA, pd.NaT]]), 5 / 8, 3 / 4),
        (objects([[np.float32("nan"), np.datetime64("NaT")], [False, "**"]]), 2 / 4, 1 / 2),
        (np.array([["NaT", "2020-01-01"]], dtype="M8[D]"), 1 / 2, 1),
        (pd.DataFrame({"a": [1, None], "b": ["x", None], "c": [True, False]}), 2 / 6, 1 / 2),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [pd.NaT, 3]}), 2 / 4, 1),
        (pd.DataFrame({"a": pd.Categorical(["*", None, "b"])}), 2 / 3, 2 / 3),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None])}), 1 / 2, 1 / 2),
        (pl.DataFrame({"a": [1, None], "b": [None, "*"], "c": [1.0, NAN]}), 4 / 6, 1),
        (pl.DataFrame({"a": [1, 2], "b": [None, None]}), 2 / 4, 1),
    ],
)
def test_missing_rates_count_all_kinds_of_missing_values(X, cells, records):
    assert value_missing_rate(X) == pytest.approx(cells)
    assert record_missing_rate(X) == pytest.approx(records)
    assert type(value_missing_rate(X)) is type(record_missing_rate(X)) is float


def test_missing_rates_are_those_of_the_estimator():
    X = random_table(4)
    kaim = KAIM(k=3, hierarchies=HIERARCHIES, refiner=None, random_state=0).fit(X)
    assert value_missing_rate(X) == kaim.value_missing_rate_ == X.isna().to_numpy().mean()
    assert record_missing_rate(X) == kaim.record_missing_rate_ == X.isna().any(axis=1).mean()


@in_one_case("rate", [value_missing_rate, record_missing_rate])
@in_one_case(
    ("X", "message"),
    [([1, None], "two dimensions"), (np.empty((0, 2)), r"0 sample\(s\)")],
)
def test_input_that_is_not_a_table_has_no_missing_rate(rate, X, message):
    with pytest.raises(ValueError, match=message):
        rate(X)


# Anonymity


@pytest.mark.slow
@every_seed
@in_one_case("k", [1, 2, 7])
def test_a_release_is_as_anonymous_as_requested(seed, k):
    X = random_table(seed)
    kaim = KAIM(k=k, hierarchies=HIERARCHIES, refiner=None, random_state=seed)
    release = kaim.fit_transform(X)
    assert anonymity_level(release) >= k
    # Several groups may be released as one row, but a group is never divided.
    _, sizes = np.unique(release.astype(str), axis=0, return_counts=True)
    assert anonymity_level(release) == sizes.min() >= kaim.group_sizes_.min()
    assert_array_equal(release, kaim.centroids_[kaim.labels_])


@in_one_case("missing", [None, NAN, pd.NA, "*"])
def test_a_missing_value_is_a_value_like_any_other(missing):
    assert anonymity_level(objects([["a", missing]] * 3 + [[missing, "a"]] * 2)) == 2
    # It does not stand for every value, as in other definitions of anonymity.
    assert anonymity_level(objects([["a", 1], ["a", missing], ["a", missing]])) == 1
    frame = pd.DataFrame({"town": ["a", "a", "a"], "x": objects([1, missing, missing])})
    assert anonymity_level(frame) == 1
    assert anonymity_level(frame[1:]) == 2


def test_a_root_is_not_a_missing_value():
    assert anonymity_level(objects([["*"], ["*"], [None], [None], [None]])) == 2
    assert anonymity_level(objects([["*"], [None]])) == 1
    assert anonymity_level(pl.DataFrame({"x": ["*", "*", None, None, "a", "a"]})) == 2
