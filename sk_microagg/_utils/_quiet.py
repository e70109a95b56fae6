"""Standard output without the lines that a solver writes there on its own."""

import ctypes
import os
import re
import sys
import threading
from contextlib import contextmanager

# HiGHS 1.12 prints the name of a method now and then, whatever its options say.
LINE_OF_HIGHS = re.compile(rb"Highs\w*::[^\n]*\n")


@contextmanager
def without_lines_of_highs():
    """Keep lines of HiGHS out of standard output; also a decorator.

    HiGHS prints through the C library, whose `stdout` is redirected to a temporary file while a
    block is active. What other C code prints is copied to the real one when a block ends. The
    descriptor of standard output is left alone, and so is what Python or child processes write to
    it. Blocks in several threads run at the same time.

    Only glibc and macOS allow replacing `stdout`; elsewhere nothing is changed.
    """
    block = object()
    try:
        _DIVERSION.enter(block)
        yield
    finally:
        _DIVERSION.leave(block)


class _Diversion:
    """Replaces `stdout` of the C library while blocks are active."""

    def __init__(self):
        self._lock = threading.Lock()
        self._blocks = set()
        self._variable = _variable_of_stdout()
        self._stdout = None
        # It is never closed, since a thread may be about to write to it.
        self._file = None
        self._n_read = 0

    def enter(self, block):
        with self._lock:
            self._blocks.add(block)
            if self._variable is None or self._stdout is not None:
                return
            self._file = self._file or _new_file()
            if self._file is not None:
                self._stdout = self._variable.value
                self._variable.value = self._file

    def leave(self, block):
        with self._lock:
            self._blocks.discard(block)
            if self._stdout is None:
                return
            stdout = self._stdout
            if not self._blocks:
                self._variable.value, self._stdout = stdout, None
            text = LINE_OF_HIGHS.sub(b"", self._read(with_last_line=not self._blocks))
            if text:
                _C.fwrite(text, 1, len(text), stdout)
                _C.fflush(stdout)

    def _read(self, with_last_line):
        """Read what was written since the last call; an unfinished line only if asked for."""
        _C.fflush(self._file)
        descriptor = _C.fileno(self._file)
        n_bytes = os.fstat(descriptor).st_size - self._n_read
        text = os.pread(descriptor, n_bytes, self._n_read)
        if not with_last_line:
            text = text[: text.rfind(b"\n") + 1]
        self._n_read += len(text)
        return text


def _new_file():
    """A file of the C library; None if it cannot be created."""
    try:
        os.fstat(1)
    except OSError:  # The file would become standard output.
        return None
    return _C.tmpfile()


def _load_c_library():
    """The functions used here, with pointers as integers or None."""
    library = ctypes.CDLL(None)
    library.tmpfile.restype = ctypes.c_void_p
    library.fileno.argtypes = library.fflush.argtypes = [ctypes.c_void_p]
    library.fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
    library.fwrite.restype = ctypes.c_size_t
    return library


def _variable_of_stdout():
    """Where the C library looks for its standard output; None if that cannot be replaced."""
    if sys.platform == "darwin":
        return ctypes.c_void_p.in_dll(_C, "__stdoutp")
    # Other libraries for Linux keep it in memory that cannot be written.
    if sys.platform == "linux" and hasattr(_C, "gnu_get_libc_version"):
        return ctypes.c_void_p.in_dll(_C, "stdout")
    return None


_C = None if sys.platform == "win32" else _load_c_library()
_DIVERSION = _Diversion()
