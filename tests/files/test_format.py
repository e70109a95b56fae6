import os
import sys

import pytest

from sk_microagg.files._format import check_target, suffix_of
from sk_microagg.files._messages import RequestError


@pytest.mark.parametrize(
    ("path", "suffix"),
    [
        ("a.csv", ".csv"),
        ("a.b.CSV", ".csv"),
        ("folder.parquet/a.csv.gz", ".csv.gz"),
        ("a.tsv", ".tsv"),
        ("a.TSV.gz", ".tsv.gz"),
        ("a.parquet", ".parquet"),
    ],
)
def test_suffix(path, suffix):
    assert suffix_of(path) == suffix


@pytest.mark.parametrize("path", ["a", "a.xls", "a.parquet.gz", "csv", "folder.csv/a.txt"])
def test_unknown_suffix(path):
    with pytest.raises(RequestError, match=r"must end in \.csv, \.csv\.gz, .*\.parquet\."):
        suffix_of(path)


def test_a_target_that_exists_needs_force(write):
    path = write("out.csv", "")
    with pytest.raises(RequestError, match=r"exists.*overwrite=True"):
        check_target(path, [], overwrite=False)
    check_target(path, [], overwrite=True)


def test_a_folder_is_never_a_target(tmp_path):
    with pytest.raises(RequestError, match="is a folder"):
        check_target(tmp_path, [], overwrite=True)


@pytest.mark.parametrize("parent", ["nowhere", "file.txt"])
def test_a_target_needs_a_folder(write, tmp_path, parent):
    write("file.txt", "")
    with pytest.raises(RequestError, match="cannot be written"):
        check_target(tmp_path / parent / "out.csv", [], overwrite=False)


def test_a_target_is_none_of_the_other_files(write, tmp_path):
    path = write("in.csv", "")
    (tmp_path / "link.csv").symlink_to(path)
    for same in (path, tmp_path / "." / "in.csv", tmp_path / "link.csv"):
        with pytest.raises(RequestError, match="is the same file"):
            check_target(same, [path], overwrite=True)
    with pytest.raises(RequestError, match="is the same file"):
        check_target(tmp_path / "new.html", [path, tmp_path / "new.html"], overwrite=True)


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(
    "name",
    ["sub/../out.csv", "link.html", "link of link.html", "linked/../out.csv", "other/out.csv"],
)
def test_a_target_by_way_of_links(write, tmp_path, monkeypatch, name, exists):
    (tmp_path / "sub" / "folder").mkdir(parents=True)
    (tmp_path / "linked").symlink_to("sub")  # linked/.. is where sub is
    (tmp_path / "sub" / "linked").symlink_to("folder")
    (tmp_path / "other").symlink_to(tmp_path)
    (tmp_path / "link.html").symlink_to("out.csv")
    (tmp_path / "link of link.html").symlink_to(tmp_path / "linked" / ".." / "link.html")
    monkeypatch.chdir(tmp_path)
    if exists:
        write("out.csv", "")
    with pytest.raises(RequestError, match="is the same file"):
        check_target(name, ["out.csv"], overwrite=True)


def test_dots_after_a_link_lead_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "sub" / "folder").mkdir(parents=True)
    (tmp_path / "linked").symlink_to("sub/folder")
    monkeypatch.chdir(tmp_path)
    check_target("linked/../out.csv", ["out.csv"], overwrite=True)
    with pytest.raises(RequestError, match="is the same file"):
        check_target("linked/../out.csv", ["sub/out.csv"], overwrite=True)


def test_a_second_name_of_a_file(write, tmp_path):
    path = write("in.csv", "")
    (tmp_path / "second.csv").hardlink_to(path)
    with pytest.raises(RequestError, match="is the same file"):
        check_target(tmp_path / "second.csv", [path], overwrite=True)


def test_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # It never says so to root.
    with pytest.raises(RequestError, match="is write-protected"):
        check_target(tmp_path / "out.csv", [], overwrite=False)


@pytest.mark.skipif(sys.platform == "win32", reason="names may be longer there")
def test_a_name_that_is_too_long(tmp_path):
    name = "a" * (os.pathconf(tmp_path, "PC_NAME_MAX") + 1) + ".csv"
    with pytest.raises(RequestError, match="cannot be written"):
        check_target(tmp_path / name, [], overwrite=False)
