"""Messages of DaskTableAggregator when a step fails, and what it leaves behind."""

import errno
import gc
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
import dask  # noqa: E402
from example_tables.on_dask import NAMES, Fails, assert_fit_fails, draw, every_shuffle  # noqa: E402

from sk_microagg.scale import DaskTableAggregator  # noqa: E402
from sk_microagg.tables._coordinates import Coordinates  # noqa: E402

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")


class LeavesOneOut:
    def __repr__(self):
        return "LeavesOneOut()"

    def build(self, X, k):
        return np.minimum(np.arange(len(X)), 1)


@pytest.mark.slow_but_first
@every_shuffle
def test_a_builder_that_fails_leaves_nothing_behind(X, tmp_path, shuffle):
    aggregator = DaskTableAggregator(
        quasi_identifiers=NAMES, builder=Fails(), shuffle=shuffle, folder=tmp_path / "folder"
    )
    assert_fit_fails(aggregator, X, RuntimeError, "no groups today")
    gc.collect()
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.slow_but_first
@every_shuffle
def test_a_group_that_is_too_small_is_refused(X, shuffle):
    aggregator = DaskTableAggregator(
        k=3,
        quasi_identifiers=NAMES,
        builder=LeavesOneOut(),
        refiner=None,
        shuffle=shuffle,
        block_size=60,
    )
    message = r"^builder=LeavesOneOut\(\) returned labels with a group of 1 records: .* k=3\.$"
    assert_fit_fails(aggregator, X, ValueError, message)


@pytest.mark.slow
def test_a_fit_that_fails_keeps_the_state_of_the_last_one(X, new):
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, block_size=60).fit(X)
    new = dd.from_pandas(new, npartitions=2)
    moved = aggregator.transform(new).compute()
    with pytest.raises(RuntimeError, match="no groups today"):
        aggregator.set_params(builder=Fails()).fit(X.partitions[:2])
    assert aggregator.n_rows_ == 300
    pd.testing.assert_frame_equal(aggregator.transform(new).compute(), moved)


@pytest.mark.slow_but_first
@every_shuffle
@pytest.mark.parametrize("below", ["", "sub/folder"])
def test_a_folder_that_cannot_be_made(X, tmp_path, shuffle, below):
    (tmp_path / "file").write_text("precious")
    folder = tmp_path / "file" / below
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, folder=folder, shuffle=shuffle)
    assert_fit_fails(aggregator, X, OSError, f"^folder={str(folder)!r} cannot be written: ")
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.slow_but_first
@every_shuffle
def test_no_place_for_temporary_files(X, temporary, shuffle):
    temporary.rmdir()
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES, shuffle=shuffle)
    assert_fit_fails(aggregator, X, OSError, "folder=.* cannot be written: No such file")


def test_a_path_that_cannot_be_made(X, tmp_path):
    (tmp_path / "file").write_text("precious")
    path = tmp_path / "file" / "release"
    aggregator = DaskTableAggregator(quasi_identifiers=NAMES)
    message = f"^path={str(path)!r}.*Not a directory"
    with pytest.raises(OSError, match=message):
        aggregator.fit_transform(X, path=path)
    aggregator.fit(X)
    with pytest.raises(OSError, match=message):
        aggregator.transform(X, path=path)
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.slow_but_first
@every_shuffle
def test_a_disk_that_is_full_half_way(X, tmp_path, monkeypatch, shuffle):
    write = pd.DataFrame.to_parquet

    def write_until_full(frame, path, **options):
        write(frame, path, **options)
        if "part.000001" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", write_until_full)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, shuffle=shuffle)
    with pytest.raises(OSError, match=r"release.* No space left on device"):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


