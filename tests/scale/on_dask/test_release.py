"""The release of a Dask table is that of TableAggregator, row by row."""

import numpy as np
import pandas as pd
import pytest
from example_tables.numbers import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sk_microagg import TableAggregator
from sk_microagg.builders import MDAV
from sk_microagg.metrics import anonymity_level
from sk_microagg.refiners import IteratedLocalSearch

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
from example_tables.on_dask import (  # noqa: E402
    INDEXES,
    NAMES,
    SEARCH,
    assert_is_release,
    by_turns,
    draw,
    every_shuffle,
    from_parts,
    numbers,
    rows_of,
)

from sk_microagg._model._router import Router  # noqa: E402
from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

# The release is that of TableAggregator


@pytest.mark.slow_but_first
@by_turns(refiner=[None, "exchange", SEARCH], block_size=[None, 60])
def test_release_is_that_in_memory(X, shuffle, refiner, block_size, small_bundles):
    parameters = {"k": 3, "refiner": refiner, "block_size": block_size, "random_state": 0}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    assert_is_release(aggregator.fit_transform(X), X, **parameters)
    assert aggregator.n_blocks_ == (1 if block_size is None else 8)


@pytest.mark.slow
@by_turns(npartitions=[1, 20])
def test_any_number_of_partitions(table, shuffle, npartitions, small_bundles):
    X = dd.from_pandas(table, npartitions=npartitions)
    assert X.npartitions == npartitions
    parameters = {"k": 3, "refiner": "exchange", "block_size": 60}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    assert_is_release(aggregator.fit_transform(X), X, **parameters)


@pytest.mark.slow
@by_turns(make=["grid", "duplicates", "constant"])
def test_ties_and_duplicates(shuffle, make, small_bundles):
    X = numbers(TABLES[make](np.random.default_rng(0), 300, 3))
    parameters = {"k": 4, "refiner": "exchange", "block_size": 60}
    aggregator = DaskTableAggregator(shuffle=shuffle, **parameters)
    assert_is_release(aggregator.fit_transform(X), X, **parameters)


@pytest.mark.slow
def test_one_column_is_optimal_in_each_block():
    X = numbers(np.random.default_rng(0).normal(size=(300, 3)))[["age"]]
    whole = TableAggregator(k=4).fit(X.compute())
    one_block = DaskTableAggregator(k=4, builder="cbfs").fit(X)
    assert one_block.sse_ == pytest.approx(whole.sse_)
    assert repr(one_block.builder_) == "Optimal1D()"
    assert one_block.refiner_ is None
    blocks = DaskTableAggregator(k=4, block_size=60)
    release = blocks.fit_transform(X)
    assert blocks.n_blocks_ > 1
    assert blocks.exact_transform_
    assert anonymity_level(release) >= 4
    assert whole.sse_ <= blocks.sse_ < 1.5 * whole.sse_


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["cbfs", MDAV(growth="nc")], ids=str)
def test_any_builder(X, builder):
    parameters = {"k": 3, "builder": builder, "block_size": 60}
    release = DaskTableAggregator(quasi_identifiers=NAMES, **parameters).fit_transform(X)
    assert_is_release(release, X, **parameters)


@pytest.mark.slow
@by_turns(types=["float32", "float64", {"age": "int16", "income": "f4", "share": "f4"}, "int16"])
def test_numbers_keep_their_types(table, shuffle, types):
    table = (100 * table[NAMES]).astype(types)
    parameters = {"k": 3, "refiner": "exchange"}
    release = DaskTableAggregator(shuffle=shuffle, **parameters).fit_transform(
        dd.from_pandas(table, npartitions=2)
    )
    assert list(release.dtypes) == list(table.dtypes)
    expected = TableAggregator(**parameters).fit_transform(table)
    pd.testing.assert_frame_equal(release.compute(), expected)


@pytest.mark.slow
def test_k_1_is_the_identity(X):
    release = DaskTableAggregator(k=1, quasi_identifiers=NAMES, block_size=60).fit_transform(X)
    pd.testing.assert_frame_equal(release.compute(), X.compute())


