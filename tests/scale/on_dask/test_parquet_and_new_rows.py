"""DaskTableAggregator from and into Parquet folders, and on rows that it was not fitted on."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sk_microagg import TableAggregator

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
from example_tables.on_dask import (  # noqa: E402
    INDEXES,
    NAMES,
    Fails,
    assert_is_release,
    assert_unfitted,
    by_turns,
    draw,
    from_parts,
    rows_of,
)

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

# Parquet folders


@pytest.mark.slow
def test_from_a_parquet_folder(X, tmp_path):
    path = tmp_path / "table"
    X.to_parquet(path)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    release = aggregator.fit_transform(str(path))
    assert_is_release(release, X, k=3)
    for read in (path, str(path)):
        pd.testing.assert_frame_equal(aggregator.transform(read).compute(), release.compute())
    assert clone(aggregator).fit(path).n_rows_ == 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shuffle", "as_path"), [("disk", str), ("memory", lambda path: path)], ids=["str", "Path"]
)
def test_release_into_a_parquet_folder(X, tmp_path, shuffle, as_path):
    path = tmp_path / "new" / "release"
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, shuffle=shuffle)
    release = aggregator.fit_transform(X, path=as_path(path))
    assert_is_release(release, X, k=3)
    assert release.npartitions == X.npartitions
    assert_is_release(dd.read_parquet(path), X, k=3)
    # One file per partition, and nothing else.
    names = [f"part.00000{part}.parquet" for part in range(3)]
    assert sorted(file.name for file in path.iterdir()) == names
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_pandas_reads_the_index_of_a_release(table, tmp_path, index):
    table = table.set_axis(index, axis=0)
    X = dd.from_pandas(table, npartitions=4, sort=table.index.is_monotonic_increasing)
    parameters = {"quasi_identifiers": NAMES, "refiner": "exchange"}
    DaskTableAggregator(k=3, **parameters).fit_transform(X, path=tmp_path / "release")
    table = pd.read_parquet(tmp_path / "release")
    assert table.index.name == X.index.name
    assert_array_equal(table.index, X.index.compute())
    assert_array_equal(table["visits"], X["visits"].compute())


def test_parts_of_a_range_keep_their_index_on_disk(table, tmp_path):
    X = from_parts([table[:100], table[100:]])  # Dask does not know where these begin.
    release = DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner=None).fit_transform(
        X, path=tmp_path / "release"
    )
    assert_array_equal(release.index.compute(), table.index)


@pytest.mark.slow
def test_a_release_in_fewer_files(X, tmp_path):
    path = tmp_path / "release"
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner=None)
    release = aggregator.fit_transform(X, path=path, npartitions=1)
    assert_is_release(release, X, k=3, refiner=None)
    assert len(list(path.iterdir())) == release.npartitions == 1


@pytest.mark.slow
def test_new_rows_into_a_parquet_folder(X, new, tmp_path):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner="exchange").fit(X)
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
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
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
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, builder=Fails())
    with pytest.raises(OSError, match=r"^path="):
        aggregator.fit_transform(X, path=tmp_path / path)
    assert_unfitted(aggregator)


def test_parts_that_dask_would_join(table, tmp_path):
    for number in range(2):
        part = table[["age", "income", "visits"]][150 * number : 150 * (number + 1)]
        part.to_parquet(tmp_path / f"{number}.parquet")
    X = dd.read_parquet(tmp_path).reset_index()[["visits", "age"]]
    release = DaskTableAggregator(k=3, quasi_identifiers=["age"], refiner=None).fit_transform(X)
    assert_array_equal(release["visits"].compute(), table["visits"])


# New rows


@pytest.mark.slow
@by_turns(block_size=[None, 200])
def test_transform_of_the_training_data_is_the_release(shuffle, block_size, small_bundles):
    X = dd.from_pandas(draw(1100), npartitions=3)
    aggregator = DaskTableAggregator(
        k=3,
        quasi_identifiers=NAMES,
        block_size=block_size,
        sample_size=1000,
        shuffle=shuffle,
        random_state=0,
    )
    release = aggregator.fit_transform(X)
    assert aggregator.exact_transform_
    moved = aggregator.transform(X)
    pd.testing.assert_frame_equal(moved.compute(), release.compute())
    assert moved.divisions == X.divisions


@pytest.mark.slow
@by_turns(refiner=[None, "exchange"])
def test_new_rows_are_transformed_as_in_memory(table, X, new, shuffle, refiner, small_bundles):
    parameters = {"k": 3, "refiner": refiner, "block_size": 60}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(X)
    rows = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(rows)
    in_memory = TableAggregator(quasi_identifiers=NAMES, **parameters)
    expected = in_memory.fit(table).transform(rows.compute())
    pd.testing.assert_frame_equal(moved.compute(), expected)
    assert rows_of(moved[NAMES].compute()) <= rows_of(release[NAMES].compute())
    # Rows for some of the blocks only, or for none at all.
    for few in (new[:3], new[:0]):
        few_moved = aggregator.transform(dd.from_pandas(few, npartitions=1))
        assert_array_equal(few_moved[NAMES].compute(), expected[NAMES][: len(few)])


@pytest.mark.slow
def test_new_rows_may_have_other_columns(X, new):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner="exchange").fit(X)
    other = new[["share", "income", "age"]].assign(remark="new")
    moved = aggregator.transform(dd.from_pandas(other, npartitions=2))
    expected = aggregator.transform(dd.from_pandas(new, npartitions=2))
    assert list(moved.columns) == ["share", "income", "age", "remark"]
    assert_array_equal(moved[NAMES].compute(), expected[NAMES].compute())
    assert set(moved["remark"].compute()) == {"new"}


@pytest.mark.slow
@by_turns(types=[("f4", "f8"), ("f8", "f4"), ("f4", "int64")])
def test_new_rows_get_the_types_of_the_release(table, new, shuffle, types):
    table, new = table[NAMES].astype(types[0]), new[NAMES].astype(types[1])
    aggregator = DaskTableAggregator(k=3, refiner="exchange", shuffle=shuffle)
    release = aggregator.fit_transform(dd.from_pandas(table, npartitions=2))
    moved = aggregator.transform(dd.from_pandas(new, npartitions=2))
    assert set(moved.compute().dtypes) == set(release.dtypes)
    assert set(moved.dtypes) == set(release.dtypes)
    in_memory = TableAggregator(k=3, refiner="exchange").fit(table)
    assert_array_equal(moved.compute(), in_memory.transform(new))


@pytest.mark.slow
def test_one_shuffle_can_follow_another(X, new):
    aggregator = DaskTableAggregator(
        k=3, quasi_identifiers=NAMES, shuffle="memory", block_size=60
    ).fit(X)
    rows = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(rows).compute()
    pd.testing.assert_frame_equal(
        aggregator.set_params(shuffle="disk").transform(rows).compute(), moved
    )


@pytest.mark.slow
def test_without_a_refiner_transform_is_not_exact(X):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, refiner=None, block_size=90)
    release = aggregator.fit_transform(X)
    assert not aggregator.exact_transform_
    assert not aggregator.transform(X).compute().equals(release.compute())
