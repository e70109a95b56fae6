from collections import defaultdict

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles import privacy as oracle

from sk_microagg import MicroAggregator
from sk_microagg.metrics import closeness, diversity, homogeneity, unit_share, units_per_group
from sk_microagg.privacy import LDiversity
from sk_microagg.tables import Hierarchy

NAN = float("nan")
# Dask itself calls pandas 3.1 with a keyword that this deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
    pytest.mark.usefixtures("few_steps"),
]


def by_hand(release, sensitive):
    groups = defaultdict(list)
    for row, value in zip(release, sensitive, strict=True):
        groups[tuple(row)].append(value)
    return sum(len(g) for g in groups.values() if len(set(g)) == 1) / len(release)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from(["x", "y"])), min_size=1
    )
)
def test_share_is_that_of_a_plain_loop(rows):
    release, sensitive = [row[:2] for row in rows], [row[2] for row in rows]
    share = homogeneity(release, sensitive)
    assert type(share) is float
    assert share == pytest.approx(by_hand(release, sensitive))


RELEASE = pd.DataFrame({"age": [31.5, 31.5, 52.0, 52.0, 52.0], "town": ["B", "B", "*", "*", "*"]})
SENSITIVE = pd.DataFrame({"illness": list("ffgfg"), "visits": [1, 2, 3, 3, 3], "id": range(5)})


@in_one_case(
    "make", [lambda frame: frame, pl.from_pandas, lambda frame: frame.to_numpy(dtype=object)]
)
def test_several_columns_in_any_kind_of_table(make):
    shares = homogeneity(make(RELEASE), make(SENSITIVE))
    assert_array_equal(shares, [0.4, 0.6, 0.0])


@in_one_case("make", [list, np.array, pd.Series, pl.Series, pd.Categorical])
def test_one_column_in_any_form(make):
    assert homogeneity(RELEASE, make(list("ffgfg"))) == 0.4


@in_one_case(
    ("values", "share"),
    [([NAN, NAN, 1.0, NAN, 1.0], 0.4), ([None, None, "a", "a", None], 0.4), ([0.0, -0.0] * 2, 1)],
)
def test_missing_is_a_value_like_others(values, share):
    release = RELEASE[["age"]][: len(values)]
    assert homogeneity(release, values) == share
    frame = release.assign(values=values)
    frame = dd.from_pandas(frame, npartitions=2)
    assert homogeneity(frame[["age"]], frame["values"]) == share


def test_missing_values_may_be_ignored():
    values = pd.Series(["a", None, "a", None, None, None, "b", None, "b", "c"])
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 3])
    # One known value beside a missing one in two groups, nothing but missing ones in another.
    assert homogeneity(labels, values) == 0.2
    assert homogeneity(labels, values, missing="ignored") == 0.5
    frame = pd.DataFrame({"label": labels, "value": values, "other": values.fillna("z")})
    shares = homogeneity(labels, frame[["value", "other"]], missing="ignored")
    assert_array_equal(shares, [0.5, 0.2])
    frame = dd.from_pandas(frame, npartitions=3)
    assert homogeneity(frame[["label"]], frame["value"], missing="ignored") == 0.5
    on_dask = homogeneity(frame[["label"]], frame[["value", "other"]], missing="ignored")
    assert_array_equal(on_dask, shares)
    with pytest.raises(ValueError, match="missing='no'"):
        homogeneity(labels, values, missing="no")


def test_diverse_groups_may_have_one_known_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    illness = np.where(rng.random(300) < 0.5, None, np.where(X[:, 0] > 0, "flu", "gout"))
    labels = MicroAggregator(5, privacy=LDiversity(2)).fit_predict(X, sensitive=illness)
    assert homogeneity(labels, illness) == 0.0
    assert homogeneity(labels, illness, missing="ignored") > 0.8


def test_different_lengths_raise():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        homogeneity(RELEASE, ["f"] * 4)


