"""The paths of a generalisation tree, from each leaf up to the root, as users write trees down."""

import csv
from pathlib import Path

from sk_microagg.generalization._labels import ROOT, label_of


def paths_from_csv(path, sep):
    """A leaf in each row, then its parent and so on up to the root."""
    if hasattr(path, "read"):
        rows = list(csv.reader(path, delimiter=sep))
    else:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, delimiter=sep))
    rows = [row for row in rows if row]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"Row {number} of {path} has {len(row)} labels, but the first has {len(rows[0])}; "
                "all rows must be equally long."
            )
    return rows


def paths_from_nested(tree, above=(ROOT,)):
    """A dict of nodes with what is below each, or a list of leaves."""
    if isinstance(tree, dict) and above == (ROOT,) and list(tree) == [ROOT]:
        tree = tree[ROOT]
    if not isinstance(tree, (dict, list, tuple, set, frozenset)):
        raise TypeError(
            f"tree must be made of dicts and lists, but below {above[0]!r} it is "
            f"{type(tree).__name__}."
        )
    paths = []
    for label in tree:
        path = (label_of(label), *above)
        below = tree[label] if isinstance(tree, dict) else None
        paths.extend(paths_from_nested(below, path) if below else [path])
    return paths


def paths_from_parents(parents):
    """A mapping from every node but the root to its parent."""
    parents = {label_of(node): label_of(parent) for node, parent in parents.items()}
    inner = set(parents.values())
    # From every node, not only from leaves: a cycle may have no leaf below it.
    paths = [_climb(node, parents) for node in parents]
    return [path for path in paths if path[0] not in inner]


def _climb(node, parents):
    path = [node]
    while path[-1] in parents:
        path.append(parents[path[-1]])
        if len(path) > len(parents) + 1:
            raise ValueError(f"parents leads from {node!r} up in a circle, not to a root.")
    return path
