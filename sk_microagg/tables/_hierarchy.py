"""Generalization hierarchies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from sk_microagg._utils._places import check_cells
from sk_microagg._utils._tables import has_numbers, kind_of_cells
from sk_microagg._utils._typing import FilePath, Floats
from sk_microagg._utils._validation import LARGEST_VALUE
from sk_microagg.tables._domain import (
    DateDomain,
    NumberDomain,
    TreeDomain,
    ValueTree,
    days_of,
)
from sk_microagg.tables._grid import Grid
from sk_microagg.tables._labels import (
    bin_label,
    check_paths,
    is_number,
    label_of,
    paths_from_csv,
    paths_from_nested,
    paths_from_parents,
)

# What is said of cells that a hierarchy lacks.
NO_LEAF = "is no leaf of its hierarchy", "are no leaves of its hierarchy"
NOT_FINITE = "is no finite number", "are no finite numbers"


class Hierarchy:
    """How the values of one column are generalized.

    Most hierarchies are trees: the values are leaves, and a generalized value is a node, which
    stands for all leaves below it. The root stands for any value, and for a missing one. To create
    a hierarchy, use one of the methods whose names begin with `from`, or `intervals` or `flat`.

    See Also
    --------
    sk_microagg.KAIM : Anonymizes tables with such hierarchies.

    Examples
    --------
    >>> from sk_microagg.tables import Hierarchy
    >>> country = Hierarchy.from_nested(
    ...     {"Europe": ["France", "Spain"], "Asia": ["India", "Japan", "Nepal"]}
    ... )
    >>> country
    <hierarchy of 5 leaves below '*'>
    >>> country.lowest_common("Japan", "Nepal")
    'Asia'
    >>> country.loss("Japan", "Nepal")
    0.6
    >>> country.lowest_common("Japan", "Spain")
    '*'
    """

    @staticmethod
    def from_paths(paths: Iterable[Sequence[Any]]) -> TreeHierarchy:
        """Create a tree from the path of each leaf.

        Parameters
        ----------
        paths : iterable of sequence
            For each leaf, the labels from it up to the root, which all paths share. A node is
            identified by its whole path to the root, so a label may occur in several places.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths)

    @staticmethod
    def from_csv(path: FilePath | IO[Any], *, sep: str = ";") -> TreeHierarchy:
        """Read a tree from a file: each row has a leaf, its parent and so on up to the root.

        Parameters
        ----------
        path : str, path or readable file
            A UTF-8 file without a header, with the same number of labels in each row, as ARX uses.

        sep : str, default=";"
            Separator between labels.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths_from_csv(path, sep))

    @staticmethod
    def from_nested(tree: Mapping[Any, Any] | Iterable[Any]) -> TreeHierarchy:
        """Create a tree from nested dicts, with lists of leaves at the bottom.

        Parameters
        ----------
        tree : dict or list
            What is below the root "*": a dict that maps each node to what is below it, or a list of
            leaves. In a dict, a leaf is a node that maps to None or to an empty dict or list.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths_from_nested(tree))

    @staticmethod
    def from_parents(parents: Mapping[Any, Any]) -> TreeHierarchy:
        """Create a tree from a mapping of every node but the root to its parent.

        Parameters
        ----------
        parents : dict
            The parent of each node. Leaves are the nodes that are no other node's parent.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths_from_parents(parents))

    @staticmethod
    def from_bins(edges: ArrayLike, *coarser: ArrayLike) -> BinHierarchy:
        """Generalize numbers to bins, and these to coarser bins if there are any.

        Parameters
        ----------
        edges : sequence of float
            Edges in ascending order. A bin includes its lower edge and excludes its upper one.

        *coarser : sequence of float
            Edges of further levels, each a selection of those of the level before that includes
            both ends.

        Returns
        -------
        hierarchy : Hierarchy
            The bins; its leaves are the numbers in the data. The loss of a bin is its share of the
            range from the first edge to the last.
        """
        return BinHierarchy([edges, *coarser])

    @staticmethod
    def intervals() -> IntervalHierarchy:
        """Generalize numbers to intervals with any ends.

        Returns
        -------
        hierarchy : Hierarchy
            The default for a column of numbers.
        """
        return IntervalHierarchy()

    @staticmethod
    def flat() -> FlatHierarchy:
        """Generalize every value in the data directly to the root.

        Returns
        -------
        hierarchy : Hierarchy
            The default for a column of categories.
        """
        return FlatHierarchy()

    def _domain(self, values: Any, column: str, grid: Grid | None = None) -> Any:
        """The domain of known values; messages name the `column`, and a grid has ends."""
        raise NotImplementedError

    def _released_values(self, covers: Iterable[tuple[Any, ...]], domain: Any) -> Any:
        """A domain that has generalized values, is as wide as these, and holds no other data."""
        raise NotImplementedError


class TreeHierarchy(Hierarchy):
    """A tree whose leaves are given."""

    def __init__(self, paths: Iterable[Sequence[Any]]) -> None:
        paths = check_paths(paths)
        self.root = paths[0][-1]
        self._tree = ValueTree([path[:-1] for path in paths], self.root)
        self.leaves = self._tree.labels[: self._tree.n_leaves]
        self._leaf_of = {label: leaf for leaf, label in enumerate(self.leaves)}
        n_below = np.subtract(self._tree.last, self._tree.first) + 1
        self._losses = (n_below / len(paths)).tolist()
        self._losses[: len(paths)] = [0.0] * len(paths)
        # Files repeat the root to make all rows equally long; each copy of it loses everything.
        for node in range(len(paths), len(self._losses)):
            if set(self._tree.paths[node]) == {self.root}:
                self._losses[node] = 1.0

    def lowest_common(self, *values: object) -> str:
        """Label of the lowest node above all of some values."""
        return self._tree.labels[self._node_above(values)]

    def loss(self, *values: object) -> float:
        """Loss of a value that is generalized together with others."""
        return self._losses[self._node_above(values)]

    def entropy(self, *values: object, counts: Mapping[Any, int]) -> float:
        """Uncertainty about the leaf, given the lowest common node of some values."""
        occurrences = np.repeat(np.array([*counts], dtype=object), [*counts.values()])
        return self._domain(occurrences, "counts").info[self._node_above(values)]

    def has_leaves(self, values: Any) -> bool:
        """Whether all of some known values are leaves."""
        return self._leaf_of.keys() >= set(map(label_of, values))

    def check_leaves(self, values: Any, column: str) -> None:
        """Raise an error unless all of some known values are leaves."""
        if not self.has_leaves(values):
            is_bad = np.array([label_of(value) not in self._leaf_of for value in values])
            check_cells(is_bad, column, NO_LEAF)

    def _domain(self, values: Any, column: str, grid: Grid | None = None) -> TreeDomain:
        self.check_leaves(values, column)
        return TreeDomain(self._tree, values, self._losses)

    def _released_values(self, covers: Iterable[tuple[Any, ...]], domain: Any) -> TreeDomain:
        # The leaves are given, but their frequencies are not.
        return TreeDomain(self._tree, [], self._losses)

    def _node_above(self, values: tuple[object, ...]) -> int:
        if not values:
            raise ValueError("Give at least one leaf.")
        for value in values:
            if label_of(value) not in self._leaf_of:
                raise ValueError(f"{label_of(value)!r} is not a leaf of the hierarchy.")
        found = [self._leaf_of[label_of(value)] for value in values]
        return self._tree.lowest_common(min(found), max(found))

    def __repr__(self) -> str:
        return f"<hierarchy of {len(self.leaves)} leaves below {self.root!r}>"


class FlatHierarchy(Hierarchy):
    """The root directly above the values of the data."""

    def _domain(self, values: Any, column: str, grid: Grid | None = None) -> TreeDomain:
        labels = dict.fromkeys(label_of(value) for value in values)
        tree = ValueTree((label,) for label in sorted(labels))
        return TreeDomain(tree, values, [0.0] * tree.n_leaves + [1.0])

    def _released_values(self, covers: Iterable[tuple[Any, ...]], domain: Any) -> TreeDomain:
        return self._domain([cover[-1] for cover in dict.fromkeys(covers) if cover], "covers")

    def __repr__(self) -> str:
        return "<flat hierarchy>"


class IntervalHierarchy(Hierarchy):
    """Numbers or dates that are generalized to intervals."""

    def _domain(self, values: Any, column: str, grid: Grid | None = None) -> NumberDomain:
        if kind_of_cells(np.asarray(values)) == "date":
            return DateDomain(days_of(values), grid)
        return NumberDomain(finite_numbers(values, column), grid)

    def _released_values(self, covers: Iterable[tuple[Any, ...]], domain: Any) -> NumberDomain:
        return type(domain)([end for cover in covers for end in cover], unit=domain.unit)

    def __repr__(self) -> str:
        return "<hierarchy of intervals>"


class BinHierarchy(Hierarchy):
    """Numbers that are generalized to bins, and these to coarser bins."""

    def __init__(self, levels: list[ArrayLike]) -> None:
        self._levels = [_check_edges(edges) for edges in levels]
        for finer, coarser in pairwise(self._levels):
            same_ends = coarser[0] == finer[0] and coarser[-1] == finer[-1]
            if not (same_ends and np.isin(coarser, finer).all()):
                raise ValueError(
                    f"Coarser edges must be some of {finer.tolist()} and have its ends, "
                    f"got {coarser.tolist()}."
                )
        self._low, self._high = self._levels[0][[0, -1]]

    def _domain(self, values: Any, column: str, grid: Grid | None = None) -> TreeDomain:
        values = finite_numbers(values, column)
        is_outside = (values < self._low) | (values >= self._high)
        check_cells(is_outside, column, (f"is not in the {self!r}", f"are not in the {self!r}"))
        return self._tree_domain(values, values)

    def _released_values(self, covers: Iterable[tuple[Any, ...]], domain: Any) -> TreeDomain:
        # The numbers among generalized values are those below the bins of the finest level.
        numbers = [float(cover[-1]) for cover in covers if len(cover) > len(self._levels)]
        return self._tree_domain(numbers, [])

    def _labels_of(self, value: float) -> tuple[str, ...]:
        """Labels of the bins that a number is in, the finest first; empty if it is in none."""
        labels = []
        for edges in self._levels:
            place = np.searchsorted(edges, value, side="right")
            if not 0 < place < len(edges):
                return ()
            labels.append(bin_label(edges[place - 1], edges[place]))
        return tuple(labels)

    def _tree_domain(self, leaves: Iterable[float], values: Iterable[Any]) -> TreeDomain:
        bins = {bin_label(*ends): ends for edges in self._levels for ends in pairwise(edges)}
        # In every bin, a leaf without a label stands for the numbers that are not leaves.
        paths = [(None, *self._labels_of(edge)) for edge in self._levels[0][:-1]]
        paths += [(label_of(leaf), *self._labels_of(leaf)) for leaf in sorted({*leaves})]
        tree = ValueTree(paths)
        loss, midpoints = [], []
        for node, label in enumerate(tree.labels):
            if node < tree.n_leaves and label is not None:
                low = high = float(label)
            else:  # A leaf without a label is as wide as its bin.
                label = tree.labels[tree.parent[node]] if label is None else label
                low, high = bins.get(label, (self._low, self._high))
            # By the range of the edges, which are given: that of the numbers stays private.
            loss.append(float((high - low) / (self._high - self._low)))
            midpoints.append(float(low + (high - low) / 2))
        midpoints[tree.root] = np.nan
        return TreeDomain(tree, values, loss, midpoints, self._labels_of)

    def __repr__(self) -> str:
        n_bins = len(self._levels[0]) - 1
        return f"<hierarchy of {n_bins} bins from {self._low:g} to {self._high:g}>"


def _check_edges(edges: ArrayLike) -> Floats:
    try:
        checked = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    is_finite = np.isfinite(checked).all()
    if checked.ndim != 1 or len(checked) < 2 or not is_finite or not np.all(np.diff(checked) > 0):
        raise ValueError(f"edges={edges!r} must be two or more ascending finite numbers.")
    return checked


def finite_numbers(values: Any, column: str) -> Floats:
    """The values as floats; an error if some are not finite numbers."""
    if isinstance(values, np.ndarray) and has_numbers(values):
        values = values.astype(np.float64)
        if np.all(np.abs(values) <= LARGEST_VALUE):
            return values
    is_bad = [not (is_number(value) and abs(value) <= LARGEST_VALUE) for value in values]
    advice = f"Its hierarchy needs finite numbers of at most {LARGEST_VALUE:g}."
    check_cells(np.array(is_bad, dtype=bool), column, NOT_FINITE, advice=advice)
    return np.array(values, dtype=np.float64)
