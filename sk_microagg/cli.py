"""The command `sk-microagg`."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TextIO

from sk_microagg._cli._parser import make_parser
from sk_microagg._cli._start import INTERRUPTED, raise_if_interrupted
from sk_microagg._cli._voice import SHELL
from sk_microagg._utils._formatting import printable
from sk_microagg.files._messages import RequestError, one_line, require

BROKEN_PIPE = 141

# Sent by a batch system, and when a terminal is closed; Windows has no SIGHUP.
ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : list of str, default=None
        The arguments, without the name of the command; by default those of the process.

    Returns
    -------
    exit_code : int
        0 on success; 1 for errors in files or their contents, explained in a line on stderr, and
        one for each column if several are not clear; 130 after Ctrl-C; 141 if the output is no
        longer read. Wrong usage exits with 2, SIGHUP with 129 and SIGTERM with 143.

    Examples
    --------
    >>> from sk_microagg.cli import main
    >>> main(["demo"])  # doctest: +ELLIPSIS
    A hospital's table of 300 made-up patients, each of them unique. The first:
    <BLANKLINE>
    ...
    smallest group    5
    ...
    0
    """
    options = make_parser().parse_args(arguments)
    clean_up_when_ended()
    try:
        if options.needs_tables:
            require(("pandas", "pyarrow"), "table", "Reading tables")
        # Imported only now, since other commands work without its dependencies.
        module, name = options.run
        run = getattr(import_module(module), name)
        raise_if_interrupted()
        run(options)
        sys.stdout.flush()
    except RequestError as error:
        return _fail(*error.in_lines(SHELL))
    except MemoryError:
        return _fail("There is not enough memory; --engine dask takes larger Parquet tables.")
    except KeyboardInterrupt:
        print("sk-microagg: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _discard_unprintable_output()
        return BROKEN_PIPE
    except OSError as error:
        _discard_unprintable_output()
        return _fail(one_line(error))
    return 0


def clean_up_when_ended() -> None:
    """Exit by an exception when a signal ends the process, so that no row stays on disk."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # set by nohup
            signal.signal(number, _leave)


def _leave(number: int, frame: object) -> None:
    # A second signal would interrupt the cleanup.
    for ending in ENDING_SIGNALS:
        signal.signal(ending, signal.SIG_IGN)
    if number == getattr(signal, "SIGHUP", None):
        # The terminal is gone: further output would fail, at exit at the latest.
        for stream in (sys.stdout, sys.stderr):
            _silence(stream)
    sys.exit(128 + number)


def _fail(*why: str) -> int:
    print("sk-microagg: error: " + "\n".join(map(printable, why)), file=sys.stderr)
    return 1


def _discard_unprintable_output() -> None:
    """Discard output that Python would try to print again at exit, with an error."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)


def _silence(stream: TextIO) -> None:
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
