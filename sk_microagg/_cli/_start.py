"""Ctrl-C while the command starts. It imports nothing that takes time."""

import os
import signal
import sys
import threading

INTERRUPTED = 130


def leave_at_once_if_interrupted() -> None:
    """Let Ctrl-C end the process: in the middle of an import, an exception would be misread."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave_at_once)


def raise_if_interrupted() -> None:
    """Let Ctrl-C raise an exception again, so that work can end in order."""
    if signal.getsignal(signal.SIGINT) is _leave_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave_at_once(number: int, frame: object) -> None:
    sys.stderr.write("sk-microagg: interrupted\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
