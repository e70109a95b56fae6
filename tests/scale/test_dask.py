"""DaskMicroAggregator in the threads of one process: releases, tables, files and errors."""

import errno
import gc
import os
import pickle
import re
import subprocess
import sys
import tempfile
import textwrap
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.blocks import Blocks
from oracles.tables import TABLES
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sk_microagg import MicroAggregator
from sk_microagg.builders import MDAV
from sk_microagg.metrics import anonymity_level
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.scale import _bundles

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask  # noqa: E402

from sk_microagg.scale import DaskMicroAggregator  # noqa: E402

# Dask's own, on a pandas that is newer.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

NAMES = ["age", "income", "share"]
SEARCH = IteratedLocalSearch(max_iter=20)
BUILDER_NAMES = "'mdav', 'cbfs', 'tfrp', 'gsms', 'dbfs'"
every_shuffle = pytest.mark.parametrize("shuffle", ["disk", "memory"])


def draw(n=300, seed=0):
    """Quasi-identifiers that differ in location and spread, and columns of other kinds."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal([0, 4, -2], size=(n, 3)) * [1.0, 200.0, 0.05], columns=NAMES)
    table.insert(1, "town", [f"town {i}" for i in rng.integers(0, 50, size=n)])
    table.insert(0, "visits", rng.poisson(3, size=n))
    table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), unit="h")
    return table


@pytest.fixture(name="table")
def table_of_300():
    return draw()


@pytest.fixture(name="X")
def dask_table(table):
    return dd.from_pandas(table, npartitions=3)


@pytest.fixture(name="new")
def table_of_new_rows():
    return draw(n=80, seed=1)


@pytest.fixture(name="small_bundles")
def make_bundles_small(monkeypatch):
    """A task takes on two or three of the blocks of such small tables, not all of them."""
    monkeypatch.setattr(_bundles, "BUNDLE_BYTES", 3000)


@pytest.fixture(name="temporary")
def folder_of_temporary_files(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def numbers(values, npartitions=3):
    """A Dask table of quasi-identifiers only."""
    return dd.from_pandas(pd.DataFrame(values, columns=NAMES), npartitions=npartitions)


def from_parts(parts):
    """A Dask table of just these parts."""
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0][:0])


def with_columns(frame, values):
    """A table with other quasi-identifiers, as pandas."""
    table = frame.compute() if isinstance(frame, dd.DataFrame) else frame.copy()
    for j, name in enumerate(NAMES):
        table[name] = values[:, j]
    return table


def assert_is_release(release, X, **parameters):
    """Every row is in its place, with what MicroAggregator makes of it."""
    table = X.compute()
    values = MicroAggregator(**parameters).fit_transform(table[NAMES])
    pd.testing.assert_frame_equal(release.compute(), with_columns(table, values))


def rows_of(array):
    return set(map(tuple, np.asarray(array)))


def left_in(folder):
    """What is in a folder of temporary files, but for folders of Dask's own that are empty."""
    return [path for path in folder.rglob("*") if path.suffix != ".partd"]


# The release is that of MicroAggregator


@every_shuffle
@pytest.mark.parametrize("refiner", [None, "exchange", SEARCH], ids=["none", "exchange", "search"])
@pytest.mark.parametrize("block_size", [None, 60])
def test_release_is_that_of_micro_aggregator(X, shuffle, refiner, block_size, small_bundles):
    parameters = {"k": 3, "refiner": refiner, "block_size": block_size, "random_state": 0}
    aggregator = DaskMicroAggregator(columns=NAMES, shuffle=shuffle, **parameters)
    assert_is_release(aggregator.fit_transform(X), X, **parameters)
    assert aggregator.n_blocks_ == (1 if block_size is None else 8)


@every_shuffle
@pytest.mark.parametrize("npartitions", [1, 20])
def test_any_number_of_partitions(table, shuffle, npartitions, small_bundles):
    X = dd.from_pandas(table, npartitions=npartitions)
    assert X.npartitions == npartitions
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, block_size=60, shuffle=shuffle)
    assert_is_release(aggregator.fit_transform(X), X, k=3, block_size=60)


@every_shuffle
@pytest.mark.parametrize("make", ["grid", "duplicates", "constant"])
def test_ties_and_duplicates(shuffle, make, small_bundles):
    X = numbers(TABLES[make](np.random.default_rng(0), 300, 3))
    aggregator = DaskMicroAggregator(k=4, block_size=60, shuffle=shuffle)
    assert_is_release(aggregator.fit_transform(X), X, k=4, block_size=60)


@pytest.mark.parametrize("builder", ["cbfs", MDAV(growth="nc")], ids=str)
@pytest.mark.parametrize("scaler", [None, RobustScaler()], ids=str)
def test_any_builder_and_scaler(X, builder, scaler):
    parameters = {"k": 3, "builder": builder, "scaler": scaler, "block_size": 60}
    release = DaskMicroAggregator(columns=NAMES, **parameters).fit_transform(X)
    assert_is_release(release, X, **parameters)


@every_shuffle
@pytest.mark.parametrize(
    "types",
    ["float32", "float64", "int16", "bool", {"age": "int16", "income": "f4", "share": "f4"}],
    ids=str,
)
def test_float_type_is_that_of_micro_aggregator(table, shuffle, types):
    table = (100 * table[NAMES]).astype(types)
    release = DaskMicroAggregator(k=3, shuffle=shuffle).fit_transform(
        dd.from_pandas(table, npartitions=2)
    )
    expected = MicroAggregator(k=3).fit_transform(table)
    assert set(release.dtypes) == {expected.dtype}
    assert set(release.compute().dtypes) == {expected.dtype}
    assert_array_equal(release.compute(), expected)