FILL_A_DISK = """
    import os, resource, signal, sys
    from pathlib import Path

    import dask.dataframe as dd
    import pandas as pd

    from sk_microagg.scale import DaskTableAggregator

    root = Path(sys.argv[1])
    X = dd.from_pandas(pd.read_pickle(root / "table.pickle"), npartitions=2)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for case in sys.argv[2:]:
        shuffle, limit = case.split("-")
        aggregator = DaskTableAggregator(
            k=5, quasi_identifiers=["age", "income", "share"], refiner="exchange", block_size=200,
            shuffle=shuffle, folder=root / case / "folder",
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
    """Folders in which the disk was full in various places, by a limit on the size of files."""
    pytest.importorskip("resource", reason="limits the size of files")
    root = tmp_path_factory.mktemp("full")
    table = draw(2000)
    rng = np.random.default_rng(0)
    table["town"] = [rng.bytes(64).hex() for _ in range(len(table))]
    table.to_pickle(root / "table.pickle")
    command = [sys.executable, "-P", "-c", textwrap.dedent(FILL_A_DISK), root, *FULL_DISKS]
    environment = os.environ | {"TMPDIR": str(root)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return root


@pytest.mark.slow
@pytest.mark.parametrize(("case", "file"), FULL_DISKS.items(), ids=FULL_DISKS)
def test_a_disk_that_is_full(full_disks, case, file):
    said = (full_disks / case / "said").read_text()
    assert re.match(rf"OSError: .*{file}.* cannot be written: .* have room in it\.$", said)
    # Neither a release, nor a draft next to it, nor a row of the user.
    assert {path.name for path in (full_disks / case).iterdir()} == {"folder", "said"}
    rows = pd.read_pickle(full_disks / "table.pickle")[NAMES].to_numpy()
    for path in (full_disks / case / "folder").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not any(row.tobytes() in content for row in rows), path.name


@pytest.mark.slow
def test_a_full_disk_leaves_no_model_behind(full_disks):
    left = (full_disks / "memory-10000" / "folder").rglob("*")
    assert [path.name for path in left] == []


@pytest.mark.parametrize("with_path", [True, False])
def test_a_release_below_k_is_refused(X, tmp_path, monkeypatch, with_path):
    monkeypatch.setattr("sk_microagg.scale._parquet.anonymity_level", lambda release: 1)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    with pytest.raises(RuntimeError, match=r"1 times, .*k=3"):
        aggregator.fit_transform(X, path=tmp_path / "release" if with_path else None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_was_written_is_what_is_checked(X, tmp_path, monkeypatch):
    write = pd.DataFrame.to_parquet

    def write_something_else(frame, path, **options):
        frame = frame.copy()
        if "part.000001" in str(path):
            frame.iloc[0, frame.columns.get_loc("age")] = 7.1
        write(frame, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_parquet", write_something_else)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES)
    with pytest.raises(RuntimeError, match=r"1 times, .*k=3"):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(name="written_late")
def write_late(monkeypatch):
    """Folders that a late thread writes into while they are removed."""
    folders, remove = set(), os.rmdir

    def write_and_remove(path, **options):
        if Path(path) in folders:
            folders.remove(Path(path))
            (Path(path) / "late").write_text("a row")
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", write_and_remove)
    return folders


def test_no_row_stays_if_a_thread_is_late(X, tmp_path, monkeypatch, written_late):
    points = Coordinates.points

    def fail(space, numbers):
        if len(numbers) < 300:  # not the sample, but a part
            written_late.update(tmp_path.iterdir())
            raise OSError(errno.ENOSPC, "No space left on device")
        return points(space, numbers)

    monkeypatch.setattr(Coordinates, "points", fail)
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, folder=tmp_path, shuffle="disk")
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
        DaskTableAggregator(k=3, quasi_identifiers=NAMES).fit_transform(
            X, path=tmp_path / "release"
        )
    assert list(tmp_path.iterdir()) == []


CHANGES = {
    "more rows each time": lambda time: 90 + time,
    "fewer rows each time": lambda time: 90 - time,
    "after the first time": lambda time: 90 if time <= 1 else 100,
    "after the second time": lambda time: 90 if time <= 2 else 100,
}


@pytest.mark.slow_but_first
@every_shuffle
@pytest.mark.parametrize("n_rows", CHANGES.values(), ids=CHANGES)
def test_a_table_that_changes_between_steps(table, tmp_path, shuffle, n_rows):
    times = []

    def read(part):
        times.append(part)
        return table[100 * part : 100 * part + (n_rows(times.count(1)) if part == 1 else 100)]

    parts = [dask.delayed(read, pure=False)(part) for part in range(3)]
    X = dd.from_delayed(parts, meta=table[:0])
    aggregator = DaskTableAggregator(k=3, quasi_identifiers=NAMES, shuffle=shuffle)
    with pytest.raises(RuntimeError, match="X changed on the way"):
        aggregator.fit_transform(X, path=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []
