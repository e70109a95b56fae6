"""Strata of a table on Dask: their names, their sizes, and what holds in each of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg._microaggregate import Method
from sk_microagg._model._points import (
    Points,
    SparsePoints,
    are_few_coordinates,
    has_few_coordinates,
    n_dense_coordinates,
    routing_of,
)
from sk_microagg._model._power_cells import StratifiedRouter, rows_of_strata
from sk_microagg._model._router import Router
from sk_microagg._utils._typing import Booleans, DataFrame, Labels
from sk_microagg.privacy import Rules
from sk_microagg.privacy._amounts import Contributions
from sk_microagg.privacy._counted import GroupCounts
from sk_microagg.privacy._rules import Rule, check_whole_table
from sk_microagg.privacy._strata import StratumNames, keys_of
from sk_microagg.scale._engine import PartedTable


@dataclass(frozen=True)
class StratumColumns:
    """The columns that name the strata, which a fitted model keeps."""

    columns: list[Any]
    names: StratumNames

    def numbers(self, frame: DataFrame) -> Labels:
        """Number of the stratum of each row of a part; an unknown stratum is an error."""
        keys, codes = distinct_keys(frame[self.columns])
        return self.names.numbers_of_keys(keys)[codes]


def distinct_keys(frame: DataFrame) -> tuple[list[tuple[Any, ...]], Labels]:
    """The keys of the strata of a part, in the order in which they occur, and those of its rows."""
    if not len(frame):
        return [], np.empty(0, dtype=np.intp)
    codes = np.zeros(len(frame), dtype=np.intp)
    for _, column in frame.items():
        in_column = pd.factorize(column)[0] + 1  # missing values have code -1
        codes = pd.factorize(codes * (in_column.max() + 1) + in_column)[0]
    firsts = np.unique(codes, return_index=True)[1]
    return keys_of(frame.iloc[firsts], len(firsts)), codes


def count_strata(frame: DataFrame) -> dict[Any, int]:
    """Return the number of rows of each stratum in a part, by the keys of the strata."""
    keys, codes = distinct_keys(frame)
    return merge_counts({key: n} for key, n in zip(keys, np.bincount(codes).tolist(), strict=True))


def merge_counts(parts: Iterable[dict[Any, int]]) -> dict[Any, int]:
    """Merge the numbers of rows of several parts; strata are in the order of the parts."""
    sizes: dict[Any, int] = {}
    for part in parts:
        for key, size in part.items():
            sizes[key] = sizes.get(key, 0) + size
    return sizes


def check_rules(table: PartedTable, constraints: Any) -> None:
    """Raise an error if a stratum of the table violates a constraint as a whole."""
    counted = table.map(constraints.names, _count, constraints)
    by_column = table.merge(counted, _merged, constraints)
    check_figures = constraints.strata.names.check_figures
    if constraints.unit is not None:
        [rule, *_] = constraints.rules_of_units()
        check_figures(rule, rule.constraint.measure_counts(by_column.pop(), None))
    by_name = dict(zip(constraints.values, by_column, strict=True))
    for rule, name in zip(constraints.rules, constraints.columns, strict=True):
        counts = by_name[name]
        labels, codes = counts.for_pairs(counts.labels), rule.values[counts.codes.astype(np.intp)]
        groups = GroupCounts.added(labels, codes, counts.counts)
        check_figures(rule, rule.constraint.measure_counts(groups, rule.table))


def check_shares(table: PartedTable, constraints: Any) -> None:
    """Raise an error if a unit has too many rows of the table, or of a stratum.

    Such a unit has too many rows of a part, since a share of the whole is at most the largest share
    of a part. Only those that do are counted.
    """
    counted = table.map(constraints.names, _count_units, constraints)
    large, _ = table.merge(counted, _merged_units)
    if not len(large.codes):
        return
    counted = table.map(constraints.names, _count_units, constraints, large.codes)
    counts, sizes = table.merge(counted, _merged_units)
    sizes = dict(zip(sizes.labels.tolist(), sizes.counts.tolist(), strict=True))
    largest = np.zeros(max(len(constraints.sizes), 1))
    shares = counts.counts / [sizes[label] for label in counts.for_pairs(counts.labels).tolist()]
    np.maximum.at(largest, counts.for_pairs(counts.labels).astype(np.intp), shares)
    for rule in constraints.rules_of_units()[1:]:
        if constraints.strata is None:
            check_whole_table(rule.constraint, largest[0], f"unit column {constraints.unit!r}")
        else:
            constraints.strata.names.check_figures(rule, largest)


def _count_units(
    frame: DataFrame, part: int, constraints: Any, those: Any = None
) -> tuple[GroupCounts, GroupCounts]:
    """Rows of some units in each stratum, by default of those with too many; and of strata."""
    encoded = constraints.encode(frame)
    strata, units = constraints.strata_of(encoded), encoded[:, len(constraints.values)]
    ones = np.ones(len(frame), dtype=np.int64)
    counts = GroupCounts.added(strata, units, ones)
    sizes = GroupCounts.added(strata, np.zeros_like(strata), ones)
    if those is not None:
        return counts.only(np.isin(counts.codes, those)), sizes
    shares = counts.counts / counts.for_pairs(counts.sizes)
    limits = [constraint.accepts(shares) for constraint in constraints.on_units]
    return counts.only(~np.all(limits, axis=0)), sizes


def _merged_units(counted: Iterable[tuple[GroupCounts, GroupCounts]]) -> tuple[GroupCounts, ...]:
    return tuple(GroupCounts.merged(list(parts)) for parts in zip(*counted, strict=True))


def check_amounts(table: PartedTable, constraints: Any) -> Any:
    """Return constraints; raise an error if the table, or a stratum, violates one on amounts."""
    if not constraints.on_amounts:
        return constraints
    counted = table.map(constraints.names, _contributions, constraints)
    contributed = table.merge(counted, _merged_contributions, constraints)
    for (constraint, words), groups in zip(constraints.on_amounts, contributed, strict=True):
        figures = constraint.measure_contributions(groups)
        if constraints.strata is None:
            for figure in figures:  # None if there are no rows, which is said later.
                check_whole_table(constraint, figure, words)
        else:
            rule = Rule(constraint, constraint.describe(words), np.empty(0), None)
            constraints.strata.names.check_figures(rule, figures)
    return constraints


def _contributions(frame: DataFrame, part: int, constraints: Any) -> list[Contributions]:
    """By constraint, what units contribute to each stratum."""
    encoded, found = constraints.encode(frame), []
    strata = constraints.strata_of(encoded)
    units = None if constraints.unit is None else encoded[:, len(constraints.values)]
    for constraint, _ in constraints.on_amounts:
        amounts = constraints.prepared_amounts(constraint, encoded)["amount"]
        groups = constraint.contributions(strata, amounts, units)
        found.append(constraint.merged([groups]))  # Of most, the largest are enough.
    return found


def _merged_contributions(
    counted: Iterable[list[Contributions]], constraints: Any
) -> list[Contributions]:
    pairs = zip(constraints.on_amounts, zip(*counted, strict=True), strict=True)
    return [constraint.merged(list(parts)) for (constraint, _), parts in pairs]


def _count(frame: DataFrame, part: int, constraints: Any) -> list[GroupCounts]:
    """By column of values or units, how often each of these occurs in each stratum."""
    encoded = constraints.encode(frame)
    columns, strata = encoded[:, : constraints.n_before_amounts].T, encoded[:, -1]
    ones = np.ones(len(frame), dtype=np.int64)
    return _enough([GroupCounts.added(strata, column, ones) for column in columns], constraints)


def _merged(counted: Iterable[list[GroupCounts]], constraints: Any) -> list[GroupCounts]:
    merged = [GroupCounts.merged(list(parts)) for parts in zip(*counted, strict=True)]
    return _enough(merged, constraints)


def _enough(by_column: list[GroupCounts], constraints: Any) -> list[GroupCounts]:
    if constraints.unit is not None:
        # Up to k units are enough, and they are the same ones in any order of the parts.
        units = by_column[-1]
        by_column[-1] = units.only(units.ranks() < constraints.k)
    return by_column


def fit_router(
    points: Points, strata: Labels, sizes: Labels, block_size: float, method: Method, rules: Rules
) -> StratifiedRouter:
    """Fit the cuts of each stratum on its rows in a sample; `sizes` are those of the strata."""
    k, takes_codes = method.k, method.takes_codes
    routers = [Router.single_block()] * len(sizes)
    is_sparse = isinstance(points, SparsePoints)
    for stratum, rows in rows_of_strata(strata):
        share = len(rows) / sizes[stratum]
        # A row of the sample stands for many rows, but belongs to one person.
        smallest = max(math.ceil(2 * k * share), k)
        own_rules = rules.subset(rows)
        own_points = points[rows]
        routers[stratum] = Router.fit(
            routing_of(own_points),
            block_size * share,
            smallest,
            k,
            own_rules.suit_block if rules else None,
            own_rules.units,
            partial(_has_few_coordinates, own_points, share, takes_codes) if is_sparse else None,
        )
    return StratifiedRouter(tuple(routers))


def _has_few_coordinates(
    points: SparsePoints, share: float, takes_codes: bool, rows: Labels
) -> bool:
    """Whether some rows of the sample, with those that they stand for, can be one block."""
    if share == 1.0:
        return has_few_coordinates(points, rows, takes_codes)
    # A sample does not tell which of all coordinates the rows have that it stands for.
    return are_few_coordinates(len(rows) / share, n_dense_coordinates(points, takes_codes))


def are_one_group(sizes: Labels, group_sizes: Labels) -> Booleans:
    """Whether each stratum is a single group, given the sizes of strata and of their groups."""
    starts = np.cumsum(sizes) - sizes
    firsts = np.searchsorted(np.cumsum(group_sizes), starts, side="right")
    return group_sizes[firsts] == sizes


def classes_of(
    table: PartedTable, released: Any, columns: list[Any], strata: StratumColumns | None
) -> Any:
    """Columns of a release in which equal rows are a class: quasi-identifiers, and the stratum.

    The number of the stratum is in its first column: values of it may have different types in
    different parts.
    """
    if strata is None:
        return released[columns]
    return table.mapped(released, _with_numbers, columns, strata)


def _with_numbers(frame: DataFrame, columns: list[Any], strata: StratumColumns) -> DataFrame:
    [first, *_] = strata.columns
    classes = frame[[*columns, first]].copy()
    classes[first] = strata.numbers(frame)
    return classes
