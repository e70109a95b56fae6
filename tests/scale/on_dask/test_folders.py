"""Folders and pickles keep models, but no rows."""

import gc
import pickle

import numpy as np
import pandas as pd
import pytest
from marks import exact_means

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
from example_tables.on_dask import (  # noqa: E402
    NAMES,
    Fails,
    assert_is_release,
    every_shuffle,
    rows_of,
)

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")


def left_in(folder):
    """Contents of a folder of temporary files, without empty folders of Dask."""
    return [path for path in folder.rglob("*") if path.suffix != ".partd"]


@exact_means
@pytest.mark.slow
@every_shuffle
def test_a_folder_holds_the_model_and_no_training_row(table, X, tmp_path, shuffle, small_bundles):
    aggregator = DaskTableAggregator(
        k=2,
        quasi_identifiers=NAMES,
        decimals=None,
        block_size=60,
        shuffle=shuffle,
        folder=tmp_path,
    )
    release = rows_of(aggregator.fit_transform(X)[NAMES].compute())
    gc.collect()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 1
    assert {path.suffix for path in files} == {".npz"}
    values = table[NAMES].to_numpy()
    training_rows = rows_of(values) | rows_of(aggregator._space._space._scaler.transform(values))
    found = set()
    for path in files:
        with np.load(path) as arrays:
            for name, array in arrays.items():
                assert array.ndim == 1 or not rows_of(array) & training_rows, name
                found |= rows_of(array) if array.ndim == 2 else set()
    # Rows would be found if there were any.
    assert release <= found


@pytest.mark.slow
@every_shuffle
def test_temporary_folders_go_away_with_estimator_and_release(X, temporary, shuffle):
    aggregator = DaskTableAggregator(
        k=3, quasi_identifiers=NAMES, refiner="exchange", shuffle=shuffle
    )
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


@pytest.mark.slow
@every_shuffle
def test_after_fit_there_is_only_the_model(X, temporary, shuffle):
    aggregator = DaskTableAggregator(
        k=3, quasi_identifiers=NAMES, refiner="exchange", shuffle=shuffle
    ).fit(X)
    aggregator.transform(X).compute()
    gc.collect()
    assert [path.name for path in left_in(temporary) if path.is_file()] == ["bundle-000000.npz"]


@pytest.mark.slow_but_first
@every_shuffle
def test_rows_do_not_outlive_a_failure(X, temporary, shuffle):
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, builder=Fails(), shuffle=shuffle)
    with pytest.raises(RuntimeError, match="no groups today") as caught:
        aggregator.fit(X)
    # Not even as long as the error is looked at.
    assert not list(temporary.rglob("rows-*"))
    del caught
    gc.collect()
    assert left_in(temporary) == []


@pytest.mark.slow
@every_shuffle
def test_a_release_outlives_its_estimator(X, shuffle):
    parameters = {"k": 3, "refiner": "exchange", "block_size": 60}
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle, **parameters)
    release = aggregator.fit_transform(X)
    part = release.partitions[1:]["age"] + 1
    del aggregator
    gc.collect()
    assert_is_release(release, X, **parameters)
    assert_is_release(release, X, **parameters)  # once more
    expected = release.compute()["age"][100:] + 1
    del release
    gc.collect()
    pd.testing.assert_series_equal(part.compute(), expected)


@pytest.mark.slow
@every_shuffle
def test_a_pickled_estimator_with_a_folder_can_be_used(X, new, tmp_path, shuffle):
    new = dd.from_pandas(new, npartitions=2)
    aggregator = DaskTableAggregator(
        k=3,
        quasi_identifiers=NAMES,
        refiner="exchange",
        folder=tmp_path / "f",
        shuffle=shuffle,
    )
    moved = aggregator.fit(X).transform(new).compute()
    pickled = pickle.dumps(aggregator)
    del aggregator
    gc.collect()
    loaded = pickle.loads(pickled)
    pd.testing.assert_frame_equal(loaded.transform(new).compute(), moved)


@pytest.mark.slow_but_first
@every_shuffle
def test_a_pickled_estimator_holds_no_training_row(table, X, shuffle):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, shuffle=shuffle).fit(X)
    pickled = pickle.dumps(aggregator)
    values = table[NAMES].to_numpy()
    for row in [*values, *aggregator._space._space._scaler.transform(values)]:
        assert row.tobytes() not in pickled
    assert aggregator._space._space._scaler.mean_.tobytes() in pickled


@pytest.mark.slow
def test_two_models_in_one_folder(X, new, tmp_path):
    new = dd.from_pandas(new, npartitions=2)
    parameters = {"quasi_identifiers": NAMES, "refiner": "exchange", "folder": tmp_path}
    first = DaskTableAggregator(k=3, **parameters).fit(X)
    moved = first.transform(new).compute()
    DaskTableAggregator(k=9, **parameters).fit(X)
    pd.testing.assert_frame_equal(first.transform(new).compute(), moved)
