"""A batch system ends the process, or its terminal is closed: no row stays on disk.

Until then nobody else can read the rows.
"""

import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="Dask is an extra")


pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows ends processes in another way")

COMMAND = [sys.executable, "-P", "-m", "sk_microagg"]
ON_DASK = ["anonymize", "in.parquet", "out", "--engine", "dask"]


@pytest.fixture
def start(tmp_path):
    """Start a command in a folder with a table; return the process when rows are in transit."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 6)))
    table.set_axis(list("abcdef"), axis=1).to_parquet(tmp_path / "in.parquet")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    processes = []

    def start(command, **settings):
        environment = os.environ | {"TMPDIR": str(temporary)}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, **settings)
        processes.append(process)
        deadline = time.monotonic() + 60
        while not list(temporary.glob("rows-*/rows-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def is_clean(folder):
    return sorted(path.name for path in folder.iterdir()) == ["in.parquet", "temporary"] and not [
        *(folder / "temporary").iterdir()
    ]


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
def test_rows_on_their_way_are_private_and_removed(start, tmp_path):
    before = os.umask(0)
    process = start([*COMMAND, *ON_DASK])
    os.umask(before)
    assert not is_clean(tmp_path)
    # What it leaves if it is killed now.
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    left = [*(tmp_path / "temporary").iterdir(), *tmp_path.glob(".out.*")]
    assert {path.name.split("-")[0].split(".")[0] for path in left} >= {"rows", "release", ""}
    for path in left:
        assert mode_of(path) == 0o700
        assert {mode_of(inside) for inside in path.rglob("*")} <= {0o600}
    process.send_signal(signal.SIGCONT)
    for _ in range(3):  # Some send it again and again.
        process.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    assert process.wait(60) == 143
    assert is_clean(tmp_path)


@pytest.mark.slow
def test_a_terminal_that_is_closed(start, tmp_path):
    outer, inner = os.openpty()
    # The terminal becomes that of the session, whose leader gets a signal when it is closed.
    code = (
        "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    command = [sys.executable, "-c", code, *COMMAND[1:], *ON_DASK]
    process = start(command, start_new_session=True, stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    os.close(outer)
    assert process.wait(60) == 129
    assert is_clean(tmp_path)


def test_nohup(run):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run("methods")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
