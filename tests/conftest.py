import csv
import gc
import os
import signal
import time
from collections import Counter
from itertools import compress
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from example_tables.numbers import in_units


def pytest_addoption(parser):
    parser.addoption("--shard", metavar="I/N", help="only the tests of part I of N")


def pytest_configure(config):
    """Let signals end what tests start: shells ignore Ctrl-C in the background, nohup SIGHUP.

    Nothing that is made while tests are collected is garbage: looking for some takes a sixth of
    that time. Workers have a core each: they inherit that libraries take one thread.
    """
    gc.disable()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(50_000)  # Looking for garbage more often takes a fortieth of the time.
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


@pytest.fixture
def write(tmp_path):
    """Write a file; return its path."""

    def write(name, content, newline=""):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8", newline=newline)
        return path

    return write


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


@pytest.fixture
def release():
    """Release a file; return the summary, which has the warnings."""

    def release(path, output, **settings):
        from sk_microagg.release import ReleaseRequest, release_file
        from sk_microagg.release._release import Progress

        return release_file(ReleaseRequest(path, output, **settings), progress=Progress())

    return release


@pytest.fixture
def refused(tmp_path, release):
    """Ask for a release that is refused; nothing is written. Return the error."""

    def refused(path, output, **settings):
        from sk_microagg.release import RequestError

        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(RequestError) as caught:
            release(path, output, **settings)
        assert sorted(tmp_path.rglob("*")) == before
        assert "\n" not in str(caught.value)
        return caught.value

    return refused


@pytest.fixture
def cells():
    """Read a CSV file with the csv module: names, and the cells of each column."""

    def cells(path, sep=","):
        with open(path, encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file, delimiter=sep)
        assert all(len(row) == len(names) for row in rows)
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    return cells


@pytest.fixture
def level(cells):
    """How often the rarest row of some columns of a CSV file occurs, as text."""

    def level(path, columns, sep=","):
        table = cells(path, sep)
        return min(Counter(zip(*(table[name] for name in columns), strict=True)).values())

    return level


# Cells that programs tend to change.
NOTES = ["1.10", "007", "1e3", "NA", "", " spaced ", "True", "ümlaut", "a, b", 'say "x"', "0x1F"]
NOTES += ["1_000", "two\nlines", "2020-01-01", "12345678901234567890", "nan", "+5", "-0"]


@pytest.fixture
def patients(tmp_path):
    """A CSV file with a code, text, missing values, integers, floats, and unusual notes."""
    rng = np.random.default_rng(0)
    path = tmp_path / "patients.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "age", "note", "town", "height", "weight"])
        for i in range(54):
            writer.writerow(
                [
                    f"P{i:03d}",
                    rng.integers(20, 90),
                    NOTES[i % len(NOTES)],
                    rng.choice(["Bari", "Rome", "Milan"]),
                    round(rng.normal(1.7, 0.1), 2),
                    rng.choice(["", "NA", "?", "70.5", "81", "64"]),
                ]
            )
    return path


@pytest.fixture
def numbers(tmp_path):
    """A CSV file of 40 rows with two columns of numbers, and one of classes."""
    rng = np.random.default_rng(1)
    path = tmp_path / "numbers.csv"
    rows = [f"{rng.integers(0, 100)},{rng.normal():.3f},{'ab'[i % 2]}" for i in range(40)]
    path.write_text("\n".join(["count,size,class", *rows, ""]))
    return path


@pytest.fixture(scope="module")
def few_steps():
    """The default refiner takes as few steps per record in small tables as in large ones.

    For tests of what is done with groups, not of how good they are.
    """
    from sk_microagg.refiners import _auto

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_auto, "MAX_STEPS_PER_RECORD", _auto.MIN_STEPS_PER_RECORD)
        yield


@pytest.fixture(scope="module")
def small_attacks():
    """Attack and compare with few trees, in tests of something else."""
    from sk_microagg.metrics import _attribute_inference
    from sk_microagg.report import _utility

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_attribute_inference, "N_TREES", 3)
        patch.setattr(_utility, "N_NULLS", 1)
        yield


@pytest.fixture
def no_pictures(request, monkeypatch):
    """Draw nothing, but for tests that ask for `drawn`: pictures have labels only."""

    from sk_microagg.report import _figures

    def label_only(draw, size, label, id=None):
        return _figures.Picture(label, "0 0 1 1", "", id)

    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(_figures, "_as_svg", label_only)


@pytest.fixture
def drawn():
    """Pictures are drawn in this test, in a module that draws none."""


@pytest.fixture
def facts_only(small_attacks, no_pictures):
    """A report takes a tenth of its time."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Count as slow what belongs to a release: `-m "not slow"` replaces `-m "not release"`.

    Of a test that is `slow_but_first`, only the first case is in the quick set. What is marked
    `first` comes first, where no other worker takes a part of it over.
    """
    if shard := config.getoption("shard"):
        number, n_shards = map(int, shard.split("/"))
        # All cases of a test are in one shard: they share what they need.
        tests = [item.nodeid.partition("[")[0].encode() for item in items]
        is_here = [crc32(test) % n_shards == number - 1 for test in tests]
        items[:] = compress(items, is_here)
    has_quick_case = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if item.get_closest_marker("slow_but_first"):
            if test in has_quick_case:
                item.add_marker("slow")
            has_quick_case.add(test)
        if item.get_closest_marker("release"):
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
