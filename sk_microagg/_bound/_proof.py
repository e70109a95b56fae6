"""The best bound so far: when it rose, and the line that shows it."""

import math

import numpy as np

from sk_microagg._bound._margin import safe_share
from sk_microagg._utils._deadline import Deadline
from sk_microagg._utils._progress import ProgressLine


class Proof:
    """The best bound proven so far, as a share of the total sum of squares.

    Parameters
    ----------
    total : float
        The total sum of squares of the records.

    unit : float
        The total sum of squares of the scaled records, in which squared errors are given.

    n_values : int
        Number of values in the table.

    time_limit : float
        Seconds that the search may take; it can be infinite.

    verbose : int
        If 1, print a progress line that updates.

    deadline : Deadline or None, default=None
        The end of the search, if it has begun already.

    on_rise : callable or None, default=None
        Is called with the seconds and the bound whenever that rises.
    """

    def __init__(self, total, unit, n_values, time_limit, verbose, deadline=None, on_rise=None):
        self.time_limit = time_limit
        self.deadline = deadline or Deadline(time_limit)
        self.bound = 0.0
        self.squared_errors = 0.0
        self._total = total
        self._unit = unit
        self._n_values = n_values
        self._verbose = verbose
        self._trace = []
        self._on_rise = on_rise
        self._line = ProgressLine()

    def note(self, squared_errors):
        """Record a proven lower bound on the SSE; return whether it is the best so far."""
        self.squared_errors = max(self.squared_errors, squared_errors)
        bound = safe_share(squared_errors / self._unit, self._total, self._n_values)
        if not bound > self.bound:
            return False
        self.bound = bound
        self._trace.append((self.deadline.seconds_gone(), bound))
        if self._on_rise is not None:
            self._on_rise(*self._trace[-1])
        return True

    def deadline_of_part(self, share):
        """The end of a share of the time limit from now on, but not after the deadline."""
        return self.deadline.within(share * self.time_limit)

    def trace(self):
        """Seconds and bounds, ndarray of shape (n_improvements, 2)."""
        return np.array(self._trace).reshape(-1, 2)

    def show(self, ceiling):
        """Print the bound, the most that it can become, and the time that is left."""
        if self._verbose and self._line.is_due():
            left = self.deadline.seconds_left()
            time = self._gone() if left == math.inf else f"{left:.0f} s left"
            self._draw(f"at most {ceiling / self._unit:.4%} by this proof, {time}")

    def finish(self):
        """End the line."""
        if self._verbose:
            self._draw(self._gone())
            self._line.end()

    def _gone(self):
        return f"{max(self.deadline.seconds_gone(), 0.0):.0f} s"

    def _draw(self, remark):
        self._line.draw(f"information loss at least {self.bound:.4%}, {remark}")