def test_k_1_is_the_identity(X):
    release = DaskMicroAggregator(k=1, columns=NAMES, block_size=60).fit_transform(X)
    pd.testing.assert_frame_equal(release.compute(), X.compute())


def test_a_seed_makes_the_release_reproducible(X):
    def release(random_state):
        aggregator = DaskMicroAggregator(
            k=3,
            columns=NAMES,
            refiner=IteratedLocalSearch(max_iter=50),
            block_size=60,
            sample_size=100,
            random_state=random_state,
        )
        return aggregator.fit_transform(X)[NAMES].compute().to_numpy()

    assert_array_equal(release(0), release(0))
    assert not np.array_equal(release(0), release(1))
    assert_array_equal(release(np.random.RandomState(0)), release(np.random.RandomState(0)))


# A sample


@every_shuffle
def test_a_release_from_a_small_sample_is_k_anonymous(shuffle, small_bundles):
    X = dd.from_pandas(draw(3000), npartitions=4)
    aggregator = DaskMicroAggregator(
        k=5, columns=NAMES, block_size=300, sample_size=50, shuffle=shuffle, random_state=0
    )
    release = aggregator.fit_transform(X)
    assert anonymity_level(release[NAMES].compute()) >= 5
    assert aggregator.smallest_group_ >= 5
    assert aggregator.n_blocks_ == len(aggregator.block_sizes_) > 5
    assert aggregator.block_sizes_.min() >= 10
    assert aggregator.block_sizes_.sum() == 3000
    assert aggregator.exact_transform_
    pd.testing.assert_frame_equal(aggregator.transform(X).compute(), release.compute())


def test_the_scaler_is_fitted_on_the_sample(X):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, sample_size=50, random_state=0).fit(X)
    assert aggregator.scaler_.n_samples_seen_ == 50
    assert aggregator.n_rows_ == 300


@every_shuffle
def test_small_blocks_are_merged(shuffle):
    # Cuts between any two of the 20 rows of the sample: 20 blocks of 10 rows, more or less.
    aggregator = DaskMicroAggregator(
        k=5, block_size=10, sample_size=20, shuffle=shuffle, random_state=0
    )
    release = aggregator.fit_transform(numbers(np.random.default_rng(0).normal(size=(200, 3))))
    assert 1 < aggregator.n_blocks_ < 20
    assert aggregator.block_sizes_.min() >= 10
    assert aggregator.block_sizes_.sum() == 200
    assert anonymity_level(release.compute()) >= 5


@pytest.mark.parametrize("seed", range(5))
def test_blocks_may_all_become_one(seed):
    values = np.random.default_rng(seed).normal(size=(15, 3))
    aggregator = DaskMicroAggregator(k=5, block_size=1, sample_size=4, random_state=seed)
    release = aggregator.fit_transform(numbers(values))
    assert_array_equal(aggregator.block_sizes_, [15])
    assert anonymity_level(release.compute()) >= 5


@pytest.mark.parametrize("make", ["grid", "heavy_tails", "constant_column"])
@settings(deadline=None, max_examples=8)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 90),
    k=st.integers(1, 6),
    block_size=st.integers(1, 50),
    sample_size=st.integers(1, 90),
    npartitions=st.integers(1, 5),
)
def test_groups_of_k_and_an_honest_transform(
    make, seed, n, k, block_size, sample_size, npartitions
):
    n = max(n, k)
    X = numbers(TABLES[make](np.random.default_rng(seed), n, 3), npartitions=npartitions)
    aggregator = DaskMicroAggregator(
        k=k, block_size=block_size, sample_size=sample_size, shuffle="disk", random_state=seed
    )
    release = aggregator.fit_transform(X).compute()
    assert anonymity_level(release) >= k
    assert aggregator.smallest_group_ >= k
    assert aggregator.block_sizes_.min() >= min(2 * k, n)
    assert aggregator.block_sizes_.sum() == n
    moved = aggregator.transform(X).compute()
    assert aggregator.exact_transform_ == moved.equals(release)
    assert rows_of(moved) <= rows_of(release)


# Rows stay where they are

