"""What is refused before anything is read."""

import pytest

from sk_microagg._utils._writing import SUFFIXES_OF_REPORTS
from sk_microagg.release import ReleaseRequest, RequestError
from sk_microagg.release._checks import IN_MEMORY, check_request

DISJOINT = {"release": "generalized", "intervals": "disjoint"}


def refused_at_once(path, output, **settings):
    with pytest.raises(RequestError) as caught:
        check_request(ReleaseRequest(path, output, **settings))
    return caught.value


GIVEN = {"ordinal": ["x"], "date": ["x"], "number": ["x"], "categories": "mode", "na": ["-"]}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_what_only_tables_in_memory_can_be_asked_for(write, tmp_path, name):
    path = write("broken.parquet", "not Parquet")
    given = {name: GIVEN.get(name, "x")}
    error = refused_at_once(path, tmp_path / "out", engine="dask", **given)
    assert error.code == "needs"
    assert (error.facts["option"].name, error.facts["memory"].value) == (name, "memory")


@pytest.mark.parametrize("given", [{"method": "kaim"}, DISJOINT, {"certificate": 3.0}])
def test_what_else_needs_memory(write, tmp_path, given):
    path = write("broken.parquet", "not Parquet")
    error = refused_at_once(path, tmp_path / "out", engine="dask", **given)
    assert error.facts["option"].name in given
    assert error.facts["memory"].value == "memory"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"k": 0}, "bad_value"),
        ({"k": 2.5}, "bad_value"),
        ({"time_limit": float("nan")}, "bad_value"),
        ({"certificate": -1}, "bad_value"),
        ({"method": "average"}, "bad_value"),
        ({"engine": "spark"}, "bad_value"),
        ({"analysis": ["x ~ y"], "card": "card.md"}, "needs"),
        ({"card": "card.pdf"}, "report_name"),
        ({"report": "r.pdf"}, "report_name"),
        ({"report": "-"}, "no_file"),
        ({"report": "nowhere/r.html"}, "cannot_write"),
        ({"report": "t.csv", "overwrite": True}, "same_file"),
        ({"report": "out.csv"}, "same_file"),
        ({"report": "sub/../out.csv"}, "same_file"),
        ({"report": "link.html"}, "same_file"),
        ({"report": "r.html", "categories": "shares"}, "report_of_shares"),
        ({"decimal": ",", "thousands": ","}, "same_marks"),
        ({"sheet": "one"}, "no_sheets"),
        ({"method": "kaim", "builder": "mdav"}, "not_for_method"),
        ({"method": "kaim", "refiner": "exchange"}, "refiner"),
        ({"release": "means"}, "bad_value"),
        ({"release": "generalized", "categories": "mode"}, "not_for_method"),
        ({"refiner": "none", "time_limit": 1}, "refiner"),
    ],
)
def test_settings(write, tmp_path, monkeypatch, settings, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.html").symlink_to("out.csv")
    write("t.csv", "a\n1\n")
    check_request(ReleaseRequest("t.csv", "out.csv"))
    assert refused_at_once("t.csv", "out.csv", **settings).code == code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("out.xls", "suffix"),
        ("nowhere/out.csv", "cannot_write"),
        ("t.csv/out.csv", "cannot_write"),
        ("t.csv", "same_file"),
        ("", "suffix"),
        ("taken.csv", "exists"),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_targets(write, tmp_path, monkeypatch, name, code, overwrite):
    monkeypatch.chdir(tmp_path)
    write("t.csv", "a\n1\n")
    write("taken.csv", "before")
    if code == "exists" and overwrite:
        check_request(ReleaseRequest("t.csv", name, overwrite=True))
    else:
        assert refused_at_once("t.csv", name, overwrite=overwrite).code == code


def test_paths_on_dask(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("in", "empty"):
        (tmp_path / folder).mkdir()
    write("t.csv", "a\n1\n")
    (tmp_path / "in" / "part.parquet").touch()
    for path, output, code in [
        ("empty", "out", "no_parquet"),
        ("nowhere", "out", "cannot_read"),
        ("t.csv", "out", "no_parquet"),
        ("in", "out.csv", "no_parquet"),
        ("in", "in/out", "inside"),
        ("in", "in", "same_file"),
        ("in", "empty", "is_folder"),
    ]:
        error = refused_at_once(path, output, engine="dask", overwrite=True)
        assert error.code == code
    check_request(ReleaseRequest("in", "out", engine="dask"))
    check_request(ReleaseRequest("in", "out.parquet"))
    assert refused_at_once("in", "in/out.parquet").code == "inside"


@pytest.mark.parametrize("suffix", [*SUFFIXES_OF_REPORTS, ".HTML"])
def test_names_of_reports(write, tmp_path, suffix):
    path = write("t.csv", "a\n1\n")
    check_request(ReleaseRequest(path, tmp_path / "out.csv", report=tmp_path / f"r{suffix}"))
