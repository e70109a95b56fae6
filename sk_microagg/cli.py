"""The command `sk-microagg`."""

import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module

from sk_microagg._cli._errors import CommandError, one_line, require_tables
from sk_microagg._cli._parser import make_parser
from sk_microagg._utils._printable import printable

INTERRUPTED = 130
BROKEN_PIPE = 141

# By a batch system, and by a terminal that is closed; Windows has no SIGHUP.
ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments=None):
    """Run the command line.

    Parameters
    ----------
    arguments : list of str, default=None
        The arguments, without the name of the command; by default those of the process.

    Returns
    -------
    exit_code : int
        0 on success; 1 if files or what is in them do not do, which one line on stderr explains;
        130 after Ctrl-C; 141 if nobody reads what is printed. Wrong usage exits with 2, SIGHUP
        with 129 and SIGTERM with 143.

    Examples
    --------
    >>> from sk_microagg.cli import main
    >>> main(["demo"])  # doctest: +ELLIPSIS
    The diabetes table of scikit-learn: 442 patients, 10 columns, k = 5
    ...
    smallest group    5
    ...
    0
    """
    options = make_parser().parse_args(arguments)
    _clean_up_when_ended()
    try:
        if options.needs_tables:
            require_tables()
        # Only now: a command imports what it needs, and others work without that.
        import_module(f"sk_microagg._cli._{options.command}").run(options)
        sys.stdout.flush()
    except CommandError as error:
        return _fail(error)
    except MemoryError:
        return _fail("There is not enough memory; --engine dask takes larger tables of numbers.")
    except KeyboardInterrupt:
        print("sk-microagg: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_what_cannot_be_printed()
        return BROKEN_PIPE
    except OSError as error:
        _forget_what_cannot_be_printed()
        return _fail(one_line(error))
    return 0


def _clean_up_when_ended():
    """Leave as by an exception when a signal ends the process: no row stays on disk then."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _leave)


def _leave(number, frame):
    # One is enough: another would interrupt the cleaning up.
    for ending in ENDING_SIGNALS:
        signal.signal(ending, signal.SIG_IGN)
    if number == getattr(signal, "SIGHUP", None):
        # The terminal is gone: whatever is still to be printed would fail, at the exit at last.
        for stream in (sys.stdout, sys.stderr):
            _print_no_more(stream)
    sys.exit(128 + number)


def _fail(why):
    print(f"sk-microagg: error: {printable(why)}", file=sys.stderr)
    return 1


def _forget_what_cannot_be_printed():
    """Python would try again at the exit, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        _print_no_more(sys.stdout)


def _print_no_more(stream):
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
