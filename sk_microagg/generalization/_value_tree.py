"""The nodes of a generalization tree."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._typing import Floats
from sk_microagg.generalization._labels import ROOT


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
        """The lowest node that covers the leaves from `first` to `last`."""
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
