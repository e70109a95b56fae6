"""The progress line of the package, and what searches show in it."""

import io
import os
import sys

import numpy as np
import pytest
from marks import in_one_case
from terminals import Terminal

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._utils._deadline import (
    SECONDS_BETWEEN_TEXTS,
    WIDTH,
    ProgressCount,
    ProgressLine,
    seconds_left,
)
from sk_microagg.metrics import loss_bound
from sk_microagg.refiners import Annealing, IteratedLocalSearch
from sk_microagg.refiners._base import Progress

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudoterminal")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("sk_microagg._utils._deadline.time", clock)
    monkeypatch.setattr("sk_microagg.refiners._base.time", clock)
    return clock


class Screen(io.StringIO):
    """A terminal whose width nobody knows."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    screen = Screen()
    # Pytest sets sys.stdout itself after this.
    monkeypatch.setattr(ProgressLine, "_current", lambda line: screen)
    return screen


def texts(screen):
    return [text.rstrip() for text in screen.getvalue().split("\r")[1:]]


# On a terminal


def test_texts_overwrite_each_other():
    screen = Screen()
    line = ProgressLine(screen)
    line.draw("a long text")
    line.draw("short")
    line.clear()
    line.draw("last")
    line.end()
    written = ["", f"{'a long text':<78}", f"{'short':<78}", " " * 78, "", f"{'last':<78}\n"]
    assert screen.getvalue().split("\r") == written


def test_long_texts_and_control_characters():
    screen = Screen()
    ProgressLine(screen).draw("a\nb\r" + "x" * 200)
    assert screen.getvalue() == "\r" + (r"a\nb\r" + "x" * 200)[:WIDTH]


def test_a_line_that_stays_takes_the_place_of_a_text():
    screen = Screen()
    line = ProgressLine(screen)
    line.say("first")
    line.draw("half")
    line.say("second")
    assert screen.getvalue() == f"first\n\r{'half':<78}\r{' ' * 78}\rsecond\n"


@needs_terminal
@pytest.mark.parametrize("columns", [2, 20, 79, 500])
def test_a_text_never_wraps(columns):
    terminal = Terminal(columns)
    with os.fdopen(terminal.inner, "w", encoding="utf-8") as stream:
        ProgressLine(stream).draw("x" * 300)
        ProgressLine(stream).draw("年" * 300)  # Each of them takes two cells.
        ProgressLine(stream).clear()
        ProgressLine(stream).say("end")
        terminal.wait_for("end")
    _, narrow, wide, spaces, _ = terminal.text.split("\r")[:5]
    width = min(columns - 1, WIDTH)
    assert narrow == "x" * width
    assert wide == "年" * (width // 2) + " " * (width % 2)
    assert spaces == " " * width


def test_a_text_is_not_due_before_the_last_was_seen(clock):
    line = ProgressLine(Screen())
    assert line.is_due()
    assert not line.is_due()
    clock.now += SECONDS_BETWEEN_TEXTS["terminal"]
    assert line.is_due()


# In a log


def test_a_log_has_plain_lines():
    log = io.StringIO()
    line = ProgressLine(log)
    line.draw("half of it")
    line.draw("x\n" * 200)
    line.draw("all of it")
    line.draw("all of it")
    line.end()
    line.clear()
    line.say("done")
    assert log.getvalue() == "half of it\n" + r"x\n" * 200 + "\nall of it\ndone\n"


def test_a_log_has_a_line_every_few_seconds(clock):
    log = io.StringIO()
    line = ProgressLine(log)
    for second in range(13):
        if line.is_due():
            line.draw(f"{second} s")
        clock.now += 1
    assert log.getvalue() == "5 s\n10 s\n"


def test_a_program_without_a_console(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    with ProgressCount(2, "blocks", verbose=1) as progress:
        progress.advance(2)
    assert capsys.readouterr() == ("", "")


class Lines:
    """A stream that can no more than write."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_stream_that_can_no_more_than_write():
    lines = Lines()
    ProgressLine(lines).draw("all of it")
    assert lines.text == "all of it\n"


def test_a_notebook_overwrites_but_not_as_often_as_a_terminal(clock):
    kernel = type("OutStream", (Lines,), {"__module__": "ipykernel.iostream"})()
    line = ProgressLine(kernel)
    for number in range(11):
        if line.is_due():
            line.draw(f"{number} of 10")
        clock.now += SECONDS_BETWEEN_TEXTS["notebook"] / 5
    line.end()
    assert [text.rstrip() for text in kernel.text.split("\r")] == [
        "",
        "0 of 10",
        "5 of 10",
        "10 of 10",
    ]
    assert kernel.text.endswith("\n")


# What is shown


