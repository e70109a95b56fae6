"""t-closeness first."""

from math import ceil
from typing import Any

from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._base import Builder
from sk_microagg.builders._value_strata import even_number, order_by_values, representative_groups
from sk_microagg.privacy import Rules, TCloseness
from sk_microagg.privacy._rules import Rule


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

    knows_rules = True

    def _build(self, X: Floats, k: int, rules: Any = None) -> Labels:
        rule = first_rule(rules)
        t, n = rule.constraint.t, len(X)
        published = even_number(n, max(k, ceil(n / (2 * (n - 1) * t + 1))))
        # With so many, strata of one value each leave little that differs from the table.
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
