"""Generalization hierarchies."""

from collections import Counter
from itertools import pairwise

import numpy as np

from sk_microagg._utils._tables import has_numbers
from sk_microagg._utils._validation import LARGEST_VALUE
from sk_microagg.generalization._domain import NumberDomain, TreeDomain
from sk_microagg.generalization._labels import ROOT, bin_label, is_number, label_of
from sk_microagg.generalization._paths import (
    paths_from_csv,
    paths_from_nested,
    paths_from_parents,
)
from sk_microagg.generalization._tree import Tree


class Hierarchy:
    """How the values of one column are generalized.

    Most hierarchies are trees: values are leaves, a generalized value is a node and stands for all
    leaves below it. The root stands for everything, and for a missing value. Make one with the
    methods that begin with `from`, with `intervals` or with `flat`.

    See Also
    --------
    KAIM : Anonymizes tables with such hierarchies.

    Examples
    --------
    >>> from sk_microagg.generalization import Hierarchy
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
    def from_paths(paths):
        """Make a tree from the path of each leaf.

        Parameters
        ----------
        paths : iterable of sequence
            For each leaf the labels from it up to the root, which all have in common. Nodes are
            told apart by all that is above them, so a label may occur in several places.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths)

    @staticmethod
    def from_csv(path, *, sep=";"):
        """Read a tree from a file: in each row a leaf, its parent and so on up to the root.

        Parameters
        ----------
        path : str, path or readable file
            A file in UTF-8 without a header, all rows equally long. It is the format of ARX.

        sep : str, default=";"
            What separates the labels.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths_from_csv(path, sep))

    @staticmethod
    def from_nested(tree):
        """Make a tree of nested dicts, with lists where leaves begin.

        Parameters
        ----------
        tree : dict or list
            What is below the root "*": a dict of nodes with what is below each, or a list of
            leaves. In a dict, a leaf is a node with None or nothing below it.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths_from_nested(tree))

    @staticmethod
    def from_parents(parents):
        """Make a tree of a mapping from every value, and every node but the root, to its parent.

        Parameters
        ----------
        parents : dict
            The parents. Leaves are those that are nobody's parent.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        """
        return TreeHierarchy(paths_from_parents(parents))

    @staticmethod
    def from_bins(edges, *coarser):
        """Generalize numbers to bins, and these to coarser bins if there are any.

        Parameters
        ----------
        edges : sequence of float
            Ascending. A bin reaches from one edge to the next, which it does not contain.

        *coarser : sequence of float
            Edges of further levels: each has some edges of the level before, among them both ends.

        Returns
        -------
        hierarchy : Hierarchy
            The bins. Leaves are the numbers of the data. A bin loses its share of the range from
            the first edge to the last.
        """
        return BinHierarchy([edges, *coarser])

    @staticmethod
    def intervals():
        """Generalize numbers to intervals with any ends.

        Returns
        -------
        hierarchy : Hierarchy
            What a column of numbers has by default.
        """
        return IntervalHierarchy()

    @staticmethod
    def flat():
        """Put the root right above all values of the data.

        Returns
        -------
        hierarchy : Hierarchy
            What a column of categories has by default.
        """
        return FlatHierarchy()

    def domain(self, values, column, grid=None):
        """Take this hierarchy for the values of a column.

        Parameters
        ----------
        values : ndarray
            The values that are not missing, as often as they occur.

        column : str
            What to call the column in messages.

        grid : Grid or None, default=None
            Where intervals may end; None if the least and the largest number in them are their
            ends.

        Returns
        -------
        domain : TreeDomain or NumberDomain
            Positions of values, and what generalized ones lose.
        """
        raise NotImplementedError

    def published(self, cells, domain):
        """A domain that knows what the cells of a release tell, and nothing else of the data.

        Parameters
        ----------
        cells : iterable of tuple
            The cells.

        domain : TreeDomain or NumberDomain
            The domain that the cells are from. Whether all numbers are integers is taken from it.

        Returns
        -------
        domain : TreeDomain or NumberDomain
            Positions of the values in the cells. A column of numbers is as wide as the cells are
            together: it may have been wider, but that is not told.
        """
        raise NotImplementedError


