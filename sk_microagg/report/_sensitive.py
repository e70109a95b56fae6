"""What a report states beyond k: sensitive columns, units and strata.

Figures are those of the worst group. They are rounded to the safe side and to few digits, and no
value of a sensitive column is among them: somebody who knows all records but one could otherwise
compute more about that one than the release reveals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._utils._formatting import is_share_large, rounded_down, rounded_up
from sk_microagg._utils._typing import Array, TableLike
from sk_microagg.metrics import closeness, diversity, unit_share, units_per_group
from sk_microagg.metrics._groups import homogeneity_of_both
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.privacy._rules import Rule, split_constraints
from sk_microagg.privacy._strata import Strata


@dataclass(frozen=True)
class Demand:
    """A constraint that the estimator was asked to keep."""

    name: str
    is_met: bool | None
    needs: str = "sensitive values"


@dataclass(frozen=True)
class SensitiveFacts:
    """What a report states about a sensitive column."""

    words: str
    homogeneous: float
    one_known: float
    n_values: int
    entropy: float
    closeness: float
    demands: list


@dataclass(frozen=True)
class BeyondK:
    """What a report states about sensitive columns, units and strata."""

    columns: list
    unchecked: list
    on_units: list
    n_units: int | None
    unit_share: float | None
    is_share_large: bool
    n_strata: int | None

    @property
    def on_columns(self):
        """The constraints on sensitive columns that the estimator was asked to keep."""
        return [*(demand for column in self.columns for demand in column.demands), *self.unchecked]

    @property
    def demands(self):
        """All constraints that the estimator was asked to keep."""
        return [*self.on_columns, *self.on_units]


def facts_beyond_k(
    groups: Array,
    estimator: Any,
    sensitive: TableLike | None = None,
    unit: TableLike | None = None,
    strata: TableLike | None = None,
) -> BeyondK:
    """Measure the groups of a release."""
    if strata is not None:
        # Equal rows of two strata are told apart by those who see the strata.
        strata = Strata(strata, len(groups))
        groups = np.unique(groups * len(strata) + strata.numbers, return_inverse=True)[1]
    about_units, constraints = split_constraints(getattr(estimator, "privacy", None))
    n_units, share, is_large = None, None, False
    on_units = [Demand(each.describe("unit column"), None, "units") for each in about_units]
    if unit is not None:
        units = RoleColumns(unit, len(groups), "unit")
        values, words = units.values(units.only()), units.words(units.only())
        n_units = units_per_group(groups, values)
        share = unit_share(groups, values)
        share, is_large = rounded_up(share), is_share_large(share, estimator.k)
        on_units = [_demand(each, groups, values, words) for each in about_units]
    columns, unchecked = [], []
    if sensitive is None:
        unchecked = [Demand(each.describe(_words(each)), None) for each in constraints]
    else:
        columns = _facts_of_columns(groups, RoleColumns(sensitive, len(groups)), constraints)
    fitted = getattr(estimator, "_strata", None)
    n_strata = None if fitted is None else len(fitted)
    return BeyondK(columns, unchecked, on_units, n_units, share, is_large, n_strata)


def _words(constraint):
    column = getattr(constraint, "column", None)
    return "sensitive column" if column is None else f"sensitive column {column!r}"


def _facts_of_columns(groups, columns, constraints):
    numbers = [columns.number_of(getattr(each, "column", None)) for each in constraints]
    return [
        _facts_of_column(
            groups,
            values,
            columns.words(number),
            [each for each, of in zip(constraints, numbers, strict=True) if of == number],
        )
        for number, values in enumerate(columns.all_values())
    ]


def _facts_of_column(groups, values, words, constraints):
    # The distance that was asked for, if one was.
    distances = [each.distance for each in constraints if hasattr(each, "distance")]
    entropy = diversity(groups, values, kind="entropy")
    distance = closeness(groups, values, distance=distances[0] if distances else "auto")
    homogeneous, one_known = homogeneity_of_both(groups, values)
    return SensitiveFacts(
        words=words,
        homogeneous=homogeneous,
        one_known=one_known,
        n_values=diversity(groups, values),
        entropy=rounded_down(entropy, decimals=1),
        closeness=rounded_up(distance),
        demands=[_demand(each, groups, values, words) for each in constraints],
    )


def _demand(constraint, groups, values, words):
    rule = Rule(constraint, constraint.describe(words), *constraint.prepare(values))
    return Demand(rule.name, bool(rule.is_met(groups).all()))
