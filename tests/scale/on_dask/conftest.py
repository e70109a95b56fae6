"""Tables for Dask, which is imported only when a test needs one, since it is an extra."""

import tempfile

import pytest

from sk_microagg.scale import _bundles


@pytest.fixture(scope="module", autouse=True)
def take_few_steps(few_steps):
    """What is done with groups is tested here, not how good they are."""


@pytest.fixture(name="table")
def table_of_300():
    from example_tables.on_dask import draw

    return draw()


@pytest.fixture(name="X")
def dask_table(table):
    import dask.dataframe as dd

    return dd.from_pandas(table, npartitions=3)


@pytest.fixture(name="new")
def table_of_new_rows():
    from example_tables.on_dask import draw

    return draw(n=80, seed=1)


@pytest.fixture(name="small_bundles")
def make_bundles_small(monkeypatch):
    """A task processes two or three blocks of such small tables, not all of them."""
    monkeypatch.setattr(_bundles, "BUNDLE_BYTES", 3000)


@pytest.fixture(name="temporary")
def folder_of_temporary_files(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
