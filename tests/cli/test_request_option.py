"""A release that is asked for by a file, and one that may not lose more than some share."""

import pandas as pd
import pytest

from sk_microagg.cli import main

FILE = """\
input = "visits.csv"
output = "release.csv"
k = 4
drop = ["id"]
overwrite = true

[privacy]
l = 2
"""


@pytest.fixture
def visits(run, tmp_path):
    """A folder with a table and a request."""
    assert run("demo", "--write", tmp_path / "visits.csv").code == 0
    (tmp_path / "visits.toml").write_text(FILE + "\n", encoding="utf-8")
    return tmp_path


def test_options_override_a_request(run, visits, monkeypatch):
    request = ["anonymize", "--request", visits / "visits.toml", "--sensitive", "diagnosis"]
    printed = run(*request).out
    assert "smallest group    4" in printed
    assert "2 demanded" in printed
    assert f"written           {visits / 'release.csv'}" in printed
    monkeypatch.chdir(visits)
    other = [*request, "visits.csv", "-k", 7, "other.csv", "--drop", "id,town", "--l", 3]
    printed = run(*other).out
    assert "smallest group    7" in printed
    assert "3 demanded" in printed
    assert "town" not in pd.read_csv(visits / "other.csv")


@pytest.mark.slow
def test_the_command_of_a_report_has_what_the_request_has(run, visits):
    report = visits / "report.json"
    request = ["--request", visits / "visits.toml", "--sensitive", "diagnosis", "--report", report]
    assert run("anonymize", *request).code == 0
    words = "anonymize visits.csv release.csv -k 4 --sensitive diagnosis --drop id --l 2"
    assert words in report.read_text(encoding="utf-8")


def test_what_is_wrong_with_a_request(fails, visits, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("k = 4\nmethod = 'kain'\n")
    line = fails("anonymize", "--request", path, visits / "visits.csv", tmp_path / "out.csv")
    assert line == f"{path}, line 2: method: 'kain' must be one of aggregate, kaim."
    path.write_text("k = 4\n")
    line = fails("anonymize", "--request", path, visits / "visits.csv")
    assert line.startswith(f"{path}: the key output is missing: where to write")


@pytest.mark.parametrize("arguments", [[], ["in.csv"], ["in.csv", "--drop", "id"]])
def test_without_a_request_files_are_needed(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["anonymize", *arguments])
    assert "the following arguments are required: " in capsys.readouterr().err


def test_a_release_that_loses_too_much(run, fails, visits):
    given = visits / "visits.csv", visits / "out.csv", "--drop", "id", "--max-loss"
    report = ["--report", visits / "report.html"]
    line = fails("anonymize", *given, 0.001, *report)
    assert line.startswith("The release loses ")
    assert line.endswith(" more than --max-loss 0.001 allows: nothing was written.")
    assert "more than --max-loss" in fails("anonymize", *given, 0.001, "--method", "kaim")
    assert run("anonymize", *given, 0.9).code == 0


def test_a_release_of_a_series_that_loses_too_much(run, visits):
    given = ["anonymize", visits / "visits.csv", visits / "out.csv", "--unit", "id"]
    given += ["--sensitive", "diagnosis", "--series", visits / "state"]
    refused = run(*given, "--series-begin", "--max-loss", 0.001)
    assert refused.code == 1
    assert "more than --max-loss 0.001 allows" in refused.err
    assert not (visits / "out.csv").exists()
    assert not (visits / "state").exists()
    assert run(*given, "--series-begin", "--max-loss", 0.9).code == 0


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")
def test_a_release_on_dask_that_loses_too_much(run, fails, visits):
    pytest.importorskip("dask.dataframe")
    table = visits / "visits.parquet"
    pd.read_csv(visits / "visits.csv")[["age", "sex"]].to_parquet(table, index=False)
    given = ["anonymize", table, visits / "out", "--engine", "dask", "--max-loss"]
    assert "more than --max-loss 0.001 allows" in fails(*given, 0.001)
    assert fails(*given, 0.5, "--release", "generalized") == (
        "--max-loss with --release generalized needs --engine memory, since the loss is not "
        "measured."
    )
    assert run(*given, 0.9).code == 0


@pytest.mark.parametrize("command", ["anonymize", "explore", "risk", "methods", "demo"])
def test_help_fits_on_two_screens(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 80


def test_the_short_help_names_all_options(capsys):
    shown = []
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit, match="0"):
            main(["anonymize", option])
        words = capsys.readouterr().out.replace(",", " ").split()
        shown.append({word for word in words if word.startswith("-")})
    assert shown[0] >= shown[1] - {"--", "-"}
