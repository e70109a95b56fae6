"""The values of a column as positions, and the loss of generalized values.

A generalized value, or *cover*, is a tuple: in a tree, the labels from below the root down to the
node; for numbers, the ends of the interval. The root is the empty tuple.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._utils._tables import (
    FIRST_DAY,
    LAST_DAY,
    SECONDS_PER_DAY,
    day_of_text,
    has_numbers,
    is_date,
    number_of_date,
    text_of_day,
)
from sk_microagg._utils._typing import Array, Booleans, Codes, Floats, Labels
from sk_microagg.tables._grid import Grid
from sk_microagg.tables._labels import (
    ROOT,
    interval_label,
    interval_of_label,
    interval_text,
    is_number,
    label_of,
)

MICROSECONDS_PER_DAY = SECONDS_PER_DAY * 1_000_000

# The labels from below the root down to a node, or the ends of an interval.
Cover: TypeAlias = tuple[Any, ...]


class IntervalEnds(NamedTuple):
    """Ends of intervals, one of each group, as values of the column.

    Attributes
    ----------
    low, high : ndarray
        Numbers, dates or values with an order; missing for "*".

    closed : ndarray of bool
        Whether the upper end belongs to the interval.
    """

    low: Array
    high: Array
    closed: Booleans

    def take(self, places: Labels) -> IntervalEnds:
        """Some of the intervals."""
        return IntervalEnds(*(part[places] for part in self))


def moments_of_days(days: Floats) -> Array:
    """Days since 1970 as dates, NaT where one is missing."""
    missing = np.isnan(days)
    moments = np.round(np.where(missing, 0.0, days) * MICROSECONDS_PER_DAY).astype(np.int64)
    return np.where(missing, np.datetime64("NaT"), moments.astype("datetime64[us]"))


class ValueTree:
    """A tree of values whose leaves are numbered depth first, so that each node covers a range."""

    def __init__(self, paths: Iterable[Sequence[Any]], root: str = ROOT) -> None:
        leaves = dict.fromkeys(tuple(path)[::-1] for path in paths)
        children: dict[tuple[Any, ...], dict[tuple[Any, ...], None]] = {}
        for leaf in leaves:
            for depth in range(len(leaf)):
                children.setdefault(leaf[:depth], {})[leaf[: depth + 1]] = None
        depth_first: list[tuple[Any, ...]] = []
        waiting: list[tuple[Any, ...]] = [()]
        while waiting:
            depth_first.append(waiting.pop())
            waiting.extend(reversed(children.get(depth_first[-1], {})))
        inner = [node for node in depth_first if node not in leaves]
        self.paths = [node for node in depth_first if node in leaves] + inner
        self.node_at = {path: node for node, path in enumerate(self.paths)}
        self.n_leaves = len(leaves)
        self.root = self.node_at[()]
        self.labels = [path[-1] if path else root for path in self.paths]
        self.parent = [self.node_at[path[:-1]] for path in self.paths]
        self._find_ranges()

    def _find_ranges(self) -> None:
        n_inner = len(self.labels) - self.n_leaves
        self.first = list(range(self.n_leaves)) + [self.n_leaves] * n_inner
        self.last = list(range(self.n_leaves)) + [-1] * n_inner
        for leaf in range(self.n_leaves):
            node = leaf
            while node != self.root:
                node = self.parent[node]
                self.first[node] = min(self.first[node], leaf)
                self.last[node] = max(self.last[node], leaf)

    def lowest_common(self, first: int, last: int) -> int:
        node = first
        while node != self.root and self.last[node] < last:
            node = self.parent[node]
        return node

    def sums(self, of_leaves: Floats) -> list[float]:
        """For each node, the sum of a quantity over its leaves."""
        return [
            float(np.sum(of_leaves[first : last + 1]))
            for first, last in zip(self.first, self.last, strict=True)
        ]


def information(counts: Array) -> Floats:
    """-p log p for the frequency p of each leaf."""
    frequency = counts / max(counts.sum(), 1)
    # log 1 = 0 for leaves that do not occur.
    return 0.0 - frequency * np.log(np.where(frequency > 0, frequency, 1.0))


class TreeDomain:
    """A column whose values are leaves of a tree, and which is generalized to nodes of it."""

    is_tree = True

    def __init__(
        self,
        tree: ValueTree,
        values: Iterable[Any],
        loss: Sequence[float],
        midpoints: Sequence[float] | None = None,
        bins_of: Callable[[Any], tuple[str, ...]] | None = None,
    ) -> None:
        self.n_leaves = tree.n_leaves
        self.parent = tree.parent
        # Only the root also covers the position after all leaves.
        self.last = [*tree.last]
        self.last[tree.root] = tree.n_leaves
        self.loss = loss
        self.tree = tree
        self._midpoints = midpoints
        self._bins_of = bins_of
        self._leaf_of = {path[-1]: leaf for leaf, path in enumerate(tree.paths[: tree.n_leaves])}
        counts = np.zeros(tree.n_leaves)
        for label, n_times in Counter(map(label_of, values)).items():
            counts[self._leaf_of[label]] = n_times
        self.mass = tree.sums(counts / max(counts.sum(), 1))
        self.info = tree.sums(information(counts))
        self.info[: tree.n_leaves] = [0.0] * tree.n_leaves

    def encode(self, values: Any) -> Codes:
        """First and last position of each value; those of the root where there is no leaf."""
        ranges = {}
        # With the type, since True equals 1.
        keys = [(type(value), value) for value in values]
        for key in dict.fromkeys(keys):
            leaf = self._leaf(key[1])
            ranges[key] = self.range_of(()) if leaf is None else (leaf, leaf)
        return np.array([ranges[key] for key in keys], dtype=np.int32).reshape(-1, 2)

    def _leaf(self, value: Any) -> int | None:
        if self._bins_of is not None and not is_number(value):
            return None
        leaf = self._leaf_of.get(label_of(value))
        if leaf is None and self._bins_of is not None and is_number(value):
            leaf = self.tree.node_at.get((*self._bins_of(value)[::-1], None))
        return leaf

    def cover(self, lo: int, hi: int) -> Cover:
        """The lowest node that covers positions `lo` to `hi`."""
        return self.tree.paths[self.tree.lowest_common(lo, hi)]

    def range_of(self, cover: Cover) -> tuple[int, int]:
        """First and last position that a generalized value covers."""
        node = self.tree.node_at[cover]
        return self.tree.first[node], self.last[node]

    def label(self, cover: Cover) -> str:
        return self.tree.labels[self.tree.node_at[cover]] if cover else ROOT

    def read(self, label: str, lo: int) -> Cover | None:
        """The generalized value with a label, above a given leaf; None if there is none."""
        node = lo
        while self.tree.labels[node] != label:
            if node == self.tree.root:
                return None
            node = self.tree.parent[node]
        return self.tree.paths[node]

    def loss_of(self, cover: Cover) -> float:
        """Loss of a generalized value; 0 if it covers a single leaf."""
        lo, hi = self.range_of(cover)
        return self.loss[self.tree.lowest_common(lo, hi)]

    def widen_to(self, covers: Iterable[Cover]) -> None:
        """Do nothing: the width of a tree does not depend on the release."""

    def midpoint(self, cover: Cover) -> float | None:
        """Midpoint of a generalized value; None if the values are not numbers."""
        return None if self._midpoints is None else self._midpoints[self.tree.node_at[cover]]

    def with_midpoints(self, covers: list[Cover]) -> tuple[TreeDomain, list[Cover]]:
        """The domain and the covers themselves: nodes are known without the data."""
        return self, covers


class NumberDomain:
    """A column of numbers that are generalized to intervals."""

    is_tree = False
    left: Floats
    right: Floats
    _low: Floats
    _high: Floats

    def __init__(self, values: ArrayLike, grid: Any = None, unit: float | None = None) -> None:
        self._numbers, places, counts = np.unique(
            np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True
        )
        self.n_leaves = len(self._numbers)
        self.unit = float(np.all(self._numbers % 1 == 0)) if unit is None else unit
        self._low, self._high = (
            (self._numbers, self._numbers)
            if grid is None
            else grid.ends(self._numbers, grid.count(places, self.n_leaves))
        )
        # The search does not know the ends: otherwise, it would form groups that begin with the
        # first number after an end, which could be guessed. It knows which numbers have none.
        self.left = np.where(np.isinf(self._low), self._low, self._numbers)
        self.right = np.where(np.isinf(self._high), self._high, self._numbers + self.unit)
        self._measure(self.left, self.right - self.unit)
        self.mass = counts / max(counts.sum(), 1)
        self.info = information(counts)

    def _measure(self, low: Floats, high: Floats) -> None:
        """Find the width of the column, from the ends in it, and the loss of each single number."""
        low, high = low[np.isfinite(low)], high[np.isfinite(high)]
        extent = high.max() + self.unit - low.min() if len(low) and len(high) else 0.0
        # Without an extent, no interval is both wider than a number and narrower than the root.
        self.extent = float(extent) if extent > 0 else 1.0
        widths = np.where(self.left + self.unit < self.right, self.right - self.left, 0.0)
        self.loss = np.minimum(widths / self.extent, 1.0)

    def encode(self, values: Any) -> Codes:
        """Positions of each number or of its neighbors; those of the root for other values."""
        ranges = np.tile(np.array(self.range_of(()), dtype=np.int32), (len(values), 1))
        values = np.asarray(values)
        if has_numbers(values):
            known = np.ones(len(values), dtype=bool)
        else:
            known = np.array([is_number(value) for value in values], dtype=bool)
        if self.n_leaves > 0:
            numbers = values[known].astype(np.float64)
            ranges[known] = self._places(np.clip(numbers, self._numbers[0], self._numbers[-1]))
        return ranges

    def _places(self, numbers: Floats) -> Codes:
        return np.column_stack(
            [
                np.searchsorted(self._numbers, numbers, side="right") - 1,
                np.searchsorted(self._numbers, numbers, side="left"),
            ]
        )

    def cover(self, lo: int, hi: int) -> Cover:
        """The interval for the values at positions `lo` to `hi`; the root if it has no ends."""
        if hi == self.n_leaves or np.isinf(self._low[lo]) or np.isinf(self._high[hi]):
            return ()
        return float(self._low[lo]), float(self._high[hi])

    def range_of(self, cover: Cover) -> tuple[int, int]:
        if not cover:
            return 0, self.n_leaves
        low, high = cover
        first = np.searchsorted(self._numbers, low, side="left")
        last = np.searchsorted(self._numbers, high, side="right") - 1
        return int(first), int(last)

    def label(self, cover: Cover) -> str:
        return interval_label(*cover) if cover else ROOT

    def ends(self, covers: Sequence[Cover]) -> IntervalEnds:
        """The ends of intervals as values."""
        low, high = np.array([cover or (np.nan, np.nan) for cover in covers]).T
        return IntervalEnds(self._values(low), self._values(high), np.ones(len(low), dtype=bool))

    def _values(self, ends: Floats) -> Array:
        return ends

    def read(self, label: str, lo: int) -> Cover | None:
        """The interval that a label stands for; None if the number at `lo` is not in it."""
        *texts, is_closed = interval_of_label(label) or (label, label, True)
        low, high = map(self._number, texts)
        if low is None or high is None:
            return None
        number = self._numbers[lo]
        is_inside = low <= number <= high if is_closed else low <= number < high
        return (low, high) if is_inside else None

    def _number(self, text: str) -> float | None:
        """The number that a text stands for; None if it is none."""
        try:
            return float(text)
        except ValueError:
            return None

    def widen_to(self, covers: Iterable[Cover]) -> None:
        """Widen the column so that it contains some intervals, for the denominator of losses."""
        low, high = (np.array([cover[end] for cover in covers if cover]) for end in (0, 1))
        self._measure(np.append(self._low, low), np.append(self._high, high))

    def loss_of(self, cover: Cover) -> float:
        if not cover:
            return 1.0
        low, high = cover
        return min((high + self.unit - low) / self.extent, 1.0) if low < high else 0.0

    def midpoint(self, cover: Cover) -> float | None:
        """Midpoint of a generalized value; NaN for the root."""
        return _middle(*cover) if cover else np.nan

    def with_midpoints(self, covers: list[Cover]) -> tuple[NumberDomain, list[Cover]]:
        """A domain of the midpoints of some intervals, and these midpoints as covers."""
        midpoints = [(_middle(*cover),) * 2 if cover else () for cover in covers]
        return self._of_midpoints([pair[0] for pair in midpoints if pair]), midpoints

    def _of_midpoints(self, midpoints: list[float]) -> NumberDomain:
        return MidpointDomain(midpoints, unit=self.unit)


def _middle(low: float, high: float) -> float:
    return low + (high - low) / 2


class MidpointDomain(NumberDomain):
    """Numbers that are released as midpoints. Any other number counts as the nearest of them."""

    def _places(self, numbers: Floats) -> Codes:
        below, above = super()._places(numbers).T
        is_nearer_above = self._numbers[above] - numbers < numbers - self._numbers[below]
        nearest = np.where(is_nearer_above, above, below)
        return np.column_stack([nearest, nearest])


def days_of(values: Iterable[Any]) -> Array:
    """Days since 1970, None for all that is no date."""
    return np.array(
        [number_of_date(value)[0] if is_date(value) else None for value in values], dtype=object
    )


class DateDomain(NumberDomain):
    """A column of dates, as days since 1970, that are generalized to intervals."""

    def __init__(
        self, values: Sequence[float] | Floats, grid: Grid | None = None, unit: float | None = None
    ) -> None:
        super().__init__(values, None if grid is None else Calendar(grid), unit)

    def encode(self, values: Any) -> Codes:
        return super().encode(days_of(values))

    def label(self, cover: Cover) -> str:
        """The interval in ISO dates."""
        return interval_text(*map(text_of_day, cover)) if cover else ROOT

    def _values(self, ends: Floats) -> Array:
        return moments_of_days(ends)

    def _number(self, text: str) -> float | None:
        return day_of_text(text)

    def midpoint(self, cover: Cover) -> None:
        """None: the middle of an interval is text, as dates are."""

    def _of_midpoints(self, midpoints: list[float]) -> DateDomain:
        return DateMidpointDomain(midpoints, unit=self.unit)


class DateMidpointDomain(DateDomain, MidpointDomain):
    """Dates that are released as midpoints. Any other date counts as the nearest of them."""


class Calendar:
    """A grid without ends that are no dates, before the year 1 or after 9999."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self.count = grid.count

    def ends(self, numbers: Floats, counts: Labels) -> tuple[Floats, Floats]:
        low, high = self._grid.ends(numbers, counts)
        return np.where(low < FIRST_DAY, -np.inf, low), np.where(high > LAST_DAY, np.inf, high)
