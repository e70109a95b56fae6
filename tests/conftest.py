import gc
import os
import signal
import time
from itertools import compress
from pathlib import Path
from zlib import crc32

import pytest
from tables.numbers import in_units


def pytest_addoption(parser):
    parser.addoption("--shard", metavar="I/N", help="only the tests of part I of N")


def pytest_configure(config):
    """Let signals end what tests start: shells ignore Ctrl-C in the background, nohup SIGHUP.

    Nothing that is made while tests are collected is garbage: looking for some takes a sixth of
    that time.
    """
    gc.disable()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data_folder():
    """Folder with the real data files; the test is skipped where there is none."""
    named = os.environ.get("SK_MICROAGG_DATA")
    default = Path(__file__).parents[2] / "shared" / "data"
    if named:
        return Path(named).expanduser()
    if default.is_dir():
        return default
    pytest.skip("needs the real data files: set SK_MICROAGG_DATA to the folder that holds them")


@pytest.fixture(name="X")
def records():
    return in_units()


@pytest.fixture(name="new")
def new_records():
    return in_units(n=150, seed=1)


class Clock:
    """A clock that stands still between two readings, and counts them."""

    def __init__(self, seconds_per_reading):
        self.seconds_per_reading = seconds_per_reading
        self.now = 1000.0
        self.n_readings = 0

    def __call__(self):
        self.n_readings += 1
        self.now += self.seconds_per_reading
        return self.now


@pytest.fixture
def set_clock(monkeypatch):
    """Replace `time.monotonic` by a fake clock, for Python code and kernels alike."""

    def set_clock(seconds_per_reading):
        clock = Clock(seconds_per_reading)
        monkeypatch.setattr(time, "monotonic", clock)
        return clock

    return set_clock


@pytest.fixture
def fake_clock(set_clock):
    """Let the clock advance by a hundredth of a second whenever it is read.

    A time limit of a second then ends a search after a hundred readings, on any machine.
    """
    return set_clock(0.01)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Count as slow what belongs to a release: `-m "not slow"` replaces `-m "not release"`.

    Coverage is measured by the quick set alone: tracing would make slow tests half as slow again.
    """
    if shard := config.getoption("shard"):
        number, n_shards = map(int, shard.split("/"))
        # All cases of a test are in one shard: they share what they need.
        tests = [item.nodeid.partition("[")[0].encode() for item in items]
        is_here = [crc32(test) % n_shards == number - 1 for test in tests]
        items[:] = compress(items, is_here)
    for item in items:
        if item.get_closest_marker("release"):
            item.add_marker("slow")
        if item.get_closest_marker("slow"):
            item.add_marker("no_cover")
