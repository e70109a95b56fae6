"""Groups of different units, such as people who have several records each."""

import numpy as np

from sk_microagg._kernels import DistinctGuard
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

    def __init__(self, k=5, column=None):
        self.k = k
        self.column = column

    def prepare(self, values):
        check_count("k", self.k)
        codes, _ = codes_of(values)
        return codes, np.bincount(codes)

    def measure(self, values, table):
        return int(self.measure_groups(np.zeros(len(values), dtype=np.intp), values, table)[0])

    def accepts(self, figure):
        return figure >= self.k

    def accepts_each(self, figures):
        return self.accepts(figures)

    def shortfall(self, figure):
        return np.maximum(1.0 - figure / self.k, 0.0)

    def measure_groups(self, labels, values, table):
        return GroupCounts.of(labels, values).n_codes

    def guard(self, values, table):
        return DistinctGuard(values, self.k)

    def why_impossible(self, figure, column):
        return f"{column}: {figure} different units, k={self.k} needs at least {self.k}."

    def describe(self, column):
        return f"k={self.k} different units ({column})"
