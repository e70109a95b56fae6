"""Earth mover's distances between the distribution of codes in a group and in the whole table.

All sums are sums of integers, so that a distance that equals a limit is not above it by rounding.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._kernels import EqualGuard, OrderedGuard, TreeGuard
from sk_microagg._utils._typing import Array, Codes, Floats, Labels
from sk_microagg.privacy._codes import GroupCounts


class EqualDistance:
    """All codes are equally far apart: 1."""

    def __init__(self, counts: Array) -> None:
        self.counts = counts
        self.n_records = int(counts.sum())

    def of_groups(self, labels: Labels, codes: Array) -> Floats:
        """Distance of each group, with labels numbered from 0."""
        return self.of_counts(GroupCounts.from_labels(labels, codes))

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
    """Neighboring codes are equally far apart: 1 / (n_codes - 1).

    Parameters and attributes are those of `EqualDistance`.
    """

    def __init__(self, counts: Array) -> None:
        self.counts = counts
        self.n_records = int(counts.sum())
        self._up_to = np.cumsum(counts)
        self._sum_before = np.concatenate([[0], np.cumsum(self._up_to)])

    def of_groups(self, labels: Labels, codes: Array) -> Floats:
        """Distance of each group, with labels numbered from 0."""
        return self.of_counts(GroupCounts.from_labels(labels, codes))

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
        """Return the kernel that says whether a group is at most so far away."""
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

    def of_groups(self, labels: Labels, codes: Array) -> Floats:
        """Distance of each group, with labels numbered from 0.

        Li, Li and Venkatasubramanian add up, over the nodes N, the height of N times the smaller
        one of pos(N) and neg(N): what its children with more than their share in the table have too
        much, and what the others have too little. With extra(N) = pos(N) - neg(N), the smaller one
        is pos(N) less extra(N), if that is positive. So each node contributes its own positive
        extra, times the difference between the height of its parent and its own. A node without
        records of the group contributes nothing.
        """
        total: Any = 0
        for level in self._levels:
            groups = GroupCounts.from_labels(labels, level.node_of[codes])
            excess = _excess(groups, level.in_table, self.n_records)
            total = total + groups.sum(level.rises[groups.codes] * excess)
        return _quotients(total, self._height * groups.sizes * self.n_records)

    def guard(self, codes: Codes, most: float) -> Any:
        """Return the kernel that says whether a group is at most so far away."""
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
