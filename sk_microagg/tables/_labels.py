"""The text of cells in a generalized table, and the paths of trees in the forms users give."""

import re
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_microagg._utils._csv import content_of_csv, rows_of_csv, source_name
from sk_microagg._utils._tables import MISSING

ROOT = MISSING
INTERVAL = re.compile(r"\[([^,\[\]()]+), ([^,\[\]()]+)([\])])")

# Characters that are used between labels.
SEPARATORS = (",", "\t", "|", ";")

COLLECTIONS = (dict, list, tuple, set, frozenset)


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def label_of(value: Any) -> str:
    """A value as text. Equal numbers give equal text, whatever their type."""
    if not is_number(value) or isinstance(value, Integral):
        return str(value)
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)


def interval_label(low: float, high: float) -> str:
    return interval_text(label_of(low), label_of(high))


def interval_text(low: str, high: str) -> str:
    """The text of an interval, given that of its ends."""
    return low if low == high else f"[{low}, {high}]"


def interval_of_label(label: str) -> tuple[str, str, bool] | None:
    """The texts of both ends, and whether the upper one is included; None for a single value."""
    found = INTERVAL.fullmatch(label)
    return (found[1], found[2], found[3] == "]") if found else None


def bin_label(low: float, high: float) -> str:
    return f"[{label_of(low)}, {label_of(high)})"


def check_paths(paths: Iterable[Iterable[Any]]) -> list[tuple[str, ...]]:
    """The paths as tuples of labels, or an error if they do not make a tree."""
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
    for leaf, n_times in Counter(row[0] for row in rows).items():
        if n_times > 1:
            raise ValueError(f"The leaf {leaf!r} must occur once, but occurs {n_times} times.")
    below = {row[depth:]: row[depth - 1] for row in rows for depth in range(1, len(row))}
    for row in rows:
        if row in below:
            raise ValueError(
                f"The leaf {row[0]!r} must have nothing below it, but has {below[row]!r}."
            )
    return rows


def paths_from_csv(path: Any, sep: str) -> list[list[str]]:
    """From a file with a leaf in each row, then its parent and so on up to the root."""
    content, _ = content_of_csv(path)
    numbered = rows_of_csv(content, sep, source_name(path))
    rows = [(number, row) for number, row in numbered if any(label.strip() for label in row)]
    _check_separator([row for _, row in rows], sep, source_name(path))
    for number, row in rows:
        if len(row) != len(rows[0][1]):
            raise ValueError(
                f"Row {number} of {source_name(path)} has {len(row)} labels, but the first has "
                f"{len(rows[0][1])}; all rows must be equally long."
            )
    return [row for _, row in rows]


def _check_separator(rows: Any, sep: str, name: str) -> None:
    """Raise an error if the labels of all rows are separated by another character."""
    for other in SEPARATORS:
        if rows and all(len(row) == 1 and other in row[0] for row in rows):
            raise ValueError(
                f"Rows of {name} have {other!r} between labels: these must be separated by {sep!r}."
            )


def paths_from_nested(tree: Any, above: tuple[str, ...] = (ROOT,)) -> list[tuple[str, ...]]:
    """From a dict that maps each node to what is below it, or from a list of leaves."""
    if isinstance(tree, dict) and above == (ROOT,) and list(tree) == [ROOT]:
        tree = tree[ROOT]
    if not isinstance(tree, COLLECTIONS):
        raise TypeError(
            f"tree must be made of dicts and lists, but below {above[0]!r} it is "
            f"{type(tree).__name__}."
        )
    paths = []
    for label in tree:
        if isinstance(label, COLLECTIONS):
            raise TypeError(
                f"Lists in tree must hold leaves, but below {above[0]!r} one holds a "
                f"{type(label).__name__}; nodes with something below them are keys of dicts."
            )
        path = (label_of(label), *above)
        below = tree[label] if isinstance(tree, dict) else None
        paths.extend(paths_from_nested(below, path) if below else [path])
    return paths


def paths_from_parents(parents: Any) -> list[list[str]]:
    """From a mapping of every node but the root to its parent."""
    if not hasattr(parents, "items"):
        raise TypeError(
            f"parents={parents!r} must be a dict from nodes to their parents, "
            f"got {type(parents).__name__}."
        )
    given, parents = parents, {}
    for node, parent in given.items():
        if parent is None or parent != parent:
            continue  # Some users include the root like this.
        if parents.setdefault(label_of(node), label_of(parent)) != label_of(parent):
            raise ValueError(
                f"parents must name one parent of {label_of(node)!r}, "
                f"got {parents[label_of(node)]!r} and {label_of(parent)!r}."
            )
    inner = set(parents.values())
    # From every node, not only from leaves: a cycle may have no leaf below it.
    paths = [_climb(node, parents) for node in parents]
    return [path for path in paths if path[0] not in inner]


def _climb(node: str, parents: dict[str, str]) -> list[str]:
    path = [node]
    while path[-1] in parents:
        path.append(parents[path[-1]])
        if len(path) > len(parents) + 1:
            raise ValueError(f"parents leads from {node!r} into a cycle, not to a root.")
    return path
