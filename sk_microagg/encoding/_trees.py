"""Columns of categories with a hierarchy: one coordinate per node but the root.

A value has the coordinates of all nodes from it up to the root, so that values are the farther
apart, the higher the node is that they have in common.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sk_microagg._utils._statistics import Members
from sk_microagg._utils._typing import Array, Floats, Labels, Series
from sk_microagg.encoding._categories import CategoryColumn, ends_of, standardized
from sk_microagg.encoding._frames import is_missing
from sk_microagg.generalization import Hierarchy
from sk_microagg.generalization._labels import label_of


class HierarchyColumn(CategoryColumn):
    """A column of categories that are the leaves of a hierarchy.

    Nodes that fewer than k people share have no coordinate.
    """

    kind = "hierarchy"

    def __init__(
        self, column: Series, k: int, hierarchy: Hierarchy, units: Array | None = None
    ) -> None:
        known = column.dropna().to_numpy()
        domain = hierarchy._domain(known, f"Column {column.name!r}")
        self._tree, self._losses = domain.tree, domain.loss
        super().__init__(column, k, units)

    def _fit(self, column: Series, counts: Labels, k: int, units: Array | None) -> None:
        self._has_missing = bool(is_missing(column).any())
        self._has_other = int(counts.sum()) < int((~is_missing(column)).sum())
        n_leaves, n_nodes = self.n_leaves, len(self._tree.labels)
        nodes = [self._nodes_above(leaf) for leaf in range(n_leaves)]
        # A missing value is as far from others as two of these without a common node.
        missing = np.sqrt(max(map(len, nodes)))
        places = [*np.repeat(np.arange(n_leaves), [*map(len, nodes)]), n_leaves + 1]
        coordinates = [*(node for path in nodes for node in path), n_nodes]
        rows = csr_array(
            (np.r_[np.ones(len(places) - 1), missing], (places, coordinates)),
            shape=(n_leaves + 2, n_nodes + 1),
        )
        codes = self.codes_of(n_leaves + 2, column)
        in_row = np.bincount(codes, minlength=n_leaves + 2)
        shared = _n_people_below(rows > 0, codes, units) >= k
        shared[-1] = self._has_missing
        self.rows = standardized(rows[:, np.flatnonzero(shared)], in_row)

    def _nodes_above(self, leaf: int) -> list[int]:
        """The leaf and all nodes above it, without the root and copies of it."""
        nodes, node = [], leaf
        while node != self._tree.root:
            if set(self._tree.paths[node]) != {self._tree.labels[self._tree.root]}:
                nodes.append(node)
            node = self._tree.parent[node]
        return nodes

    def _leaves(self, column: Series) -> Labels:
        """The leaf of each cell; -1 for a missing value and -2 for one that is not a leaf."""
        codes, different = self._factorize(column)
        leaf_of = {label: leaf for leaf, label in enumerate(self._tree.labels[: self.n_leaves])}
        leaves = np.array([leaf_of.get(label_of(value), -2) for value in different] + [-1])
        return leaves[codes]

    @property
    def n_leaves(self) -> int:
        return self._tree.n_leaves

    def codes(self, column: Series) -> Labels:
        return self.codes_of(self.rows.shape[0], column)

    def places(self, codes: Labels) -> Floats:
        """Places among the leaves, which are in the order of the tree, from 0 to 1."""
        of_rows = np.zeros(self.rows.shape[0])
        of_rows[: self.n_leaves] = np.arange(1, self.n_leaves + 1) / self.n_leaves
        return of_rows[codes]

    def codes_of(self, n_rows: int, column: Series) -> Labels:
        """Position of each cell among `n_rows` rows."""
        leaves = self._leaves(column)
        return np.where(leaves < 0, n_rows - np.where(leaves == -1, 1, 2), leaves)

    def generalized(self, column: Series, members: Members) -> Series:
        """The lowest common node of each group; the root where a value is missing."""
        nodes = self._common_nodes(column, members)
        return self._as_text(self._tree.labels[node] for node in nodes)

    def generalization_losses(self, column: Series, members: Members) -> Floats:
        """The loss of what `generalized` returns for each group: the share of leaves below it."""
        nodes = self._common_nodes(column, members)
        return np.array([self._losses[node] for node in nodes])

    def tree_of(self, column: Series) -> tuple[Any, Sequence[float], Labels]:
        """The tree of the values, the losses of its nodes, and the leaf of each cell, or -1."""
        return self._tree, self._losses, self._leaves(column)

    def _common_nodes(self, column: Series, members: Members) -> list[int]:
        lowest, highest = ends_of(self._leaves(column), members)
        return [
            self._tree.root if low < 0 else self._tree.lowest_common(int(low), int(high))
            for low, high in zip(lowest, highest, strict=True)
        ]


def _n_people_below(is_below: csr_array, codes: Labels, units: Array | None) -> Labels:
    """Number of people with a value below each node, given which rows are below which nodes."""
    n_rows = is_below.shape[0]
    if units is None:
        return np.bincount(codes, minlength=n_rows) @ is_below
    has_row = csr_array((np.ones(len(codes)), (units, codes)), shape=(units.max() + 1, n_rows))
    return np.asarray((has_row @ is_below > 0).sum(axis=0))