@pytest.mark.slow
def test_a_seed_makes_the_release_reproducible():
    X = dd.from_pandas(draw(1200), npartitions=3)

    def release(random_state):
        aggregator = DaskTableAggregator(
            k=3,
            quasi_identifiers=NAMES,
            refiner=IteratedLocalSearch(max_iter=20),
            block_size=600,
            sample_size=1000,
            random_state=random_state,
        )
        return aggregator.fit_transform(X)[NAMES].compute().to_numpy()

    first = release(0)
    assert_array_equal(release(0), first)
    assert not np.array_equal(release(1), first)
    assert_array_equal(release(np.random.RandomState(0)), release(np.random.RandomState(0)))


# A sample


@pytest.mark.slow
@every_shuffle
def test_a_release_from_a_small_sample_is_k_anonymous(shuffle, small_bundles):
    X = dd.from_pandas(draw(1500), npartitions=3)
    aggregator = DaskTableAggregator(
        k=5,
        quasi_identifiers=NAMES,
        refiner="exchange",
        block_size=150,
        sample_size=1000,
        shuffle=shuffle,
        random_state=0,
    )
    release = aggregator.fit_transform(X)
    assert anonymity_level(release[NAMES].compute()) >= 5
    assert aggregator.group_sizes_.min() >= 5
    assert aggregator.n_blocks_ == len(aggregator.block_sizes_) > 5
    assert aggregator.block_sizes_.min() >= 10
    assert aggregator.block_sizes_.sum() == 1500
    assert aggregator.exact_transform_
    pd.testing.assert_frame_equal(aggregator.transform(X).compute(), release.compute())


def test_means_and_spreads_are_those_of_the_sample():
    X = dd.from_pandas(draw(1200), npartitions=3)
    aggregator = DaskTableAggregator(
        k=3, quasi_identifiers=NAMES, sample_size=1000, refiner=None
    ).fit(X)
    assert aggregator._space._space._scaler.n_samples_seen_ == 1000
    assert aggregator.n_rows_ == 1200


@pytest.mark.slow
def test_every_block_holds_k_rows_of_the_sample():
    rng = np.random.default_rng(0)
    X = numbers(rng.normal(size=(20_000, 3)), npartitions=2)
    aggregator = DaskTableAggregator(k=5, block_size=20, sample_size=1000, refiner=None).fit(X)
    # A row of the sample stands for 20, so a block that holds k of them holds 100, more or less.
    assert aggregator.n_blocks_ <= 1000 / 5
    assert aggregator.block_sizes_.mean() >= 100


@pytest.mark.slow
@every_shuffle
def test_small_blocks_are_merged(monkeypatch, shuffle):
    # Cuts that leave a single row of the sample on a side: in the table there may be no other.
    fit = Router.fit.__func__
    monkeypatch.setattr(
        Router, "fit", classmethod(lambda cls, X, *arguments: fit(cls, X[::10], 1, 1, 1))
    )
    X = numbers(np.random.default_rng(0).normal(size=(200, 3)))
    aggregator = DaskTableAggregator(k=5, shuffle=shuffle, random_state=0)
    release = aggregator.fit_transform(X)
    assert 1 < aggregator.n_blocks_ < 20
    assert aggregator.block_sizes_.min() >= 10
    assert aggregator.block_sizes_.sum() == 200
    assert anonymity_level(release.compute()) >= 5


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(
    make=st.sampled_from(["grid", "heavy_tails", "constant_column"]),
    seed=st.integers(0, 2**32 - 1),
    n=st.one_of(st.integers(1, 90), st.integers(1001, 1150)),
    k=st.integers(1, 6),
    block_size=st.integers(1, 50),
    npartitions=st.integers(1, 5),
)
def test_groups_of_k_and_an_accurate_exact_transform(make, seed, n, k, block_size, npartitions):
    n = max(n, k)
    X = numbers(TABLES[make](np.random.default_rng(seed), n, 3), npartitions=npartitions)
    aggregator = DaskTableAggregator(
        k=k, block_size=block_size, sample_size=1000, shuffle="disk", random_state=seed
    )
    release = aggregator.fit_transform(X).compute()
    assert anonymity_level(release) >= k
    assert aggregator.group_sizes_.min() >= k
    assert aggregator.block_sizes_.min() >= min(2 * k, n)
    assert aggregator.block_sizes_.sum() == n
    moved = aggregator.transform(X).compute()
    # Split twins may lie in the cell of another group, which is released alike.
    are_alike = len(rows_of(release)) < aggregator.n_groups_
    assert aggregator.exact_transform_ == moved.equals(release) or (
        are_alike and not aggregator.exact_transform_
    )
    assert rows_of(moved) <= rows_of(release)


