"""A batch system ends the process: no row stays on disk."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="Dask is an extra")


@pytest.mark.skipif(os.name == "nt", reason="Windows ends processes in another way")
def test_rows_on_their_way_are_removed(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60_000, 6)))
    table.set_axis(list("abcdef"), axis=1).to_parquet(tmp_path / "in.parquet")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "sk_microagg",
            "anonymize",
            "in.parquet",
            "out",
            "--engine",
            "dask",
        ],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("rows-*/rows-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    assert not list(temporary.glob("rows-*"))
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
