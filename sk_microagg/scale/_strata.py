"""Strata of a table on Dask: their names, their sizes, and what holds in each of them."""

import math
from dataclasses import dataclass
from functools import partial

import dask
import numpy as np
import pandas as pd

from sk_microagg._model._cells import StratifiedRouter, rows_of_strata
from sk_microagg._model._points import (
    SparsePoints,
    are_few_coordinates,
    has_few_coordinates,
    routing_of,
)
from sk_microagg._model._router import Router
from sk_microagg.privacy._codes import GroupCounts
from sk_microagg.privacy._strata import StratumNames, keys_of
from sk_microagg.scale._survey import compute_merged


@dataclass(frozen=True)
class StratumColumns:
    """The columns that name the strata, which a fitted model keeps."""

    columns: list
    names: StratumNames

    def numbers(self, frame):
        """Number of the stratum of each row of a part; an unknown stratum is an error."""
        keys, codes = distinct_keys(frame[self.columns])
        return self.names.numbers_of_keys(keys)[codes]


def distinct_keys(frame):
    """Find the strata of a part of the table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns that name strata.

    Returns
    -------
    keys : list of tuple
        The keys of the strata, each once, in the order in which they first occur.

    codes : ndarray of shape (n_rows,)
        Position of the stratum of each row among them.
    """
    if not len(frame):
        return [], np.empty(0, dtype=np.intp)
    codes = np.zeros(len(frame), dtype=np.intp)
    for _, column in frame.items():
        in_column = pd.factorize(column)[0] + 1  # missing values have code -1
        codes = pd.factorize(codes * (in_column.max() + 1) + in_column)[0]
    firsts = np.unique(codes, return_index=True)[1]
    return keys_of(frame.iloc[firsts], len(firsts)), codes


def count_strata(frame):
    """Return the number of rows of each stratum in a part, by the keys of the strata."""
    keys, codes = distinct_keys(frame)
    return merge_counts({key: n} for key, n in zip(keys, np.bincount(codes).tolist(), strict=True))


def merge_counts(parts):
    """Merge the numbers of rows of several parts; strata are in the order of the parts."""
    sizes = {}
    for part in parts:
        for key, size in part.items():
            sizes[key] = sizes.get(key, 0) + size
    return sizes


def check_rules(frame, roles):
    """Raise an error if a stratum of the table violates a constraint as a whole.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    roles : Roles
        The roles of its columns, with strata.
    """
    count, settings = dask.delayed(_count, pure=False), dask.delayed(roles, traverse=False)
    counted = [count(part, settings) for part in frame[roles.names].to_delayed()]
    by_column = compute_merged(counted, _merged, roles)
    if roles.unit is not None:
        n_units = by_column.pop().groupby(level=0).size().to_numpy()
        roles.strata.names.check_figures(roles.rules_of_units()[0], n_units)
    by_name = dict(zip(roles.values, by_column, strict=True))
    for rule, name in zip(roles.rules, roles.columns, strict=True):
        counts = by_name[name]
        strata, positions = (
            counts.index.get_level_values(level).to_numpy().astype(np.intp) for level in (0, 1)
        )
        groups = GroupCounts.of_pairs(strata, rule.values[positions], counts.to_numpy())
        figures = rule.constraint.measure_counts(groups, rule.table)
        roles.strata.names.check_figures(rule, figures)


def check_shares(frame, roles):
    """Raise an error if a unit has too many rows of the table, or of a stratum.

    Such a unit has too many rows of a part, since a share of the whole is at most the largest share
    of a part. Only those that do are counted.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    roles : Roles
        The roles of its columns, with constraints on units.
    """
    count, settings = dask.delayed(_count_units, pure=False), dask.delayed(roles, traverse=False)
    parts = frame[roles.names].to_delayed()
    large, sizes = compute_merged([count(part, settings) for part in parts], _sum_units)
    if not len(large):
        return
    counts, _ = compute_merged([count(part, settings, large.index) for part in parts], _sum_units)
    strata = counts.index.get_level_values(0)
    figures = (counts / sizes.loc[strata].to_numpy()).groupby(level=0).max()
    for rule in roles.rules_of_units()[1:]:
        if roles.strata is None:
            [figure] = figures
            if not rule.constraint.accepts(figure):
                words = f"unit column {roles.unit!r}"
                raise ValueError(rule.constraint.why_impossible(figure, words))
        else:
            largest = figures.reindex(range(len(roles.sizes)), fill_value=0.0).to_numpy()
            roles.strata.names.check_figures(rule, largest)


