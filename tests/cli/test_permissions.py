"""Those who cannot read the table cannot read its release, drafts or report."""

import os
import stat

import numpy as np
import pandas as pd
import pytest

from sk_microagg._utils import _writing
from sk_microagg._utils._writing import (
    TemporaryFolder,
    mode_for,
    released_file,
    released_folder,
    written_whole,
)

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits"),
    # Dask itself causes this warning with newer versions of pandas.
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame"),
]


@pytest.fixture(autouse=True)
def everybody_may_read():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(name="table")
def write_table(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 90, 60), "height": rng.normal(1.7, 0.1, 60)})
    table.to_csv(tmp_path / "in.csv", index=False)
    table.to_parquet(tmp_path / "in.parquet", index=False)
    return tmp_path


# The command line


@pytest.mark.slow_but_first
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666])
def test_a_release_is_as_private_as_the_table(run, table, suffix, mode):
    (table / "in.csv").chmod(mode)
    assert run("anonymize", table / "in.csv", table / f"out{suffix}").code == 0
    assert mode_of(table / f"out{suffix}") == mode & 0o644


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_a_report_is_as_private_as_the_table(run, table):
    pytest.importorskip("matplotlib", reason="draws the report")
    (table / "in.csv").chmod(0o640)
    outcome = run("anonymize", table / "in.csv", table / "out.csv", "--report", table / "r.html")
    assert outcome.code == 0
    assert mode_of(table / "r.html") == 0o640


def test_the_umask_of_the_user_is_respected(run, table):
    (table / "in.csv").chmod(0o666)
    os.umask(0o027)
    assert run("anonymize", table / "in.csv", table / "out.csv").code == 0
    assert mode_of(table / "out.csv") == 0o640


def test_a_table_that_cannot_be_written_to_has_a_release_that_can(run, table):
    (table / "in.csv").chmod(0o444)
    assert run("anonymize", table / "in.csv", table / "out.csv").code == 0
    assert mode_of(table / "out.csv") == 0o644


def test_a_private_file_that_is_replaced_stays_private(run, table):
    (table / "out.csv").touch(0o600)
    assert run("anonymize", table / "in.csv", table / "out.csv", "--force").code == 0
    assert mode_of(table / "out.csv") == 0o600


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [(0o755, 0o644, 0o644), (0o755, 0o640, 0o640), (0o750, 0o644, 0o640), (0o700, 0o644, 0o600)],
    ids=oct,
)
def test_a_folder_on_dask_is_as_private_as_the_table(run, table, folder, file, expected):
    pytest.importorskip("dask.dataframe", reason="Dask is an extra")
    (table / "in").mkdir()
    (table / "in.parquet").rename(table / "in" / "part.parquet")
    (table / "in" / "part.parquet").chmod(file)
    (table / "in").chmod(folder)
    assert run("anonymize", table / "in", table / "out", "--engine", "dask").code == 0
    assert {mode_of(path) for path in (table / "out").iterdir()} == {expected}
    assert mode_of(table / "out") == 0o700 | expected | (expected & 0o444) >> 2


def test_a_release_from_python_is_as_private_as_the_table(table):
    pytest.importorskip("dask.dataframe", reason="Dask is an extra")
    from sk_microagg.scale import DaskTableAggregator

    (table / "in.parquet").chmod(0o600)
    aggregator = DaskTableAggregator(k=5, folder=table / "folder")
    aggregator.fit_transform(table / "in.parquet", path=table / "out")
    aggregator.transform(table / "in.parquet", path=table / "moved")
    private = [table / "out", table / "moved", *(table / "folder").iterdir()]
    assert {mode_of(folder) for folder in private} == {0o700}
    assert {mode_of(file) for folder in private for file in folder.iterdir()} == {0o600}


# Groups


@pytest.mark.parametrize(
    ("mode", "same_group", "other_group"),
    [
        (0o640, 0o640, 0o600),
        (0o644, 0o644, 0o644),
        (0o604, 0o604, 0o600),  # its group is shut out, and may be among the others
        (0o600, 0o600, 0o600),
    ],
    ids=oct,
)
def test_another_group_gets_the_permissions_of_others(
    tmp_path, monkeypatch, mode, same_group, other_group
):
    (tmp_path / "table").touch()
    (tmp_path / "table").chmod(mode)
    assert mode_for(tmp_path / "release", tmp_path / "table") == same_group
    group = (tmp_path / "table").stat().st_gid + 1
    monkeypatch.setattr(_writing, "_given_by_the_system", lambda path: (0o644, group))
    assert mode_for(tmp_path / "release", tmp_path / "table") == other_group


def test_files_that_a_pattern_names(tmp_path):
    for name, mode in (("a.parquet", 0o644), ("b.parquet", 0o640), ("c.csv", 0o600)):
        (tmp_path / name).touch(mode)
    assert mode_for(tmp_path / "release", str(tmp_path / "*.parquet")) == 0o640
    assert mode_for(tmp_path / "release", "s3://bucket/table") == 0o644


def test_a_folder_with_a_broken_link(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "nothing")
    (tmp_path / "in" / "file").touch(0o640)
    assert mode_for(tmp_path / "release", tmp_path / "in") == 0o640


# Drafts


def test_drafts_are_private(tmp_path):
    os.umask(0)
    for context in (written_whole, released_file):
        with context(tmp_path / "file") as draft:
            assert mode_of(draft) == 0o600
            draft.write_text("a row")
            assert mode_of(draft) == 0o600
    assert mode_of(tmp_path / "file") == 0o600  # was private before it was replaced
    with released_file(tmp_path / "other") as draft:
        draft.write_text("a row")
    assert mode_of(tmp_path / "other") == 0o666
    with released_folder(tmp_path / "folder") as draft:
        assert mode_of(draft) == 0o700
        (draft / "file").touch()
    assert mode_of(tmp_path / "folder") == 0o777
    assert mode_of(TemporaryFolder(tmp_path, "rows-").path) == 0o700
    assert sorted(path.name for path in tmp_path.glob(".*")) == []
