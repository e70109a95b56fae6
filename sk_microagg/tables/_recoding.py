"""Intervals and nodes whose ends tell nobody's value, the same for all records.

In global recoding, the values of a column are cut once for all records, and do not overlap. All
columns begin as "*". Cuts are added one at a time, the one first that lowers the loss most, as
long as every combination of values is still that of k people and satisfies the constraints. A cut
that is not possible stays so: groups only become smaller, and constraints are monotone.

Columns that are cut first may leave no cut to others, which are then "*" everywhere. So there are
several attempts, in different orders: with the largest gain first, the largest gain per part, or
the largest one in the column that has lost most. The attempt that leaves the fewest columns uncut
is taken, and of several the one that loses least.

New records are recoded in the same way, by their values. All that this takes is in the release.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._typing import Array, Booleans, DataFrame, Floats, Labels, Series
from sk_microagg.privacy import Rules
from sk_microagg.privacy._strata import Strata
from sk_microagg.tables._columns import Line
from sk_microagg.tables._dates import DateColumn, days_of_dates
from sk_microagg.tables._domain import Calendar, Cover, IntervalEnds, NumberDomain
from sk_microagg.tables._forms import text_of_cover, values_of_ends
from sk_microagg.tables._frames import import_pandas, is_missing
from sk_microagg.tables._grid import Grid, round_edges
from sk_microagg.tables._labels import label_of
from sk_microagg.tables._ordinals import OrdinalColumn
from sk_microagg.tables._values import factorize


@dataclass(frozen=True)
class Recoding:
    """How values are recoded, and the classes that are released: strata, then texts of columns."""

    texts_of: Mapping[Any, Callable[[Series], Array]]
    classes: Any

    def find(self, table: DataFrame, nearest: Labels) -> Labels:
        """The class of each record by its texts, or a given one of its stratum if there is none."""
        strata = self.classes.get_level_values(0)[nearest]
        found = self.classes.get_indexer(_keys_of(table, self.texts_of, strata))
        return np.where(found < 0, nearest, found)

    def ends(self) -> dict[Any, IntervalEnds]:
        """By the name of each column with intervals, the ends of that of each class."""
        return {
            name: texts_of.ends_of(self.classes.get_level_values(place))
            for place, (name, texts_of) in enumerate(self.texts_of.items(), start=1)
            if isinstance(texts_of, TextsOnLine)
        }

    def released(self) -> dict[Any, DataFrame]:
        """By the name of each column, a table with the text of each class."""
        texts = self.classes.to_frame(index=False).astype(object)
        return {
            name: texts[[place]].set_axis([name], axis=1)
            for place, name in enumerate(self.texts_of, start=1)
        }


def _keys_of(table: DataFrame, texts_of: Mapping[Any, Any], strata: Labels) -> Any:
    pandas = import_pandas()
    texts = [texts_of[name](table[name]) for name in texts_of]
    return pandas.MultiIndex.from_arrays([strata, *texts])


@dataclass(frozen=True)
class TextsOnLine:
    """What cells are released as, given texts and ends: of missing values, then between cuts."""

    column: Any
    cuts: Floats
    texts: Array
    ends: IntervalEnds

    def __call__(self, cells: Series) -> Array:
        values = _places_of(self.column, cells)
        places = np.searchsorted(self.cuts, values, side="right") + 1
        return self.texts[np.where(np.isnan(values), 0, places)]

    def ends_of(self, texts: Iterable[str]) -> IntervalEnds:
        """The ends of some of the texts."""
        place_of = {text: place for place, text in enumerate(self.texts)}
        return self.ends.take(np.array([place_of[text] for text in texts]))


def _texts_of_nodes(column: Any, node_of: Mapping[str, str], root: str, cells: Series) -> Array:
    """What cells are released as, given the nodes of some values, and that of all others."""
    codes, different = factorize(cells)
    nodes = [node_of.get(label_of(value), root) for value in different]
    return np.array([*nodes, root], dtype=object)[codes]


def recode(
    table: DataFrame, columns: list[Any], k: int, rules: Rules, strata: Strata | None
) -> tuple[Labels, Recoding, float]:
    """Cut all columns; return groups, how values are recoded, and the loss."""
    numbers = np.zeros(len(table), dtype=np.intp) if strata is None else strata.numbers
    attempts = [_cut(table, columns, k, rules, numbers, order) for order in ORDERS]
    _, loss, texts_of = min(attempts, key=lambda attempt: attempt[:2])
    keys = _keys_of(table, texts_of, numbers)
    classes = keys.drop_duplicates().sort_values()
    return classes.get_indexer(keys), Recoding(texts_of, classes), loss


def _cut(
    table: DataFrame, columns: list[Any], k: int, rules: Rules, labels: Labels, order: Any
) -> tuple[int, float, dict[Any, Callable[[Series], Array]]]:
    """Cut all columns in an order; return how many stay uncut, the loss, and how to recode."""
    cut_columns: list[Any] = [
        LineCuts(column, table[column.name], k, rules.units)
        if isinstance(column, Line)
        else NodeCuts(column, table[column.name])
        for column in columns
    ]
    candidates = [(column, cut) for column in cut_columns for cut in column.candidates]
    parts = labels
    while candidates:
        if parts is labels:  # Gains are what they were where a cut was not possible.
            candidates.sort(key=lambda pair: order(*pair))
        column, cut = candidates.pop()
        parts = _numbered(labels, column.cells_with(cut))
        if np.bincount(parts).min() >= k and rules.are_met(parts).all():
            labels = parts
            column.gained += column.gain(cut)
            candidates += [(column, new) for new in column.add(cut)]
    texts_of, losses = zip(*(column.released() for column in cut_columns), strict=True)
    names = [column.name for column in columns]
    n_uncut = sum(column.gained == 0.0 for column in cut_columns)
    return n_uncut, float(np.mean(losses)), dict(zip(names, texts_of, strict=True))


# By which the next cut is chosen: the largest value.
ORDERS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda column, cut: column.gain(cut),
    lambda column, cut: column.gain(cut) / column.n_added(cut),
    lambda column, cut: (-column.gained, column.gain(cut)),
)


def _numbered(labels: Labels, cells: Labels) -> Labels:
    return np.unique(labels * (cells.max() + 1) + cells, return_inverse=True)[1]


class LineCuts:
    """Numbers, dates or ranks, cut at round numbers or between ranks."""

    def __init__(self, column: Any, cells: Series, k: int, units: Array | None) -> None:
        self._column = column
        self._values = _places_of(column, cells)
        self._missing = np.isnan(self._values)
        self._sorted = np.sort(self._values[~self._missing])
        self._is_whole = isinstance(column, OrdinalColumn) or bool(np.all(self._sorted % 1 == 0))
        self._cuts: list[float] = []
        self.gained = 0.0
        if isinstance(column, OrdinalColumn):
            # None where rare values lie in between: they are in no interval on either side.
            self.candidates = (column.ranks[:-1] + 0.5)[np.diff(column.ranks) == 1].tolist()
            self._outer = (-np.inf, np.inf)
            return
        numbers, places = np.unique(self._values[~self._missing], return_inverse=True)
        grid = Grid(k, units=take_units(units, ~self._missing))
        counts = grid.count(places, len(numbers))
        self.candidates = round_edges(numbers, counts, k, self._is_whole).tolist()
        has_dates = isinstance(column, DateColumn)
        low, high = (Calendar(grid) if has_dates else grid).ends(numbers, counts)
        self._outer = (low[0], high[-1]) if len(numbers) else (-np.inf, np.inf)

    def gain(self, cut: float) -> float:
        """How much the loss of all records falls."""
        values = self._sorted.data  # Its items are floats, which are faster than NumPy's.
        ends = [values[0], *self._cuts, values[-1] + self._is_whole]
        low, high = ends[place := bisect_left(self._cuts, cut)], ends[place + 1]
        n_low, n_cut, n_high = (bisect_left(values, end) for end in (low, cut, high))
        widths = (n_high - n_cut) * (cut - low) + (n_cut - n_low) * (high - cut)
        return float(widths / max(ends[-1] - ends[0], np.finfo(np.float64).tiny))

    def n_added(self, cut: float) -> int:
        """How many parts a cut adds."""
        return 1

    def cells_with(self, *cuts: float) -> Labels:
        """The cell of each record if there are more cuts; 0 where a value is missing."""
        cells = np.searchsorted(sorted([*self._cuts, *cuts]), self._values, side="right") + 1
        return np.where(self._missing, 0, cells)

    def add(self, cut: float) -> list[float]:
        """Cut; return the cuts that are possible from now on."""
        self._cuts = sorted([*self._cuts, cut])
        return []

    def released(self) -> tuple[Callable[[Series], Array], Floats]:
        """What values are released as, and the loss of each record."""
        ends = [self._outer[0], *self._cuts, self._outer[1]]
        is_last = [False] * len(self._cuts) + [True]
        covers = [(), *map(self._cover, ends[:-1], ends[1:], is_last)] if self._cuts else [(), ()]
        cells = self.cells_with()
        used = np.setdiff1d(cells, 0)
        ends = [end for cell in used for end in covers[cell]]
        losses = np.array([*map(NumberDomain(ends, unit=float(self._is_whole)).loss_of, covers)])
        are_closed = [self._is_whole or last for last in (True, *is_last)]
        pairs = zip(covers, are_closed, strict=True)
        texts = np.array([text_of_cover(self._column, *pair) for pair in pairs], dtype=object)
        # Nobody is to know cuts that the release does not show: in gaps, or between two of "*".
        shown = used[np.r_[True, texts[used[1:]] != texts[used[:-1]]]]
        cuts, kept = np.array(self._cuts)[shown[1:] - 2], np.r_[0, shown]
        low, high = np.array([cover or (np.nan, np.nan) for cover in covers])[kept].T
        both = values_of_ends(self._column, low, high, np.array(are_closed)[kept])
        texts_of = TextsOnLine(self._column, cuts, texts[kept], both)
        return texts_of, np.where(self._missing, 0.0, losses[cells])

    def _cover(self, low: float, high: float, is_last: bool) -> Cover:
        """The ends of a cell that are shown: none if one is not safe, or not that of a value.

        The last cell includes its upper end. Others end before it, at a whole number or open.
        """
        if isinstance(self._column, OrdinalColumn):
            both = self._column.ranks, self._sorted
            ranks, own = (part[(part > low) & (part < high)] for part in both)
            is_beyond = not len(ranks) or np.any((own < ranks[0]) | (own > ranks[-1]))
            return () if is_beyond else (float(ranks[0]), float(ranks[-1]))
        if np.isinf(low) or np.isinf(high):
            return ()
        return low, high - (self._is_whole and not is_last)


class NodeCuts:
    """Categories, which are cut into the nodes below one node of a tree."""

    def __init__(self, column: Any, cells: Series) -> None:
        self._column, self.gained = column, 0.0
        self._tree, self._losses, self._leaves = column.tree_of(cells)
        self._missing: Booleans = np.asarray(is_missing(cells) | (self._leaves < 0))
        self._n_below = np.bincount(self._leaves[~self._missing], minlength=self._tree.n_leaves)
        self._node_of = np.full(self._tree.n_leaves + 1, self._tree.root)  # of missing ones, too
        self._children: dict[int, list[int]] = {}
        for node, parent in enumerate(self._tree.parent):
            if node != self._tree.root:
                self._children.setdefault(parent, []).append(node)
        self.candidates = [root for root in self._children if root == self._tree.root]

    def gain(self, node: int) -> float:
        """How much the loss of all records falls."""
        return float(
            sum(
                self._n_below[self._tree.first[child] : self._tree.last[child] + 1].sum()
                * (self._losses[node] - self._losses[child])
                for child in self._children[node]
            )
        )

    def n_added(self, node: int) -> int:
        """How many parts a cut adds."""
        return max(len(self._children[node]) - 1, 1)

    def cells_with(self, node: int) -> Labels:
        """The node of each record if one is cut, plus 1; 0 where a value is missing."""
        return np.where(self._missing, 0, self._nodes_with(node)[self._leaves] + 1)

    def _nodes_with(self, node: int) -> Labels:
        nodes = self._node_of.copy()
        for child in self._children[node]:
            nodes[self._tree.first[child] : self._tree.last[child] + 1] = child
        return nodes

    def add(self, node: int) -> list[int]:
        """Cut; return the nodes that may be cut from now on."""
        self._node_of = self._nodes_with(node)
        return [child for child in self._children[node] if child in self._children]

    def released(self) -> tuple[Callable[[Series], Array], Floats]:
        """What values are released as, and the loss of each record."""
        labels, nodes = [*map(label_of, self._tree.labels)], self._node_of[self._leaves]
        pairs, shown = enumerate(self._node_of[:-1]), {*nodes.tolist()} - {self._tree.root}
        node_of = {labels[leaf]: labels[node] for leaf, node in pairs if node in shown}
        texts_of = partial(_texts_of_nodes, self._column, node_of, labels[self._tree.root])
        return texts_of, np.where(self._missing, 0.0, np.array(self._losses)[nodes])


def _places_of(column: Any, cells: Series) -> Floats:
    """Where values are cut: numbers, ranks among known ones, or days, if there are any."""
    is_date = isinstance(column, DateColumn) and not is_missing(cells).all()
    return days_of_dates(cells) if is_date else column.numbers(cells)
