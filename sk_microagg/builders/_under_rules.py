"""The builder that is used under constraints unless another one is chosen."""

from typing import Any

from sk_microagg._utils._statistics import group_means, squared_error
from sk_microagg._utils._typing import Floats, Labels
from sk_microagg.builders._mdav import MDAV
from sk_microagg.builders._merge import merge_until_met
from sk_microagg.builders._t_closeness_first import TClosenessFirst, has_t_closeness
from sk_microagg.builders._value_strata import order_by_values, representative_groups
from sk_microagg.privacy import Rules

# If merging leaves fewer groups than this share of what k allows, another start is tried.
FEW_GROUPS = 0.25


def builder_under(rules: Rules) -> MDAV | TClosenessFirst:
    """Return the builder that ends lowest after refinement, as far as the kinds of rules tell."""
    return TClosenessFirst() if has_t_closeness(rules) else MDAVUnderRules()


class MDAVUnderRules(MDAV):
    """Groups of MDAV, merged until all constraints hold.

    Where that leaves few groups, groups with the values of the table are tried as well, and those
    with less loss are kept. To users, it is the builder "mdav" under constraints.
    """

    knows_rules = True

    def __repr__(self) -> str:
        """Return what users write, in reports and messages."""
        return repr("mdav")

    def _build(self, X: Floats, k: int, rules: Any = None) -> Labels:
        built = super()._build(X, k)
        if not rules:
            return built
        merged = merge_until_met(X, built, rules)
        if merged.max() > 0 and merged.max() + 1 >= FEW_GROUPS * (len(X) // k):
            return merged
        starts = [merged]
        if (order := order_by_values(rules.rules)) is not None:
            labels = representative_groups(X, order, rules, k, len(X) / 2)
            starts.append(merge_until_met(X, labels, rules))
        return min(starts, key=lambda labels: squared_error(X, group_means(X, labels), labels))