@pytest.mark.slow
@in_one_case("npartitions", [1, 3, 20])
def test_the_same_on_dask(npartitions):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.integers(0, 9, 400) / 7,
            "b": rng.choice(["x", "y"], 400),
            "class": rng.choice(["no", "yes"], 400, p=[0.95, 0.05]),
            "count": rng.poisson(0.02, 400),
            "score": np.where(rng.random(400) < 0.99, np.nan, 1.0),
        }
    )
    table["kind"] = pd.Categorical(table["class"])
    released, passed = ["a", "b"], ["class", "count", "score", "kind"]
    expected = homogeneity(table[released], table[passed])
    assert 0 < expected.min() < expected.max() < 1
    frame = dd.from_pandas(table, npartitions=npartitions)
    assert_array_equal(homogeneity(frame[released], frame[passed]), expected)
    share = homogeneity(frame[released], frame["count"])
    assert type(share) is float
    assert share == expected[1]


def test_different_partitions_raise():
    two, three = (dd.from_pandas(RELEASE, npartitions=n) for n in (2, 3))
    with pytest.raises(ValueError, match=r"^sensitive with . partitions"):
        homogeneity(two, three)


GROUPS = [0, 0, 1, 1, 1]
every_metric = in_one_case("metric", [homogeneity, diversity, closeness])


@every_metric
def test_labels_stand_for_equal_rows(metric):
    expected = metric(RELEASE, SENSITIVE)
    assert expected.shape == (3,)
    for labels in (GROUPS, np.array(GROUPS), pd.Series([7, 7, -2, -2, -2]), pl.Series(GROUPS)):
        assert_array_equal(metric(labels, SENSITIVE), expected)
    for column, name in enumerate(SENSITIVE):
        single = metric(RELEASE, SENSITIVE[name])
        assert type(single) in (int, float)
        assert single == expected[column]
        assert units_per_group(RELEASE, SENSITIVE[name]) == diversity(GROUPS, SENSITIVE[name])


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=40),
    st.integers(1, 3),
)
def test_figures_are_those_of_the_worst_group(rows, l):  # noqa: E741
    labels, values = zip(*rows, strict=True)
    groups = [[value for label, value in rows if label == group] for group in set(labels)]
    assert diversity(labels, values) == min(map(oracle.distinct, groups))
    assert units_per_group(labels, values) == min(map(oracle.distinct, groups))
    assert unit_share(labels, values) == float(max(map(oracle.largest_share, groups)))
    entropy = diversity(labels, values, kind="entropy")
    assert entropy == pytest.approx(min(map(oracle.entropy, groups)))
    ratio = diversity(labels, values, kind="recursive", l=l)
    assert ratio == float(max(oracle.recursive(group, l) for group in groups))
    for distance, plain in (("auto", oracle.ordered), ("equal", oracle.equal)):
        expected = float(max(plain(group, values) for group in groups))
        assert closeness(labels, values, distance=distance) == expected


def test_distances_in_a_hierarchy():
    tree = Hierarchy.from_nested({"lung": ["flu", "cold"], "joints": ["gout"]})
    values = ["flu", "flu", "cold", "gout"]
    assert closeness([0, 0, 1, 1], values, tree) == oracle.tree(
        values[:2], values, {"lung": ["flu", "cold"], "joints": ["gout"]}
    )


@in_one_case("labels", [[0.5, 1.5, 1.5, 0.5, 0.5], list("aabbb")])
def test_labels_must_be_integers(labels):
    with pytest.raises(TypeError, match=r"labels_or_release of shape \(5,\)"):
        diversity(labels, SENSITIVE)


def test_a_single_unit_column():
    with pytest.raises(ValueError, match=r"unit of shape \(5, 3\)"):
        units_per_group(GROUPS, SENSITIVE)
    with pytest.raises(ValueError, match=r"unit of shape \(5, 3\)"):
        unit_share(GROUPS, SENSITIVE)


@in_one_case("metric", [diversity, closeness, units_per_group, unit_share])
def test_what_is_not_done_on_dask_says_so(metric):
    frame = dd.from_pandas(RELEASE, npartitions=2)
    message = rf"{metric.__name__} .*Dask"
    with pytest.raises(TypeError, match=message):
        metric(frame, frame["town"])
    with pytest.raises(TypeError, match=message):
        metric(GROUPS, frame["town"])


@in_one_case(
    ("metric", "arguments", "message"),
    [
        (diversity, {"kind": "alpha"}, "kind='alpha'"),
        (diversity, {"kind": "recursive", "l": 0}, r"l=0\b"),
        (closeness, {"distance": "far"}, "distance='far'"),
    ],
)
def test_wrong_parameters_raise(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        metric(GROUPS, SENSITIVE, **arguments)
