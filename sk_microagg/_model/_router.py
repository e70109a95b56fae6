"""The block that a record belongs to: a kd-tree of cuts near the median, also for sparse arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import frexp
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from sk_microagg._utils._typing import Array, Floats, Labels

# Records routed at a time, so that intermediate results fit into the cache.
BATCH_SIZE = 65_536

# Cells whose deviations are computed at once.
MAX_CELLS_AT_ONCE = 16_000_000

# A cut with at least this share of the records on its smaller side counts as balanced.
BALANCED_SHARE = 0.4


@dataclass(frozen=True)
class Router:
    """A kd-tree of cuts through the scaled space; its leaves are the blocks.

    Children have larger numbers than their parent, and the leaves, from left to right, are blocks
    0, 1, ...
    """

    column: np.ndarray
    cut: np.ndarray
    children: np.ndarray
    block: np.ndarray

    @property
    def n_blocks(self) -> int:
        return int(self.block.max()) + 1

    @classmethod
    def single_block(cls) -> Self:
        return cls._grown(None, lambda root: None)

    @classmethod
    def fit(
        cls,
        X: Any,
        block_size: float,
        smallest: int,
        k: int,
        may_be_block: Callable[[Labels], bool] | None = None,
        units: Array | None = None,
        is_small_enough: Callable[[Labels], bool] | None = None,
    ) -> Self:
        """Cut the records in two, recursively, until no part is larger than `block_size`."""

        def may_cut(rows):
            if may_be_block is None:
                return None
            return lambda is_left: may_be_block(rows[is_left]) and may_be_block(rows[~is_left])

        def split(rows):
            if len(rows) <= block_size + 2 * (k - 1) and (
                is_small_enough is None or is_small_enough(rows)
            ):
                return None
            own_units = None if units is None else units[rows]
            own = X if len(rows) == X.shape[0] else X[rows]
            column, cut = best_cut(own, smallest, k, own_units, may_cut(rows))
            if column is None:
                return None
            is_left = _column(own, column) <= cut
            return column, cut, rows[is_left], rows[~is_left]

        return cls._grown(np.arange(X.shape[0]), split)

    @classmethod
    def _grown(cls, root, split):
        """Grow a tree from an item that stands for its root.

        `split(item)` returns column, cut, left item and right item, or None at a leaf. It is called
        depth first, left before right.
        """
        nodes, waiting = [], [(root, None, None)]
        # Not recursive: uneven cuts make a deep tree.
        while waiting:
            item, parent, side = waiting.pop()
            if parent is not None:
                nodes[parent][side] = len(nodes)
            column, cut, *sides = split(item) or (0, np.nan)
            waiting += [(item, len(nodes), 2 + right) for right, item in enumerate(sides)][::-1]
            nodes.append([column, cut, -1, -1])
        column, cut, left, right = map(np.array, zip(*nodes, strict=True))
        is_leaf = left < 0
        block = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
        return cls(column, cut, np.stack([left, right], axis=1), block)

    def route(self, X: Any) -> Labels:
        blocks = [np.empty(0, dtype=np.intp), *map(self._route, _batches(X))]
        return np.concatenate(blocks)

    def n_near_cuts(self, X: Floats, rounding: Floats) -> int:
        """Return the number of records whose block may change if columns change by `rounding`."""
        if not rounding.any():
            return 0
        return int(np.sum(self.route(X - rounding) != self.route(X + rounding)))

    def rows_of_blocks(self, X: Any) -> Iterator[tuple[int, Labels]]:
        """Yield each block that holds any of the records, with their indices in ascending order."""
        blocks = self.route(X)
        rows = np.argsort(blocks, kind="stable")
        starts = np.searchsorted(blocks, np.arange(self.n_blocks + 1), sorter=rows)
        for block in range(self.n_blocks):
            if starts[block] < starts[block + 1]:
                yield block, rows[starts[block] : starts[block + 1]]

    def _route(self, X):
        node = np.zeros(len(X), dtype=np.intp)
        moving = np.arange(len(X))
        while True:
            moving = moving[self.block[node[moving]] < 0]
            if not len(moving):
                return self.block[node]
            at = node[moving]
            is_right = ~(X[moving, self.column[at]] <= self.cut[at])
            node[moving] = self.children[at, is_right.astype(np.intp)]

    def without_small_blocks(self, sizes: Array, smallest: int) -> tuple[Router, Array]:
        """Merge each block smaller than `smallest` with all blocks on its sibling's side."""
        in_node = np.where(self.block >= 0, sizes[self.block], 0)
        for node in reversed(range(len(self.block))):
            if self.block[node] < 0:
                in_node[node] = in_node[self.children[node]].sum()

        new_block = np.empty(self.n_blocks, dtype=np.intp)
        n_leaves = 0

        def split(node):
            nonlocal n_leaves
            below = self.children[node]
            if self.block[node] < 0 and in_node[below].min() >= smallest:
                return self.column[node], self.cut[node], *below
            first, last = self._blocks_below(node)
            new_block[first : last + 1] = n_leaves
            n_leaves += 1
            return None

        return self._grown(0, split), new_block

    def _blocks_below(self, node):
        first = last = node
        while self.block[first] < 0:
            first = self.children[first, 0]
        while self.block[last] < 0:
            last = self.children[last, 1]
        return self.block[first], self.block[last]


