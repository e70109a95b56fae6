"""A progress line, which updates while work goes on."""

import sys
import time

from sk_microagg._utils._printable import printable

WIDTH = 78
SECONDS_BETWEEN_TEXTS = 0.1


class ProgressLine:
    r"""A line of fixed width on a stream, in which each text overwrites the one before.

    Parameters
    ----------
    stream : text file or None, default=None
        Where to draw; None for what `sys.stdout` is at the time.

    Examples
    --------
    >>> import io
    >>> from sk_microagg._utils._progress import ProgressLine
    >>> stream = io.StringIO()
    >>> line = ProgressLine(stream)
    >>> line.draw("run 1 of 2")
    >>> line.draw("run 2 of 2")
    >>> line.end()
    >>> [text.rstrip() for text in stream.getvalue().split("\r")]
    ['', 'run 1 of 2', 'run 2 of 2']
    """

    def __init__(self, stream=None):
        self._stream = stream
        self._next_text = 0.0

    def is_due(self):
        """Whether the last text has been shown long enough to be followed by another."""
        now = time.monotonic()
        if now < self._next_text:
            return False
        self._next_text = now + SECONDS_BETWEEN_TEXTS
        return True

    def draw(self, text):
        """Show a text in the place of the one before."""
        self._write(f"\r{printable(text)[:WIDTH]:<{WIDTH}}")

    def clear(self):
        """Remove the text."""
        self._write(f"\r{'':<{WIDTH}}\r")

    def end(self):
        """Leave the text where it is and begin a new line."""
        self._write("\n")

    def say(self, text):
        """Print a line that stays; on a terminal, it takes the place of a text."""
        if self._current().isatty():
            self.clear()
        self._write(f"{printable(text)}\n")

    def _current(self):
        return sys.stdout if self._stream is None else self._stream

    def _write(self, text):
        stream = self._current()
        stream.write(text)
        stream.flush()


class ProgressCount:
    r"""A progress line that counts, and estimates the seconds left; to be used in one thread.

    Parameters
    ----------
    n_total : int
        How many there are.

    unit : str
        What is counted, in the plural.

    verbose : int
        Whether to print the line.

    Examples
    --------
    >>> from sk_microagg._utils._progress import ProgressCount
    >>> with ProgressCount(2, "blocks", verbose=0) as progress:
    ...     progress.advance()
    ...     progress.advance()
    """

    def __init__(self, n_total, unit, verbose):
        self.n_total = n_total
        self.unit = unit
        self.verbose = verbose
        self._n_done = 0

    def __enter__(self):
        self._start = time.monotonic()
        self._line = ProgressLine()
        if self.verbose and self._line.is_due():
            self._draw()
        return self

    def advance(self, n=1):
        """Count some more."""
        self._n_done += n
        if self.verbose and (self._n_done == self.n_total or self._line.is_due()):
            self._draw()

    def _draw(self):
        text = f"{self._n_done} of {self.n_total} {self.unit}"
        if self._n_done:
            seconds = time.monotonic() - self._start
            text += f", {seconds_left(seconds, self._n_done / self.n_total):.0f} s left"
        self._line.draw(text)

    def __exit__(self, *error):
        if self.verbose:
            self._line.end()


def seconds_left(seconds, share_done):
    """Estimate the seconds that work will take from now on.

    Parameters
    ----------
    seconds : float
        Seconds since its start.

    share_done : float
        The share of it that is done, above 0.

    Returns
    -------
    left : float
        The estimate, never below 0.

    Examples
    --------
    >>> from sk_microagg._utils._progress import seconds_left
    >>> seconds_left(30.0, 0.75)
    10.0
    """
    return max(seconds / share_done - seconds, 0.0)
