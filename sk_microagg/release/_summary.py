"""What was done, as facts with names: in words for people, as values for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sk_microagg import TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._formatting import (
    homogeneity_lines,
    percent,
    printable,
    shown,
)
from sk_microagg.builders import BUILDERS
from sk_microagg.files._columns import Column
from sk_microagg.files._messages import PYTHON, Message, Voice
from sk_microagg.generalization._generalizer import loss_of_release
from sk_microagg.refiners._chain import name_of
from sk_microagg.release._totals import ChangedTotal

WIDTH_OF_NAMES = 18
WIDTH = 100


class Fact(NamedTuple):
    """A fact that is written otherwise for people than for programs."""

    text: Any
    value: Any


@dataclass(frozen=True)
class ReleaseSummary:
    """What was done to a file, and what holds for the release.

    Parameters
    ----------
    facts : dict
        What people read and programs take, by name.

    warnings : list of Message
        What to think of before the release is published.

    See Also
    --------
    release_file : Returns it.

    Examples
    --------
    >>> from sk_microagg.release import ReleaseSummary
    >>> summary = ReleaseSummary({"anonymity level": 5})
    >>> print(summary)
    anonymity level   5
    >>> summary.to_dict()
    {'anonymity_level': 5}
    """

    facts: dict
    warnings: list = field(default_factory=list)

    def to_dict(self) -> dict:
        """Return the values of all facts, under names with underscores.

        Returns
        -------
        values : dict
            Numbers, texts and lists.
        """
        values = {
            name.replace(" ", "_").replace("-", "_"): fact.value if isinstance(fact, Fact) else fact
            for name, fact in self.facts.items()
        }
        return json.loads(json.dumps(values, default=plain))

    def __str__(self) -> str:
        return facts_in_lines(self.facts)


def lines_of(fact: Any, voice: Voice = PYTHON) -> list[str]:
    text = fact.text if isinstance(fact, Fact) else fact
    parts = text if isinstance(text, list) else [text]
    return [part.in_words(voice) if isinstance(part, Message) else str(part) for part in parts]


def facts_in_lines(facts: dict, voice: Voice = PYTHON) -> str:
    lines = []
    for name, fact in facts.items():
        # Paths and names of columns are never broken.
        wrapped = [
            line
            for part in lines_of(fact, voice)
            for line in textwrap.wrap(
                printable(part),
                WIDTH - WIDTH_OF_NAMES,
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]
        indent = "\n" + " " * WIDTH_OF_NAMES
        lines.append(f"{name:<{WIDTH_OF_NAMES}}{indent.join(wrapped)}")
    return "\n".join(lines)


def summarize(
    estimator: Any,
    roles: TableRoles,
    n_records: int,
    level: int,
    homogeneous: Any,
    *,
    columns: Sequence[dict],
    singled_out: dict,
    demands: dict,
    advice: tuple = (),
    certificate: Any = None,
    interrupted: Sequence[str] = (),
    gaps: Sequence[str] = (),
    changes: Sequence[ChangedTotal] = (),
) -> dict:
    """The facts about a release; `homogeneous` has two shares for each unchanged column.

    The `advice` is what to do if groups share values.
    """
    shares = dict(zip(roles.unchanged, homogeneous, strict=True))
    lines = _lines_of_sensitive(shares, roles, n_records)
    # A stratum is a part of every row of its groups.
    left_out = {*roles.sensitive, *roles.strata, roles.weight}
    others = [name for name in roles.unchanged if name not in left_out]
    lines += homogeneity_lines({shown(name): shares[name] for name in others}, n_records)
    loss = loss_of_release(estimator)
    level_of = " together with its stratum" if roles.strata else ""
    facts = {
        "records": n_records,
        "anonymized": names_of_columns(roles.quasi_identifiers),
        "columns": Fact([*map(line_of_column, columns)], [*columns]),
        "unchanged": names_of_columns(roles.unchanged),
        **({"sensitive": assumed_unknown(roles.sensitive)} if roles.sensitive else {}),
        **({"strata": names_of_columns(roles.strata)} if roles.strata else {}),
        **_fact_on_weight(roles, estimator, gaps, changes),
        "method": method_of(estimator),
        "groups": estimator.n_groups_,
        "smallest group": estimator.group_sizes_.min(),
        "anonymity level": Fact(
            f"{level}  (every combination of the anonymized columns occurs at least this "
            f"often{level_of})",
            level,
        ),
        **singled_out,
        **demands,
        **({"homogeneity": _with_advice(lines, advice)} if lines else {}),
        "information loss": Fact(percent(loss), loss),
    }
    if certificate is not None:
        facts["certificate"] = f"{certificate.verdict()}: {certificate.reason()}"
    if interrupted:
        facts["interrupted"] = list(interrupted)
    return facts


def _with_advice(lines: list[str], advice: tuple) -> Any:
    """Lines on groups that share one value, and one on what prevents that, if they are many."""
    text = "{advice} for different values in each group"
    return Fact([*lines, Message("disclosed", text, advice=advice)], lines) if advice else lines


def names_of_columns(columns: Sequence[str]) -> Fact:
    return Fact(", ".join(map(shown, columns)) or "none", list(columns))


def assumed_unknown(columns: Sequence[str]) -> Fact:
    names, value = names_of_columns(columns)
    return Fact(f"{names}  (assumed to be unknown to intruders)", value)


def _fact_on_weight(
    roles: TableRoles, estimator: Any, gaps: Sequence[str], changes: Sequence[ChangedTotal]
) -> dict:
    """Which weighted totals are kept, given columns of numbers with missing values, if any are."""
    if roles.weight is None:
        return {}
    how = "released unchanged" if roles.keeps_weight else "released as the mean of its group"
    totals = ["its total and those of unchanged columns are exact"] if roles.keeps_weight else []
    lost = list(gaps)
    if estimator.numbers == "interval":
        lost = roles.quasi_identifiers
    else:
        totals.append("totals of anonymized numbers are kept except for rounding")
        if gaps:
            totals[-1] += f" and for {', '.join(map(shown, gaps))}, where values are missing"
    first = f"{shown(roles.weight)}  ({'; '.join([how, *totals])})"
    value = {
        "column": roles.weight,
        "release": "keep" if roles.keeps_weight else "mean",
        "totals_not_kept": lost,
        "changes": [each.to_dict() for each in changes],
    }
    return {"weight": Fact([first, *(each.in_words() for each in changes)], value)}


def line_of_column(column: dict) -> str:
    about = {**column, "name": shown(column["name"])}
    return "{name}: {kind} ({recognized}); released: {released}".format(**about)


def _lines_of_sensitive(shares: dict, roles: TableRoles, n_records: int) -> list[str]:
    """Lines on homogeneity for all sensitive columns, also those without homogeneous groups."""
    none = [
        f"{shown(name)}: no records are in groups that share one value"
        for name in roles.sensitive
        if not any(shares[name])
    ]
    shares = {shown(name): shares[name] for name in roles.sensitive}
    return homogeneity_lines(shares, n_records, most=None) + none


def method_of(estimator: Any) -> str:
    """The estimator, its builder and its refiner, in words."""
    words = [type(estimator).__name__]
    if getattr(estimator, "intervals", None) == "disjoint":
        return "TableAggregator, global recoding"
    if hasattr(estimator, "builder_"):
        # Under constraints, a subclass may stand for a builder.
        builder = estimator.builder_
        name = next(name for name, kind in BUILDERS.items() if isinstance(builder, kind))
        words.append(f"builder {name}")
    words.append(f"refiner {name_of(estimator.refiner_)}")
    if getattr(estimator, "hierarchies", None):
        words.append(f"hierarchies of {', '.join(estimator.hierarchies)}")
    return ", ".join(words)


def describe(column: Column, release: pa.Table | None, estimator: Any) -> dict:
    """A column in words."""
    if release is None:
        released = "empty cells"
    elif not isinstance(estimator, TableAggregator) or estimator.numbers == "interval":
        released = generalized_in_words(column, estimator.hierarchies or {})
    elif column.notation is not None or estimator.categories == "mode":
        n_missing = release[column.name].null_count
        # In a series, each release had its own.
        rounding = getattr(estimator, "rounding_", {}).get(column.name)
        about = describe_averages(column, n_missing > 0, rounding)
        if column.cells.null_count:
            numbers = column.cells.null_count, n_missing
            words = (percent(number / len(release)) for number in numbers)
            about["released"] += "; missing: {} before, {} after".format(*words)
        return about
    else:
        released = _category_in_words(column, release, estimator)
    return _description(column, released)


def describe_averages(column: Column, is_incomplete: bool, rounding: Any) -> dict:
    """A column in words that is released as means, `rounding` these, or as most frequent values."""
    is_category = column.notation is None
    released = "most frequent value" if is_category else _mean_in_words(column, rounding)
    if is_incomplete:
        released += f", empty where most are missing{' or rare' if is_category else ''}"
    return _description(column, released)


def _description(column: Column, released: str) -> dict:
    return {
        "name": column.name,
        "kind": column.kind,
        "recognized": column.how,
        "released": released,
    }


def _category_in_words(column: Column, release: pa.Table, estimator: Any) -> str:
    if estimator.categories == "shares":
        first, *others = release.column_names
        more = f" and {len(others)} more" if others else ""
        return f"one column of shares per value, {first}{more}"
    return generalized_in_words(column, estimator.hierarchies or {})


def generalized_in_words(column: Column, hierarchies: Mapping[str, Any]) -> str:
    if column.name in hierarchies:
        released = "lowest common node"
    else:
        released = "common value" if column.notation is None else "interval"
    return f"{released}, or * for any value"


def _mean_in_words(column: Column, rounding: Any) -> str:
    notation: Any = column.notation
    if column.kind == "ordinal":
        n_released, n_levels = len(notation.ranks), len(notation.levels)
        if n_released == n_levels:
            return "value of the mean rank"
        return "shared value next to the mean rank" if n_released else "empty cells"
    if rounding is None:
        return "mean, rounded as it was released first"
    if rounding.decimals is None and getattr(notation, "digits", None) is not None:
        return f"mean, rounded to {notation.digits} significant digits"
    return f"mean, {'with' if rounding.decimals is None else 'rounded to'} {rounding}"


def plain(value: Any) -> Any:
    """A value that JSON has no type for."""
    return value.item() if isinstance(value, np.generic) else str(value)
