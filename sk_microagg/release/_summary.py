"""What was done, as facts with names: in words for people, as values for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sk_microagg import TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._formatting import (
    FEWEST_RECORDS,
    homogeneity_lines,
    percent,
    printable,
    share_in_words,
    shown,
)
from sk_microagg.builders import BUILDERS
from sk_microagg.files._messages import PYTHON, Message, Voice
from sk_microagg.files._notations import Column
from sk_microagg.generalization._generalizer import loss_of_release
from sk_microagg.refiners._chain import name_of

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
    certificate: Any = None,
    interrupted: Sequence[str] = (),
    gaps: Sequence[str] = (),
) -> dict:
    """The facts about a release; `homogeneous` has two shares for each unchanged column."""
    shares = dict(zip(roles.unchanged, homogeneous, strict=True))
    lines = _lines_of_sensitive(shares, roles, n_records, estimator.k)
    # A stratum is a part of every row of its groups.
    others = [name for name in roles.unchanged if name not in {*roles.sensitive, *roles.strata}]
    lines += homogeneity_lines(
        {shown(name): shares[name] for name in others}, n_records, estimator.k
    )
    loss = loss_of_release(estimator)
    level_of = " together with its stratum" if roles.strata else ""
    facts = {
        "records": n_records,
        "anonymized": names_of_columns(roles.quasi_identifiers),
        "columns": Fact([*map(_line_of_column, columns)], [*columns]),
        "unchanged": names_of_columns(roles.unchanged),
        **({"sensitive": assumed_unknown(roles.sensitive)} if roles.sensitive else {}),
        **({"strata": names_of_columns(roles.strata)} if roles.strata else {}),
        **({} if roles.weight is None else {"weight": _fact_on_weight(roles, estimator, gaps)}),
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
        **({"homogeneity": lines} if lines else {}),
        "information loss": Fact(percent(loss, digits=3), loss),
    }
    if certificate is not None:
        facts["certificate"] = f"{certificate.verdict()}: {certificate.reason()}"
    if interrupted:
        facts["interrupted"] = list(interrupted)
    return facts


def names_of_columns(columns: Sequence[str]) -> Fact:
    return Fact(", ".join(map(shown, columns)) or "none", list(columns))


def assumed_unknown(columns: Sequence[str]) -> Fact:
    names, value = names_of_columns(columns)
    return Fact(f"{names}  (assumed to be unknown to intruders)", value)


def _fact_on_weight(roles: TableRoles, estimator: Any, gaps: Sequence[str]) -> Fact:
    """What holds for weighted totals, given columns of numbers with missing values."""
    words = f"{shown(roles.weight)}  (released as the mean of its group; "
    if estimator.numbers == "interval":
        words += "totals of it are those of the original)"
        return Fact(words, {"column": roles.weight, "totals_not_kept": roles.quasi_identifiers})
    words += "totals of it times a column of numbers are those of the original, but for rounding"
    if gaps:
        words += f", except for {', '.join(map(shown, gaps))}, where values are missing"
    return Fact(words + ")", {"column": roles.weight, "totals_not_kept": list(gaps)})


def _line_of_column(column: dict) -> str:
    about = {**column, "name": shown(column["name"])}
    return "{name}: {kind} ({recognized}); released: {released}".format(**about)


def _lines_of_sensitive(shares: dict, roles: TableRoles, n_records: int, k: int) -> list[str]:
    """Lines on homogeneity for all sensitive columns, also those without homogeneous groups."""
    none = [
        f"{shown(name)}: no records are in groups that share one value"
        for name in roles.sensitive
        if not any(shares[name])
    ]
    shares = {shown(name): shares[name] for name in roles.sensitive}
    return homogeneity_lines(shares, n_records, k, most=None) + none


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


def describe(
    column: Column, release: pd.DataFrame | None, estimator: Any, fewest: int = FEWEST_RECORDS
) -> dict:
    """A column in words; shares of missing values are of at least `fewest` records, or bounds."""
    if release is None:
        released = "empty cells"
    elif not isinstance(estimator, TableAggregator) or estimator.numbers == "interval":
        released = generalized_in_words(column, estimator.hierarchies or {})
    elif column.notation is not None or estimator.categories == "mode":
        is_missing = release.isna().to_numpy()
        about = describe_averages(column, bool(is_missing.any()))
        before, after = float(pd.isna(column.values).mean()), float(is_missing.mean())
        if before:
            words = [share_in_words(share, len(release), fewest) for share in (before, after)]
            about["released"] += "; missing: {} before, {} after".format(*words)
        return about
    else:
        released = _category_in_words(column, release, estimator)
    return _description(column, released)


def describe_averages(column: Column, is_incomplete: bool) -> dict:
    """A column that is released as means or most frequent values, in words."""
    is_category = column.notation is None
    released = "most frequent value" if is_category else _mean_in_words(column)
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


def _category_in_words(column: Column, release: pd.DataFrame, estimator: Any) -> str:
    if estimator.categories == "shares":
        first, *others = release.columns
        more = f" and {len(others)} more" if others else ""
        return f"one column of shares per value, {first}{more}"
    return generalized_in_words(column, estimator.hierarchies or {})


def generalized_in_words(column: Column, hierarchies: Mapping[str, Any]) -> str:
    if column.name in hierarchies:
        released = "lowest common node"
    else:
        released = "common value" if column.notation is None else "interval"
    return f"{released}, or * for any value"


def _mean_in_words(column: Column) -> str:
    notation: Any = column.notation
    if column.kind == "ordinal":
        n_released, n_levels = len(notation.ranks), len(notation.levels)
        if n_released == n_levels:
            return "value of the mean rank"
        return "shared value next to the mean rank" if n_released else "empty cells"
    if column.kind == "date":
        return f"mean, rounded to {notation.unit}s"
    decimals = notation.decimals
    if decimals is None:
        digits = notation.digits
        return (
            "mean, "
            + ("with all" if digits is None else f"rounded to {digits} significant")
            + " digits"
        )
    if decimals == 0:
        return "mean, rounded to integers"
    if decimals < 0:
        return f"mean, rounded to multiples of {10**-decimals}"
    return f"mean, rounded to {decimals} decimal{'s' if decimals > 1 else ''}"


def plain(value: Any) -> Any:
    """A value that JSON has no type for."""
    return value.item() if isinstance(value, np.generic) else str(value)
