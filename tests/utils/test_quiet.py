"""What HiGHS prints on its own is removed from standard output, and nothing else is."""

import ctypes
import errno
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

from sk_microagg._utils._quiet import without_lines_of_highs
from sk_microagg.refiners import _cover

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="prints through the C library")

LINE = b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();"


def print_in_c(text):
    """Print a line as C code does: into a buffer of the C library."""
    ctypes.CDLL(None).puts(text)


def test_lines_of_highs_are_removed_and_all_others_stay_in_order(capfd):
    print_in_c(b"1, before")
    with without_lines_of_highs():
        print_in_c(LINE)
        print_in_c(b"2, in C")
        ctypes.CDLL(None).fflush(None)
        os.write(1, b"3, without a newline, ")
        print_in_c(LINE)
        print_in_c(LINE)
        ctypes.CDLL(None).fflush(None)
        os.write(1, b"4, Highs\n")
    os.write(1, b"5, after\n")
    assert capfd.readouterr().out == (
        "1, before\n2, in C\n3, without a newline, 4, Highs\n5, after\n"
    )


def test_output_of_other_threads_comes_out_when_any_block_ends(capfd):
    is_inside, may_leave = threading.Event(), threading.Event()

    def solve():
        with without_lines_of_highs():
            print_in_c(LINE)
            is_inside.set()
            assert may_leave.wait(60)
            print_in_c(LINE)
            os.write(1, b"second\n")

    thread = threading.Thread(target=solve)
    with without_lines_of_highs():
        thread.start()
        assert is_inside.wait(60)
        os.write(1, b"first\n")
        print_in_c(LINE)
    # The other block is still active.
    assert capfd.readouterr().out == "first\n"
    may_leave.set()
    thread.join()
    assert capfd.readouterr().out == "second\n"
    os.write(1, b"third\n")
    assert capfd.readouterr().out == "third\n"


def test_many_threads_lose_nothing(capfd):
    def solve(number):
        for i in range(50):
            with without_lines_of_highs():
                print_in_c(LINE)
                os.write(1, f"{number} {i}\n".encode())

    threads = [threading.Thread(target=solve, args=(number,)) for number in range(4)]
    n_descriptors = len(os.listdir("/dev/fd"))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    printed = capfd.readouterr().out.splitlines()
    assert sorted(printed) == sorted(f"{number} {i}" for number in range(4) for i in range(50))
    assert len(os.listdir("/dev/fd")) == n_descriptors


def test_nested_blocks(capfd):
    with without_lines_of_highs():
        with without_lines_of_highs():
            print_in_c(LINE)
        print_in_c(LINE)
        os.write(1, b"kept\n")
    assert capfd.readouterr().out == "kept\n"


def test_an_error_ends_the_block(capfd):
    def fail():
        with without_lines_of_highs():
            print_in_c(LINE)
            os.write(1, b"why\n")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "why\nafter\n"


def test_without_a_place_for_a_file_nothing_is_diverted(capfd, monkeypatch):
    def full():
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    n_descriptors = len(os.listdir("/dev/fd"))
    with without_lines_of_highs():
        os.write(1, b"kept\n")
    assert capfd.readouterr().out == "kept\n"
    assert len(os.listdir("/dev/fd")) == n_descriptors


def test_no_place_for_a_second_file(capfd, monkeypatch):
    def full():
        raise OSError(errno.ENOSPC, "No space left")

    with without_lines_of_highs():
        with without_lines_of_highs():
            os.write(1, b"first\n")
            monkeypatch.setattr(tempfile, "TemporaryFile", full)
        os.write(1, b"second\n")
        assert capfd.readouterr().out == "first\nsecond\n"
    os.write(1, b"third\n")
    assert capfd.readouterr().out == "third\n"


@pytest.mark.slow
def test_a_closed_standard_output():
    code = """
import os
from sk_microagg._utils._quiet import without_lines_of_highs
os.close(1)
with without_lines_of_highs():
    pass
try:
    os.fstat(1)
except OSError:
    raise SystemExit(7)
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_the_solver_is_silenced(capfd, monkeypatch):
    def talkative_milp(*arguments, **settings):
        print_in_c(LINE)
        return milp(*arguments, **settings)

    milp = _cover.milp
    monkeypatch.setattr(_cover, "milp", talkative_milp)
    catalog = _cover._Catalog({(0, 1): 1.0, (2, 3): 1.0, (0, 1, 2, 3): 5.0}, 4)
    labels = catalog.best_cover(np.arange(4), 100, 10.0)
    assert labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert capfd.readouterr().out == ""
