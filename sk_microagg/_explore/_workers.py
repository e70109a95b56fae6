"""Processes that compute for the page, and can be ended at any time."""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sk_microagg._explore import _jobs
from sk_microagg._explore._page_request import PAGE
from sk_microagg._utils._writing import remove_folder
from sk_microagg.files._messages import RequestError, one_line

# Seconds that a process has to remove what it was writing.
SECONDS_TO_END = 5.0

# Forks of a process that has imported all of this begin at once; Windows has no forks.
METHOD = "spawn" if sys.platform == "win32" else "forkserver"
if METHOD == "forkserver":
    from multiprocessing import forkserver, resource_tracker

# Locks of a process that was ended are removed when the server ends, which is no news for the user.
QUIET = "ignore:resource_tracker:UserWarning"

JOBS: dict[str, Any] = {
    job.__name__: job for job in (_jobs.preview, _jobs.curve, _jobs.certificate, _jobs.export)
}


def context() -> Any:
    return multiprocessing.get_context(METHOD)


def warm_up() -> None:
    """Let the process that makes all others import what they need, before the first is wanted."""
    if METHOD == "forkserver":
        before = os.environ.get("PYTHONWARNINGS")
        os.environ["PYTHONWARNINGS"] = QUIET if before is None else f"{before},{QUIET}"
        resource_tracker.ensure_running()
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before
        context().set_forkserver_preload(["sk_microagg._explore._workers"])
        forkserver.ensure_running()


class Worker:
    """A process that does one job, and a thread that hears what it sends."""

    def __init__(self, what: str, arguments: tuple, hear: Callable[[dict], None]):
        self._hear = hear
        self._is_canceled = False
        # What the process removes itself, unless it was killed.
        self._drafts = Path(arguments[-1]) if what == "export" else None
        self._ours, self._theirs = multiprocessing.Pipe()
        # Joblib uses one thread only in processes that are daemons.
        self._process = context().Process(
            target=_work,
            args=(what, arguments, self._theirs),
            name=f"sk-microagg {what}",
            daemon=False,
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """End the process; it removes what it was writing."""
        is_first, self._is_canceled = not self._is_canceled, True
        # A process that has not begun is ended as soon as it has.
        if is_first and self._process.pid is not None:
            self._end()

    def wait(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            self._process.start()
        except (EOFError, OSError) as error:
            self._hear({"state": "failed", "error": f"No process can be started: {error}."})
            return
        finally:
            self._theirs.close()
        if self._is_canceled:
            self._end()
        last = self._listen()
        self._process.join(SECONDS_TO_END)
        self._kill()
        self._process.join()
        if self._drafts is not None:
            remove_folder(self._drafts)
        self._ours.close()
        self._hear(last)

    def _listen(self) -> Any:
        """Pass on what the process sends; return its last message."""
        while True:
            try:
                message = self._ours.recv()
            except (EOFError, OSError):
                return self._without_result()
            if message["state"] != "running":
                is_ended = self._is_canceled and message["state"] == "failed"
                return {"state": "canceled"} if is_ended else message
            self._hear(message)

    def _end(self) -> None:
        self._process.terminate()
        timer = threading.Timer(SECONDS_TO_END, self._kill)
        timer.daemon = True
        timer.start()

    def _kill(self) -> None:
        if self._process.is_alive():
            self._process.kill()

    def _without_result(self) -> dict:
        """What to say of a process that ended without a last message."""
        if self._is_canceled:
            return {"state": "canceled"}
        self._process.join(SECONDS_TO_END)
        return {
            "state": "failed",
            "error": f"The computation ended early, with exit code {self._process.exitcode}. There "
            "may not be enough memory.",
        }


def _work(what: str, arguments: tuple, pipe: Any) -> None:
    """Do a job, and send what becomes of it; the target of a process."""
    # Ctrl-C in the terminal reaches all processes: the server ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_server, args=(pipe,), daemon=True).start()

    def send(message: Any) -> None:
        pipe.send({"state": "running", **message})

    try:
        last = {"state": "done", "result": JOBS[what](send, *arguments)}
    except RequestError as error:
        last = {"state": "failed", "error": error.in_words(PAGE)}
    except MemoryError:
        last = {"state": "failed", "error": "There is not enough memory."}
    except OSError as error:
        last = {"state": "failed", "error": one_line(error)}
    except Exception as error:
        traceback.print_exc()
        # The message may quote values.
        kind = type(error).__name__
        last = {"state": "failed", "error": f"{kind}: the terminal says more. Please report this."}
    with suppress(OSError):  # The server may have been killed.
        pipe.send(last)


def _end_with_server(pipe: Any) -> None:
    """End when the server does, even if that was killed."""
    try:
        pipe.recv()  # The server sends nothing.
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
