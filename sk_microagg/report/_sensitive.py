"""What a report states beyond k: sensitive columns, constraints, units and strata.

Figures are those of the worst group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._utils._formatting import is_share_large
from sk_microagg._utils._typing import Array, TableLike
from sk_microagg.metrics import closeness, diversity, unit_share, units_per_group
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.privacy._codes import codes_of
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.privacy._rules import as_constraints
from sk_microagg.privacy._strata import Strata
from sk_microagg.report._sections import Constraint, Sensitive, Share


@dataclass(frozen=True)
class Demand:
    """A constraint that the estimator was asked to keep: its name in words, and what holds."""

    name: str
    is_met: bool | None
    verdict: str


@dataclass(frozen=True)
class BeyondK:
    """What a report states about sensitive columns, other constraints, units and strata."""

    columns: list[Sensitive]
    demands: list[Demand]
    n_units: int | None
    unit_share: float | None
    is_share_large: bool
    n_strata: int | None


def facts_beyond_k(
    groups: Array,
    estimator: Any,
    sensitive: TableLike | None = None,
    unit: TableLike | None = None,
    strata: TableLike | None = None,
    weight: TableLike | None = None,
    amounts: TableLike | None = None,
) -> BeyondK:
    """Measure the groups of a release; constraints on amounts may name columns of `amounts`."""
    groups = within_strata(groups, strata)
    given = {"sensitive": sensitive, "unit": unit, "weight": weight, "": amounts}
    roles = {
        name: RoleColumns(values, len(groups), name)
        for name, values in given.items()
        if values is not None
    }
    n_units, share, is_large, units = None, None, False, None
    if "unit" in roles:
        units = codes_of(roles["unit"].values(roles["unit"].only()))[0]
        n_units, share = units_per_group(groups, units), unit_share(groups, units)
        is_large = is_share_large(share, estimator.k)
    weights = roles["weight"].values(0) if "weight" in roles else None
    columns = [] if sensitive is None else roles["sensitive"].all_values()
    demands: list[list[Demand]] = [[] for _ in columns]
    others: list[Demand] = []
    distances: dict[Any, Any] = {}
    bound = [
        (constraint, role, number)
        for constraint in as_constraints(getattr(estimator, "privacy", None))
        for role, number in _columns_of(constraint, roles)
    ]
    for constraint, role, number in bound:
        demand = _demand(constraint, groups, units, weights, roles.get(role), number, role)
        if role == "sensitive" and columns:
            demands[number].append(demand)
            if hasattr(constraint, "distance"):
                distances.setdefault(number, constraint.distance)
        else:
            others.append(demand)
    facts = [
        _facts_of_column(
            groups,
            values,
            roles["sensitive"].words(number),
            demands[number],
            distances.get(number, "auto"),
        )
        for number, values in enumerate(columns)
    ]
    fitted = getattr(estimator, "_strata", None)
    n_strata = None if fitted is None else len(fitted)
    every = [*(demand for own in demands for demand in own), *others]
    return BeyondK(facts, every, n_units, share, is_large, n_strata)


def within_strata(groups: Array, strata: TableLike | None) -> Array:
    """Groups of each stratum: equal rows of two are told apart by those who see the strata."""
    if strata is None:
        return groups
    strata = Strata(strata, len(groups))
    return np.unique(groups * len(strata) + strata.numbers, return_inverse=True)[1]


def _columns_of(constraint, roles):
    """The role and the number of each column that a constraint is about; None if not given."""
    role, column = constraint.needed_role() or "sensitive", getattr(constraint, "column", None)
    if role != "sensitive" and (role in roles or role == "unit"):
        return [(role, roles[role].only() if role in roles else None)]
    if constraint.is_about_amounts and "" in roles and roles[""].has(column):
        return [("", roles[""].number_of(column))]
    numbers = roles["sensitive"].numbers_of(constraint) if "sensitive" in roles else [None]
    return [("sensitive", number) for number in numbers]


def _facts_of_column(
    groups: Array, values: Array, words: str, demands: list[Demand], distance: Any
) -> Sensitive:
    n_records = len(groups)
    homogeneous, one_known = homogeneity_of_both(groups, values)
    return Sensitive(
        column=words,
        homogeneous=Share.of_records(homogeneous, n_records),
        one_known=Share.of_records(one_known, n_records),
        different_values=int(diversity(groups, values)),
        entropy=float(diversity(groups, values, kind="entropy")),
        closeness=float(closeness(groups, values, distance=distance)),
        constraints=[Constraint(one.name, one.is_met) for one in demands],
    )


def _demand(constraint, groups, units, weights, columns, number, role):
    if columns is None:
        column = getattr(constraint, "column", None)
        words = f"{role} column" + ("" if column is None else f" {column!r}")
        name = f"{constraint.demand_in_words()} of the {words}"
        needs = "units" if role == "unit" else "sensitive values"
        return Demand(name, None, f"Not checked, for lack of {needs}: {name}.")
    words = columns.words(number)
    name = f"{constraint.demand_in_words()} of the {words}"
    values, table = constraint.prepare_with(columns.values(number), units, weights)
    figures = constraint.measure_groups(groups, values, table)
    if not constraint.accepts_each(figures).all():
        return Demand(name, False, f"A group violates what was demanded: {name}.")
    worst = (max if constraint.is_worse_if_larger else min)(figures.tolist())
    return Demand(name, True, f"{words[0].upper()}{words[1:]}: {constraint.in_words(worst)}.")
