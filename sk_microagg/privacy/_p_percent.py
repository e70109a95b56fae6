"""Groups in which the largest value cannot be estimated well."""

from collections.abc import Hashable
from math import floor, inf, log10
from typing import Any

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._kernels import LargestGuard
from sk_microagg._utils._typing import Array, Floats
from sk_microagg._utils._validation import check_number
from sk_microagg.privacy._amounts import AmountConstraint, Contributions, units_in
from sk_microagg.privacy._base import ROUNDING

# Percents that are told: finer ones would be an estimate of the largest value.
STEPS = 1, 2, 5, 10


class PPercent(AmountConstraint):
    """Nobody who knows the second largest contribution to a group can estimate the largest well.

    Subtracting the second largest value of a group from its sum gives an upper bound on the largest
    one. It exceeds it by what all others contribute, which must be at least p percent of it. The
    column may be any column of numbers that are 0 or more, including an anonymized one. Missing
    values contribute nothing. With units, such as companies with several rows, the values of each
    are added up first. With sampling weights, values are multiplied by these: a weighted mean
    reveals that sum.

    Parameters
    ----------
    p : float, default=10
        Smallest error of the estimate, in percent of the largest contribution; above 0.

    column : str, int or None, default=None
        The column: its name, or its number. None is for a table with a single sensitive column.

    See Also
    --------
    Dominance : The largest contributors hold at most a share of the sum.
    sk_microagg.metrics.p_percent : The smallest error in a release.

    Notes
    -----
    The constraint is monotone. Whichever contributors are the two largest of a union, their parts
    in one group are at most its two largest contributions; so all others contribute at least as
    much to the union as to both groups together, and that is at least p percent of the sum of both
    largest. A group whose sum is 0 satisfies it.

    References
    ----------
    Hundepool et al. (2012). Statistical disclosure control. Wiley, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import PPercent
    >>> p_percent = PPercent(p=10)
    >>> sales, table = p_percent.prepare([90, 40, 5, 30, 35, 35])
    >>> figures = p_percent.measure_groups(np.array([0, 0, 0, 1, 1, 1]), sales, table)
    >>> figures.round(1)
    array([ 5.6, 85.7])
    >>> p_percent.accepts(figures)
    array([False,  True])
    """

    front = FRONTS["p_percent"]
    _bound = "p"

    def __init__(self, p: float = 10, column: Hashable = None) -> None:
        self.p = p
        self.column = column

    def check_parameters(self) -> None:
        check_number("p", self.p, above=0)

    @property
    def n_apart(self) -> int:
        return 2

    def measure_contributions(self, groups: Contributions) -> Floats:
        largest, others = groups.largest_and_others(1, 2)
        figures = np.full(len(largest), inf)
        return np.divide(100 * others, largest, out=figures, where=largest > 0)

    def told(self, figure: float) -> float:
        return max(coarse_percent(figure), self.p)

    def in_words(self, figure: float) -> str:
        return (
            f"estimates of the largest value of a group are off by at least {figure:.3g}%;"
            f" {self.p:g}% demanded"
        )

    def guard(self, values: Array, table: Any) -> Any:
        return LargestGuard(*units_in(values), 1, 2, self.p / 100 * (1 - ROUNDING / 2))

    def why_impossible(self, figure: float, column: str) -> str:
        return (
            f"p={self.p} must be at most {coarse_percent(figure):g}: the sum of the {column}, less "
            "the second largest value, is the largest one to within little more than that."
        )


def coarse_percent(percent: float) -> float:
    """A lower bound that is told instead of a percent."""
    if not 0 < percent < inf:
        return percent
    unit = 10.0 ** floor(log10(percent))
    return max((step * unit for step in STEPS if step * unit <= percent), default=unit)