INDEXES = {
    "range": pd.RangeIndex(10, 310),
    "named": pd.Index(2 * np.arange(300), name="id"),
    "text": [f"row {i:03d}" for i in range(300)],
    "dates": pd.date_range("2000-01-01", periods=300, freq=None),
    "duplicated": np.repeat(np.arange(30), 10),
    "unsorted": np.random.default_rng(0).permutation(300),
    "unsorted and duplicated": np.random.default_rng(0).integers(0, 5, size=300),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_index_and_divisions_are_kept(table, index):
    table = table.set_axis(index, axis=0)
    X = dd.from_pandas(table, npartitions=4, sort=table.index.is_monotonic_increasing)
    release = DaskMicroAggregator(k=3, columns=NAMES, block_size=90).fit_transform(X)
    assert_is_release(release, X, k=3, block_size=90)
    assert release.divisions == X.divisions
    assert release.npartitions == X.npartitions
    for part in range(X.npartitions):
        pd.testing.assert_index_equal(
            release.get_partition(part).compute().index, X.get_partition(part).compute().index
        )


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("npartitions", [1, 7])
def test_as_many_partitions_as_asked_for(table, sort, npartitions):
    X = dd.from_pandas(table, npartitions=3, sort=sort)
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    release = aggregator.fit_transform(X, npartitions=npartitions)
    assert release.npartitions == npartitions
    assert_is_release(release, X, k=3)
    moved = aggregator.transform(X, npartitions=npartitions)
    assert moved.npartitions == npartitions
    pd.testing.assert_frame_equal(moved.compute(), release.compute())


def test_columns_may_be_in_another_order(X):
    names = ["share", "age", "income"]
    release = DaskMicroAggregator(k=3, columns=names, refiner=None).fit_transform(X)
    assert list(release.columns) == list(X.columns)
    expected = MicroAggregator(k=3, refiner=None).fit_transform(X[names].compute())
    assert_array_equal(release[names].compute(), expected)


@pytest.mark.parametrize("columns", ["income", ("income",)])
def test_one_column(X, columns):
    release = DaskMicroAggregator(k=3, columns=columns).fit_transform(X)
    expected = MicroAggregator(k=3).fit_transform(X[["income"]].compute())
    assert_array_equal(release[["income"]].compute(), expected)
    others = [name for name in X.columns if name != "income"]
    pd.testing.assert_frame_equal(release[others].compute(), X[others].compute())


@every_shuffle
@pytest.mark.parametrize("names", [[0, 1, 2], ["self", "frame", "cls"], ["part", "block", "x0"]])
def test_any_column_names(table, shuffle, names):
    table = table[NAMES].set_axis(names, axis=1)
    aggregator = DaskMicroAggregator(k=3, columns=names, shuffle=shuffle)
    release = aggregator.fit_transform(dd.from_pandas(table, npartitions=2))
    assert list(release.columns) == names
    assert_array_equal(release.compute(), MicroAggregator(k=3).fit_transform(table.to_numpy()))


@every_shuffle
def test_an_empty_partition(table, shuffle):
    X = from_parts([table[:100], table[100:100], table[100:], table[:0]])
    release = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle).fit_transform(X)
    assert_is_release(release, X, k=3)
    assert list(release.map_partitions(len).compute()) == [100, 0, 200, 0]


@every_shuffle
def test_partitions_of_one_row(table, shuffle):
    X = from_parts([table[i : i + 1] for i in range(15)])
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, block_size=7, shuffle=shuffle)
    release = aggregator.fit_transform(X)
    assert_is_release(release, X, k=3, block_size=7)
    assert list(release.map_partitions(len).compute()) == [1] * 15


def test_the_table_of_the_user_is_left_alone(table):
    before = table.copy()
    DaskMicroAggregator(k=3, columns=NAMES).fit_transform(dd.from_pandas(table, npartitions=3))
    pd.testing.assert_frame_equal(table, before)


# Parquet folders


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
def test_from_a_parquet_folder(X, tmp_path, as_path):
    X.to_parquet(tmp_path / "table")
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    release = aggregator.fit_transform(as_path(tmp_path / "table"))
    assert_is_release(release, X, k=3)
    moved = aggregator.transform(as_path(tmp_path / "table"))
    pd.testing.assert_frame_equal(moved.compute(), release.compute())
    assert clone(aggregator).fit(as_path(tmp_path / "table")).n_rows_ == 300


@pytest.mark.parametrize(
    ("shuffle", "as_path"), [("disk", str), ("memory", lambda path: path)], ids=["str", "Path"]
)
def test_release_into_a_parquet_folder(X, tmp_path, shuffle, as_path):
    path = tmp_path / "new" / "release"
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle)
    release = aggregator.fit_transform(X, path=as_path(path))
    assert_is_release(release, X, k=3)
    assert release.npartitions == X.npartitions
    assert_is_release(dd.read_parquet(path), X, k=3)
    # One file a partition, and nothing beside.
    names = [f"part.00000{part}.parquet" for part in range(3)]
    assert sorted(file.name for file in path.iterdir()) == names
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_pandas_reads_the_index_of_a_release(table, tmp_path, index):
    table = table.set_axis(index, axis=0)
    X = dd.from_pandas(table, npartitions=4, sort=table.index.is_monotonic_increasing)
    DaskMicroAggregator(k=3, columns=NAMES).fit_transform(X, path=tmp_path / "release")
    table = pd.read_parquet(tmp_path / "release")
    assert table.index.name == X.index.name
    assert_array_equal(table.index, X.index.compute())
    assert_array_equal(table["visits"], X["visits"].compute())


def test_parts_of_a_range_keep_their_index_on_the_way_to_disk(table, tmp_path):
    X = from_parts([table[:100], table[100:]])  # Dask does not know where these begin.
    release = DaskMicroAggregator(k=3, columns=NAMES).fit_transform(X, path=tmp_path / "release")
    assert_array_equal(release.index.compute(), table.index)


def test_a_release_in_fewer_files(X, tmp_path):
    path = tmp_path / "release"
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    release = aggregator.fit_transform(X, path=path, npartitions=1)
    assert_is_release(release, X, k=3)
    assert len(list(path.iterdir())) == release.npartitions == 1


def test_new_rows_into_a_parquet_folder(X, new, tmp_path):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES).fit(X)
    new = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(new, path=tmp_path / "moved")
    pd.testing.assert_frame_equal(moved.compute(), aggregator.transform(new).compute())
    assert list(tmp_path.iterdir()) == [tmp_path / "moved"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_an_existing_path_is_refused(X, tmp_path, is_folder):
    path = tmp_path / "release"
    file = path / "mine" if is_folder else path
    file.parent.mkdir(exist_ok=True)
    file.write_text("precious")
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    message = f"^path={str(path)!r} exists"
    with pytest.raises(FileExistsError, match=message):
        aggregator.fit_transform(X, path=path)
    aggregator.fit(X)
    with pytest.raises(FileExistsError, match=message):
        aggregator.transform(X, path=path)
    assert file.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", ["file", "file/release"])
def test_a_path_is_refused_before_the_work(X, tmp_path, path):
    (tmp_path / "file").write_text("precious")
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, builder=Fails())
    with pytest.raises(OSError, match=r"^path="):
        aggregator.fit_transform(X, path=tmp_path / path)
    assert_unfitted(aggregator)


