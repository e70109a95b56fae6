"""The paths of a generalization tree, from each leaf up to the root, as users write trees down."""

from sk_microagg._utils._csv import opened_csv, source_name
from sk_microagg.generalization._labels import ROOT, label_of

COLLECTIONS = (dict, list, tuple, set, frozenset)


def paths_from_csv(path, sep):
    """A leaf in each row, then its parent and so on up to the root."""
    with opened_csv(path, sep=sep) as numbered:
        rows = [
            (number, row)
            for number, row in enumerate(numbered, start=1)
            if any(label.strip() for label in row)
        ]
    for number, row in rows:
        if len(row) != len(rows[0][1]):
            raise ValueError(
                f"Row {number} of {source_name(path)} has {len(row)} labels, but the first has "
                f"{len(rows[0][1])}; all rows must be equally long."
            )
    return [row for _, row in rows]


def paths_from_nested(tree, above=(ROOT,)):
    """A dict of nodes with what is below each, or a list of leaves."""
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


def paths_from_parents(parents):
    """A mapping from every node but the root to its parent."""
    if not hasattr(parents, "items"):
        raise TypeError(
            f"parents={parents!r} must be a dict from nodes to their parents, "
            f"got {type(parents).__name__}."
        )
    given, parents = parents, {}
    for node, parent in given.items():
        if parent is None or parent != parent:
            continue  # That is how some write down the root.
        if parents.setdefault(label_of(node), label_of(parent)) != label_of(parent):
            raise ValueError(
                f"parents must name one parent of {label_of(node)!r}, "
                f"got {parents[label_of(node)]!r} and {label_of(parent)!r}."
            )
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
