"""The best bound so far: when it rose, and the line that shows it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import inf
from typing import Any

import numpy as np

from sk_microagg._utils._deadline import Deadline, ProgressLine
from sk_microagg._utils._formatting import counted, rounded_percent
from sk_microagg._utils._typing import Floats

# A bound is lowered by a billionth for rounding: smaller gaps are reported as this.
SMALLEST_GAP = 1e-6

# Losses that were summed in another order differ by less, relatively and of all.
ROUNDING = 1e-9
ROUNDING_OF_ALL = 1e-14

# Relative to the largest dual: a dual constraint compares sums of rounded terms, one per pair in a
# set of k, none of them more than a few dozen times the largest dual.
ERROR_PER_DUAL = 1e-12

# Relative: the SSE of a partition and the total sum of squares are sums over all records.
ERROR_OF_SHARE = 1e-9

# Absolute: squares below the range of normal numbers are wrong by this at most.
ERROR_PER_TINY_SQUARE = 5e-324


@dataclass(eq=False)
class Proof:
    """The best bound proven so far, as a share of the total sum of squares."""

    total: float
    unit: float
    n_values: int
    time_limit: float
    verbose: int
    deadline: Deadline
    on_rise: Callable[..., Any] | None = None
    bound: float = 0.0
    squared_errors: float = 0.0

    def __post_init__(self) -> None:
        self._trace: list[tuple[float, float]] = []
        self._line = ProgressLine()

    def note(self, squared_errors):
        """Record a proven lower bound on the SSE; return whether it is the best so far."""
        self.squared_errors = max(self.squared_errors, squared_errors)
        bound = safe_share(squared_errors / self.unit, self.total, self.n_values)
        if not bound > self.bound:
            return False
        self.bound = bound
        self._trace.append((self.deadline.seconds_gone(), bound))
        if self.on_rise is not None:
            self.on_rise(*self._trace[-1])
        return True

    def deadline_of_part(self, share):
        """The end of a share of the time limit from now on, but not after the deadline."""
        return self.deadline.within(share * self.time_limit)

    def trace(self):
        """Seconds and bounds, ndarray of shape (n_improvements, 2)."""
        return np.array(self._trace).reshape(-1, 2)

    def show(self, ceiling):
        """Print the bound, the most that it can become, and the time that is left."""
        if self.verbose and self._line.is_due():
            left = self.deadline.seconds_left()
            time = self._gone() if left == math.inf else f"{left:.0f} s left"
            self._draw(f"at most {ceiling / self.unit:.4%} by this proof, {time}")

    def finish(self):
        if self.verbose:
            self._draw(self._gone())
            self._line.end()

    def _gone(self):
        return f"{max(self.deadline.seconds_gone(), 0.0):.0f} s"

    def _draw(self, remark):
        self._line.draw(f"information loss at least {self.bound:.4%}, {remark}")


@dataclass(frozen=True, repr=False)
class Certificate:
    """The loss of a partition, and a proven lower bound on that of any partition.

    Attributes
    ----------
    loss : float
        Information loss of the partition.

    bound : float
        Proven lower bound on the loss of any partition, at most `loss`; 0 if nothing was proven.

    trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the proof, and the bound proven by then.

    k : int
        Smallest size of a group.

    n_single : int, default=0
        In how many cells a number counts as in these groups: half a deviation from missing ones,
        since only one member of its group has a number in this column. In another partition, these
        are other cells. So the bound is about any partition of the records with these cells as they
        count here, and bounds of two fits are about different ones.

    See Also
    --------
    sk_microagg.TableAggregator.certificate : Proves one for the groups of a table.
    sk_microagg.metrics.loss_bound : The bound for an array.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.metrics import Certificate
    >>> certificate = Certificate(loss=0.051, bound=0.05, trace=np.array([[1.0, 0.05]]), k=5)
    >>> certificate
    <Certificate: at most 2% above the optimum, loss=0.051, bound=0.05, k=5>
    >>> certificate.verdict()
    'at most 2% above the optimum'
    """

    loss: float
    bound: float
    trace: Floats
    k: int | None
    n_single: int = 0

    def __post_init__(self) -> None:
        if self.bound > self.loss * (1.0 + ROUNDING) + ROUNDING_OF_ALL:
            raise ValueError(
                f"bound={self.bound:.6g} must be at most the loss of the groups, {self.loss:.6g}: "
                f"is it the bound for k={self.k}, and for the same records, scaled in the same way?"
            )

    def __repr__(self) -> str:
        # Without the trace, which would fill the screen.
        return (
            f"<Certificate: {self.verdict()}, loss={self.loss:.6g}, bound={self.bound:.6g}, "
            f"k={self.k}>"
        )

    @property
    def gap(self) -> float:
        """How far the loss may be above the optimum, as a share of the bound."""
        if self.bound > 0:
            return max(self.loss / self.bound - 1.0, 0.0)
        return inf if self.loss > 0 else 0.0

    def verdict(self) -> str:
        """Return a few words that say what was proven.

        Returns
        -------
        verdict : str
            How far the loss is above the optimum, at most.
        """
        if self.loss == 0:
            return "optimal"
        if self.bound == 0:
            return "nothing was proven"
        if self.gap == 0:
            return f"optimal{self._where()}"
        gap = rounded_percent(max(self.gap, SMALLEST_GAP), 3, ROUND_CEILING)
        return f"at most {gap} above the optimum{self._where()}"

    def reason(self) -> str:
        """Return a few words that can follow the verdict and say why it is true.

        Returns
        -------
        reason : str
            The loss that no partition is below.
        """
        if self.loss == 0:
            return "nothing is lost"
        if self.bound == 0:
            return "the bound on the loss is 0"
        # Rounded down, it is still a bound.
        least = rounded_percent(self.bound, 4, ROUND_FLOOR)
        return (
            f"no partition of the scaled records into groups of at least {self.k} loses less than "
            f"{least}{self._where()}"
        )

    def _where(self) -> str:
        """What the bound assumes, if cells count in a way that depends on the groups."""
        if not self.n_single:
            return ""
        cells = counted(self.n_single, "single number")
        return f", with {cells} counted as in these groups"


def safe_sum(duals):
    """The sum of duals, lowered by the largest amount that rounding may have added."""
    largest = np.abs(duals).max(initial=0.0)
    return float(np.sum(duals)) - ERROR_PER_DUAL * len(duals) * largest


def safe_share(share: float, total: float, n_values: int) -> Any:
    """A share of the total sum of squares that is not above what `information_loss` computes."""
    tiny = n_values * ERROR_PER_TINY_SQUARE / total
    return float(min(max(share * (1.0 - ERROR_OF_SHARE) - tiny, 0.0), 1.0))
