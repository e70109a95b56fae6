import re

import pytest

import sk_microagg
from sk_microagg.cli import main


def test_demo_tells_what_was_done(capsys):
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert int(re.search(r"smallest group +(\d+)", printed)[1]) >= 5
    assert int(re.search(r"anonymity level +(\d+)", printed)[1]) >= 5
    assert int(re.search(r"groups +(\d+)", printed)[1]) == 442 // 5
    assert re.search(r"information loss +\d+\.\d%", printed)
    assert re.search(r"seconds +\d+\.\d+", printed)
    before, after = printed.split("First rows before")[1].split("First rows after")
    assert len(before.split()) == len(after.split()) == 7 * 10


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"sk-microagg {sk_microagg.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["anonymise"], ["demo", "table.csv"]])
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: sk-microagg" in capsys.readouterr().err
