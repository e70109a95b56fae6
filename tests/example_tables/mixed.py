"""Tables with categories, numbers and missing values."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from oracles import generalization as oracle

from sk_microagg._kernels import RangeColumns
from sk_microagg.generalization._mixed_table import MixedTable
from sk_microagg.tables import Hierarchy
from sk_microagg.tables._grid import Grid
from sk_microagg.tables._hierarchy import IntervalHierarchy

COUNTRIES = {"Europe": ["France", "Spain"], "Asia": ["India", "Japan", "Nepal"]}
HIERARCHIES = {"country": COUNTRIES}


def draw(n, seed=0, share_missing=0.1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "country": rng.choice(["France", "Spain", "India", "Japan", "Nepal"], n),
            "sex": rng.choice(["F", "M"], n),
            "income": np.round(rng.lognormal(size=n), 3),
        }
    )
    return frame.mask(rng.random(frame.shape) < share_missing)


def covers(cell, value):
    """Whether a released cell is true of a value of `draw`."""
    if cell == "*":
        return True
    if pd.isna(value):
        return False
    if isinstance(value, str):
        return cell == value or value in COUNTRIES.get(cell, [])
    low, high = ends_of(cell)
    return low <= value <= high


def ends_of(cell):
    """The ends of a released interval, or twice a single number; empty for the root."""
    if cell == "*" or pd.isna(cell):
        return []
    ends = [float(end) for end in str(cell).strip("[]").split(", ")]
    return [ends[0], ends[-1]]


def limited_to_what_is_shown(X, release):
    """A table with `age` and `income` within the intervals of a release, where there are any.

    Those beyond were released as the root, so the release does not show their range. Whole numbers
    stay whole: an interval of these counts those that it holds.
    """
    X = X.copy()
    for name, cells in zip(X, np.asarray(release, dtype=object).T, strict=True):
        ends = [end for cell in cells for end in ends_of(cell)] if name in ("age", "income") else []
        if ends:
            is_whole = (X[name].dropna() % 1 == 0).all()
            low, high = min(ends), max(ends)
            low, high = (np.ceil(low), np.floor(high)) if is_whole else (low, high)
            X[name] = X[name].clip(low, high)
    return X


# Tables: cells by column, and for each column its kind of tree

DEEP = {"A": {"A1": ["a", "b"], "A2": ["c", "d", "e"]}, "B": {"B1": ["f", "g"], "B2": ["h", "i"]}}
# Leaves at several depths, nodes with one child, and one that covers as much as the root.
UNEVEN = {"all": {"A": {"A1": {"A2": ["a", "b"]}, "A3": ["c"]}, "B": ["d", "e"], "f": None}}
LARGE_TREE = {
    f"{a}": {f"{a}{b}": [f"{a}{b}{c}" for c in range(10)] for b in range(6)} for a in range(6)
}


# Values that do not include all leaves of a tree, that are equal, or that are all missing.
SMALL = {
    "integers": lambda rng, n: (rng.integers(0, 5, size=n).tolist(), "numbers"),
    "decimals": lambda rng, n: ((rng.integers(0, 30, size=n) / 7).tolist(), "numbers"),
    "two outliers": lambda rng, n: (two_outliers(rng, n), "shared or nothing"),
    "constant number": lambda rng, n: ([7.1] * n, "numbers"),
    "no number": lambda rng, n: ([None] * n, "numbers"),
    "flat": lambda rng, n: (rng.choice(list("pqrst"), size=n).tolist(), "flat"),
    "constant category": lambda rng, n: (["x"] * n, "flat"),
    "no category": lambda rng, n: ([None] * n, "flat"),
    "deep": lambda rng, n: (rng.choice(list("abcdefgh"), size=n).tolist(), DEEP),
    "uneven": lambda rng, n: (rng.choice(list("abcdef"), size=n).tolist(), UNEVEN),
}


def two_outliers(rng, n):
    """Equal numbers but for two, so that there is no range from which to choose a step."""
    return rng.permutation([1.3, 99.7, *[7.1] * n][:n]).tolist()


def many_numbers(rng, n):
    """Integers or decimals, an eighth of them twice."""
    distinct = rng.permutation(1000)[: max(n - n // 8, 1)] / rng.choice([1, 8])
    return rng.permutation(np.resize(distinct, n)).tolist(), "numbers"


def large_tree(rng, n):
    return rng.choice(
        [leaf[-1] for leaf in oracle.paths_of(LARGE_TREE)], size=n
    ).tolist(), LARGE_TREE


KINDS = {
    **SMALL,
    "many numbers": many_numbers,
    "large tree": large_tree,
}


def some_table(rng, n, kinds, missing=0.15):
    """Cells by column and the tree of each, with some cells missing."""
    made = [KINDS[kind](rng, n) for kind in kinds]
    cells = [
        [
            None if is_missing else cell
            for cell, is_missing in zip(c, rng.random(n) < missing, strict=True)
        ]
        for c, _ in made
    ]
    return cells, [tree for _, tree in made]


def some_case(rng, n, kinds, c="own", missing=0.15):
    """The same table for the oracle, `plain` and `records`, and for the package."""
    cells, trees = some_table(rng, n, kinds, missing)
    weights = np.append(1.0, rng.choice([1.0, 0.7, 2.5, 0.0], size=len(kinds) - 1))
    plain = [oracle.column_of(*column, c) for column in zip(cells, trees, weights, strict=True)]
    table = MixedTable(np.array(list(zip(*cells, strict=True)), dtype=object), None)
    domains = table.domains([hierarchy_of(tree) for tree in trees])
    columns = RangeColumns(domains, weights, constant=-1.0 if c == "own" else c)
    lo, hi = table.encode(domains)
    records = oracle.records_of(plain, cells)
    total = n * weights.sum()
    return SimpleNamespace(
        n=n, plain=plain, records=records, columns=columns, lo=lo, hi=hi, total=total
    )


class SharedOrNothing(IntervalHierarchy):
    """Intervals that end at numbers that two records share, whatever the grid of the table."""

    def _domain(self, values, column, grid=None):
        return super()._domain(values, column, Grid(2, None))


def hierarchy_of(tree):
    if isinstance(tree, str) and tree == "shared or nothing":
        return SharedOrNothing()
    if isinstance(tree, str):
        return Hierarchy.intervals() if tree == "numbers" else Hierarchy.flat()
    return Hierarchy.from_nested(tree)
