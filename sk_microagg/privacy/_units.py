"""Groups of different units, such as people who have several records each."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from sk_microagg._kernels import DistinctGuard
from sk_microagg._utils._typing import Array, Booleans, Labels
from sk_microagg._utils._validation import check_count
from sk_microagg.privacy._base import Constraint
from sk_microagg.privacy._codes import codes_of
from sk_microagg.privacy._counts import GroupCounts


class DistinctUnits(Constraint):
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

    def __init__(self, k: int = 5, column: Hashable = None) -> None:
        self.k = k
        self.column = column

    def prepare(self, values: Any) -> tuple[Array, Any]:
        check_count("k", self.k)
        codes, _ = codes_of(values)
        return codes, np.bincount(codes)

    def measure(self, values: Array, table: Any) -> int:
        return int(self.measure_groups(np.zeros(len(values), dtype=np.intp), values, table)[0])

    def accepts(self, figure: Any) -> Any:
        return figure >= self.k

    def accepts_each(self, figures: Array) -> Booleans:
        return self.accepts(figures)

    def shortfall(self, figure: Any) -> Any:
        return np.maximum(1.0 - figure / self.k, 0.0)

    def measure_groups(self, labels: Labels, values: Array, table: Any) -> Array:
        return GroupCounts.of(labels, values).n_codes

    def guard(self, values: Array, table: Any) -> Any:
        return DistinctGuard(values, self.k)

    def why_impossible(self, figure: float, column: str) -> str:
        return f"{column}: {figure} different units, k={self.k} needs at least {self.k}."

    def describe(self, column: str) -> str:
        return f"k={self.k} different units ({column})"
