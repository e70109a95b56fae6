"""Groups that take one record of each stratum of the sensitive value."""

from collections.abc import Iterable
from math import ceil, sqrt
from typing import Any

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg._utils._typing import Array, Floats, Labels
from sk_microagg.privacy import DistinctUnits, Rules, UnitShare
from sk_microagg.privacy._rules import Rule

# By how much the number of strata grows from one attempt to the next, and the share of groups that
# must satisfy all rules for it to be the last one. The others are merged.
GROWTH = sqrt(2.0)
MIN_SHARE_MET = 0.75


def order_by_values(rules: Iterable[Rule]) -> Any:
    """Return the records in the order of their sensitive values; None if these have no numbers.

    With several columns, those with few different values come first: within each combination of
    these, records are in the order of the others. Without any, records of one unit whose share is
    bounded follow each other, those of the largest unit first.
    """
    rules = [rule for rule in rules if not isinstance(rule.constraint, DistinctUnits)]
    columns = [
        rule.values
        for rule in rules
        if rule.values.dtype.kind in "iuf" and not isinstance(rule.constraint, UnitShare)
    ]
    if not columns:
        # Not by the numbers of units, which say nothing.
        columns = [_ranks(rule.values) for rule in rules if isinstance(rule.constraint, UnitShare)]
    if not columns:
        return None
    return np.lexsort(sorted(columns, key=lambda values: -len(np.unique(values))))


def _ranks(units: Array) -> Array:
    """The rank of each record's unit: by its number of records, then by its first one."""
    _, firsts, unit, counts = np.unique(
        units, return_index=True, return_inverse=True, return_counts=True
    )
    return np.argsort(np.lexsort((firsts, -counts)))[unit]


def representative_groups(
    X: Floats, order: Labels, rules: Rules, least: float, most: float
) -> Labels:
    """Build groups that take one record of each stratum, and thus have the values of the table."""
    size = least
    while True:
        labels = take_groups(X, ValueStrata(X, order, even_number(len(X), ceil(size))))
        size *= GROWTH
        if np.mean(rules.are_met(labels)) >= MIN_SHARE_MET or size > GROWTH * most:
            return labels


def even_number(n: int, size: int) -> int:
    """Return the size of groups of n records, so that there are enough to take one more each."""
    n_groups, n_left = divmod(n, size)
    return size if n_left <= n_groups else size + n_left // n_groups


def take_groups(X: Floats, strata: "ValueStrata") -> Labels:
    """Take one group after the other from the strata."""
    pool = Pool(X)
    labels = np.empty(len(X), dtype=np.intp)
    for group in range(strata.n_groups):
        if group % 2 == 0:
            first = pool.farthest(pool.centroid(), anchor="centroid")
        else:
            first = pool.farthest(X[first])
        members = strata.take_group(X[first], group)
        pool.remove(members)
        labels[members] = group
    return labels


class ValueStrata:
    """Records divided by the rank of their sensitive value; groups take one record of each stratum."""

    def __init__(self, X: Floats, order: Labels, n_strata: int) -> None:
        self.n_groups, n_left = divmod(len(X), n_strata)
        # One group after the other takes one more, from the one or two strata in the middle.
        self.extra = np.where(np.arange(n_left) % 2 == 0, (n_strata - 1) // 2, n_strata // 2)
        sizes = self.n_groups + np.bincount(self.extra, minlength=n_strata)
        by_value = np.split(order, np.cumsum(sizes)[:-1])
        # Ascending, since pools break ties in favor of the lowest index.
        self.records = [np.sort(stratum) for stratum in by_value]
        self.pools = [Pool(X[stratum]) for stratum in self.records]

    def take_group(self, center: Floats, group: int) -> Labels:
        """Take the nearest records to the center; groups are numbered from 0."""
        members = []
        for stratum, (records, pool) in enumerate(zip(self.records, self.pools, strict=True)):
            has_extra = group < len(self.extra) and self.extra[group] == stratum
            nearest = pool.nearest(center, 1 + has_extra)
            pool.remove(nearest)
            members.append(records[nearest])
        return np.concatenate(members)
