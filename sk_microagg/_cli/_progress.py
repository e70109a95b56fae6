"""What a command is doing, in a line on the terminal that updates."""

import sys
from contextlib import contextmanager, redirect_stdout, suppress

from sk_microagg._utils._printable import printable

WIDTH = 78


class ProgressLine:
    """A line on stderr, if that is a terminal; it is gone when the work is done or has failed.

    Parameters
    ----------
    is_wanted : bool
        Whether the user wants to see it.

    Attributes
    ----------
    is_shown : bool
        Whether the user sees it.
    """

    def __init__(self, is_wanted):
        self.is_shown = is_wanted and sys.stderr.isatty()

    def show(self, doing):
        """Show what is being done now."""
        if self.is_shown:
            print(f"\r{printable(doing)[:WIDTH]:<{WIDTH}}", end="", file=sys.stderr, flush=True)

    def say(self, line):
        """Print a line that stays, also where no progress is shown."""
        self._clear()
        print(printable(line), file=sys.stderr, flush=True)

    @contextmanager
    def of_search(self):
        """Let a search show its own progress here; stdout is for results."""
        with redirect_stdout(sys.stderr):
            yield

    def _clear(self):
        if self.is_shown:
            print(f"\r{'':<{WIDTH}}\r", end="", file=sys.stderr, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with suppress(OSError):  # The terminal may be gone.
            self._clear()
