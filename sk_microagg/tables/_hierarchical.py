"""Columns of categories with a hierarchy: one coordinate per node but the root.

A value has the coordinates of all nodes from it up to the root, so that values are the farther
apart, the higher the node is that they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sk_microagg._utils._places import found_in
from sk_microagg._utils._statistics import Members
from sk_microagg._utils._typing import Floats, Labels, Series
from sk_microagg.tables._categories import CategoryColumn, ends_of, standardized
from sk_microagg.tables._columns import Survey, Treatment
from sk_microagg.tables._frames import import_pandas
from sk_microagg.tables._labels import label_of
from sk_microagg.tables._values import factorize


class HierarchyColumn(CategoryColumn):
    """A column of categories that are the leaves of a hierarchy.

    Nodes that fewer than k people share have no coordinate.
    """

    kind = "hierarchy"

    @classmethod
    def _look_at(cls, cells: Series, treatment: Treatment) -> tuple[None, Series]:
        if not treatment.hierarchy.has_leaves(factorize(cells)[1]):
            known = cells.dropna().to_numpy()
            with found_in(np.flatnonzero(cells.notna()), cells.name):
                treatment.hierarchy.check_leaves(known, f"Column {cells.name!r}")
        return None, cells

    def __init__(self, survey: Survey, treatment: Treatment, k: int) -> None:
        self.name = survey.like.name
        known = survey.as_categories().known
        domain = treatment.hierarchy._domain(known, f"Column {self.name!r}")
        self._tree, self._losses = domain.tree, domain.loss
        self._fit(survey, k)

    def _fit(self, survey: Survey, k: int) -> None:
        super()._fit(survey, k)  # with rows that take no notice of the hierarchy
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
        leaves, n_missing = self.numbers_of_values(survey, k), survey.n_missing
        in_row = np.bincount(leaves, survey.as_categories().counts[:-1], n_leaves + 2)
        in_row[-1] = n_missing
        shared = self._people_below(rows, survey, leaves, in_row) >= k
        shared[-1] = self.has_missing
        self.rows = standardized(rows[:, np.flatnonzero(shared)], in_row)

    def _people_below(self, rows: csr_array, survey: Survey, leaves: Labels, in_row: Any) -> Any:
        """Number of people with a value below each node, given the rows of leaves."""
        people = survey.people
        if people is None:
            return in_row @ (rows > 0)
        codes = np.append(leaves, self.n_leaves + 1)[people.codes]
        units = people.units
        shape = units.max() + 1, len(in_row)
        has_row = csr_array((np.ones(len(codes)), (units, codes)), shape=shape)
        return np.asarray((has_row @ (rows > 0) > 0).sum(axis=0))

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
        codes, different = factorize(column)
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

    def numbers_of_values(self, survey: Survey, k: int) -> Labels:
        """The leaf of each different value of the table."""
        return self._leaves(import_pandas().Series(survey.as_categories().known, dtype=object))

    def places_of_values(self, numbers: Floats) -> Labels:
        """The places of some leaves in `values`; larger ones for others."""
        places = np.full(self.n_leaves + 1, len(self.values))
        leaves = self._leaves(import_pandas().Series(self.values, dtype=object))
        places[leaves[::-1]] = np.arange(len(leaves))[::-1]
        return places[np.minimum(numbers, self.n_leaves).astype(np.intp)]

    def labels_of_nodes(self, nodes: Labels) -> list[str]:
        """The labels of some nodes."""
        return [label_of(self._tree.labels[node]) for node in nodes]

    def node_losses(self, common: Labels) -> Floats:
        """The loss of some nodes: the share of leaves below them."""
        return np.array(self._losses)[common]

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
