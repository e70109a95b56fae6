"""Progress of a command as messages for the page."""

import io
import re
import time
from contextlib import contextmanager, redirect_stdout

from sk_microagg._cli._progress import WARNING
from sk_microagg._explore._words import on_the_page

# How a search ends a line, if it knows.
LEFT = re.compile(r", (\d+) s left$")


class SentProgress:
    """Stands for `CommandProgress`, and sends what that would print.

    Parameters
    ----------
    send : callable
        Takes messages for the page.

    Attributes
    ----------
    is_shown : bool
        Whether the user sees it, which is so.

    said : list of str
        The warnings.
    """

    is_shown = True

    def __init__(self, send):
        self._send = send
        self.said = []

    def show(self, step):
        """Send the current step."""
        self._send({"text": step})

    def say(self, text):
        """Keep a warning."""
        self.said.append(on_the_page(text.removeprefix(WARNING)))

    @contextmanager
    def of_search(self):
        """Send the lines that a search prints, and how far it is, if it says so."""
        with redirect_stdout(_SentLines(self._send)):
            yield

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class _SentLines(io.TextIOBase):
    """A terminal whose current line is sent."""

    def __init__(self, send):
        self._send = send
        self._start = time.monotonic()

    def write(self, text):
        line = text.replace("\r", "\n").strip("\n").rpartition("\n")[2].strip()
        if line:
            self._send({"text": LEFT.sub("", line), **self._how_far(line)})
        return len(text)

    def isatty(self):
        return True

    def _how_far(self, line):
        """The share that is done and the seconds that are left, as a line says; maybe nothing."""
        found = LEFT.search(line)
        if found is None:
            return {}
        gone, left = time.monotonic() - self._start, int(found[1])
        # Less than half a second is written as 0.
        return {"share": gone / (gone + max(left, 0.5)), "seconds_left": left}
