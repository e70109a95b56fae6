"""Sensitive values distributed in each group as in the whole table."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._utils._formatting import rounded_up
from sk_microagg._utils._tables import MISSING
from sk_microagg._utils._typing import Array, Codes, Labels
from sk_microagg._utils._validation import check_number
from sk_microagg.privacy._base import VectorizedConstraint
from sk_microagg.privacy._codes import GroupCounts, as_column, codes_of, have_order, order_codes
from sk_microagg.privacy._earth_mover import EqualDistance, OrderedDistance, TreeDistance

OPTIONS = ("auto", "ordered", "equal")

# A part of the table is divided into groups alone if its own distance from the table is at most
# this share of t: what a group of it may add is then nearly t.
SHARE_FOR_BLOCKS = 0.25


class TCloseness(VectorizedConstraint):
    """Values of a sensitive column that are distributed in each group nearly as in the whole table.

    An intruder who finds the group of a person then learns little that the whole table does not
    reveal about everybody. The measure is the earth mover's distance: how much of the distribution
    must be moved, and how far. Missing values count as one value of their own. Where people have
    several records, shares are of records, not of people.

    Parameters
    ----------
    t : float, default=0.2
        Largest distance of a group from the table, from 0 to 1.

    distance : {"auto", "ordered", "equal"} or Hierarchy, default="auto"
        How far values are apart.

        - "ordered": by the number of steps between them among the m different values of the table
          in their order, divided by m - 1. A missing value is beyond the largest one;
        - "equal": any two different values have distance 1;
        - a tree of :class:`~sk_microagg.generalization.Hierarchy`: by the height of the lowest node
          above both values, divided by that of the root. A missing value is directly below the
          root;
        - "auto": "ordered" for numbers, dates and categorical types with an order, and otherwise
          "equal".

    column : str, int or None, default=None
        The sensitive column: its name, or its number. None is for a table with a single sensitive
        column.

    See Also
    --------
    LDiversity : Several different values in each group.
    sk_microagg.metrics.closeness : The largest distance in a release.

    References
    ----------
    Li, Li, Venkatasubramanian (2007). t-Closeness: privacy beyond k-anonymity and l-diversity.
    IEEE International Conference on Data Engineering.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import TCloseness
    >>> closeness = TCloseness(t=0.3)
    >>> codes, table = closeness.prepare([20, 30, 40, 50, 20, 50])
    >>> figures = closeness.measure_groups(np.array([0, 0, 0, 1, 1, 1]), codes, table)
    >>> figures.round(3)
    array([0.167, 0.167])
    >>> closeness.accepts(figures)
    array([ True,  True])
    """

    front = FRONTS["t"]

    def __init__(self, t: float = 0.2, distance: Any = "auto", column: Hashable = None) -> None:
        self.t = t
        self.distance = distance
        self.column = column

    def check_parameters(self) -> None:
        check_number("t", self.t, at_least=0, at_most=1)
        distance = self.distance
        if not self._has_tree and not (isinstance(distance, str) and distance in OPTIONS):
            kind = ValueError if isinstance(distance, str) else TypeError
            raise kind(
                f"distance={distance!r} must be one of {', '.join(map(repr, OPTIONS))} or a "
                "Hierarchy."
            )

    @property
    def _has_tree(self) -> bool:
        distance = self.distance
        return callable(getattr(distance, "_domain", None)) and not isinstance(distance, type)

    @property
    def is_worse_if_larger(self) -> bool:
        return True

    @property
    def can_be_counted(self) -> bool:
        return super().can_be_counted and not self._has_tree

    @property
    def uses_order(self) -> bool:
        return True

    def table_of_counts(self, table: Any, counts: Array) -> Any:
        return type(table)(counts)

    def in_words(self, figure: float) -> str:
        # What was demanded is a bound, too, and may be the smaller one.
        most = min(rounded_up(figure), self.t)
        return f"the distance of a group from the table is at most {most:g}; {self.t:g} demanded"

    def prepare(self, values: Any) -> tuple[Array, Any]:
        self.check_parameters()
        distance = self.distance
        values = as_column(values)
        if self._has_tree:
            return _prepare_tree(values, distance)
        codes, different = codes_of(values)
        if distance == "auto":
            distance = "ordered" if have_order(values, different) else "equal"
        if distance == "ordered":
            codes = _in_order(values, codes, different)
        table = OrderedDistance if distance == "ordered" else EqualDistance
        return codes, table(np.bincount(codes))

    def accepts(self, figure: Any) -> Any:
        return figure <= self.t

    def suits_block(self, figure: float) -> bool:
        return figure <= SHARE_FOR_BLOCKS * self.t

    def shortfall(self, figure: Any) -> Any:
        return np.maximum(figure - self.t, 0.0)

    def measure_groups(self, labels: Labels, values: Array, table: Any) -> Array:
        return table.of_groups(labels, values)

    def measure_counts(self, groups: GroupCounts, table: Any) -> Array:
        """Return the figure of each group, given how often it has each code; not for a tree."""
        return table.of_counts(groups)

    def guard(self, values: Array, table: Any) -> Any:
        return table.guard(values, self.t)


def _in_order(values: Any, codes: Codes, different: list[Any]) -> Codes:
    try:
        return order_codes(values, codes, different)
    except TypeError:
        raise TypeError(
            "distance='ordered' needs values of one type that have an order, such as numbers: use "
            "distance='equal' for others."
        ) from None


def _prepare_tree(values: Any, hierarchy: Any) -> tuple[Codes, TreeDistance]:
    codes, different = codes_of(values)
    counts = np.bincount(codes)
    domain = _domain(hierarchy, different)
    # Files repeat the root to make all rows equally long.
    root = getattr(hierarchy, "root", MISSING)
    all_paths = [_below(domain.cover(leaf, leaf), root) for leaf in range(domain.n_leaves)]
    paths = [all_paths[leaf] for leaf, _ in domain.encode(different)]
    if len(paths) < len(counts):
        paths.append((None,))
    return codes, TreeDistance(counts, paths, all_paths)


def _domain(hierarchy: Any, different: list[Any]) -> Any:
    try:
        domain = hierarchy._domain(np.array(different, dtype=object), "sensitive")
    except ValueError:
        # The message of the hierarchy would show a sensitive value.
        raise ValueError(
            f"distance={hierarchy!r} lacks some of the values of the sensitive column: every value "
            "must be one of its leaves."
        ) from None
    if not domain.is_tree:
        raise ValueError(
            f"distance={hierarchy!r} must be a hierarchy that is a tree; for numbers, use "
            "distance='ordered'."
        )
    return domain


def _below(path: tuple[Any, ...], root: str) -> tuple[Any, ...]:
    """A path without copies of the root above the leaf."""
    while len(path) > 1 and path[0] == root:
        path = path[1:]
    return path
