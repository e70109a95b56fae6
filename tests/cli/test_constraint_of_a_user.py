"""The constraint with an option that the documentation shows."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "doc" / "extending.rst"


# Does what the script does with some arguments, and then what its command line does with others:
# they are imported only once.
RUN = """
import json, sys
from sk_microagg.cli import main

script, first, *others = json.loads(sys.argv[1])

def run(command, *arguments):
    try:
        code = command(*arguments)
    except SystemExit as end:
        code = end.code
    print("exit code", code, flush=True)

sys.argv = [script, *first]
names = {"__name__": "__main__"}
run(exec, compile(open(script, encoding="utf-8").read(), script, "exec"), names)
for arguments in others:
    run(main, arguments)
"""


@pytest.mark.slow
def test_one_file_adds_an_option(tmp_path):
    [code] = re.findall(
        r"code-block:: python\n\n((?:    .*\n|\n)+)", PAGE.read_text(encoding="utf-8")
    )
    script = tmp_path / "spread.py"
    script.write_text(textwrap.dedent(code), encoding="utf-8")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": np.sort(rng.normal(40, 10, 60)), "income": np.arange(60) // 6})
    table.to_csv(tmp_path / "in.csv", index=False)

    commands = [
        ["anonymize", "in.csv", "out.csv", "-k", "3", "--sensitive", "income", "--spread", "2"],
        ["anonymize", "--help-all"],
        ["anonymize", "in.csv", "other.csv", "-k", "3", "--spread", "2"],
    ]
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUN, json.dumps([str(script), *commands])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    released, shown, _ = re.split(r"^exit code ", done.stdout, maxsplit=2, flags=re.MULTILINE)
    assert re.findall(r"^exit code (.*)$", done.stdout, re.MULTILINE) == ["0", "0", "1"]
    words = "spread            income: the numbers of a group differ by at least 2, as demanded"
    assert words in released.splitlines()
    spread = pd.read_csv(tmp_path / "out.csv").groupby("age")["income"].agg(np.ptp)
    assert spread.min() >= 2
    assert "--spread S" in shown
    assert "--spread 2 needs --sensitive" in done.stderr
