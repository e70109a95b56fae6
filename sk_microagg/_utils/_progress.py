"""Progress of long work: a line that updates, or plain lines in a log."""

import os
import sys
import time
from typing import Self, TextIO
from unicodedata import combining, east_asian_width

from sk_microagg._utils._formatting import printable

WIDTH = 78
SECONDS_BETWEEN_TEXTS = {"terminal": 0.1, "notebook": 1.0, "log": 5.0}


class ProgressLine:
    r"""Texts that tell how far some work is, on a terminal, in a notebook or in a log.

    On a terminal and in a notebook there is one line, in which each text overwrites the one before.
    Anything else, such as a file or a pipe, is a log: each text is a line of its own, and there are
    few of them.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._start = time.monotonic()
        self._last_due: float | None = None
        self._last_text: str | None = None

    def is_due(self) -> bool:
        """Whether the last text has been shown long enough to be followed by another.

        A log waits before the first one, too: of short work it has the end only.
        """
        now, kind = time.monotonic(), self._kind()
        since = self._start if self._last_due is None and kind == "log" else self._last_due
        if since is not None and now < since + SECONDS_BETWEEN_TEXTS[kind]:
            return False
        self._last_due = now
        return True

    def draw(self, text: object) -> None:
        """Show a text in the place of the one before; in a log, below it."""
        text = printable(text)
        if self._kind() != "log":
            self._write(f"\r{_fitted(text, self._width())}")
        elif text != self._last_text:
            self._write(f"{text}\n")
        self._last_text = text

    def clear(self) -> None:
        """Remove the text. A log keeps all."""
        if self._kind() != "log":
            self._write(f"\r{' ' * self._width()}\r")
        self._last_text = None

    def end(self) -> None:
        """Leave the text where it is and begin a new line."""
        if self._kind() != "log":
            self._write("\n")
        self._last_text = None

    def say(self, text: object) -> None:
        """Print a line that stays; on a terminal, it takes the place of a text."""
        if self._last_text is not None:
            self.clear()
        self._write(f"{printable(text)}\n")

    def _current(self) -> TextIO:
        return sys.stdout if self._stream is None else self._stream

    def _kind(self) -> str:
        """What the stream leads to, one of the keys of `SECONDS_BETWEEN_TEXTS`."""
        stream = self._current()
        if hasattr(stream, "isatty") and stream.isatty():
            return "terminal"
        # The stream of a Jupyter kernel is not a terminal, but notebooks overwrite in the same way.
        return "notebook" if type(stream).__module__.startswith("ipykernel.") else "log"

    def _width(self) -> int:
        """Cells of a line: the last one stays empty, since some terminals wrap after it."""
        if self._kind() != "terminal":  # The descriptor of a kernel is where the server started.
            return WIDTH
        try:
            columns = os.get_terminal_size(self._current().fileno()).columns
        except (AttributeError, OSError, ValueError):  # It has no descriptor.
            columns = 0
        return min(WIDTH, columns - 1) if columns > 0 else WIDTH

    def _write(self, text: str) -> None:
        stream = self._current()
        if stream is not None:  # as in a program without a console
            stream.write(text)
            stream.flush()


def _fitted(text: str, width: int) -> str:
    """The text, cut or padded to a number of cells of a terminal."""
    shown = ""
    for char in text:
        cells = 0 if combining(char) else 1 + (east_asian_width(char) in "WF")
        if cells > width:
            break
        width -= cells
        shown += char
    return shown + " " * width


class ProgressCount:
    r"""A progress line that counts, and estimates the seconds left; to be used in one thread.

    In the end it has the seconds that the work took.
    """

    def __init__(self, n_total: int, unit: str, verbose: int) -> None:
        self.n_total = n_total
        self.unit = unit
        self.verbose = verbose
        self._n_done = 0

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        self._line = ProgressLine()
        if self.verbose and self._line.is_due():
            self._draw()
        return self

    def advance(self, n: int = 1) -> None:
        """Count some more."""
        self._n_done += n
        if self.verbose and (self._n_done == self.n_total or self._line.is_due()):
            self._draw()

    def _draw(self) -> None:
        text = f"{self._n_done} of {self.n_total} {self.unit}"
        seconds = time.monotonic() - self._start
        if self._n_done == self.n_total:
            text += f", {seconds:.0f} s"
        elif self._n_done:
            text += f", {seconds_left(seconds, self._n_done / self.n_total):.0f} s left"
        self._line.draw(text)

    def __exit__(self, *error: object) -> None:
        if self.verbose:
            self._line.end()


def seconds_left(seconds: float, share_done: float) -> float:
    """Estimate the seconds that work will take from now on."""
    return max(seconds / share_done - seconds, 0.0)
