"""What a proven bound says about a partition."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import inf

from sk_microagg._utils._numbers import rounded_percent
from sk_microagg._utils._typing import Floats

# A bound is lowered by a billionth for rounding: smaller gaps are reported as this.
SMALLEST_GAP = 1e-6

# Losses that were summed in another order differ by less, relatively and of all.
ROUNDING = 1e-9
ROUNDING_OF_ALL = 1e-14


@dataclass(frozen=True, repr=False)
class Certificate:
    """The loss of a partition, and a proven lower bound on that of any partition.

    Attributes
    ----------
    loss : float
        Information loss of the partition.

    bound : float
        What any partition loses at least, so at most `loss`; 0 if nothing was proven.

    trace : ndarray of shape (n_improvements, 2)
        Seconds since the start of the search, and the bound that was proven by then.

    k : int
        Smallest size of a group.

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
        """Say in a few words what was proven.

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
            return "optimal"
        gap = rounded_percent(max(self.gap, SMALLEST_GAP), 3, ROUND_CEILING)
        return f"at most {gap} above the optimum"

    def reason(self) -> str:
        """Say in a few words, which can follow the verdict, why it is true.

        Returns
        -------
        reason : str
            What no partition loses less than.
        """
        if self.loss == 0:
            return "nothing is lost"
        if self.bound == 0:
            return "the bound on the loss is 0"
        # Rounded down, it is still a bound.
        least = rounded_percent(self.bound, 4, ROUND_FLOOR)
        return (
            f"no partition of the scaled records into groups of at least {self.k} loses less than "
            f"{least}"
        )
