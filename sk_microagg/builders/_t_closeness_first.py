"""t-closeness first."""

from collections.abc import Iterable
from math import ceil, sqrt
from typing import Any

import numpy as np

from sk_microagg._utils._coded_points import pool_of
from sk_microagg._utils._typing import Array, Floats, Labels
from sk_microagg.builders._base import Builder
from sk_microagg.privacy import DistinctUnits, Rules, TCloseness, UnitShare
from sk_microagg.privacy._rules import Rule

# By how much the number of strata grows from one attempt to the next, and the share of groups that
# must satisfy all rules for it to be the last one. The others are merged.
GROWTH = sqrt(2.0)
MIN_SHARE_MET = 0.75


class TClosenessFirst(Builder):
    """Near records, one of each stratum of the sensitive value: t-closeness first [1]_.

    Records are sorted by the sensitive value and divided into strata of equal size, as many as a
    group needs records to be t-close, and at least k. Groups start at the records at which those
    of MDAV start: the record farthest from the centroid of the remaining records, then the record
    farthest from that one. A group takes the record nearest to its first one from each stratum.
    Records that do not divide evenly belong to the middle strata, from which some groups take one
    more.

    See Also
    --------
    KAnonymityFirst : Groups of near records, some replaced until all constraints hold.
    sk_microagg.privacy.TCloseness : The constraint.

    Notes
    -----
    n records with different sensitive values need max(k, ⌈n / (2(n − 1)t + 1)⌉) strata. If n is a
    multiple of that, groups are then t-close by the ordered distance. If it is not, if sensitive
    values occur several times (their order is then that of the records), with any other distance,
    and under further constraints, some groups may still violate a constraint. They are merged with
    the nearest ones, as with every builder. Where that would concern more than a quarter of the
    groups, there are more strata. Their number follows from the first t-closeness constraint; with
    several sensitive columns, records are sorted by the column with the fewest different values,
    then by the others.

    References
    ----------
    .. [1] J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez, S. Martínez (2015). t-closeness through
       microaggregation: strict privacy with enhanced utility preservation. IEEE Transactions on
       Knowledge and Data Engineering 27, 3098–3110.

    Examples
    --------
    >>> from sk_microagg.builders import TClosenessFirst
    >>> from sk_microagg.privacy import Rules, TCloseness
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> income = [18, 20, 30, 50, 52, 60]
    >>> rules = Rules.of_table(6, 2, privacy=TCloseness(0.2), sensitive=income)
    >>> TClosenessFirst().build(X, k=2, rules=rules)
    array([0, 2, 1, 0, 2, 1])
    """

    keeps_rules = True
    takes_codes = True

    def _build(self, X: Floats, k: int, rules: Any = None) -> Labels:
        rule = first_rule(rules)
        t, n = rule.constraint.t, len(X)
        published = even_number(n, max(k, ceil(n / (2 * (n - 1) * t + 1))))
        # From this many on, strata of one value each leave little that differs from the table.
        most = min((len(rule.table.counts) - 1) / (2 * t), n / 2) if t > 0 else n / 2
        return representative_groups(X, order_by_values(rules.rules), rules, published, most)


def has_t_closeness(rules: Rules) -> bool:
    """Whether one of the rules is t-closeness."""
    return any(isinstance(rule.constraint, TCloseness) for rule in rules.rules)


def first_rule(rules: Rules | None) -> Rule:
    """Return the first rule of t-closeness; raise an error if there is none."""
    for rule in rules.rules if rules else ():
        if isinstance(rule.constraint, TCloseness):
            return rule
    raise ValueError(
        "The builder TClosenessFirst needs a TCloseness constraint and a sensitive column: without "
        "one, use another builder, such as MDAV."
    )


def order_by_values(rules: Iterable[Rule]) -> Any:
    """Return the records in the order of their sensitive values; None if these have no numbers.

    With several columns, those with few different values come first: within each combination of
    these, records are in the order of the others. Without any, records of one unit whose share is
    bounded follow each other, those of the largest unit first.
    """
    rules = [rule for rule in rules if not isinstance(rule.constraint, DistinctUnits)]
    columns = [
        rule.values["amount"] if rule.constraint.is_about_amounts else rule.values
        for rule in rules
        if rule.constraint.is_about_amounts
        or (rule.values.dtype.kind in "iuf" and not isinstance(rule.constraint, UnitShare))
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
    pool = pool_of(X)
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
    """Strata of records by the rank of their sensitive value; a group takes one of each."""

    def __init__(self, X: Floats, order: Labels, n_strata: int) -> None:
        self.n_groups, n_left = divmod(len(X), n_strata)
        # One group after the other takes one more, from the one or two strata in the middle.
        self.extra = np.where(np.arange(n_left) % 2 == 0, (n_strata - 1) // 2, n_strata // 2)
        sizes = self.n_groups + np.bincount(self.extra, minlength=n_strata)
        by_value = np.split(order, np.cumsum(sizes)[:-1])
        # Ascending, since pools break ties in favor of the lowest index.
        self.records = [np.sort(stratum) for stratum in by_value]
        self.pools = [pool_of(X[stratum]) for stratum in self.records]

    def take_group(self, center: Floats, group: int) -> Labels:
        """Take the nearest records to the center; groups are numbered from 0."""
        members = []
        for stratum, (records, pool) in enumerate(zip(self.records, self.pools, strict=True)):
            has_extra = group < len(self.extra) and self.extra[group] == stratum
            nearest = pool.nearest(center, 1 + has_extra)
            pool.remove(nearest)
            members.append(records[nearest])
        return np.concatenate(members)