# New rows


@every_shuffle
@pytest.mark.parametrize("block_size", [None, 60])
def test_transform_of_the_training_data_is_the_release(X, shuffle, block_size, small_bundles):
    aggregator = DaskMicroAggregator(
        k=3, columns=NAMES, block_size=block_size, sample_size=200, shuffle=shuffle, random_state=0
    )
    release = aggregator.fit_transform(X)
    assert aggregator.exact_transform_
    moved = aggregator.transform(X)
    pd.testing.assert_frame_equal(moved.compute(), release.compute())
    assert moved.divisions == X.divisions


@every_shuffle
@pytest.mark.parametrize("refiner", [None, "exchange"])
def test_new_rows_become_what_micro_aggregator_makes_of_them(
    table, X, new, shuffle, refiner, small_bundles
):
    parameters = {"k": 3, "refiner": refiner, "block_size": 60}
    aggregator = DaskMicroAggregator(columns=NAMES, shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(X)
    rows = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(rows)
    expected = MicroAggregator(**parameters).fit(table[NAMES]).transform(new[NAMES])
    pd.testing.assert_frame_equal(moved.compute(), with_columns(rows, expected))
    assert rows_of(moved[NAMES].compute()) <= rows_of(release[NAMES].compute())
    # Rows for some of the blocks only, or for none at all.
    for few in (new[:3], new[:0]):
        few_moved = aggregator.transform(dd.from_pandas(few, npartitions=1))
        assert_array_equal(few_moved[NAMES].compute(), expected[: len(few)])


def test_new_rows_may_have_other_columns(X, new):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES).fit(X)
    other = new[["share", "income", "age"]].assign(remark="new")
    moved = aggregator.transform(dd.from_pandas(other, npartitions=2))
    expected = aggregator.transform(dd.from_pandas(new, npartitions=2))
    assert list(moved.columns) == ["share", "income", "age", "remark"]
    assert_array_equal(moved[NAMES].compute(), expected[NAMES].compute())
    assert set(moved["remark"].compute()) == {"new"}


@every_shuffle
@pytest.mark.parametrize("types", [("f4", "f8"), ("f8", "f4"), ("f4", "int64")], ids=str)
def test_new_rows_get_the_float_type_of_the_release(table, new, shuffle, types):
    table, new = table[NAMES].astype(types[0]), new[NAMES].astype(types[1])
    aggregator = DaskMicroAggregator(k=3, shuffle=shuffle)
    release = aggregator.fit_transform(dd.from_pandas(table, npartitions=2))
    moved = aggregator.transform(dd.from_pandas(new, npartitions=2))
    assert set(moved.compute().dtypes) == set(release.dtypes)
    assert set(moved.dtypes) == set(release.dtypes)
    assert_array_equal(moved.compute(), MicroAggregator(k=3).fit(table).transform(new))


def test_one_shuffle_can_follow_another(X, new):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle="memory", block_size=60).fit(X)
    rows = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(rows).compute()
    pd.testing.assert_frame_equal(
        aggregator.set_params(shuffle="disk").transform(rows).compute(), moved
    )


def test_without_a_refiner_transform_is_not_exact(X):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, refiner=None, block_size=90)
    release = aggregator.fit_transform(X)
    assert not aggregator.exact_transform_
    assert not aggregator.transform(X).compute().equals(release.compute())


# Level of anonymity of a Dask table


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(-1, 1),
            st.sampled_from([0.0, -0.0, 1e300, float("nan"), float("inf")]),
            st.sampled_from(["", "a", "ab", "nan", "None", None]),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
    columns=st.sampled_from([["n"], ["x"], ["text"], ["n", "x"], ["text", "yes"], [*"nx", "text"]]),
    npartitions=st.integers(1, 12),
)
def test_level_of_a_dask_table_is_that_of_its_rows(rows, columns, npartitions):
    table = pd.DataFrame(rows, columns=["n", "x", "text", "yes"])[columns]
    level = anonymity_level(dd.from_pandas(table, npartitions=npartitions))
    assert level == anonymity_level(table)
    assert type(level) is int


@pytest.mark.parametrize("npartitions", [1, 8, 9, 40])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_rarest_row_is_found_in_any_part(npartitions, level):
    table = pd.DataFrame({"x": np.repeat(np.arange(100.0), 3), "text": "a"})
    table = table.drop(index=[210, 211, 212][level:])
    order = np.random.default_rng(0).permutation(len(table))
    X = dd.from_pandas(table.iloc[order], npartitions=npartitions, sort=False)
    assert anonymity_level(X) == level


def test_level_of_categories_that_differ_between_parts():
    parts = [pd.DataFrame({"c": pd.Categorical(list(text))}) for text in ("abab", "bbac")]
    X = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    assert anonymity_level(X) == 1
    assert anonymity_level(X[X["c"] != "c"]) == 3


@pytest.mark.parametrize("pair", [(1, "1"), (None, float("nan"))], ids=str)
def test_objects_that_differ_are_told_apart(pair):
    with dask.config.set({"dataframe.convert-string": False}):
        table = pd.DataFrame({"x": [*pair, 2, 2]}, dtype=object)
        assert anonymity_level(dd.from_pandas(table, npartitions=1)) == anonymity_level(table) == 1


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), (np.float64(1), 1.0)], ids=str)
def test_objects_that_are_equal_are_the_same(pair):
    with dask.config.set({"dataframe.convert-string": False}):
        table = pd.DataFrame({"x": [*pair, "a", "a"]}, dtype=object)
        assert anonymity_level(dd.from_pandas(table, npartitions=1)) == anonymity_level(table) == 2


