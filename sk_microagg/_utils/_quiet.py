"""Standard output without the lines that a solver writes there on its own."""

import ctypes
import os
import re
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress

STDOUT = 1

# HiGHS 1.12 prints the name of a method now and then, whatever its options say.
LINE_OF_HIGHS = re.compile(rb"Highs\w*::[^\r\n]*\r?\n")


@contextmanager
def without_lines_of_highs():
    """Keep lines of HiGHS out of standard output; also a decorator.

    HiGHS writes to the descriptor, not to `sys.stdout`, so the descriptor leads to a file in the
    meantime. Whatever else is written there, by any thread, comes out in order when a block ends.
    Blocks in several threads run at the same time. Without a standard output, or a place for the
    file, nothing is changed. A process that another thread starts within a block writes to the file
    as well: what it writes after the block is lost.
    """
    block = object()
    try:
        _DIVERSION.enter(block)
        yield
    finally:
        _DIVERSION.leave(block)


class _Diversion:
    """Leads standard output to a file while blocks are active."""

    def __init__(self):
        self._lock = threading.Lock()
        self._blocks = set()
        self._stdout = None
        self._file = None

    def enter(self, block):
        with self._lock:
            self._blocks.add(block)
            if self._stdout is None:
                with suppress(OSError):
                    self._divert()

    def leave(self, block):
        with self._lock:
            self._blocks.discard(block)
            if self._stdout is not None:
                self._emit()

    def _divert(self):
        # Before the file is opened, which would otherwise get the number of a closed stdout.
        stdout = os.dup(STDOUT)
        try:
            self._file = _new_file()
        except OSError:
            os.close(stdout)
            raise
        self._stdout = stdout
        os.dup2(self._file.fileno(), STDOUT)

    def _emit(self):
        """Write to standard output what came so far; without blocks, end the diversion."""
        flush_c_stdout()
        stdout, file = self._stdout, self._file
        try:
            self._file = _new_file() if self._blocks else None
        except OSError:
            self._file = None
        # From now on nobody writes to the file.
        os.dup2(stdout if self._file is None else self._file.fileno(), STDOUT)
        with file:
            file.seek(0)
            text = LINE_OF_HIGHS.sub(b"", file.read())
        with suppress(OSError):  # Nobody reads it: those who wrote it will learn so.
            while text:
                text = text[os.write(stdout, text) :]
        if self._file is None:
            os.close(stdout)
            self._stdout = None


def _new_file():
    return tempfile.TemporaryFile()


def flush_c_stdout():
    """Write what C code has printed so far, but not what other streams hold.

    To flush all streams could take forever: a thread that waits for input has locked one.
    """
    # A C library without these names keeps its lines, which come out later.
    with suppress(OSError, AttributeError, ValueError):
        if sys.platform == "win32":
            library = ctypes.CDLL("ucrtbase")
            find_stream = library["__acrt_iob_func"]
            find_stream.restype = ctypes.c_void_p
            stream = ctypes.c_void_p(find_stream(STDOUT))
        else:
            library = ctypes.CDLL(None)
            name = "__stdoutp" if sys.platform == "darwin" else "stdout"
            stream = ctypes.c_void_p.in_dll(library, name)
        library.fflush(stream)


_DIVERSION = _Diversion()
