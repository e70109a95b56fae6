"""Groups that take one record of each stratum of the sensitive value."""

from math import ceil, sqrt

import numpy as np

from sk_microagg._kernels import Pool
from sk_microagg.builders._base import Builder
from sk_microagg.privacy import TCloseness

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
    groups, there are more strata. Strata are those of the first t-closeness constraint.

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

    knows_rules = True

    def _build(self, X, k, rules=None):
        rule = first_rule(rules)
        for n_strata in numbers_to_try(len(X), k, rule):
            labels = take_groups(X, Strata(X, rule.values, n_strata))
            if np.mean(rules.are_met(labels)) >= MIN_SHARE_MET:
                break
        return labels


def take_groups(X, strata):
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


def has_t_closeness(rules):
    """Whether one of the rules is t-closeness."""
    return any(isinstance(rule.constraint, TCloseness) for rule in rules.rules)


def first_rule(rules):
    """Return the first rule of t-closeness; raise an error if there is none."""
    for rule in rules.rules if rules else ():
        if isinstance(rule.constraint, TCloseness):
            return rule
    raise ValueError(
        "The builder TClosenessFirst needs a TCloseness constraint and a sensitive column: without "
        "one, use another builder, such as MDAV."
    )


def number_of_strata(n, k, t):
    """Return how many records make a group t-close, and at least k.

    If n is not a multiple of it, there are enough groups to take one more record each.
    """
    size = max(k, ceil(n / (2 * (n - 1) * t + 1)))
    n_groups, n_left = divmod(n, size)
    return size if n_left <= n_groups else size + n_left // n_groups


def numbers_to_try(n, k, rule):
    """Yield numbers of strata: the published one, then larger ones, up to what values may need.

    A group that takes one record of each stratum has the shares of the table, except for the
    values at the ends of strata.
    """
    t = rule.constraint.t
    published = number_of_strata(n, k, t)
    yield published
    n_values = len(rule.table.counts)
    most = min((n_values - 1) / (2 * t), n / 2) if t > 0 else n / 2
    size = GROWTH * published
    while size <= GROWTH * most:
        yield number_of_strata(n, ceil(size), t)
        size *= GROWTH


class Strata:
    """Records divided by the rank of their sensitive value; groups take one record of each stratum.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    values : ndarray of shape (n_samples,)
        The sensitive values.

    n_strata : int
        Number of strata.
    """

    def __init__(self, X, values, n_strata):
        self.n_groups, n_left = divmod(len(X), n_strata)
        # One group after the other takes one more, from the one or two strata in the middle.
        self.extra = np.where(np.arange(n_left) % 2 == 0, (n_strata - 1) // 2, n_strata // 2)
        sizes = self.n_groups + np.bincount(self.extra, minlength=n_strata)
        by_value = np.split(np.argsort(values, kind="stable"), np.cumsum(sizes)[:-1])
        # Ascending, since pools break ties in favor of the lowest index.
        self.records = [np.sort(stratum) for stratum in by_value]
        self.pools = [Pool(X[stratum]) for stratum in self.records]

    def take_group(self, center, group):
        """Take the nearest records to the center; groups are numbered from 0."""
        members = []
        for stratum, (records, pool) in enumerate(zip(self.records, self.pools, strict=True)):
            has_extra = group < len(self.extra) and self.extra[group] == stratum
            nearest = pool.nearest(center, 1 + has_extra)
            pool.remove(nearest)
            members.append(records[nearest])
        return np.concatenate(members)
