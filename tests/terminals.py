"""What is written to a terminal, for tests of progress lines."""

import os
import threading


class Terminal:
    """A pseudoterminal, and what was written to it.

    Parameters
    ----------
    columns : int or None, default=None
        Its width; None for one that does not know it.
    """

    def __init__(self, columns=None):
        self._outer, self.inner = os.openpty()
        if columns is not None:
            # Modules of Unix, as pseudoterminals are.
            import fcntl
            import struct
            import termios

            size = struct.pack("HHHH", 24, columns, 0, 0)
            fcntl.ioctl(self._outer, termios.TIOCSWINSZ, size)
        self._changed = threading.Condition()
        self.text = ""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            while read := os.read(self._outer, 4096):
                with self._changed:
                    self.text += read.decode()
                    self._changed.notify_all()
        except OSError:  # Nobody writes any more.
            pass

    def wait_for(self, words, seconds=60):
        with self._changed:
            assert self._changed.wait_for(lambda: words in self.text, seconds), self.text