def test_no_rows_have_no_level(table):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        anonymity_level(dd.from_pandas(table[:0], npartitions=1))


# What a fitted estimator tells


@every_shuffle
def test_attributes(table, X, shuffle, small_bundles):
    parameters = {"k": 3, "block_size": 60, "random_state": 0}
    aggregator = DaskMicroAggregator(columns=NAMES, shuffle=shuffle, **parameters)
    assert aggregator.fit(X) is aggregator
    expected = MicroAggregator(**parameters).fit(table[NAMES])
    for name in ("n_groups_", "n_blocks_", "exact_transform_", "n_features_in_", "n_iter_"):
        assert getattr(aggregator, name) == getattr(expected, name), name
    for name in ("sse_", "information_loss_", "scaler_.mean_", "scaler_.scale_"):
        assert_allclose(attrgetter(name)(aggregator), attrgetter(name)(expected), rtol=1e-12)
    assert aggregator.n_rows_ == 300
    assert aggregator.smallest_group_ == expected.group_sizes_.min()
    assert list(aggregator.feature_names_in_) == NAMES
    blocks = Blocks(StandardScaler().fit_transform(table[NAMES]), 60, 6)
    assert_array_equal(aggregator.block_sizes_, [len(rows) for rows in blocks.rows])


def test_iterations_are_those_of_all_blocks(X, small_bundles):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, block_size=60, refiner=SEARCH).fit(X)
    assert aggregator.n_iter_ == 20 * aggregator.n_blocks_ == 160


def test_loss_of_equal_rows_is_0():
    aggregator = DaskMicroAggregator(k=3).fit(numbers(np.full((50, 3), 0.1)))
    assert aggregator.information_loss_ == 0


def test_split_twins_make_transform_inexact():
    X = dd.from_pandas(pd.DataFrame({"x": [0.0, 1.0, 1.0, 1.0, 2.0]}), npartitions=2)
    aggregator = DaskMicroAggregator(k=2)
    release = aggregator.fit_transform(X).compute()
    assert anonymity_level(release) == 2
    assert not aggregator.exact_transform_
    assert not aggregator.transform(X).compute().equals(release)


def test_clone_and_parameters():
    aggregator = DaskMicroAggregator(k=7, columns=["age"], shuffle="disk", sample_size=9)
    assert repr(aggregator) == (
        "DaskMicroAggregator(columns=['age'], k=7, sample_size=9, shuffle='disk')"
    )
    assert clone(aggregator).get_params() == aggregator.get_params()
    assert aggregator.set_params(k=8).get_params()["k"] == 8


def test_verbose_tells_of_each_step(X, capsys):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, block_size=60)
    aggregator.fit_transform(X)
    assert capsys.readouterr().out == ""
    aggregator.set_params(verbose=1).fit_transform(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 4
    assert all(line.startswith("DaskMicroAggregator: ") for line in lines)
    assert "300 rows" in lines[0]
    assert "8 blocks" in lines[1]
    assert "at least 3 times" in lines[-1]


# Errors


def assert_unfitted(aggregator):
    with pytest.raises(NotFittedError):
        check_is_fitted(aggregator)
    assert not [name for name in vars(aggregator) if name.endswith("_") or name.startswith("_")]


def assert_fit_fails(aggregator, X, error, message):
    for fit in (aggregator.fit, aggregator.fit_transform):
        with pytest.raises(error, match=message):
            fit(X)
    assert_unfitted(aggregator)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, np.asarray, lambda table: table.to_numpy().tolist()]
)
def test_a_table_that_is_not_on_dask(table, make):
    X = make(table[NAMES])
    message = f"^X of type {type(X).__name__} must be a dask DataFrame or the path of a Parquet"
    assert_fit_fails(DaskMicroAggregator(), X, TypeError, message)
    aggregator = DaskMicroAggregator(columns=NAMES).fit(dd.from_pandas(table, npartitions=1))
    with pytest.raises(TypeError, match=message):
        aggregator.transform(X)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "height"], r"^columns=\['age', 'height'\]: 'height' must be there once.*'visits'"),
        ("height", r"^columns=\['height'\]: 'height' must be there once.*'visits'"),
        (["age", "age"], r"^columns=\['age', 'age'\]: 'age' must be there once"),
        (["age", "town"], r"^columns=\['age', 'town'\]: 'town' has type str.*must be numeric"),
        (["day"], r"^columns=\['day'\]: 'day' has type datetime64.*must be numeric"),
        (None, r"^columns=\['visits', .*\]: 'town' has type str.*must be numeric"),
        ([], r"^columns=\[\] must name at least one column"),
    ],
)
def test_bad_columns(X, columns, message):
    assert_fit_fails(DaskMicroAggregator(columns=columns), X, ValueError, message)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"k": 0}, ValueError, r"^k=0 must be at least 1\.$"),
        ({"k": 301}, ValueError, r"^k=301 must be at most the number of records, n_samples=300\.$"),
        ({"k": 2.5}, TypeError, r"^k=2\.5 must be an integer, got float\.$"),
        ({"block_size": 0}, ValueError, "^block_size=0 must be an integer of at least 1, 'auto'"),
        ({"block_size": "x"}, ValueError, "^block_size='x' must be an integer of at least 1"),
        ({"sample_size": 0}, ValueError, r"^sample_size=0 must be an integer of at least 1\.$"),
        ({"sample_size": None}, TypeError, "^sample_size=None must be an integer of at least 1"),
        ({"shuffle": "fast"}, ValueError, "^shuffle='fast' must be one of 'auto', 'disk', 'mem"),
        ({"shuffle": None}, ValueError, "^shuffle=None must be one of 'auto', 'disk', 'memory'"),
        ({"builder": "mdv"}, ValueError, rf"^builder='mdv' must be one of {BUILDER_NAMES}\.$"),
        ({"builder": 7}, TypeError, f"^builder=7 must be one of {BUILDER_NAMES} or an object with"),
        ({"refiner": "none"}, ValueError, "^refiner='none' must be one of 'decompose'"),
        ({"scaler": "robust"}, ValueError, r"^scaler='robust' must be one of 'standard'\.$"),
        ({"random_state": "x"}, ValueError, "'x' cannot be used to seed"),
    ],
    ids=str,
)
def test_bad_parameters(X, parameters, error, message):
    assert_fit_fails(DaskMicroAggregator(columns=NAMES, **parameters), X, error, message)


