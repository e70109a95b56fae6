"""When a search ends: at its time limit, or earlier if Ctrl-C is pressed."""

import math
import signal
import threading
import time
import warnings
from contextlib import contextmanager


class Deadline:
    """The end of a search: a point in time, or the moment at which Ctrl-C asks for it.

    Kernels ask it now and then whether it `is_over`.

    Parameters
    ----------
    seconds : float, default=inf
        Seconds from now on.

    Examples
    --------
    >>> from sk_microagg._utils._deadline import Deadline
    >>> Deadline().is_over(), Deadline(0.0).is_over()
    (False, True)
    """

    def __init__(self, seconds=math.inf):
        self.start = time.monotonic()
        self.at = self.start + seconds

    def is_over(self):
        """Whether the time is up, or the search was interrupted."""
        return is_interrupted() or time.monotonic() >= self.at

    def seconds_left(self):
        """Seconds until the end, at least 0."""
        return 0.0 if is_interrupted() else max(self.at - time.monotonic(), 0.0)

    def seconds_gone(self):
        """Seconds since the start."""
        return time.monotonic() - self.start

    def within(self, seconds):
        """Return a deadline some seconds from now on, but not after this one."""
        return Deadline(min(seconds, self.at - time.monotonic()))


class _Requests:
    """What Ctrl-C has asked for while `interruptible` blocks are active in the main thread."""

    n_blocks = 0
    is_made = False


def is_interrupted():
    """Whether Ctrl-C was pressed in an `interruptible` block that is still active."""
    return _Requests.is_made


def warn_if_interrupted(result):
    """Warn that Ctrl-C has ended a search, and say what the user gets nevertheless."""
    if is_interrupted():
        warnings.warn(f"Interrupted by Ctrl-C: {result}.", stacklevel=4)


@contextmanager
def interruptible():
    """Let the first Ctrl-C ask searches to end; a second one raises KeyboardInterrupt.

    Blocks may be nested, also with blocks in other threads: all end at the same request, and it is
    forgotten at the end of the outermost block of the main thread. Only the main thread receives
    signals, so a block in another thread has no effect of its own. Neither has a block where
    somebody else handles Ctrl-C.
    """
    is_main = threading.current_thread() is threading.main_thread()
    is_outermost = is_main and _Requests.n_blocks == 0
    if is_outermost and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        is_main = is_outermost = False
    if is_outermost:
        signal.signal(signal.SIGINT, _request)
    _Requests.n_blocks += is_main
    try:
        yield
    finally:
        _Requests.n_blocks -= is_main
        if is_outermost:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _Requests.is_made = False


def _request(number, frame):
    if _Requests.is_made:
        signal.default_int_handler(number, frame)
    _Requests.is_made = True
