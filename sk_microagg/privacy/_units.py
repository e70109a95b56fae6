"""Groups of different units, such as people who have several records each."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._kernels import DistinctGuard, RecursiveGuard
from sk_microagg._utils._formatting import at_most, rounded_up
from sk_microagg._utils._typing import Array
from sk_microagg._utils._validation import check_count, check_number
from sk_microagg.privacy._base import ROUNDING, BoundConstraint
from sk_microagg.privacy._codes import codes_of
from sk_microagg.privacy._counted import CountedConstraint, GroupCounts


class DistinctUnits(CountedConstraint, BoundConstraint):
    """At least `k` different units in each group: k counts people, not rows.

    Estimators apply it to the values that `fit` receives as `unit`, with their own `k`. A missing
    unit counts as one unit, like all others that are missing.

    Parameters
    ----------
    k : int, default=5
        Smallest number of different units in a group.

    column : str, int or None, default=None
        The column: its name, or its number. None is for a table with a single column.

    See Also
    --------
    UnitShare : No unit with most records of a group.
    sk_microagg.metrics.units_per_group : The smallest number of different units in a group.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import DistinctUnits
    >>> units = DistinctUnits(k=2)
    >>> codes, table = units.prepare(["Ann", "Ann", "Bob", "Ann"])
    >>> units.measure_groups(np.array([0, 0, 1, 1]), codes, table)
    array([1, 2])
    """

    _bound = "k"

    def __init__(self, k: int = 5, column: Hashable = None) -> None:
        self.k = k
        self.column = column

    def check_parameters(self) -> None:
        check_count("k", self.k)

    def learn(self, values: Any, counts: Array | None = None) -> tuple[Array, Any]:
        self.check_parameters()
        return codes_of(values)[0], None

    def measure_counts(self, groups: GroupCounts, table: Any) -> Array:
        return groups.n_codes

    def guard(self, values: Array, table: Any) -> Any:
        return DistinctGuard(values, self.k)

    def why_impossible(self, figure: float, column: str) -> str:
        return f"{column}: {figure} different units, k={self.k} needs at least {self.k}."

    def describe(self, column: str) -> str:
        return f"k={self.k} different units ({column})"


class UnitShare(CountedConstraint, BoundConstraint):
    """No unit, such as a person, with more than a share of the records of a group.

    A group of 104 records of five people may have 100 of one person. An intruder who attributes all
    of them to that person is right for 96% of them, although k = 5. Estimators apply the constraint
    to the values that `fit` receives as `unit`. A missing unit counts as one unit, like all others
    that are missing.

    Parameters
    ----------
    at_most : float, default=0.2
        Largest share of the records of a group that may belong to one unit, above 0 and at most 1.
        With 1 / k, it is no more probable that a record of a group is that of a certain person than
        if all k had one record each.

    See Also
    --------
    DistinctUnits : At least k different units in each group.
    sk_microagg.metrics.unit_share : The largest share of a unit in a release.

    Notes
    -----
    The constraint is monotone: if a unit has a of the A records of a group and b of the B records
    of another one, with a ≤ s A and b ≤ s B, then it has a + b ≤ s (A + B) records of their union,
    whether it is in one of them or in both. So a share of the union is never above the larger one
    of the parts (it is their mediant), and a table in which a unit has a larger share than
    `at_most` has no such groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import UnitShare
    >>> share = UnitShare(at_most=0.5)
    >>> codes, table = share.prepare(["Ann", "Ann", "Bob", "Ann", "Bob"])
    >>> figures = share.measure_groups(np.array([0, 0, 0, 1, 1]), codes, table)
    >>> figures.round(3)
    array([0.667, 0.5  ])
    >>> share.accepts(figures)
    array([False,  True])

    >>> from sk_microagg import MicroAggregator
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> aggregator = MicroAggregator(k=2, privacy=UnitShare(0.5))
    >>> aggregator.fit_predict(X, unit=["Ann", "Ann", "Bob", "Bob", "Cid", "Dan"])
    array([0, 0, 0, 0, 1, 1])
    """

    is_about_units = True

    front = FRONTS["unit_share"]
    _bound = "at_most"
    _is_upper_bound = True
    _rounding = ROUNDING

    def __init__(self, at_most: float = 0.2) -> None:
        self.at_most = at_most

    def check_parameters(self) -> None:
        check_number("at_most", self.at_most, above=0, at_most=1)

    def in_words(self, figure: float) -> str:
        return (
            f"{at_most(figure)} of the rows of a group belong to one of them; {self.at_most:g} "
            "demanded"
        )

    def learn(self, values: Any, counts: Array | None = None) -> tuple[Array, Any]:
        self.check_parameters()
        return codes_of(values)[0], None

    def measure_counts(self, groups: GroupCounts, table: Any) -> Array:
        return np.maximum.reduceat(groups.counts, groups.starts) / groups.sizes

    def guard(self, values: Array, table: Any) -> Any:
        # The most frequent code has at most a share s if it is at most s / (1 - s) times as
        # frequent as all others. That is strict, and must be no less strict than `accepts`.
        share = self.at_most * (1 + ROUNDING / 2)
        if share >= 1:
            return DistinctGuard(values, 1)
        return RecursiveGuard(values, 2, share / (1 - share))

    def why_impossible(self, figure: float, column: str) -> str:
        return (
            f"at_most={self.at_most} must be at least the largest share of the records of one unit "
            f"in the {column}, about {rounded_up(figure):g}."
        )