@pytest.mark.parametrize(
    ("npartitions", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError)]
)
def test_bad_npartitions(X, npartitions, error):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    message = f"^npartitions={npartitions} must be an integer of at least 1"
    with pytest.raises(error, match=message):
        aggregator.fit_transform(X, npartitions=npartitions)
    assert_unfitted(aggregator)
    aggregator.fit(X)
    with pytest.raises(error, match=message):
        aggregator.transform(X, npartitions=npartitions)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "X contains NaN"), (np.inf, "X contains infinity"), (1e200, "values as large as")],
)
def test_bad_values_in_some_partition(table, X, value, message):
    table = table.copy()
    table.loc[250, "income"] = value
    bad = dd.from_pandas(table, npartitions=3)
    aggregator = DaskMicroAggregator(columns=NAMES)
    assert_fit_fails(aggregator, bad, ValueError, message)
    aggregator.fit(X)
    with pytest.raises(ValueError, match=message):
        aggregator.transform(bad)
    # What is not anonymised may have any value.
    release = DaskMicroAggregator(k=3, columns=["age"]).fit_transform(bad)
    assert_array_equal(release["income"].compute(), table["income"])


def test_no_rows(table):
    X = dd.from_pandas(table[:0], npartitions=1)
    message = "^k=5 must be at most the number of records, n_samples=0"
    assert_fit_fails(DaskMicroAggregator(columns=NAMES), X, ValueError, message)


def test_unfitted(X):
    with pytest.raises(NotFittedError, match="DaskMicroAggregator instance is not fitted yet"):
        DaskMicroAggregator().transform(X)


def test_new_rows_that_lack_a_column(X, new):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES).fit(X)
    lacking = dd.from_pandas(new.drop(columns="income"), npartitions=1)
    with pytest.raises(ValueError, match="'income' must be there once"):
        aggregator.transform(lacking)


class Fails:
    def build(self, X, k):
        raise RuntimeError("no groups today")


class LeavesOneOut:
    def __repr__(self):
        return "LeavesOneOut()"

    def build(self, X, k):
        return np.minimum(np.arange(len(X)), 1)


@every_shuffle
def test_a_builder_that_fails_leaves_nothing_behind(X, tmp_path, shuffle):
    aggregator = DaskMicroAggregator(
        columns=NAMES, builder=Fails(), shuffle=shuffle, folder=tmp_path / "folder"
    )
    assert_fit_fails(aggregator, X, RuntimeError, "no groups today")
    gc.collect()
    assert list((tmp_path / "folder").iterdir()) == []


@every_shuffle
def test_a_group_that_is_too_small_is_refused(X, shuffle):
    aggregator = DaskMicroAggregator(
        k=3, columns=NAMES, builder=LeavesOneOut(), refiner=None, shuffle=shuffle, block_size=60
    )
    message = r"^builder=LeavesOneOut\(\) returned labels with a group of 1 records: .* k=3\.$"
    assert_fit_fails(aggregator, X, ValueError, message)


def test_a_fit_that_fails_leaves_the_last_one_whole(X, new):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, block_size=60).fit(X)
    new = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(new).compute()
    with pytest.raises(RuntimeError, match="no groups today"):
        aggregator.set_params(builder=Fails()).fit(X.partitions[:2])
    assert aggregator.n_rows_ == 300
    pd.testing.assert_frame_equal(aggregator.transform(new).compute(), moved)


@every_shuffle
@pytest.mark.parametrize("below", ["", "sub/folder"])
def test_a_folder_that_cannot_be_made(X, tmp_path, shuffle, below):
    (tmp_path / "file").write_text("precious")
    folder = tmp_path / "file" / below
    aggregator = DaskMicroAggregator(columns=NAMES, folder=folder, shuffle=shuffle)
    assert_fit_fails(aggregator, X, OSError, f"^folder={str(folder)!r} cannot be written: ")
    assert (tmp_path / "file").read_text() == "precious"


@every_shuffle
def test_no_place_for_temporary_files(X, temporary, shuffle):
    temporary.rmdir()
    aggregator = DaskMicroAggregator(columns=NAMES, shuffle=shuffle)
    assert_fit_fails(aggregator, X, OSError, "folder=.* cannot be written: No such file")


def test_a_path_that_cannot_be_made(X, tmp_path):
    (tmp_path / "file").write_text("precious")
    path = tmp_path / "file" / "release"
    aggregator = DaskMicroAggregator(columns=NAMES)
    message = f"^path={str(path)!r} cannot be written: Not a directory"
    with pytest.raises(OSError, match=message):
        aggregator.fit_transform(X, path=path)
    aggregator.fit(X)
    with pytest.raises(OSError, match=message):
        aggregator.transform(X, path=path)
    assert (tmp_path / "file").read_text() == "precious"


