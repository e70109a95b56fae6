"""The progress line of the package, and what searches show in it."""

import io

import pytest

from sk_microagg._utils import _progress
from sk_microagg._utils._progress import WIDTH, ProgressCount, ProgressLine, seconds_left
from sk_microagg.refiners._progress import Progress


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("sk_microagg._utils._progress.time", clock)
    monkeypatch.setattr("sk_microagg.refiners._progress.time", clock)
    return clock


def texts(capsys):
    return [text.rstrip() for text in capsys.readouterr().out.split("\r")[1:]]


def test_texts_overwrite_each_other():
    stream = io.StringIO()
    line = ProgressLine(stream)
    line.draw("a long text")
    line.draw("short")
    line.clear()
    line.draw("last")
    line.end()
    written = ["", f"{'a long text':<78}", f"{'short':<78}", " " * 78, "", f"{'last':<78}\n"]
    assert stream.getvalue().split("\r") == written


def test_long_texts_and_control_characters():
    stream = io.StringIO()
    ProgressLine(stream).draw("a\nb\r" + "x" * 200)
    assert stream.getvalue() == "\r" + (r"a\nb\r" + "x" * 200)[:WIDTH]


def test_lines_that_stay(monkeypatch):
    stream = io.StringIO()
    ProgressLine(stream).say("done")
    assert stream.getvalue() == "done\n"
    monkeypatch.setattr(stream, "isatty", lambda: True)
    ProgressLine(stream).say("done")
    assert stream.getvalue() == f"done\n\r{' ' * WIDTH}\rdone\n"


def test_a_text_is_not_due_before_the_last_was_seen(clock):
    line = ProgressLine()
    assert line.is_due()
    assert not line.is_due()
    clock.now += _progress.SECONDS_BETWEEN_TEXTS
    assert line.is_due()


@pytest.mark.parametrize("share", [1e-9, 0.3, 1.0, 1.0 + 1e-9, 2.0])
def test_time_left_is_never_negative(share):
    assert seconds_left(10.0, share) >= 0


def test_a_search_without_a_limit_counts(clock, capsys):
    progress = Progress(88, 10.0, float("inf"), 1, None, None, unit="run")
    clock.now += 3
    progress.advance(0.37, 12)
    clock.now += 1
    progress.advance(0.36, 76)
    progress.finish()
    assert texts(capsys) == [
        "run 12 of 88, information loss 3.7000%, 19 s left",
        "run 88 of 88, information loss 3.6000%, 0 s left",
        "run 88 of 88, information loss 3.6000%, 0 s left",
    ]


def test_a_search_that_time_ends_does_not_count(clock, capsys):
    progress = Progress(10**8, 10.0, 60.0, 1, None, None)
    clock.now += 12
    progress.advance(0.32)
    clock.now += 50  # The last iteration took longer than there was time.
    progress.advance(0.32)
    progress.finish()
    assert texts(capsys) == [
        "information loss 3.2000%, 12 s gone, 48 s left",
        "information loss 3.2000%, 62 s gone, 0 s left",
        "information loss 3.2000%, 62 s gone, 0 s left",
    ]


def test_a_search_that_ends_long_before_its_limit_counts(clock, capsys):
    progress = Progress(100, 10.0, 600.0, 1, None, None)
    clock.now += 1
    progress.advance(0.32, 50)
    assert texts(capsys) == ["iteration 50 of 100, information loss 3.2000%, 1 s left"]


def test_a_search_that_stops_early_has_no_time_left(clock, capsys):
    progress = Progress(100, 10.0, float("inf"), 1, None, None)
    progress.note(0.5)
    clock.now += 10
    progress.finish()
    assert texts(capsys) == ["iteration 0 of 100, information loss 5.0000%, 0 s left"]


# Counts


def test_a_count_with_an_estimate(clock, capsys):
    with ProgressCount(4, "blocks", verbose=1) as progress:
        clock.now += 6
        progress.advance()
        progress.advance()  # too soon to be shown
        clock.now += 6
        progress.advance()
        progress.advance()  # shown, since it is the last
    assert texts(capsys) == [
        "0 of 4 blocks",
        "1 of 4 blocks, 18 s left",
        "3 of 4 blocks, 4 s left",
        "4 of 4 blocks, 0 s left",
    ]


def test_a_count_ends_its_line_after_an_error_and_is_silent_by_default(capsys):
    def fail(verbose):
        with ProgressCount(4, "blocks", verbose=verbose):
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail(verbose=1)
    assert capsys.readouterr().out.endswith("\n")
    with pytest.raises(ValueError, match="bad"):
        fail(verbose=0)
    assert capsys.readouterr().out == ""
