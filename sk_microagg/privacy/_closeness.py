"""Sensitive values distributed in each group as in the whole table, by the earth mover's distance.

All sums are sums of integers, so that a distance that equals a limit is not above it by rounding.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._choices import FRONTS
from sk_microagg._kernels import EqualGuard, OrderedGuard, TreeGuard
from sk_microagg._utils._places import CellsError, check_cells
from sk_microagg._utils._tables import MISSING
from sk_microagg._utils._typing import Array, Codes, Floats
from sk_microagg._utils._validation import check_number
from sk_microagg.privacy._base import BoundConstraint
from sk_microagg.privacy._codes import as_column, codes_of, have_order, order_codes
from sk_microagg.privacy._counted import CountedConstraint, GroupCounts, total_by_code

OPTIONS = ("auto", "ordered", "equal")

# A part of the table is divided into groups alone if its own distance from the table is at most
# this share of t: what a group of it may add is then nearly t.
SHARE_FOR_BLOCKS = 0.25


class TCloseness(CountedConstraint, BoundConstraint):
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
        - a tree of :class:`~sk_microagg.tables.Hierarchy`: by the height of the lowest node
          above both values, divided by that of the root. A missing value is directly below the
          root;
        - "auto": "ordered" for numbers, dates and categorical types with an order, and otherwise
          "equal".

    column : str, int or None, default=None
        The sensitive column: its name, or its number; None for all of them.

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
    _bound = "t"
    _is_upper_bound = True

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
    def uses_order(self) -> bool:
        return True

    def in_words(self, figure: float) -> str:
        return (
            f"the distance of a group from the table is at most {figure:.3g}; {self.t:g} demanded"
        )

    def learn(self, values: Any, counts: Array | None = None) -> tuple[Array, Any]:
        self.check_parameters()
        distance = self.distance
        values = as_column(values)
        codes, different = codes_of(values)
        if self._has_tree:
            return codes, _tree_distance(distance, codes, different, counts)
        if distance == "auto":
            distance = "ordered" if have_order(values, different) else "equal"
        if distance == "ordered":
            codes = _in_order(values, codes, different)
        table = OrderedDistance if distance == "ordered" else EqualDistance
        return codes, table(total_by_code(codes, counts))

    def suits_block(self, figure: float) -> bool:
        return figure <= SHARE_FOR_BLOCKS * self.t

    def measure_counts(self, groups: GroupCounts, table: Any) -> Array:
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


def _tree_distance(
    hierarchy: Any, codes: Codes, different: list[Any], counts: Array | None
) -> TreeDistance:
    domain = _domain(hierarchy, different, codes)
    totals = total_by_code(codes, counts)
    # Files repeat the root to make all rows equally long.
    root = getattr(hierarchy, "root", MISSING)
    all_paths = [_below(domain.cover(leaf, leaf), root) for leaf in range(domain.n_leaves)]
    paths = [all_paths[leaf] for leaf, _ in domain.encode(different)]
    if len(paths) < len(totals):
        paths.append((None,))
    return TreeDistance(totals, paths, all_paths)


def _domain(hierarchy: Any, different: list[Any], codes: Codes) -> Any:
    try:
        domain = hierarchy._domain(np.array(different, dtype=object), "sensitive")
    except CellsError as error:
        lacking: Any = error.places
        check_cells(
            np.isin(codes, lacking),
            f"distance={hierarchy!r}",
            (
                "of the sensitive column is none of its leaves",
                "of the sensitive column are none of its leaves",
            ),
            n_cells=int(np.sum(codes < len(different))),
        )
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


class EqualDistance:
    """All codes are equally far apart: 1."""

    def __init__(self, counts: Array) -> None:
        self.counts = counts
        self.n_records = int(counts.sum())

    def of_counts(self, groups: GroupCounts) -> Floats:
        """Distance of each group: half the sum of the absolute differences between shares."""
        excess = _excess(groups, self.counts, self.n_records)
        return _quotients(groups.sum(excess), groups.sizes * self.n_records)

    def guard(self, codes: Codes, most: float) -> Any:
        """Return the kernel that says whether a group is at most so far away."""
        return EqualGuard(codes, self.counts, most)


def _excess(groups: GroupCounts, in_table: Array, n_records: int) -> Array:
    """By how much the share of a code in a group is above that in the table, or else 0.

    It is multiplied by the sizes of both, and thus an integer.
    """
    expected = groups.for_pairs(groups.sizes) * in_table[groups.codes]
    return np.maximum(groups.counts * n_records - expected, 0)


class OrderedDistance:
    """Neighboring codes are equally far apart: 1 / (n_codes - 1)."""

    def __init__(self, counts: Array) -> None:
        self.counts = counts
        self.n_records = int(counts.sum())
        self._up_to = np.cumsum(counts)
        self._sum_before = np.concatenate([[0], np.cumsum(self._up_to)])

    def of_counts(self, groups: GroupCounts) -> Floats:
        """Distance of each group: the area between its cumulative shares and those of the table."""
        n_codes = len(self.counts)
        if n_codes == 1:
            return np.zeros(len(groups.sizes))
        # In units of 1 / lcm(size, n_records), all shares of a group and of the table are integers.
        common = np.gcd(groups.sizes, self.n_records)
        in_group, in_table = self.n_records // common, groups.sizes // common
        if int(in_table.max()) * self.n_records * n_codes >= 2**62:
            in_group, in_table = in_group.astype(object), in_table.astype(object)
        firsts = groups.starts + np.arange(len(common))
        areas = np.add.reduceat(self._areas(groups, in_group, in_table), firsts)
        return _quotients(areas, groups.sizes * in_group * (n_codes - 1))

    def guard(self, codes: Codes, most: float) -> Any:
        return OrderedGuard(codes, self.counts, most)

    def _areas(self, groups: GroupCounts, in_group: Array, in_table: Array) -> Array:
        """Areas at each step of the cumulative shares of groups.

        A group has one step more than it has codes: up to its first code, from there to the second
        one, and so on. `in_group` is the unit of a record in a group, and `in_table` in the table.
        """
        starts = np.insert(groups.codes, groups.starts, 0)
        ends = np.insert(groups.codes, groups.starts + groups.n_codes, len(self.counts))
        cumulated = np.cumsum(groups.counts)
        before_group = cumulated[groups.starts] - groups.counts[groups.starts]
        n_below = np.insert(cumulated - groups.for_pairs(before_group), groups.starts, 0)
        sizes, in_group, in_table = (
            np.repeat(of_groups, groups.n_codes + 1)
            for of_groups in (groups.sizes, in_group, in_table)
        )
        # The share of the table rises, and crosses that of the group once.
        needed = -(-n_below * self.n_records // sizes)
        crossings = np.clip(np.searchsorted(self._up_to, needed), starts, ends)
        before = self._sum_before
        return in_group * n_below * (2 * crossings - starts - ends) + in_table * (
            before[starts] + before[ends] - 2 * before[crossings]
        )


@dataclass(frozen=True)
class TreeLevel:
    """The nodes at one depth of a tree of values."""

    node_of: np.ndarray
    rises: np.ndarray
    in_table: np.ndarray


class TreeDistance:
    """Two codes are as far apart as their lowest common node is high, relative to the root."""

    def __init__(
        self, counts: Array, paths: list[tuple[Any, ...]], all_paths: list[tuple[Any, ...]]
    ) -> None:
        self.counts = counts
        self.n_records = int(counts.sum())
        heights: dict[tuple[Any, ...], int] = {}
        for path in [*all_paths, *paths]:
            for depth in range(len(path) + 1):
                node = path[:depth]
                heights[node] = max(heights.get(node, 0), len(path) - depth)
        self._height = heights[()]
        self._levels = [
            _level(counts, paths, depth, heights) for depth in range(1, max(map(len, paths)) + 1)
        ]

    def of_counts(self, groups: GroupCounts) -> Floats:
        """Distance of each group.

        Li, Li and Venkatasubramanian add up, over the nodes N, the height of N times the smaller
        one of pos(N) and neg(N): what its children with more than their share in the table have too
        much, and what the others have too little. With extra(N) = pos(N) - neg(N), the smaller one
        is pos(N) less extra(N), if that is positive. So each node contributes its own positive
        extra, times the difference between the height of its parent and its own. A node without
        records of the group contributes nothing.
        """
        total: Any = 0
        labels = groups.for_pairs(np.arange(len(groups.sizes)))
        for level in self._levels:
            nodes = GroupCounts.added(labels, level.node_of[groups.codes], groups.counts)
            excess = _excess(nodes, level.in_table, self.n_records)
            total = total + nodes.sum(level.rises[nodes.codes] * excess)
        return _quotients(total, self._height * groups.sizes * self.n_records)

    def guard(self, codes: Codes, most: float) -> Any:
        n_nodes = max(len(level.in_table) for level in self._levels)
        rises, in_table = (
            np.array(
                [
                    np.pad(getattr(level, name), (0, n_nodes - len(level.in_table)))
                    for level in self._levels
                ]
            )
            for name in ("rises", "in_table")
        )
        node_of = np.array([level.node_of for level in self._levels], dtype=np.int32)
        return TreeGuard(codes, node_of, rises, in_table, self.n_records, self._height, most)


def _level(
    counts: Array, paths: list[tuple[Any, ...]], depth: int, heights: dict[tuple[Any, ...], int]
) -> TreeLevel:
    nodes: dict[tuple[Any, ...], int] = {}
    node_of = [nodes.setdefault(path[:depth], len(nodes)) for path in paths]
    rises = [heights[node[:-1]] - heights[node] if len(node) == depth else 0 for node in nodes]
    in_table = np.zeros(len(nodes), dtype=np.int64)
    np.add.at(in_table, node_of, counts)
    return TreeLevel(np.array(node_of), np.array(rises), in_table)


def _quotients(numerators: Array, denominators: Array) -> Floats:
    """Quotients of integers, correctly rounded where the reduced fractions are exact floats."""
    common = np.gcd(numerators, denominators)
    return ((numerators // common) / (denominators // common)).astype(np.float64)
