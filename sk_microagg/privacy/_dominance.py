"""Groups that nobody dominates."""

from collections.abc import Hashable
from math import ceil
from typing import Any

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._kernels import LargestGuard
from sk_microagg._utils._typing import Array, Floats
from sk_microagg._utils._validation import check_count, check_number
from sk_microagg.privacy._amounts import AmountConstraint, Contributions, units_in
from sk_microagg.privacy._base import ROUNDING

# A share that may be that of one company is told in steps of this.
STEP = 0.1


class Dominance(AmountConstraint):
    """The largest contributors to a group hold at most a share of its sum.

    If one company has most of the sales of its group, the mean of the group reveals its sales. The
    column may be any column of numbers that are 0 or more, including an anonymized one. Missing
    values contribute nothing. With units, such as companies with several rows, the values of each
    are added up first. With sampling weights, values are multiplied by these: a weighted mean
    reveals that sum.

    Parameters
    ----------
    share : float, default=0.5
        Largest share of the sum of a group that the `n` largest contributors may have together,
        above 0 and at most 1.

    n : int, default=1
        Number of contributors that are taken together.

    column : str, int or None, default=None
        The column: its name, or its number. None is for a table with a single sensitive column.

    See Also
    --------
    PPercent : Nobody can estimate the largest contribution to within p percent.
    sk_microagg.metrics.dominance : The largest share in a release.

    Notes
    -----
    The constraint is monotone: the n largest of a union were at most the n largest of each part,
    and had at most the share of each sum. A group whose sum is 0 satisfies it.

    References
    ----------
    Hundepool et al. (2012). Statistical disclosure control. Wiley, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import Dominance
    >>> dominance = Dominance(share=0.5)
    >>> sales, table = dominance.prepare([90, 5, 5, 30, 35, 35])
    >>> figures = dominance.measure_groups(np.array([0, 0, 0, 1, 1, 1]), sales, table)
    >>> figures
    array([0.9 , 0.35])
    >>> dominance.accepts(figures)
    array([False,  True])
    """

    front = FRONTS["dominance"]
    _bound = "share"
    _is_upper_bound = True

    def __init__(self, share: float = 0.5, n: int = 1, column: Hashable = None) -> None:
        self.share = share
        self.n = n
        self.column = column

    def check_parameters(self) -> None:
        check_number("share", self.share, above=0, at_most=1)
        check_count("n", self.n)

    @property
    def n_apart(self) -> int:
        return self.n

    def measure_contributions(self, groups: Contributions) -> Floats:
        largest, others = groups.largest_and_others(self.n, self.n)
        total = largest + others
        return np.divide(largest, total, out=np.zeros(len(total)), where=total > 0)

    def told(self, figure: float) -> float:
        # With the mean that is released, an exact share would be the value of one company.
        return min(coarse_share(figure), self.share)

    def in_words(self, figure: float) -> str:
        whose = "one contributor has" if self.n == 1 else f"{self.n} contributors have"
        return f"{whose} at most {figure:.3g} of a sum; {self.share:g} demanded"

    def guard(self, values: Array, table: Any) -> Any:
        share = self.share * (1 + ROUNDING / 2)
        factor = max(1 - share, 0.0) / share
        return LargestGuard(*units_in(values), self.n, self.n, factor)

    def why_impossible(self, figure: float, column: str) -> str:
        whose = "one contributor has" if self.n == 1 else f"{self.n} contributors have"
        return (
            f"share={self.share} must be at least {coarse_share(figure):g}: {whose} up to that "
            f"much of the sum of the {column}."
        )


def coarse_share(share: float) -> float:
    """An upper bound that is told instead of a share."""
    return round(ceil(share / STEP - ROUNDING) * STEP, 1)