class TreeHierarchy(Hierarchy):
    """A tree with known leaves.

    Attributes
    ----------
    leaves : list of str
        Labels of the leaves, depth first: those below a node are neighbors.

    root : str
        Label of the root.
    """

    def __init__(self, paths):
        rows = [tuple(label_of(label) for label in path) for path in paths]
        if not rows:
            raise ValueError("A hierarchy must have a leaf, got none.")
        for row in rows:
            if len(row) < 2:
                raise ValueError(f"A path must lead from a leaf to the root, got {list(row)}.")
            for label in row[1:]:
                if not label or (label == ROOT and row[-1] != ROOT):
                    raise ValueError(f"{label!r} must not be a node of the path {list(row)}.")
        roots = sorted({row[-1] for row in rows})
        if len(roots) > 1:
            raise ValueError(f"A hierarchy must have one root, got {' and '.join(roots[:3])}.")
        leaves = [row[0] for row in rows]
        for leaf, n_times in Counter(leaves).items():
            if n_times > 1:
                raise ValueError(f"The leaf {leaf!r} must occur once, but occurs {n_times} times.")
        below = {row[depth:]: row[depth - 1] for row in rows for depth in range(1, len(row))}
        for row in rows:
            if row in below:
                raise ValueError(
                    f"The leaf {row[0]!r} must have nothing below it, but has {below[row]!r}."
                )
        self._tree = Tree([row[:-1] for row in rows], roots[0])
        self.leaves = self._tree.labels[: self._tree.n_leaves]
        self._leaf_of = {label: leaf for leaf, label in enumerate(self.leaves)}
        self.root = roots[0]
        n_below = np.subtract(self._tree.last, self._tree.first) + 1
        self._losses = (n_below / len(leaves)).tolist()
        self._losses[: len(leaves)] = [0.0] * len(leaves)
        # Files repeat the root to make rows equally long; all that is released as it says nothing.
        for node in range(len(leaves), len(self._losses)):
            if set(self._tree.paths[node]) == {self.root}:
                self._losses[node] = 1.0

    def lowest_common(self, *values):
        """Label of the smallest node above all of some values.

        Parameters
        ----------
        *values : str or number
            Leaves.

        Returns
        -------
        label : str
            The label.
        """
        return self._tree.labels[self._node_above(values)]

    def loss(self, *values):
        """What a value loses when it is made the same as some others.

        Parameters
        ----------
        *values : str or number
            Leaves.

        Returns
        -------
        loss : float
            Share of all leaves that are below the lowest common node; 0 if that is a leaf.
        """
        return self._losses[self._node_above(values)]

    def entropy(self, *values, counts):
        """How open it is which leaf is meant by the lowest common node of some values.

        Parameters
        ----------
        *values : str or number
            Leaves.

        counts : dict
            How often each leaf occurs.

        Returns
        -------
        entropy : float
            Sum of -p log p over the leaves below that node, where p is a leaf's share of all
            occurrences; 0 for a leaf.
        """
        occurrences = np.repeat(np.array([*counts], dtype=object), [*counts.values()])
        return self.domain(occurrences, "counts").info[self._node_above(values)]

    def domain(self, values, column, grid=None):
        for label in dict.fromkeys(map(label_of, values)):
            if label not in self._leaf_of:
                raise ValueError(
                    f"{column} has the value {label!r}, which is not a leaf of its hierarchy."
                )
        return TreeDomain(self._tree, values, self._losses)

    def published(self, cells, domain):
        # The leaves are given, but not how often each occurs.
        return TreeDomain(self._tree, [], self._losses)

    def _node_above(self, values):
        if not values:
            raise ValueError("Give at least one leaf.")
        for value in values:
            if label_of(value) not in self._leaf_of:
                raise ValueError(f"{label_of(value)!r} is not a leaf of the hierarchy.")
        found = [self._leaf_of[label_of(value)] for value in values]
        return self._tree.lowest_common(min(found), max(found))

    def __repr__(self):
        return f"<hierarchy of {len(self.leaves)} leaves below {self.root!r}>"