def _count_units(frame, roles, those=None):
    """Rows of some units in each stratum, by default of those with too many; and of strata."""
    encoded = roles.encode(frame)
    index = [roles.strata_of(encoded), encoded[:, len(roles.values)]]
    counts = pd.Series(1, index=index, dtype=np.int64).groupby(level=[0, 1]).sum()
    sizes = counts.groupby(level=0).sum()
    if those is None:
        shares = counts / sizes.loc[counts.index.get_level_values(0)].to_numpy()
        limits = [constraint.accepts(shares.to_numpy()) for constraint in roles.on_units]
        return counts[~np.all(limits, axis=0)], sizes
    return counts[counts.index.isin(those)], sizes


def _sum_units(counted):
    counts, sizes = (pd.concat(parts) for parts in zip(*counted, strict=True))
    return counts.groupby(level=[0, 1]).sum(), sizes.groupby(level=0).sum()


def _count(frame, roles):
    """For each encoded column but that of strata, how often its values occur in each stratum."""
    *columns, strata = roles.encode(frame).T
    ones = np.ones(len(frame), dtype=np.int64)
    return _summed([pd.Series(ones, index=[strata, column]) for column in columns], roles)


def _merged(counted, roles):
    return _summed([pd.concat(parts) for parts in zip(*counted, strict=True)], roles)


def _summed(by_column, roles):
    sums = [counts.groupby(level=[0, 1]).sum() for counts in by_column]
    if roles.unit is not None:
        # Up to k units are enough, and they are the same ones in any order of the parts.
        sums[-1] = sums[-1].groupby(level=0).head(roles.k)
    return sums


def fit_router(points, strata, sizes, block_size, k, rules):
    """Fit the cuts of each stratum on its rows in a sample of the table.

    Parameters
    ----------
    points : ndarray of shape (n_sampled, n_coordinates) or SparsePoints
        The points of the sample.

    strata : ndarray of shape (n_sampled,)
        Number of the stratum of each of its rows.

    sizes : ndarray of shape (n_strata,)
        Number of rows of each stratum in the whole table.

    block_size : float
        Largest number of rows of a block.

    k : int
        Smallest number of rows in a group.

    rules : Rules
        What the groups of the sample must satisfy beyond their size.

    Returns
    -------
    router : StratifiedRouter
        The blocks.
    """
    routers = [Router.of_one_block()] * len(sizes)
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
            partial(_has_few_coordinates, own_points, share) if is_sparse else None,
        )
    return StratifiedRouter(tuple(routers))


def _has_few_coordinates(points, share, rows):
    """Whether some rows of the sample, with those that they stand for, can be one block."""
    if share == 1.0:
        return has_few_coordinates(points, rows)
    # A sample does not tell which of all coordinates the rows have that it stands for.
    return are_few_coordinates(len(rows) / share, points.shape[1])


def are_one_group(sizes, group_sizes):
    """Whether each stratum is a single group, given the sizes of strata and of their groups."""
    starts = np.cumsum(sizes) - sizes
    firsts = np.searchsorted(np.cumsum(group_sizes), starts, side="right")
    return group_sizes[firsts] == sizes


def classes_of(frame, columns, strata):
    """Columns of a release in which equal rows are a class.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The release.

    columns : list
        The quasi-identifiers.

    strata : StratumColumns or None
        The strata.

    Returns
    -------
    classes : dask.dataframe.DataFrame
        The quasi-identifiers, and the number of the stratum in its first column: values of it may
        have different types in different parts.
    """
    if strata is None:
        return frame[columns]
    meta = _with_numbers(frame._meta, columns, strata)
    return frame.map_partitions(_with_numbers, columns, strata, meta=meta)


def _with_numbers(frame, columns, strata):
    [first, *_] = strata.columns
    classes = frame[[*columns, first]].copy()
    classes[first] = strata.numbers(frame)
    return classes
