"""A pipe can be read only once."""

import gzip
import os
import shlex
import threading
from contextlib import suppress

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")

# Several times what a pipe holds, and what is checked first.
N_ROWS = 2000
CELLS = ["ab"[i % 2] * 100 for i in range(N_ROWS)]
CONTENT = "\n".join(["x,y,z", *(f"{i % 50},{i % 3},{z}" for i, z in enumerate(CELLS)), ""]).encode()


@pytest.fixture
def pipe(tmp_path):
    """Make a pipe to which some bytes are written once: it is empty when it is opened again."""
    writers = []
    is_over = threading.Event()

    def pipe(name, content, n_bytes_at_a_time=5000):
        path = tmp_path / name
        os.mkfifo(path)

        def write():
            with open(path, "wb", buffering=0) as file:
                for start in range(0, len(content), n_bytes_at_a_time):
                    file.write(content[start : start + n_bytes_at_a_time])
            while not is_over.wait(0.05):
                with suppress(OSError):  # Nobody reads.
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))

        writers.append(threading.Thread(target=write, daemon=True))
        writers[-1].start()
        return path

    yield pipe
    is_over.set()
    for writer in writers:
        writer.join(10)
        assert not writer.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pipe.csv", "pipe", "pipe.csv.gz"])
def test_no_row_is_lost(run, pipe, tmp_path, cells, name):
    path = pipe(name, gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)
    output = tmp_path / "out.csv"
    outcome = run("anonymize", path, output, "-q", "x,y", "--refiner", "none")
    assert outcome.code == 0
    assert f"records           {N_ROWS}\n" in outcome.out
    # All rows of a group are equal, so nothing changes.
    assert output.read_bytes().count(b"\n") == N_ROWS + 1
    assert cells(output)["z"] == CELLS


def test_risk(run, pipe, write):
    outcome = run("risk", pipe("pipe.csv", CONTENT), write("t.csv", CONTENT), "-q", "x")
    assert outcome.code == 0
    assert f"records           {N_ROWS}\n" in outcome.out


def test_a_header_that_comes_late(run, pipe, tmp_path):
    path = pipe("pipe.csv", b"x,y\n1,2\n3,4\n", n_bytes_at_a_time=1)
    assert run("anonymize", path, tmp_path / "out.csv", "-k", 2).code == 0
    assert (tmp_path / "out.csv").read_text() == "x,y\n2,3\n2,3\n"


@pytest.mark.slow
@pytest.mark.parametrize("is_file", [False, True])
def test_standard_input(run, tmp_path, write, is_file):
    path, before = write("t.csv", CONTENT), os.dup(0)
    with open(path, "rb") if is_file else os.popen(f"cat {shlex.quote(str(path))}") as file:
        os.dup2(file.fileno(), 0)
        try:
            arguments = ["/dev/stdin", tmp_path / "out.csv", "-q", "x,y", "--refiner", "none"]
            assert run("anonymize", *arguments, "--quiet").code == 0
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert (tmp_path / "out.csv").read_bytes().count(b"\n") == N_ROWS + 1


@pytest.mark.parametrize("arguments", [["out.csv"], ["out", "--engine", "dask"]])
def test_parquet_needs_a_file(fails, tmp_path, arguments):
    path = tmp_path / "pipe.parquet"
    os.mkfifo(path)  # Nobody writes to it: who opened it would wait.
    name, *engine = arguments
    line = fails("anonymize", path, tmp_path / name, *engine)
    assert line.endswith("is not a file: Parquet cannot be read from a pipe, but CSV can be.")
