"""Strata of a table on Dask: their names, their sizes, and what holds in each of them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
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
from sk_microagg._utils._typing import Booleans, DataFrame, Labels, Series
from sk_microagg.privacy import Rules
from sk_microagg.privacy._codes import GroupCounts
from sk_microagg.privacy._rules import Rule
from sk_microagg.privacy._strata import StratumNames, keys_of
from sk_microagg.scale._merging import compute_merged


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


def _of_parts(count: Callable[..., Any], frame: Any, constraints: Any, *rest: Any) -> list[Any]:
    """Make tasks `count(rows, constraints, *rest)`, one per part."""
    count, settings = dask.delayed(count, pure=False), dask.delayed(constraints, traverse=False)
    return [count(part, settings, *rest) for part in frame[constraints.names].to_delayed()]


def check_rules(frame: Any, constraints: Any) -> None:
    """Raise an error if a stratum of the table violates a constraint as a whole."""
    counted = _of_parts(_count, frame, constraints)
    by_column = compute_merged(counted, _merged, constraints)
    if constraints.unit is not None:
        n_units = by_column.pop().groupby(level=0).size().to_numpy()
        constraints.strata.names.check_figures(constraints.rules_of_units()[0], n_units)
    by_name = dict(zip(constraints.values, by_column, strict=True))
    for rule, name in zip(constraints.rules, constraints.columns, strict=True):
        counts = by_name[name]
        strata, positions = (
            counts.index.get_level_values(level).to_numpy().astype(np.intp) for level in (0, 1)
        )
        groups = GroupCounts.of_pairs(strata, rule.values[positions], counts.to_numpy())
        figures = rule.constraint.measure_counts(groups, rule.table)
        constraints.strata.names.check_figures(rule, figures)


def check_shares(frame: Any, constraints: Any) -> None:
    """Raise an error if a unit has too many rows of the table, or of a stratum.

    Such a unit has too many rows of a part, since a share of the whole is at most the largest share
    of a part. Only those that do are counted.
    """
    large, sizes = compute_merged(_of_parts(_count_units, frame, constraints), _sum_units)
    if not len(large):
        return
    counted = _of_parts(_count_units, frame, constraints, large.index)
    counts, _ = compute_merged(counted, _sum_units)
    strata = counts.index.get_level_values(0)
    figures = (counts / sizes.loc[strata].to_numpy()).groupby(level=0).max()
    for rule in constraints.rules_of_units()[1:]:
        if constraints.strata is None:
            [figure] = figures
            if not rule.constraint.accepts(figure):
                words = f"unit column {constraints.unit!r}"
                raise ValueError(rule.constraint.why_impossible(figure, words))
        else:
            largest = figures.reindex(range(len(constraints.sizes)), fill_value=0.0).to_numpy()
            constraints.strata.names.check_figures(rule, largest)


def _count_units(frame: DataFrame, constraints: Any, those: Any = None) -> tuple[Series, Series]:
    """Rows of some units in each stratum, by default of those with too many; and of strata."""
    encoded = constraints.encode(frame)
    index = [constraints.strata_of(encoded), encoded[:, len(constraints.values)]]
    counts = pd.Series(1, index=index, dtype=np.int64).groupby(level=[0, 1]).sum()
    sizes = counts.groupby(level=0).sum()
    if those is None:
        shares = counts / sizes.loc[counts.index.get_level_values(0)].to_numpy()
        limits = [constraint.accepts(shares.to_numpy()) for constraint in constraints.on_units]
        return counts[~np.all(limits, axis=0)], sizes
    return counts[counts.index.isin(those)], sizes


def _sum_units(counted: Iterable[tuple[Series, Series]]) -> tuple[Series, Series]:
    counts, sizes = (pd.concat(parts) for parts in zip(*counted, strict=True))
    return counts.groupby(level=[0, 1]).sum(), sizes.groupby(level=0).sum()


def check_amounts(frame: Any, constraints: Any) -> Any:
    """Return constraints; raise an error if the table, or a stratum, violates one on amounts."""
    if not constraints.on_amounts:
        return constraints
    counted = _of_parts(_amounts, frame, constraints)
    contributed = compute_merged(counted, _merged_amounts, constraints)
    pairs = zip(constraints.on_amounts, contributed, strict=True)
    for (constraint, words), (amounts, rest) in pairs:
        strata = amounts.index.get_level_values(0).to_numpy().astype(np.intp)
        figures = constraint.measure_amounts(strata, amounts.to_numpy(), rest.to_numpy())
        if constraints.strata is not None:
            rule = Rule(constraint, constraint.describe(words), np.empty(0), None)
            constraints.strata.names.check_figures(rule, figures)
        elif not constraint.accepts(figures[0]):
            raise ValueError(constraint.why_impossible(figures[0], words))
    return constraints


def _amounts(frame: DataFrame, constraints: Any) -> list[tuple[Series, Series]]:
    """By constraint, what units contribute to each stratum, and the sum of what is left out."""
    encoded, found = constraints.encode(frame), []
    strata = constraints.strata_of(encoded)
    for constraint, _ in constraints.on_amounts:
        prepared = constraints.prepared_amounts(constraint, encoded)
        # A row without a unit is one of its own: only the largest are kept.
        has_unit = constraints.unit is not None
        unit = encoded[:, len(constraints.values)] if has_unit else np.arange(len(frame))
        amounts = pd.Series(prepared["amount"], index=[strata, unit])
        found.append((amounts, pd.Series(0.0, index=np.unique(strata))))
    return _merged_amounts([found], constraints) if len(frame) else found


def _merged_amounts(
    counted: Iterable[list[tuple[Series, Series]]], constraints: Any
) -> list[tuple[Series, Series]]:
    merged = []
    pairs = zip(constraints.on_amounts, zip(*counted, strict=True), strict=True)
    for (constraint, _), parts in pairs:
        amounts, rest = (pd.concat(series) for series in zip(*parts, strict=True))
        rest = rest.groupby(level=0).sum()
        if constraints.unit is not None:
            by_unit = amounts.groupby(level=[0, 1])
            amounts = by_unit.max() if constraint.is_about_weights else by_unit.sum()
        else:
            amounts = amounts.sort_values(ascending=False).sort_index(
                level=0, kind="stable", sort_remaining=False
            )
            is_apart = amounts.groupby(level=0).cumcount() < constraint.n_apart
            rest = rest.add(amounts[~is_apart].groupby(level=0).sum(), fill_value=0.0)
            amounts = amounts[is_apart]
        merged.append((amounts, rest))
    return merged


def _count(frame: DataFrame, constraints: Any) -> list[Series]:
    """By column of values or units, how often each of these occurs in each stratum."""
    encoded = constraints.encode(frame)
    columns, strata = encoded[:, : constraints.n_before_amounts].T, encoded[:, -1]
    ones = np.ones(len(frame), dtype=np.int64)
    return _summed([pd.Series(ones, index=[strata, column]) for column in columns], constraints)


def _merged(counted: Iterable[list[Series]], constraints: Any) -> list[Series]:
    return _summed([pd.concat(parts) for parts in zip(*counted, strict=True)], constraints)


def _summed(by_column: Iterable[Series], constraints: Any) -> list[Series]:
    sums = [counts.groupby(level=[0, 1]).sum() for counts in by_column]
    if constraints.unit is not None:
        # Up to k units are enough, and they are the same ones in any order of the parts.
        sums[-1] = sums[-1].groupby(level=0).head(constraints.k)
    return sums


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


def classes_of(frame: Any, columns: list[Any], strata: StratumColumns | None) -> Any:
    """Columns of a release in which equal rows are a class: quasi-identifiers, and the stratum.

    The number of the stratum is in its first column: values of it may have different types in
    different parts.
    """
    if strata is None:
        return frame[columns]
    meta = _with_numbers(frame._meta, columns, strata)
    return frame.map_partitions(_with_numbers, columns, strata, meta=meta)


def _with_numbers(frame: DataFrame, columns: list[Any], strata: StratumColumns) -> DataFrame:
    [first, *_] = strata.columns
    classes = frame[[*columns, first]].copy()
    classes[first] = strata.numbers(frame)
    return classes
