"""The constraint with an option that the documentation shows."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "doc" / "extending.rst"


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

    def run(*arguments):
        command = [sys.executable, "-P", str(script), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    options = ["-k", "3", "--sensitive", "income", "--spread", "2"]
    done = run("anonymize", "in.csv", "out.csv", *options)
    assert done.returncode == 0, done.stderr
    words = "spread            income: the numbers of a group differ by at least 2, as demanded"
    assert words in done.stdout.splitlines()
    spread = pd.read_csv(tmp_path / "out.csv").groupby("age")["income"].agg(np.ptp)
    assert spread.min() >= 2
    assert "--spread S" in run("anonymize", "--help").stdout
    failed = run("anonymize", "in.csv", "other.csv", "-k", "3", "--spread", "2")
    assert failed.returncode == 1
    assert "--spread 2 needs --sensitive" in failed.stderr
