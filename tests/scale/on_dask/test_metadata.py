"""Metadata of a table is not released."""

import json

import numpy as np
import pandas as pd
import pytest

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from example_tables.on_dask import NAMES, draw  # noqa: E402

from sk_microagg.scale import DaskTableAggregator  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

SECRET = "Jane Doe"


@pytest.fixture(name="noted")
def table_with_notes(table):
    """A table whose metadata and categories name a person who is not in its rows."""
    table["town"] = pd.Categorical(table["town"], [*sorted(set(table["town"])), SECRET])
    size = pd.Categorical.from_codes(np.arange(300) % 2, ["small", "tall", SECRET], ordered=True)
    table["size"] = size
    table.attrs = {"made by": SECRET}
    return table


def assert_not_named(release, noted):
    """The person is not named, and the rows are unchanged."""
    for frame in (release._meta, release.compute()):
        assert frame.attrs == {}
        for name in ("town", "size"):
            assert SECRET not in frame[name].cat.categories
    for name in ("town", "size"):
        column = release.compute()[name]
        assert column.tolist() == noted[name].tolist()
        assert column.cat.ordered == noted[name].cat.ordered
        used = noted[name].cat.remove_unused_categories().cat.categories
        assert column.cat.categories.tolist() == used.tolist()


def assert_not_named_in_files(folder):
    for path in folder.rglob("*"):
        assert SECRET.encode() not in path.read_bytes()


@pytest.mark.slow
def test_a_release_does_not_show_metadata(noted):
    X = dd.from_pandas(noted, npartitions=3)
    assert X._meta.attrs
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    assert_not_named(aggregator.fit_transform(X), noted)
    assert_not_named(aggregator.transform(X), noted)
    # What is the user's stays as it was.
    assert noted.attrs == {"made by": SECRET}
    assert SECRET in noted["town"].cat.categories


@pytest.mark.slow
def test_files_of_a_release_do_not_show_metadata(noted, tmp_path):
    X = dd.from_pandas(noted, npartitions=3)
    X.to_parquet(tmp_path / "table")
    with pytest.raises(AssertionError):
        assert_not_named_in_files(tmp_path / "table")
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    aggregator.fit_transform(X, path=tmp_path / "release")
    aggregator.transform(X, path=tmp_path / "moved")
    aggregator.transform(X).to_parquet(tmp_path / "by_dask")
    for name in ("release", "moved", "by_dask"):
        assert_not_named_in_files(tmp_path / name)


def write_with_notes(table, path):
    """Metadata of the table, the schema and a column, as other programs write it."""
    cells = pa.Table.from_pandas(table)
    notes = {**cells.schema.metadata, "remark": SECRET, "PANDAS_ATTRS": json.dumps({"by": SECRET})}
    fields = [field.with_metadata({"remark": SECRET}) for field in cells.schema]
    pq.write_table(cells.cast(pa.schema(fields, notes)), path)


@pytest.mark.slow
def test_metadata_of_a_parquet_folder_is_removed(noted, tmp_path):
    (tmp_path / "table").mkdir()
    for part in range(2):
        path = tmp_path / "table" / f"{part}.parquet"
        write_with_notes(noted[150 * part : 150 * (part + 1)], path)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    release = aggregator.fit_transform(tmp_path / "table", path=tmp_path / "release")
    assert_not_named_in_files(tmp_path / "release")
    assert release.compute().attrs == {}
    assert_not_named(aggregator.transform(tmp_path / "table"), noted)


@pytest.mark.slow
def test_categories_that_only_some_parts_have():
    parts = [draw(60, seed) for seed in range(2)]
    for part, values in zip(parts, (["a", SECRET, "b"], ["c", "b"]), strict=True):
        part["town"] = pd.Categorical([values[0], values[-1]] * 30, values)
    X = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    release = DaskTableAggregator(k=3, quasi_identifiers=NAMES).fit_transform(X)
    assert release.compute()["town"].tolist() == ["a", "b"] * 30 + ["c", "b"] * 30
    assert release.compute()["town"].cat.categories.tolist() == ["a", "b", "c"]
    for part in range(2):
        categories = release.get_partition(part).compute()["town"].cat.categories
        assert categories.tolist() == ["a", "b", "c"]