@in_one_case("share", [1e-9, 0.3, 1.0, 1.0 + 1e-9, 2.0])
def test_time_left_is_never_negative(share):
    assert seconds_left(10.0, share) >= 0


def test_a_search_without_a_limit_counts(clock, screen):
    progress = Progress(88, 10.0, float("inf"), 1, None, None, unit="run")
    clock.now += 3
    progress.advance(0.37, 12)
    clock.now += 1
    progress.advance(0.36, 76)
    progress.__exit__()
    assert texts(screen) == [
        "run 12 of 88, information loss 3.7000%, 19 s left",
        "run 88 of 88, information loss 3.6000%, 0 s left",
        "run 88 of 88, information loss 3.6000%, 4 s",
    ]


def test_a_search_that_time_ends_does_not_count(clock, screen):
    progress = Progress(10**8, 10.0, 60.0, 1, None, None)
    clock.now += 12
    progress.advance(0.32)
    clock.now += 50  # The last iteration took longer than there was time.
    progress.advance(0.32)
    progress.__exit__()
    assert texts(screen) == [
        "information loss 3.2000%, 12 s gone, 48 s left",
        "information loss 3.2000%, 62 s gone, 0 s left",
        "information loss 3.2000%, 62 s",
    ]


def test_a_search_that_ends_long_before_its_limit_counts(clock, screen):
    progress = Progress(100, 10.0, 600.0, 1, None, None)
    clock.now += 1
    progress.advance(0.32, 50)
    assert texts(screen) == ["iteration 50 of 100, information loss 3.2000%, 1 s left"]


def test_a_search_that_stops_early_says_how_long_it_took(clock, screen):
    progress = Progress(100, 10.0, float("inf"), 1, None, None)
    progress.note(0.5)
    clock.now += 10
    progress.__exit__()
    assert texts(screen) == ["iteration 0 of 100, information loss 5.0000%, 10 s"]


# Counts


def test_a_count_with_an_estimate(clock, screen):
    with ProgressCount(4, "blocks", verbose=1) as progress:
        clock.now += 6
        progress.advance()
        progress.advance()  # too soon to be shown
        clock.now += 6
        progress.advance()
        progress.advance()  # shown, since it is the last
    assert texts(screen) == [
        "0 of 4 blocks",
        "1 of 4 blocks, 18 s left",
        "3 of 4 blocks, 4 s left",
        "4 of 4 blocks, 12 s",
    ]


def test_a_count_ends_its_line_after_an_error_and_is_silent_by_default(screen):
    def fail(verbose):
        with ProgressCount(4, "blocks", verbose=verbose):
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail(verbose=1)
    written = screen.getvalue()
    assert written.endswith("\n")
    with pytest.raises(ValueError, match="bad"):
        fail(verbose=0)
    assert screen.getvalue() == written


# All that is verbose

X = np.random.default_rng(0).normal(size=(60, 2))
LABELS = np.arange(60) // 3
VERBOSE = {
    "the default": (lambda: MicroAggregator(3, verbose=1).fit(X), 1),
    "blocks": (lambda: MicroAggregator(3, block_size=20, verbose=1).fit(X), 1),
    "annealing": (lambda: MicroAggregator(3, refiner=Annealing(max_iter=99, verbose=1)).fit(X), 1),
    "iterations": (lambda: IteratedLocalSearch(max_iter=9, verbose=1).refine(X, LABELS, 3), 1),
    "generalization": (lambda: KAIM(3, verbose=1, random_state=0).fit(X), 2),
    "a proof": (lambda: loss_bound(X, 3, time_limit=60, max_iter=2, verbose=1), 1),
}


@needs_terminal
@pytest.mark.parametrize("work", VERBOSE)
def test_verbose_updates_a_line_on_a_terminal_and_writes_plain_lines_to_a_file(
    work, clock, tmp_path, monkeypatch
):
    run, n_lines = VERBOSE[work]
    terminal = Terminal(40)
    with os.fdopen(terminal.inner, "w", encoding="utf-8") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        run()
        print("end")
        terminal.wait_for("end")
    *shown, end, _ = terminal.text.split("\r\n")
    assert end == "end"
    assert len(shown) == n_lines
    for line in shown:
        assert all(len(text) in (0, 39) for text in line.split("\r"))

    with (tmp_path / "log.txt").open("w+", encoding="utf-8") as log:
        monkeypatch.setattr(sys, "stdout", log)
        run()
        log.seek(0)
        logged = log.read()
    assert "\r" not in logged
    # By this clock the work takes no time: there is only how it ended.
    assert len(logged.splitlines()) == n_lines
    for line, text in zip(shown, logged.splitlines(), strict=True):
        assert line.split("\r")[-1].rstrip()[:20] == text[:20]
