from collections import defaultdict

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sk_microagg.metrics import homogeneity

NAN = float("nan")
# Dask itself calls pandas 3.1 with a keyword that this deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")


def by_hand(release, sensitive):
    groups = defaultdict(list)
    for row, value in zip(release, sensitive, strict=True):
        groups[tuple(row)].append(value)
    return sum(len(g) for g in groups.values() if len(set(g)) == 1) / len(release)


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


@pytest.mark.parametrize(
    "make", [lambda frame: frame, pl.from_pandas, lambda frame: frame.to_numpy(dtype=object)]
)
def test_several_columns_in_any_kind_of_table(make):
    shares = homogeneity(make(RELEASE), make(SENSITIVE))
    assert_array_equal(shares, [0.4, 0.6, 0.0])


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pd.Categorical])
def test_one_column_in_any_form(make):
    assert homogeneity(RELEASE, make(list("ffgfg"))) == 0.4


@pytest.mark.parametrize(
    ("values", "share"),
    [([NAN, NAN, 1.0, NAN, 1.0], 0.4), ([None, None, "a", "a", None], 0.4), ([0.0, -0.0] * 2, 1)],
)
def test_missing_is_a_value_like_others(values, share):
    release = RELEASE[["age"]][: len(values)]
    assert homogeneity(release, values) == share
    frame = release.assign(values=values)
    frame = dd.from_pandas(frame, npartitions=2)
    assert homogeneity(frame[["age"]], frame["values"]) == share


def test_different_lengths_raise():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        homogeneity(RELEASE, ["f"] * 4)


@pytest.mark.parametrize("npartitions", [1, 3, 20])
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
    with pytest.raises(ValueError, match=r"sensitive with . partitions must have those of"):
        homogeneity(two, three)
