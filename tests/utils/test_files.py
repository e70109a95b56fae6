"""Files and folders that appear only when they are complete."""

import errno

import pytest

from sk_microagg._utils._files import released_folder, written_whole


def test_a_file_that_cannot_be_written(tmp_path):
    def write():
        with written_whole(tmp_path / "file") as draft:
            draft.write_text("half a row")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"file cannot be written: No space left on device\.$"):
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
