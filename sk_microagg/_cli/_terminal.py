"""The current step of a command, in a line on the terminal."""

import json
import sys
from contextlib import contextmanager, redirect_stdout, suppress

from sk_microagg._utils._progress import ProgressLine

WARNING = "sk-microagg: warning: "


class CommandProgress:
    """A line on stderr, if that is a terminal; it is cleared when the command ends or fails.

    Parameters
    ----------
    is_wanted : bool
        Whether the user wants to see it.

    is_json : bool, default=False
        Whether lines that stay are printed as JSON.

    Attributes
    ----------
    is_shown : bool
        Whether the user sees it.
    """

    def __init__(self, is_wanted, is_json=False):
        self.is_shown = is_wanted and sys.stderr.isatty()
        self._is_json = is_json
        self._line = ProgressLine(sys.stderr)

    def show(self, step):
        """Show the current step."""
        if self.is_shown:
            self._line.draw(step)

    def say(self, text):
        """Print a line that stays, also where no progress is shown."""
        if self._is_json:
            text = json.dumps({"type": "warning", "text": text.removeprefix(WARNING)})
        self._line.say(text)

    @contextmanager
    def of_search(self):
        """Let a search show its own progress here, since stdout is for results."""
        with redirect_stdout(sys.stderr):
            yield

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.is_shown:
            with suppress(OSError):  # The terminal may be gone.
                self._line.clear()