@every_shuffle
def test_a_disk_that_is_full_half_way(X, tmp_path, monkeypatch, shuffle):
    write = pd.DataFrame.to_parquet

    def write_until_full(frame, path, **options):
        write(frame, path, **options)
        if "part.000001" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", write_until_full)
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle)
    with pytest.raises(OSError, match=r"release.* cannot be written: No space left on device"):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


FILL_A_DISK = """
    import os, resource, signal, sys
    from pathlib import Path

    import dask.dataframe as dd
    import pandas as pd

    from sk_microagg.scale import DaskMicroAggregator

    root = Path(sys.argv[1])
    X = dd.from_pandas(pd.read_pickle(root / "table.pickle"), npartitions=2)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for case in sys.argv[2:]:
        shuffle, limit = case.split("-")
        aggregator = DaskMicroAggregator(
            k=5, columns=["age", "income", "share"], block_size=200, shuffle=shuffle,
            folder=root / case / "folder",
        )
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
        try:
            aggregator.fit_transform(X, path=root / case / "release")
            said = "nothing"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        (root / case / "said").write_text(said)
    os._exit(0)  # Nothing is tidied up at the end.
"""
FULL_DISKS = {
    # Two parts of 1000 rows and three columns are files of 128 + 24000 bytes.
    "disk-100": "rows-",
    "disk-20000": "rows-",
    "disk-24100": "rows-",
    "disk-60000": "release",
    "memory-10000": "model-",
    "memory-60000": "release",
}


@pytest.fixture(name="full_disks", scope="module")
def fill_disks(tmp_path_factory):
    """Folders in which disks were full, in various places, after so many bytes of a file."""
    pytest.importorskip("resource", reason="limits the size of files")
    root = tmp_path_factory.mktemp("full")
    table = draw(2000)
    rng = np.random.default_rng(0)
    table["town"] = [rng.bytes(64).hex() for _ in range(len(table))]
    table.to_pickle(root / "table.pickle")
    command = [sys.executable, "-c", textwrap.dedent(FILL_A_DISK), root, *FULL_DISKS]
    environment = os.environ | {"TMPDIR": str(root)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return root


@pytest.mark.parametrize(("case", "file"), FULL_DISKS.items(), ids=FULL_DISKS)
def test_a_disk_that_is_full(full_disks, case, file):
    said = (full_disks / case / "said").read_text()
    assert re.match(rf"OSError: .*{file}.* cannot be written: .* have room in it\.$", said)
    # Nothing under the name of the release, no draft beside it, and no row of the user's.
    assert {path.name for path in (full_disks / case).iterdir()} == {"folder", "said"}
    rows = pd.read_pickle(full_disks / "table.pickle")[NAMES].to_numpy()
    for path in (full_disks / case / "folder").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not any(row.tobytes() in content for row in rows), path.name


def test_a_full_disk_leaves_no_model_behind(full_disks):
    left = (full_disks / "memory-10000" / "folder").rglob("*")
    assert [path.name for path in left] == []


@pytest.mark.parametrize("with_path", [True, False])
def test_a_release_below_k_is_refused(X, tmp_path, monkeypatch, with_path):
    monkeypatch.setattr("sk_microagg.scale._dask.anonymity_level", lambda release: 1)
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    with pytest.raises(RuntimeError, match="release occurs 1 times, fewer than k=3"):
        aggregator.fit_transform(X, path=tmp_path / "release" if with_path else None)
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_is_what_is_checked(X, tmp_path, monkeypatch):
    write = pd.DataFrame.to_parquet

    def write_something_else(frame, path, **options):
        frame = frame.copy()
        if "part.000001" in str(path):
            frame.iloc[0, frame.columns.get_loc("age")] = 7.1
        write(frame, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_parquet", write_something_else)
    aggregator = DaskMicroAggregator(k=3, columns=NAMES)
    with pytest.raises(RuntimeError, match="release occurs 1 times, fewer than k=3"):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(name="written_late")
def write_late(monkeypatch):
    """Folders into which a thread that has not heard of the failure writes as they are removed."""
    folders, remove = set(), os.rmdir

    def write_and_remove(path, **options):
        if Path(path) in folders:
            folders.remove(Path(path))
            (Path(path) / "late").write_text("a row")
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", write_and_remove)
    return folders


def test_no_row_stays_if_a_thread_is_late(X, tmp_path, written_late):
    class Fails(StandardScaler):
        def transform(self, X):
            if len(X) < 300:  # not the sample, but a part
                written_late.update(tmp_path.iterdir())
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().transform(X)

    aggregator = DaskMicroAggregator(
        k=3, columns=NAMES, scaler=Fails(), folder=tmp_path, shuffle="disk"
    )
    with pytest.raises(OSError, match="No space left on device"):
        aggregator.fit(X)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_no_draft_stays_if_a_thread_is_late(X, tmp_path, monkeypatch, written_late):
    def write(frame, path, **options):
        written_late.add(path.parent)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", write)
    with pytest.raises(OSError, match="No space left on device"):
        DaskMicroAggregator(k=3, columns=NAMES).fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


CHANGES = {
    "more rows each time": lambda time: 90 + time,
    "fewer rows each time": lambda time: 90 - time,
    "after the first time": lambda time: 90 if time <= 1 else 100,
    "after the second time": lambda time: 90 if time <= 2 else 100,
}


@every_shuffle
@pytest.mark.parametrize("n_rows", CHANGES.values(), ids=CHANGES)
def test_a_table_that_changes_on_the_way(table, tmp_path, shuffle, n_rows):
    times = []

    def read(part):
        times.append(part)
        return table[100 * part : 100 * part + (n_rows(times.count(1)) if part == 1 else 100)]

    parts = [dask.delayed(read, pure=False)(part) for part in range(3)]
    X = dd.from_delayed(parts, meta=table[:0])
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle)
    with pytest.raises(RuntimeError, match="X changed on the way"):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


# Rows that stay behind, and models that stay


@every_shuffle
def test_a_folder_holds_the_model_and_no_training_row(table, X, tmp_path, shuffle, small_bundles):
    aggregator = DaskMicroAggregator(
        k=2, columns=NAMES, block_size=60, shuffle=shuffle, folder=tmp_path
    )
    release = rows_of(aggregator.fit_transform(X)[NAMES].compute())
    gc.collect()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 1
    assert {path.suffix for path in files} == {".npz"}
    values = table[NAMES].to_numpy()
    training_rows = rows_of(values) | rows_of(aggregator.scaler_.transform(values))
    found = set()
    for path in files:
        with np.load(path) as arrays:
            for name, array in arrays.items():
                assert array.ndim == 1 or not rows_of(array) & training_rows, name
                found |= rows_of(array) if array.ndim == 2 else set()
    # Rows would be found if there were any.
    assert release <= found


@every_shuffle
def test_temporary_folders_go_away_with_estimator_and_release(X, temporary, shuffle):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle)
    release = aggregator.fit_transform(X)
    release.compute()
    assert left_in(temporary)
    assert not list(temporary.rglob("rows-*"))
    del aggregator
    gc.collect()
    release.compute()
    del release
    gc.collect()
    assert left_in(temporary) == []


@every_shuffle
def test_after_fit_there_is_only_the_model(X, temporary, shuffle):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle).fit(X)
    aggregator.transform(X).compute()
    gc.collect()
    assert [path.name for path in left_in(temporary) if path.is_file()] == ["bundle-000000.npz"]


@every_shuffle
def test_rows_do_not_outlive_a_failure(X, temporary, shuffle):
    aggregator = DaskMicroAggregator(columns=NAMES, builder=Fails(), shuffle=shuffle)
    with pytest.raises(RuntimeError, match="no groups today") as caught:
        aggregator.fit(X)
    # Not even as long as the error is looked at.
    assert not list(temporary.rglob("rows-*"))
    del caught
    gc.collect()
    assert left_in(temporary) == []


@every_shuffle
def test_a_release_outlives_its_estimator(X, shuffle):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, block_size=60, shuffle=shuffle)
    release = aggregator.fit_transform(X)
    part = release.partitions[1:]["age"] + 1
    del aggregator
    gc.collect()
    assert_is_release(release, X, k=3, block_size=60)
    assert_is_release(release, X, k=3, block_size=60)  # once more
    expected = release.compute()["age"][100:] + 1
    del release
    gc.collect()
    pd.testing.assert_series_equal(part.compute(), expected)


@every_shuffle
def test_a_pickled_estimator_with_a_folder_stays_of_use(X, new, tmp_path, shuffle):
    new = dd.from_pandas(new, npartitions=2)
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, folder=tmp_path / "f", shuffle=shuffle)
    moved = aggregator.fit(X).transform(new).compute()
    pickled = pickle.dumps(aggregator)
    del aggregator
    gc.collect()
    loaded = pickle.loads(pickled)
    pd.testing.assert_frame_equal(loaded.transform(new).compute(), moved)


@every_shuffle
def test_a_pickled_estimator_holds_no_training_row(table, X, shuffle):
    aggregator = DaskMicroAggregator(k=3, columns=NAMES, shuffle=shuffle).fit(X)
    pickled = pickle.dumps(aggregator)
    values = table[NAMES].to_numpy()
    for row in [*values, *aggregator.scaler_.transform(values)]:
        assert row.tobytes() not in pickled
    assert aggregator.scaler_.mean_.tobytes() in pickled


def test_two_models_in_one_folder(X, new, tmp_path):
    new = dd.from_pandas(new, npartitions=2)
    first = DaskMicroAggregator(k=3, columns=NAMES, folder=tmp_path).fit(X)
    moved = first.transform(new).compute()
    DaskMicroAggregator(k=9, columns=NAMES, folder=tmp_path).fit(X)
    pd.testing.assert_frame_equal(first.transform(new).compute(), moved)


# Without Dask


def test_without_dask_everything_else_works():
    script = """
        import sys

        sys.modules["dask"] = None
        import sk_microagg.scale
        from sk_microagg import MicroAggregator

        print(MicroAggregator(k=2).fit_transform([[0.0], [2.0], [7.0], [9.0]]).tolist())
        try:
            from sk_microagg.scale import DaskMicroAggregator
        except ImportError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    release, message = done.stdout.splitlines()
    assert release == "[[1.0], [1.0], [8.0], [8.0]]"
    assert "install sk-microagg[dask]" in message


def test_no_other_name_in_scale():
    import sk_microagg.scale

    with pytest.raises(AttributeError, match="has no attribute 'SparkMicroAggregator'"):
        _ = sk_microagg.scale.SparkMicroAggregator


def test_parts_that_dask_would_join(table, tmp_path):
    for number in range(2):
        part = table[["age", "income", "visits"]][150 * number : 150 * (number + 1)]
        part.to_parquet(tmp_path / f"{number}.parquet")
    X = dd.read_parquet(tmp_path).reset_index()[["visits", "age"]]
    release = DaskMicroAggregator(k=3, columns=["age"]).fit_transform(X)
    assert_array_equal(release["visits"].compute(), table["visits"])
