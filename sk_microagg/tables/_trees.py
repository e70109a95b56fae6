"""Columns of categories with a hierarchy: one coordinate per node but the root.

A value has the coordinates of all nodes from it up to the root, so that values are the farther
apart, the higher the node is that they have in common.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sk_microagg._utils._places import found_in
from sk_microagg._utils._statistics import Members
from sk_microagg._utils._typing import Floats, Labels, Series
from sk_microagg.tables._categories import CategoryColumn, ends_of, standardized
from sk_microagg.tables._hierarchy import Hierarchy
from sk_microagg.tables._labels import label_of


class HierarchyColumn(CategoryColumn):
    """A column of categories that are the leaves of a hierarchy.

    Nodes that fewer than k people share have no coordinate.
    """

    kind = "hierarchy"

    def __init__(
        self, column: Series, k: int, hierarchy: Hierarchy, units: Any = None, n_records: Any = None
    ) -> None:
        """`n_records` is how many records each cell stands for; None for one."""
        known = column.dropna().to_numpy()
        with found_in(np.flatnonzero(column.notna()), column.name):
            domain = hierarchy._domain(known, f"Column {column.name!r}")
        self._tree, self._losses = domain.tree, domain.loss
        super().__init__(column, k, units)  # with rows that take no notice of the hierarchy
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
        codes = self.codes(column)
        in_row = np.bincount(codes, n_records, minlength=n_leaves + 2)
        shared = _n_people_below(rows > 0, codes, units, in_row) >= k
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
        return self._leaves(column) % (self.n_leaves + 2)

    def places(self, codes: Labels) -> Floats:
        """Places among the leaves, which are in the order of the tree, from 0 to 1."""
        of_rows = np.zeros(self.rows.shape[0])
        of_rows[: self.n_leaves] = np.arange(1, self.n_leaves + 1) / self.n_leaves
        return of_rows[codes]

    def generalized(self, column: Series, members: Members) -> Series:
        """The lowest common node of each group; the root where a value is missing."""
        nodes = self.common_codes(self._leaves(column), members)
        return self._as_text(self._tree.labels[node] for node in nodes)

    def generalization_losses(self, column: Series, members: Members) -> Floats:
        """The loss of what `generalized` returns for each group: the share of leaves below it."""
        return np.array(self._losses)[self.common_codes(self._leaves(column), members)]

    def tree_of(self, column: Series) -> tuple[Any, Sequence[float], Labels]:
        """The tree of the values, the losses of its nodes, and the leaf of each cell, or -1."""
        return self._tree, self._losses, self._leaves(column)

    def common_codes(self, codes: Labels, members: Members) -> Labels:
        """The lowest common node of each group, given leaves; negative ones are missing."""
        nodes = [
            self._tree.root if low < 0 else self._tree.lowest_common(int(low), int(high))
            for low, high in zip(*ends_of(codes, members), strict=True)
        ]
        return np.array(nodes)


def _n_people_below(is_below: csr_array, codes: Labels, units: Any, in_row: Labels) -> Labels:
    """Number of people with a value below each node, given which rows are below which nodes."""
    if units is None:
        return in_row @ is_below
    shape = units.max() + 1, len(in_row)
    has_row = csr_array((np.ones(len(codes)), (units, codes)), shape=shape)
    return np.asarray((has_row @ is_below > 0).sum(axis=0))
