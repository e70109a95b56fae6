"""Progress of a command as messages for the page."""

import io
from contextlib import contextmanager, redirect_stdout

from sk_microagg._cli._progress import WARNING
from sk_microagg._explore._words import on_the_page


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
        """Send the lines that a search prints."""
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

    def write(self, text):
        line = text.replace("\r", "\n").strip("\n").rpartition("\n")[2].strip()
        if line:
            self._send({"text": line})
        return len(text)

    def isatty(self):
        return True

    def writable(self):
        return True
