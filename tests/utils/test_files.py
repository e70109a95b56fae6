"""Files and folders that appear only when they are complete."""

import errno
import shutil
from pathlib import Path

import pytest

from sk_microagg._utils._writing import (
    TemporaryFolder,
    released_folder,
    remove_folder,
    written_whole,
)


def test_a_file_that_cannot_be_written(tmp_path):
    def write():
        with written_whole(tmp_path / "file") as draft:
            draft.write_text("half a row")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_completed_leaves_nothing(tmp_path):
    def write():
        with released_folder(tmp_path / "release") as draft:
            (draft / "part").write_text("a row")
            raise ValueError("below k")

    with pytest.raises(ValueError, match="below k"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_during_the_removal_is_removed(tmp_path, monkeypatch):
    folder = tmp_path / "rows"
    folder.mkdir()
    remove = shutil.rmtree

    def remove_too_early(path, **options):
        monkeypatch.setattr(shutil, "rmtree", remove)
        (Path(path) / "late").write_text("a row")

    monkeypatch.setattr(shutil, "rmtree", remove_too_early)
    remove_folder(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_removed_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = TemporaryFolder("rows", "part-")
    assert len(list((tmp_path / "rows").iterdir())) == 1
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    folder.remove()
    assert list((tmp_path / "rows").iterdir()) == []


def test_a_signal_right_after_a_folder_was_made(tmp_path, monkeypatch):
    make = Path.mkdir

    def make_and_leave(path, *arguments):
        make(path, *arguments)
        raise SystemExit(143)

    monkeypatch.setattr(Path, "mkdir", make_and_leave)
    with pytest.raises(SystemExit):
        TemporaryFolder(tmp_path, "rows-")
    assert list(tmp_path.iterdir()) == []