# Rows stay where they are


@pytest.mark.slow
@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_index_and_divisions_are_kept(table, index):
    table = table.set_axis(index, axis=0)
    X = dd.from_pandas(table, npartitions=4, sort=table.index.is_monotonic_increasing)
    parameters = {"k": 3, "refiner": "exchange", "block_size": 90}
    release = DaskTableAggregator(quasi_identifiers=NAMES, **parameters).fit_transform(X)
    assert_is_release(release, X, **parameters)
    assert release.divisions == X.divisions
    assert release.npartitions == X.npartitions
    for part in range(X.npartitions):
        pd.testing.assert_index_equal(
            release.get_partition(part).compute().index, X.get_partition(part).compute().index
        )


@pytest.mark.slow
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("npartitions", [1, 7])
def test_number_of_partitions(table, sort, npartitions):
    X = dd.from_pandas(table, npartitions=3, sort=sort)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner="exchange")
    release = aggregator.fit_transform(X, npartitions=npartitions)
    assert release.npartitions == npartitions
    assert_is_release(release, X, k=3, refiner="exchange")
    moved = aggregator.transform(X, npartitions=npartitions)
    assert moved.npartitions == npartitions
    pd.testing.assert_frame_equal(moved.compute(), release.compute())


def test_columns_may_be_in_another_order(X):
    names = ["share", "age", "income"]
    release = DaskTableAggregator(k=3, quasi_identifiers=names, refiner=None).fit_transform(X)
    assert list(release.columns) == list(X.columns)
    assert_is_release(release, X, k=3, refiner=None)


@pytest.mark.parametrize("columns", ["income", ("income",)])
def test_one_quasi_identifier(X, columns):
    release = DaskTableAggregator(k=3, quasi_identifiers=columns).fit_transform(X)
    expected = TableAggregator(k=3, quasi_identifiers="income").fit_transform(X.compute())
    pd.testing.assert_frame_equal(release.compute(), expected)


@pytest.mark.slow
@by_turns(names=[[0, 1, 2], ["self", "frame", "cls"], ["part", "block", "x0"]])
def test_any_column_names(table, shuffle, names):
    table = table[NAMES].set_axis(names, axis=1)
    parameters = {"k": 3, "refiner": "exchange"}
    aggregator = DaskTableAggregator(quasi_identifiers=names, shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(dd.from_pandas(table, npartitions=2))
    assert list(release.columns) == names
    expected = TableAggregator(**parameters).fit_transform(table)
    pd.testing.assert_frame_equal(release.compute(), expected)


@pytest.mark.slow
@every_shuffle
def test_an_empty_partition(table, shuffle):
    X = from_parts([table[:100], table[100:100], table[100:], table[:0]])
    parameters = {"k": 3, "refiner": "exchange"}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(X)
    assert_is_release(release, X, **parameters)
    assert list(release.map_partitions(len).compute()) == [100, 0, 200, 0]


@pytest.mark.slow
@every_shuffle
def test_partitions_of_one_row(table, shuffle):
    X = from_parts([table[i : i + 1] for i in range(15)])
    parameters = {"k": 3, "refiner": "exchange", "block_size": 7}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(X)
    assert_is_release(release, X, **parameters)
    assert list(release.map_partitions(len).compute()) == [1] * 15


@pytest.mark.slow
def test_the_table_of_the_user_is_left_alone(table):
    before = table.copy()
    DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner=None).fit_transform(
        dd.from_pandas(table, npartitions=3)
    )
    pd.testing.assert_frame_equal(table, before)
