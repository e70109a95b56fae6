"""Progress of a search: a line that updates, and scikit-learn's callbacks."""

import math
import time
from threading import Lock
from typing import Any

from sk_microagg._utils._progress import ProgressLine, seconds_left
from sk_microagg._utils._typing import Estimator

# Number of steps that callbacks are notified of, whatever the number of iterations.
N_STEPS = 100


class Progress:
    """Progress of one or more searches that run at the same time, and whether they are to stop."""

    def __init__(
        self,
        n_iterations: int,
        total: float,
        time_limit: float,
        verbose: int,
        refiner: Estimator,
        context: Any,
        unit: str = "iteration",
    ) -> None:
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
        self._best = math.inf
        self._line = ProgressLine()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def note(self, cost: float) -> None:
        """Note the cost with which a search starts."""
        with self._lock:
            self._best = min(self._best, cost)

    def advance(self, best: float, n_iterations: Any = 1) -> None:
        """Note iterations of a search, or a part of one, and the least cost found so far."""
        self.note(best)
        with self._lock:
            self._n_done += n_iterations
            if self.context is not None:
                self._call_back()
            if self.verbose and self._line.is_due():
                self._line.draw(self._text(self.seconds))

    def _call_back(self) -> None:
        # The sum of the shares of iterations may be short of 1 by rounding.
        done = min(max(self._shares_done(self.seconds)), 1.0)
        while self._n_steps < int(N_STEPS * done + 1e-6):
            self._n_steps += 1
            step = self.context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=self.refiner)
            self.stopped |= bool(step.call_on_fit_task_end(estimator=self.refiner))

    def finish(self) -> None:
        """End the line."""
        if self.verbose and self._best < math.inf:
            self._line.draw(self._text(self.seconds, is_finished=True))
            self._line.end()

    def _shares_done(self, seconds: float) -> tuple[float, float]:
        """Shares of the iterations and of the time limit; the search ends when one reaches 1."""
        return self._n_done / self.n_iterations, seconds / self.time_limit

    def _text(self, seconds: float, is_finished: bool = False) -> str:
        by_count, by_time = self._shares_done(seconds)
        done = max(by_count, by_time)
        loss = f"information loss {self._best / self.total if self.total else 0.0:.4%}"
        is_by_time = self.time_limit < math.inf and by_time >= by_count
        if not is_by_time:
            number = min(math.ceil(self._n_done), self.n_iterations)
            loss = f"{self.unit} {number} of {self.n_iterations}, {loss}"
        if is_finished:
            return f"{loss}, {seconds:.0f} s"
        gone = f", {seconds:.0f} s gone" if is_by_time else ""
        left = f", {seconds_left(seconds, done):.0f} s left" if done else ""
        return f"{loss}{gone}{left}"


class Part:
    """Progress of a search among some of the records, while the cost of the others is constant."""

    def __init__(self, whole: Progress, rest: float) -> None:
        self.whole = whole
        self.rest = rest

    @property
    def stopped(self) -> bool:
        """Whether the search is to stop."""
        return self.whole.stopped

    def note(self, cost: float) -> None:
        """Note a cost."""
        self.whole.note(cost + self.rest)

    def advance(self, best: float, n_iterations: Any = 1) -> None:
        """Note an iteration, or a part of it."""
        self.whole.advance(best + self.rest, n_iterations)