class FlatHierarchy(Hierarchy):
    """The root above the values of the data."""

    def domain(self, values, column, grid=None):
        labels = dict.fromkeys(label_of(value) for value in values)
        tree = Tree((label,) for label in sorted(labels))
        return TreeDomain(tree, values, [0.0] * tree.n_leaves + [1.0])

    def published(self, cells, domain):
        return self.domain([cell[-1] for cell in dict.fromkeys(cells) if cell], "cells")

    def __repr__(self):
        return "<flat hierarchy>"


class IntervalHierarchy(Hierarchy):
    """Numbers that are generalized to intervals."""

    def domain(self, values, column, grid=None):
        return NumberDomain(numbers(values, column), grid)

    def published(self, cells, domain):
        return NumberDomain([end for cell in cells for end in cell], unit=domain.unit)

    def __repr__(self):
        return "<hierarchy of intervals>"


class BinHierarchy(Hierarchy):
    """Numbers in bins, and these in coarser ones."""

    def __init__(self, levels):
        self._levels = [_check_edges(edges) for edges in levels]
        for finer, coarser in pairwise(self._levels):
            same_ends = coarser[0] == finer[0] and coarser[-1] == finer[-1]
            if not (same_ends and np.isin(coarser, finer).all()):
                raise ValueError(
                    f"Coarser edges must be some of {finer.tolist()} and have its ends, "
                    f"got {coarser.tolist()}."
                )

    def domain(self, values, column, grid=None):
        values = numbers(values, column)
        low, high = self._levels[0][[0, -1]]
        outside = values[(values < low) | (values >= high)]
        if len(outside):
            raise ValueError(
                f"{column} has the value {label_of(outside[0])}, which is not in {self!r}."
            )
        return self._domain(values, values)

    def published(self, cells, domain):
        # A cell as deep as a leaf is a number.
        leaves = [float(cell[-1]) for cell in cells if len(cell) > len(self._levels)]
        return self._domain(leaves, [])

    def _domain(self, leaves, values):
        bins = {bin_label(*ends): ends for edges in self._levels for ends in pairwise(edges)}
        # In every bin a leaf without a name stands for the numbers that are not known.
        paths = [(None, *self._path(edge)) for edge in self._levels[0][:-1]]
        paths += [(label_of(leaf), *self._path(leaf)) for leaf in sorted({*leaves})]
        tree = Tree(paths)
        first, last = self._levels[0][[0, -1]]
        loss, middles = [], []
        for node, label in enumerate(tree.labels):
            if node < tree.n_leaves and label is not None:
                low = high = float(label)
            else:  # A leaf without a name is as wide as its bin.
                label = tree.labels[tree.parent[node]] if label is None else label
                low, high = bins.get(label, (first, last))
            # The edges are given. How far the numbers reach is not told.
            loss.append(float((high - low) / (last - first)))
            middles.append(float(low + (high - low) / 2))
        middles[tree.root] = np.nan
        return TreeDomain(tree, values, loss, middles, self._path)

    def _path(self, value):
        """Labels of the bins that a number is in, the finest first; none if it is in none."""
        labels = []
        for edges in self._levels:
            place = np.searchsorted(edges, value, side="right")
            if not 0 < place < len(edges):
                return ()
            labels.append(bin_label(edges[place - 1], edges[place]))
        return tuple(labels)

    def __repr__(self):
        edges = self._levels[0]
        return f"<hierarchy of {len(edges) - 1} bins from {edges[0]:g} to {edges[-1]:g}>"


def numbers(values, column):
    """The values as floats, if they are finite numbers."""
    if isinstance(values, np.ndarray) and has_numbers(values):
        values = values.astype(np.float64)
        if np.all(np.abs(values) <= LARGEST_VALUE):
            return values
    for value in values:
        if not is_number(value) or not abs(value) <= LARGEST_VALUE:
            shown = f"{float(value):g}" if is_number(value) else repr(value)
            raise ValueError(
                f"{column} has the value {shown}, but its hierarchy is one of finite numbers "
                f"of at most {LARGEST_VALUE:g}."
            )
    return np.array(values, dtype=np.float64)


def _check_edges(edges):
    try:
        checked = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    is_finite = np.isfinite(checked).all()
    if checked.ndim != 1 or len(checked) < 2 or not is_finite or not np.all(np.diff(checked) > 0):
        raise ValueError(f"edges={edges!r} must be two or more ascending finite numbers.")
    return checked
