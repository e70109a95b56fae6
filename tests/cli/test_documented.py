"""The transcripts in the documentation are what the commands print."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("dask.dataframe")
# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

ROOT = Path(__file__).parents[2]


def transcript(page):
    """Pairs of a command and what it prints."""
    text = (ROOT / "doc" / f"{page}.rst").read_text()
    blocks = re.findall(r"^\.\. code-block:: console\n\n((?: {4}.*\n|\n)+)", text, re.M)
    text = "".join(re.sub("^ {4}", "", block, flags=re.M).rstrip("\n") + "\n" for block in blocks)
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def timeless(printed):
    """Remove what depends on the speed of the machine: seconds, and the figures of a proof."""
    printed = re.sub(r"(?m)^(seconds +)\d+\.\d$", r"\1-", printed)
    return re.sub(r"(?ms)^certificate .*?(?=^\S)", _without_figures, printed)


def _without_figures(certificate):
    return re.sub(r"[\d.]+%", "-%", " ".join(certificate[0].split())) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(("page", "n_expected"), [("command_line", 28), ("how_good", 2)])
def test_transcript(run, tmp_path, monkeypatch, page, n_expected):
    monkeypatch.chdir(tmp_path)
    n_commands = 0
    for line, printed in transcript(page):
        command, *arguments = shlex.split(line)
        n_commands += 1
        if command == "sk-microagg":
            outcome = run(*arguments)
            assert timeless(outcome.err + outcome.out) == timeless(printed), line
        elif command == "python":
            exec(arguments[1], {})
        elif command == "head":
            lines = Path(arguments[1]).read_text().splitlines(keepends=True)
            assert "".join(lines[: -int(arguments[0])]) == printed
        elif Path(arguments[0]).exists():
            assert Path(arguments[0]).read_text() == printed
        else:  # What is shown first is given.
            Path(arguments[0]).parent.mkdir(exist_ok=True)
            Path(arguments[0]).write_text(printed)
    assert n_commands == n_expected


def test_commands_of_the_readme(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(next(transcript("command_line"))[1])
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    \.venv/bin/sk-microagg (.*)$", readme, re.MULTILINE)
    assert [run(*shlex.split(command)).code for command in commands] == [0, 0]
    assert Path("report.html").exists()
