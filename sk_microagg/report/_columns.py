"""Each column of a table: its role, what was done to it, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._formatting import shown_name
from sk_microagg._utils._tables import as_table, column_names
from sk_microagg.generalization._generalizer import releases_intervals
from sk_microagg.report._sections import Column


@dataclass(frozen=True)
class RoleNames:
    """The names of the columns that are not anonymized, by their roles."""

    unchanged: list[str]
    dropped: list[str]
    sensitive: list[str]
    strata: list[str]
    weight: list[str]
    unit: list[str]

    @classmethod
    def of_tables(cls, about: Mapping[str, Any]) -> RoleNames:
        """The names in what `make_report` was told."""
        unchanged = [] if about["unchanged"] is None else column_names(about["unchanged"])
        named = {role: names_in(about[role]) for role in ("sensitive", "strata", "weight", "unit")}
        return cls(unchanged, [*map(str, about["dropped"] or [])], **named)


def names_in(role: Any) -> list[str]:
    """Names of columns with a role, if they have names."""
    role = as_table(role)
    named = getattr(role, "columns", [getattr(role, "name", None)])
    return [str(name) for name in named if name is not None]


def describe_columns(
    names: list[str],
    kinds: Mapping[str, str],
    estimator: Any,
    roles: RoleNames,
    reasons: Mapping[str, str],
) -> list[Column]:
    """Each column with its role, what was done to it, and the reason that was given.

    `kinds` are those of the anonymized columns, by their names, also of those that are empty.
    """
    reasons = {shown_name(name): text for name, text in reasons.items()}
    has_weights = isinstance(estimator, TableAggregator) and bool(roles.weight)
    found: list[tuple[str, Any, str]] = [
        (name, "quasi-identifier", _technique(estimator, kinds.get(name, "number"), has_weights))
        for name in dict.fromkeys([*names, *kinds])
    ]
    words = {"sensitive": "sensitive", "strata": "stratum", "weight": "weight"}
    for name in roles.unchanged:
        role = next((word for each, word in words.items() if name in getattr(roles, each)), "other")
        found.append((shown_name(name), role, "released unchanged"))
    if isinstance(estimator, TableAggregator):
        averaged = [name for name in roles.weight if name not in roles.unchanged]
        found += [(shown_name(name), "weight", "mean of the group") for name in averaged]
    for name in roles.dropped:
        is_unit = name in roles.unit
        found.append((shown_name(name), "person" if is_unit else "dropped", "removed"))
    unknown = [name for name in reasons if name not in [each[0] for each in found]]
    if unknown:
        raise ValueError(
            f"reasons of the scenario name {unknown[0]!r}, which is no column of the table."
        )
    return [Column(*each, reasons.get(each[0], "")) for each in found]


def _technique(estimator: Any, kind: str, has_weights: bool) -> str:
    if kind == "empty":
        return "none: all cells are missing"
    if releases_intervals(estimator):
        return "generalized to a category or interval that covers the group"
    if kind in ("category", "hierarchy", "boolean"):
        is_general = getattr(estimator, "categories", "mode") == "generalize"
        if is_general:
            return "lowest common node of the group"
        most = "value of the largest total weight" if has_weights else "most frequent value"
        return f"{most} of the group"
    number = getattr(estimator, "numbers", "mean")
    return f"{'weighted ' if has_weights and number == 'mean' else ''}{number} of the group"
