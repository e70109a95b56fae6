"""Diversity of the sensitive values in each group."""

import sys
from collections.abc import Hashable
from typing import Any, Literal

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._kernels import DistinctGuard, EntropyGuard, RecursiveGuard
from sk_microagg._utils._typing import Array, Floats
from sk_microagg._utils._validation import check_count, check_number, check_option
from sk_microagg.privacy._codes import codes_of
from sk_microagg.privacy._counted import CountedConstraint, GroupCounts, total_by_code

# Relative to l: the entropy of l equally frequent values may be a little below log l by rounding.
ROUNDING = 1e-9

# Relative to c: the guard must be no less strict than `accepts`, which divides where it multiplies.
STRICTER = 1e-12


class LDiversity(CountedConstraint):
    """Several different values of a sensitive column in each group.

    In a group of k records that share one diagnosis, k protects nobody's diagnosis. Missing values
    count as one value of their own: where many are missing, a group may have `l` values and a
    single known one, which `homogeneity(missing="ignored")` measures. Where people have several
    records, frequencies count records, not people.

    Parameters
    ----------
    l : int or float, default=2
        Number of different values that a group needs. For `kind="entropy"` it need not be an
        integer.

    kind : {"distinct", "entropy", "recursive"}, default="distinct"
        How diversity is measured.

        - "distinct": at least `l` different values;
        - "entropy": values as hard to predict as `l` equally frequent ones, which means an entropy
          of at least log l;
        - "recursive": with r1, r2, ... the numbers of records with the most frequent value, the
          second most frequent one and so on, r1 < c (r_l + r_(l+1) + ...). No value is too
          frequent, even for an intruder who can rule out l - 2 others.

    c : float or None, default=None
        The factor of `kind="recursive"`, which needs it. None for the others.

    column : str, int or None, default=None
        The sensitive column: its name, or its number; None for all of them.

    See Also
    --------
    TCloseness : Values distributed as in the whole table.
    sk_microagg.metrics.diversity : The diversity of a release.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam (2007). l-Diversity: privacy beyond
    k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import LDiversity
    >>> diversity = LDiversity(l=2)
    >>> codes, table = diversity.prepare(["flu", "flu", "gout", "flu", "gout"])
    >>> figures = diversity.measure_groups(np.array([0, 0, 1, 1, 1]), codes, table)
    >>> figures
    array([1, 2])
    >>> diversity.accepts(figures)
    array([False,  True])
    """

    front = FRONTS["l"]

    def __init__(
        self,
        l: float = 2,  # noqa: E741
        kind: Literal["distinct", "entropy", "recursive"] = "distinct",
        c: float | None = None,
        column: Hashable = None,
    ) -> None:
        self.l = l
        self.kind = kind
        self.c = c
        self.column = column

    def learn(self, values: Any, counts: Array | None = None) -> tuple[Array, Any]:
        self.check_parameters()
        codes, _ = codes_of(values)
        return codes, total_by_code(codes, counts)

    def check_parameters(self) -> None:
        check_option("kind", self.kind, ["distinct", "entropy", "recursive"])
        if self.kind == "entropy":
            check_number("l", self.l, at_least=1)
        else:
            check_count("l", self.l)
        if self.kind == "recursive":
            if self.c is None:
                raise ValueError("c=None must be a number above 0 if kind='recursive'.")
            check_number("c", self.c, above=0)
        elif self.c is not None:
            raise ValueError(f"c={self.c!r} must be None if kind={self.kind!r}.")

    @property
    def is_worse_if_larger(self) -> bool:
        return self.kind == "recursive"

    @property
    def counts_rows(self) -> bool:
        # How many values are different does not depend on how often people have them.
        return self.kind != "distinct"

    def in_words(self, figure: float) -> str:
        if self.kind == "distinct":
            return f"every group has at least {figure:.0f} different values; {self.l} demanded"
        if self.kind == "entropy":
            return (
                f"the entropy of a group is at least that of {figure:.3g} equally frequent values; "
                f"{self.l:g} demanded"
            )
        return (
            f"the largest ratio r1 / (r{self.l} + ...) of a group is {figure:.4g}; below "
            f"{self.c:g} demanded"
        )

    def accepts(self, figure: Any) -> Any:
        if self.kind == "recursive":
            return figure < self.c
        return figure >= (self.l * (1 - ROUNDING) if self.kind == "entropy" else self.l)

    def shortfall(self, figure: Any) -> Any:
        if self.kind == "recursive":
            share = self.c / np.minimum(figure, sys.float_info.max)  # both may be infinite
        else:
            share = figure / self.l
        return np.maximum(1.0 - share, 0.0)

    def measure_counts(self, groups: GroupCounts, table: Any) -> Array:
        if self.kind == "distinct":
            return groups.n_codes
        return _effective_numbers(groups) if self.kind == "entropy" else _ratios(groups, self.l)

    def guard(self, values: Array, table: Any) -> Any:
        if self.kind == "distinct":
            return DistinctGuard(values, int(self.l))
        if self.kind == "entropy":
            return EntropyGuard(values, self.l)
        return RecursiveGuard(values, int(self.l), self.c * (1 - STRICTER))  # type: ignore[operator]

    def why_impossible(self, figure: float, column: str) -> str:
        if self.kind == "distinct":
            return (
                f"l={self.l} must be at most the number of different values in the {column}, "
                f"{figure}."
            )
        if self.kind == "entropy":
            return (
                f"l={self.l} must be at most the exponential of the entropy of the {column}, "
                f"{figure:.6g}."
            )
        return (
            f"c={self.c} must be above the ratio r1 / (r_{self.l} + ...) of the {column}, "
            f"{figure:.6g}."
        )


def _effective_numbers(groups: GroupCounts) -> Floats:
    """Exponential of the entropy of each group."""
    sum_of_logs = groups.sum(groups.counts * np.log(groups.counts))
    entropies = np.log(groups.sizes) - sum_of_logs / groups.sizes
    return np.exp(np.maximum(entropies, 0.0))  # a little below 0 by rounding


def _ratios(groups: GroupCounts, l: float) -> Floats:  # noqa: E741
    """Frequency of the most frequent value over that of all but the l - 1 most frequent ones."""
    group_of_pair = groups.for_pairs(np.arange(len(groups.sizes)))
    counts = groups.counts[np.lexsort((-groups.counts, group_of_pair))]
    n_rare = groups.sum(np.where(groups.ranks() >= l - 1, counts, 0))
    ratios = np.full(len(n_rare), np.inf)
    return np.divide(counts[groups.starts], n_rare, out=ratios, where=n_rare > 0)
