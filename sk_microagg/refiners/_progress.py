"""How far a search has come: a line that updates, and scikit-learn's callbacks."""

import math
import sys
import time
from threading import Lock

SECONDS_BETWEEN_LINES = 0.1

# A callback hears of this many steps, however many iterations there are.
N_STEPS = 100


class Progress:
    """Progress of one or more searches that run at the same time, and whether they are to stop.

    Parameters
    ----------
    n_iterations : int
        Iterations of all searches together, at most.

    total : float
        What costs are a share of, as the information loss.

    time_limit : float
        Seconds that the searches have.

    verbose : int
        Whether to print.

    refiner : Refiner
        Who searches, for the callbacks.

    context : CallbackContext or None
        The task of which every step is a part.

    unit : str, default="iteration"
        What is counted, for the line.
    """

    def __init__(
        self, n_iterations, total, time_limit, verbose, refiner, context, unit="iteration"
    ):
        self.n_iterations = n_iterations
        self.total = total
        self.time_limit = time_limit
        self.verbose = verbose
        self.refiner = refiner
        self.context = context
        self.unit = unit
        self.start = time.monotonic()
        self.stopped = False
        self._lock = Lock()
        self._n_done = 0
        self._n_steps = 0
        self._best = float("inf")
        self._next_line = 0.0

    @property
    def seconds(self):
        """Seconds since the start."""
        return time.monotonic() - self.start

    def note(self, cost):
        """Note the cost with which a search starts."""
        with self._lock:
            self._best = min(self._best, cost)

    def advance(self, best, n_iterations=1):
        """Note an iteration of a search, or a part of one, and the least cost that it has found."""
        self.note(best)
        with self._lock:
            self._n_done += n_iterations
            if self.context is not None:
                self._call_back()
            if self.verbose and time.monotonic() >= self._next_line:
                self._print()
                self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def _call_back(self):
        # Shares of iterations that were added up may be short of 1 by rounding.
        while self._n_steps < int(N_STEPS * self._share_done() + 1e-6):
            self._n_steps += 1
            step = self.context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=self.refiner)
            self.stopped |= bool(step.call_on_fit_task_end(estimator=self.refiner))

    def finish(self):
        """End the line."""
        if self.verbose and self._best < float("inf"):
            self._print()
            sys.stdout.write("\n")

    def _share_done(self):
        by_time = self.seconds / self.time_limit
        return min(max(self._n_done / self.n_iterations, by_time), 1.0)

    def _print(self):
        done = self._share_done()
        left = f"{self.seconds / done - self.seconds:.0f} s left" if done else ""
        number = min(math.ceil(self._n_done), self.n_iterations)
        loss = self._best / self.total if self.total else 0.0
        line = (
            f"{self.unit} {number} of {self.n_iterations}, "
            f"information loss {100 * loss:.4f} %, {left}"
        )
        sys.stdout.write(f"\r{line:<78}")
        sys.stdout.flush()


class Part:
    """Progress of a search among some of the records, while the others cost the same throughout.

    Parameters
    ----------
    whole : Progress
        The progress among all records.

    rest : float
        Cost of the others.
    """

    def __init__(self, whole, rest):
        self.whole = whole
        self.rest = rest

    @property
    def stopped(self):
        """Whether the search is to stop."""
        return self.whole.stopped

    def note(self, cost):
        """Note a cost."""
        self.whole.note(cost + self.rest)

    def advance(self, best, n_iterations=1):
        """Note an iteration, or a part of it."""
        self.whole.advance(best + self.rest, n_iterations)
