"""How far long work is, and when it ends: at its time limit, or at Ctrl-C."""

import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Self, TextIO
from unicodedata import combining, east_asian_width

from sk_microagg._utils._formatting import printable

# Seconds that a search gets after Ctrl-C to finish its result.
SECONDS_TO_FINISH = 0.06

# Modules whose frames a warning is not about: this package, and those that call it for the user.
PACKAGE = str(Path(__file__).parents[1])
CALLING_PACKAGES = ("joblib", "sklearn")

WIDTH = 78
SECONDS_BETWEEN_TEXTS = {"terminal": 0.1, "notebook": 1.0, "log": 5.0}


class Deadline:
    """The end of a search, in time or by Ctrl-C: kernels ask now and then if it `is_over`."""

    def __init__(self, seconds: float = math.inf, *, grace: float = 0.0) -> None:
        self.start = time.monotonic()
        self.at = self.start + seconds
        self.grace = grace
        self._generation = generation()
        self._was_interrupted = False

    def is_over(self) -> bool:
        """Whether the time is up, or the search was interrupted."""
        return self.seconds_left() == 0.0

    def seconds_left(self) -> float:
        """Seconds until the end, at least 0."""
        now = time.monotonic()
        return 0.0 if self._is_interrupted(now) else max(self.at - now, 0.0)

    def seconds_gone(self) -> float:
        return time.monotonic() - self.start

    def within(self, seconds: float) -> "Deadline":
        """Return a deadline some seconds from now, but not after this one."""
        seconds = min(seconds, self.at - time.monotonic())
        deadline = Deadline(seconds, grace=self.grace)
        deadline._generation = self._generation
        deadline._was_interrupted = self._was_interrupted
        return deadline

    def _is_interrupted(self, now: float) -> bool:
        if self.grace == math.inf:
            return False
        # A request is forgotten when its block ends, but other threads may not have ended by then.
        if self._generation < _Requests.generation or now >= _Requests.made_at + self.grace:
            self._was_interrupted = True
        return self._was_interrupted


class _Requests:
    """What Ctrl-C has asked for while blocks are active in the main thread."""

    n_blocks = 0
    has_search = False
    made_at = math.inf
    # It grows when KeyboardInterrupt leaves a block, which ends searches in other threads, too.
    generation = 0


_OF_THREAD = threading.local()


def is_interrupted() -> bool:
    """Whether Ctrl-C has asked the searches of a block that is still active to end."""
    return _Requests.made_at < math.inf


def warn_if_interrupted(result: str) -> None:
    """Warn at the end of the outermost block that Ctrl-C has ended a search."""
    if is_interrupted() and _is_in_main_thread() and _Requests.n_blocks == 1:
        warn_user(f"The search was interrupted by Ctrl-C: {result}.")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C ask a search to end; a second one raises KeyboardInterrupt.

    Blocks may be nested, also with blocks in other threads: all end at the same request, and it is
    forgotten at the end of the outermost block of the main thread. Only the main thread receives
    signals, so a block in another thread has no effect of its own. Nor does a block
    if another handler for Ctrl-C is installed.
    """
    with shared_interrupt():
        if generation() == _Requests.generation:
            _Requests.has_search = _Requests.n_blocks > 0
        yield


@contextmanager
def shared_interrupt() -> Iterator[None]:
    """Let all searches of a block end at the same Ctrl-C; before the first, it raises as usual."""
    is_counted = _is_in_main_thread() and (
        _Requests.n_blocks > 0 or signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    before = _Requests.n_blocks
    is_outermost = is_counted and before == 0
    try:
        if is_outermost:
            _Requests.has_search, _Requests.made_at = False, math.inf
            signal.signal(signal.SIGINT, _request)
        if is_counted:  # Other threads write nothing: they could undo what this one writes.
            _Requests.n_blocks = before + 1
        yield
    except KeyboardInterrupt:
        if is_counted:
            _Requests.generation += 1
        raise
    finally:
        if is_counted:
            _Requests.n_blocks = before
        if is_outermost:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _Requests.made_at = math.inf


def generation() -> int:
    """What ties searches in other threads to the current block: see `run_in_generation`."""
    number = getattr(_OF_THREAD, "generation", None)
    return _Requests.generation if number is None else number


def run_in_generation(number: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, whose searches end when KeyboardInterrupt leaves the block of that number.

    Threads go on when the main thread leaves: what they begin after that must not belong to the
    next block.
    """
    before = getattr(_OF_THREAD, "generation", None)
    _OF_THREAD.generation = number
    try:
        return function(*arguments)
    finally:
        _OF_THREAD.generation = before


def _request(number: int, frame: FrameType | None) -> None:
    if is_interrupted() or not _Requests.has_search:
        signal.default_int_handler(number, frame)
    _Requests.made_at = time.monotonic()


def _is_in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the user's line."""
    warnings.warn(message, category, stacklevel=user_stacklevel())


def user_stacklevel() -> int:
    """The `stacklevel` at which a warning of the caller names the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    is_called_for_user = module.split(".")[0] in CALLING_PACKAGES
    return is_called_for_user or frame.f_code.co_filename.startswith(PACKAGE + os.sep)


# For what has no deadline, and is not interrupted.
NEVER = Deadline(grace=math.inf)


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
        """Whether the last text was shown long enough; a log waits before the first one, too."""
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
    """A progress line that counts, estimates the seconds left and ends with those it took."""

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
