"""The commands `methods` and `demo`."""

import inspect
import re
import shlex
import subprocess

import pandas as pd
import pytest

from sk_microagg.builders import BUILDERS
from sk_microagg.datasets import load_visits
from sk_microagg.refiners import REFINERS


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_the_demo_shows_the_patients_of_the_documentation(run, tmp_path, monkeypatch):
    code, printed, _ = run("demo")
    assert code == 0
    assert int(re.search(r"smallest group +(\d+)", printed)[1]) >= 5
    assert int(re.search(r"anonymity level +(\d+)", printed)[1]) >= 5
    assert 300 // 9 <= int(re.search(r"groups +(\d+)", printed)[1]) <= 300 // 5
    assert re.search(r"information loss +\d+\.\d+%", printed)
    assert re.search(r"seconds +\d+\.\d+", printed)
    before, after = (part.splitlines()[:7] for part in printed.split("\n\n")[1:4:2])
    visits = load_visits()
    assert [row.split() for row in before[1:]] == visits.head(6).astype(str).values.tolist()
    assert after[0].split() == [*visits.columns.drop("id")]
    assert [row.split()[-1] for row in after[1:]] == visits["diagnosis"].head(6).tolist()
    # What it says comes next works as it is.
    monkeypatch.chdir(tmp_path)
    for line in printed.splitlines()[-2:]:
        command, *arguments = shlex.split(line)
        assert command == "sk-microagg"
        assert run(*arguments).code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_a_table_to_try_the_commands_on(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "--write", "my visits.csv")
    assert outcome.code == 0
    pd.testing.assert_frame_equal(pd.read_csv("my visits.csv"), load_visits())
    # What it says comes next works as it is.
    command, *arguments = shlex.split(outcome.out.strip().splitlines()[-1])
    assert command == "sk-microagg"
    assert run(*arguments).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "my visits.csv",
        "release.csv",
        "report.html",
    }


@pytest.mark.slow
def test_the_table_needs_no_heavy_package(command, tmp_path):
    # A module that is None cannot be imported.
    without = "import sys; sys.modules |= dict.fromkeys(['pandas', 'scipy', 'sklearn']); "
    without += "from sk_microagg.cli import main; sys.exit(main(['demo', '--write', 'visits.csv']))"
    subprocess.run([*command[:2], "-c", without], cwd=tmp_path, check=True, capture_output=True)
    assert len((tmp_path / "visits.csv").read_text().splitlines()) == 301


def test_a_file_is_overwritten_only_on_demand(run, fails, write):
    path = write("visits.csv", "mine")
    assert "exists: choose another name, or overwrite it with --force" in fails(
        "demo", "--write", path
    )
    assert path.read_text() == "mine"
    assert run("demo", "--write", path, "--force").code == 0
    assert path.read_text().startswith("id,age,")


@pytest.mark.parametrize("name", ["-", "visits.xlsx", "visits"])
def test_the_table_is_a_csv_file(fails, name):
    assert fails("demo", "--write", name) == (
        f"--write {name}: the name of the file must end in .csv."
    )


def test_the_table_needs_a_folder(fails, tmp_path):
    assert "is not a folder" in fails("demo", "--write", tmp_path / "nowhere" / "visits.csv")


def test_a_line_for_each_method(run):
    code, printed, _ = run("methods")
    assert code == 0
    lines = [line.split(maxsplit=1) for line in printed.splitlines() if line.startswith("  ")]
    none = ["none", "Keep the groups as they were built."]
    assert lines == [*summaries(BUILDERS), *summaries(REFINERS), none]


def summaries(methods):
    """Names with the first paragraphs of docstrings, without references."""
    for name, method in methods.items():
        first = " ".join(inspect.getdoc(method).split("\n\n")[0].split())
        yield [name, re.sub(r" \[\d+\]_", "", first)]


def test_none_is_a_refiner(run):
    assert "\n  none  " in run("methods").out
