"""Groups that stand for enough people of the population."""

from collections.abc import Hashable
from math import floor, log10
from typing import Any

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._kernels import SumGuard
from sk_microagg._utils._places import NOT_POSITIVE, check_cells
from sk_microagg._utils._typing import Array, Floats
from sk_microagg._utils._validation import check_number
from sk_microagg.privacy._amounts import AmountConstraint, Contributions, units_in
from sk_microagg.privacy._base import ROUNDING


class PopulationSize(AmountConstraint):
    """The sampling weights of each group add up to a minimum number of people: k-map.

    The weight of a record is the number of people of the population that it stands for. An intruder
    who looks for somebody in the population, and does not know who is in the sample, then finds at
    least `at_least` people in each group, as far as the weights say. With units, such as people
    with several rows, the largest weight of each counts once.

    Parameters
    ----------
    at_least : float, default=20
        Smallest sum of the weights of a group, above 0.

    weight : str, int or None, default=None
        The column of weights: its name, or its number. None stands for the `weight` of the
        estimator, or for a single sensitive column.

    See Also
    --------
    sk_microagg.metrics.population_risk : What an intruder finds in the population.

    References
    ----------
    Sweeney (2002). k-anonymity: a model for protecting privacy. International Journal of
    Uncertainty, Fuzziness and Knowledge-based Systems 10(5).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import PopulationSize
    >>> size = PopulationSize(at_least=100)
    >>> weights, table = size.prepare([20, 30, 40, 50, 60, 20])
    >>> figures = size.measure_groups(np.array([0, 0, 0, 1, 1, 1]), weights, table)
    >>> figures
    array([ 90., 130.])
    >>> size.accepts(figures)
    array([False,  True])
    """

    is_about_weights = True

    _add = np.maximum

    front = FRONTS["population"]
    _bound = "at_least"

    def __init__(self, at_least: float = 20, weight: Hashable = None) -> None:
        self.at_least = at_least
        self.weight = weight

    @property
    def column(self) -> Hashable:
        """The column of weights."""
        return self.weight

    def about(self, column: Hashable) -> "PopulationSize":
        return PopulationSize(self.at_least, column)

    def check_parameters(self) -> None:
        check_number("at_least", self.at_least, above=0)

    def prepare(self, values: Any) -> tuple[Array, Any]:
        prepared, table = super().prepare(values)
        check_cells(prepared["amount"] <= 0, self._words(), NOT_POSITIVE, column=self.column)
        return prepared, table

    def _words(self) -> str:
        return "weight" if self.weight is None else f"weight={self.weight!r} of PopulationSize"

    def measure_contributions(self, groups: Contributions) -> Floats:
        return groups.totals()

    def told(self, figure: float) -> float:
        # Exact sums of weights would reveal one to whoever knows the others.
        return max(_rounded_down(figure, 1), self.at_least)

    def in_words(self, figure: float) -> str:
        return f"the weights of a group add up to at least {figure:.4g}; {self.at_least:g} demanded"

    def guard(self, values: Array, table: Any) -> Any:
        return SumGuard(*units_in(values), self.at_least * (1 - ROUNDING / 2))

    def why_impossible(self, figure: float, column: str) -> str:
        return (
            f"at_least={self.at_least} must be at most the sum of the weights of the {column}, "
            f"about {_rounded_down(figure, 2):g}."
        )


def _rounded_down(total: float, n_digits: int) -> float:
    unit = 10.0 ** (floor(log10(total)) + 1 - n_digits)
    return floor(total / unit) * unit