def best_cut(X, smallest, k, units=None, may_cut=None):
    """Return column and value of the cut: in the widest column that has a balanced cut.

    If no column has one, the most even cut is returned; (None, None) if no cut leaves at least
    `smallest` records on both sides. `units` are who the records belong to; None if each belongs to
    somebody else. `may_cut` receives which records are on the left, and says whether that will do.
    """
    best_share, best = 0.0, (None, None)
    # Shares of the records that the smaller side of no cut exceeds: cuts are next to most zeros.
    most = np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0] if issparse(X) else None
    for column in np.argsort(-_spreads(X), kind="stable"):
        if most is not None and most[column] <= best_share:
            continue
        values = _column(X, column)
        for cut in _cuts_near_median(values, k, units):
            is_left = values <= cut
            n_left = np.count_nonzero(is_left)
            n_smaller = min(n_left, len(values) - n_left)
            if (
                n_smaller >= smallest
                and n_smaller / len(values) > best_share
                and (may_cut is None or may_cut(is_left))
            ):
                best_share, best = n_smaller / len(values), (column, cut)
            if best_share >= BALANCED_SHARE:
                return best
    return best


def _spreads(X):
    """Return the standard deviation of each column, without a second large array."""
    if issparse(X):
        mean = np.bincount(X.indices, X.data, X.shape[1]) / X.shape[0]
        squares = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, X.shape[1])
        n_zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
        return np.sqrt((squares + n_zeros * mean**2) / X.shape[0])
    if np.prod(X.shape) <= MAX_CELLS_AT_ONCE:
        return X.std(axis=0)
    mean = sum(batch.sum(axis=0) for batch in _batches(X)) / X.shape[0]
    return np.sqrt(sum(((batch - mean) ** 2).sum(axis=0) for batch in _batches(X)) / X.shape[0])


def as_array(X: Any) -> Floats:
    return X.toarray() if issparse(X) else X


def _batches(X: Any) -> Iterator[Floats]:
    for start in range(0, X.shape[0], BATCH_SIZE):
        yield as_array(X[start : start + BATCH_SIZE])


def _column(X: Any, column: int) -> Floats:
    return as_array(X[:, [column]])[:, 0]


def _cuts_near_median(values, k, units):
    """Yield cuts between the k-th value below the middle and the k-th value above it.

    If k or more values equal the median, the middle is next to all of them, first on the side that
    gives the more even cut. There is no cut with fewer than `k` values, or units, on a side.
    """
    n_values = len(values)
    n_left = (n_values + 1) // 2
    median = np.partition(values, n_left - 1)[n_left - 1]
    n_below, n_up_to = np.count_nonzero(values < median), np.count_nonzero(values <= median)
    middles = [n_left]
    if n_up_to - n_below >= k:
        middles = sorted((n_up_to, n_below), key=lambda n_left: abs(2 * n_left - n_values))
    for n_left in middles:
        if not k <= n_left <= n_values - k:
            continue
        if units is None:
            ranks = [n_left - k, n_left + k - 1]
            low, high = np.partition(values, ranks)[ranks].tolist()
        else:
            order = np.argsort(values, kind="stable")
            below = _nearest_of_units(units, order[:n_left][::-1], k)
            above = _nearest_of_units(units, order[n_left:], k)
            if below is None or above is None:
                continue
            low, high = values[[below, above]].tolist()
        cut = coarsest_between(low, high)
        if cut is not None:
            yield cut


def _nearest_of_units(units, records, k):
    """Return the first of some records up to which they are of `k` units; None if there is none."""
    _, first = np.unique(units[records], return_index=True)
    return records[np.sort(first)[k - 1]] if len(first) >= k else None


def coarsest_between(low: float, high: float) -> float | None:
    """Return the coarsest number strictly between two others, or None if there is none.

    It is a multiple of a third of a power of two: of the largest such power possible, and the
    lowest such multiple. Multiples of the power itself are excluded, so that no cut is a finite
    decimal or binary fraction. Hardly any record lies on such a cut, and no record has to be
    inspected to avoid that, which would reveal where it is.
    """
    exact_low, width = Fraction(low), Fraction(high) - Fraction(low)
    # A third of this exceeds both numbers.
    power = Fraction(2) ** (frexp(max(abs(low), abs(high)))[1] + 2)
    while 8 * power > width:
        first = 3 * exact_low // power + 1
        for thirds in range(first, first + 3):
            between = float(thirds * power / 3)
            if thirds % 3 and low < between < high:
                return between
        power /= 2
    return None
