"""What HiGHS prints on its own is removed from standard output, and nothing else is."""

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from sk_microagg._utils import _quiet
from sk_microagg._utils._quiet import without_lines_of_highs
from sk_microagg.refiners import _catalog
from sk_microagg.refiners._relaxation import Relaxation

needs_replaceable_stdout = pytest.mark.skipif(
    _quiet._DIVERSION._variable is None,
    reason="only glibc and macOS allow replacing stdout of the C library",
)

LINE = b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();"


def print_in_c(text):
    """Print a line as C code does: into a buffer of the C library."""
    ctypes.CDLL(None).puts(text)


@pytest.fixture
def printed(capfd):
    """Read what has come out of the C library so far, and from elsewhere."""

    def printed():
        ctypes.CDLL(None).fflush(None)
        return capfd.readouterr().out

    printed()
    return printed


@needs_replaceable_stdout
def test_lines_of_highs_are_removed_and_all_others_stay(printed):
    print_in_c(b"before")
    with without_lines_of_highs():
        print_in_c(LINE)
        print_in_c(b"inside")
        print_in_c(LINE)
        print_in_c(LINE)
        print_in_c(b"Highs")
    print_in_c(b"after")
    assert printed() == "before\ninside\nHighs\nafter\n"


@needs_replaceable_stdout
def test_output_that_does_not_come_from_c_is_not_even_delayed(printed):
    with without_lines_of_highs():
        print_in_c(LINE)
        os.write(1, b"written\n")
        subprocess.run(["echo", "echoed"], check=True)
        assert printed() == "written\nechoed\n"
    assert printed() == ""


@needs_replaceable_stdout
def test_a_block_does_not_end_that_of_another_thread(printed):
    is_inside, may_leave = threading.Event(), threading.Event()

    def solve():
        with without_lines_of_highs():
            is_inside.set()
            assert may_leave.wait(60)
            print_in_c(LINE)
            print_in_c(b"second")

    thread = threading.Thread(target=solve)
    with without_lines_of_highs():
        thread.start()
        assert is_inside.wait(60)
        print_in_c(LINE)
        print_in_c(b"first")
    assert printed() == "first\n"
    may_leave.set()
    thread.join()
    assert printed() == "second\n"
    print_in_c(b"third")
    assert printed() == "third\n"


@needs_replaceable_stdout
def test_many_threads_lose_nothing(printed):
    def solve(number):
        for i in range(50):
            with without_lines_of_highs():
                print_in_c(LINE)
                print_in_c(f"{number} {i}".encode())
                os.write(1, f"{number} {i}\n".encode())

    threads = [threading.Thread(target=solve, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [f"{number} {i}" for number in range(4) for i in range(50)]
    assert sorted(printed().split("\n")) == sorted(["", *expected, *expected])


@needs_replaceable_stdout
def test_nested_blocks(printed):
    with without_lines_of_highs():
        with without_lines_of_highs():
            print_in_c(LINE)
        print_in_c(LINE)
        print_in_c(b"kept")
    assert printed() == "kept\n"


@needs_replaceable_stdout
def test_an_error_ends_the_block(printed):
    def fail():
        with without_lines_of_highs():
            print_in_c(LINE)
            print_in_c(b"why")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    print_in_c(b"after")
    assert printed() == "why\nafter\n"


@needs_replaceable_stdout
def test_the_solver_is_silenced(printed, monkeypatch):
    def talkative_milp(*arguments, **settings):
        print_in_c(LINE)
        return milp(*arguments, **settings)

    milp = _catalog.milp
    monkeypatch.setattr(_catalog, "milp", talkative_milp)
    costs = {(0, 1): 1.0, (2, 3): 1.0, (0, 1, 2, 3): 5.0}
    catalog = _catalog.Catalog(costs, 4, Relaxation(np.array([[0.0], [1.4], [9.0], [10.4]]), 2))
    labels = catalog.best_cover(np.arange(3), np.arange(4), 100, 10.0)
    assert labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert printed() == ""


@pytest.mark.parametrize("missing", ["variable", "file"])
def test_nothing_is_changed_where_stdout_cannot_be_replaced(printed, monkeypatch, missing):
    if missing == "variable":
        monkeypatch.setattr(_quiet, "_variable_of_stdout", lambda: None)
    elif sys.platform == "win32":
        pytest.skip("on Windows there is no variable of stdout, which the other case tests")
    else:
        monkeypatch.setattr(_quiet._C, "tmpfile", lambda: None)
    monkeypatch.setattr(_quiet, "_DIVERSION", _quiet._Diversion())
    with without_lines_of_highs():
        os.write(1, b"kept\n")
    assert printed() == "kept\n"


@pytest.mark.slow
@needs_replaceable_stdout
def test_a_closed_standard_output():
    code = """
import ctypes, os
from sk_microagg._utils._quiet import without_lines_of_highs
os.close(1)
with without_lines_of_highs():
    ctypes.CDLL(None).puts(b"HighsMipSolverData::transform")
    ctypes.CDLL(None).puts(b"nobody reads this")
try:
    os.fstat(1)
except OSError:
    raise SystemExit(7)
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
