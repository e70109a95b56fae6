"""What the groups of a release must satisfy beyond their size, and whether they do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone

from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._formatting import (
    at_most,
    is_share_large,
    percent,
    rounded_down,
    rounded_up,
)
from sk_microagg._utils._tables import SIMILAR
from sk_microagg.files._columns import Column, table_of, texts_of, without_nan
from sk_microagg.files._messages import Message, Option, RequestError, one_line
from sk_microagg.files._table import Table, values_of
from sk_microagg.metrics import unit_share, units_per_group
from sk_microagg.privacy import Constraint
from sk_microagg.privacy._codes import codes_of
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._summary import Fact
from sk_microagg.tables._encoder import ADVICE, LOST
from sk_microagg.tables._sampling_weights import MEAN_WEIGHTS, RARE_WEIGHTS, SMALL_GROUPS

# What a large share of one unit in a group means.
RIGHT_THAT_OFTEN = "an intruder who attributes all of them to that person is right that often"

# How warnings of estimators end, and what a front says instead.
REMEDIES = {ADVICE: Option("generalize"), MEAN_WEIGHTS: Option("weight_release", "mean")}

# What a parameter that constraints need names.
COLUMNS = {"unit": "column", "sensitive": "columns", "weight": "column"}

# A proposed share is a multiple of this, which hardly tells how many rows somebody has.
STEP_OF_PROPOSALS = 0.05


def check_demands(request: ReleaseRequest) -> None:
    """Raise if a constraint is about columns that the request does not name."""
    for constraint in request.privacy:
        needed = constraint.needed_role()
        if needed is not None and not getattr(request, needed):
            text = "{constraint} needs {needed}: the {columns} that it is about."
            what = Option(_name_of(constraint), constraint.demanded)
            facts = {"needed": Option(needed), "columns": COLUMNS[needed]}
            raise RequestError("needs", text, constraint=what, **facts)
        try:
            constraint.check_parameters()
        except (ValueError, TypeError) as error:
            raise RequestError("bad_value", "{why}", why=one_line(error)) from error


def _name_of(constraint: Constraint) -> str:
    return "privacy" if constraint.front is None else constraint.front.options[0].name


def demands_beyond_k(request: ReleaseRequest) -> list[Option]:
    """The parameters that demand more of a group than k records."""
    demands = [Option(_name_of(constraint)) for constraint in request.privacy]
    roles = ("unit", "strata", "weight")
    return demands + [Option(name) for name in roles if getattr(request, name)]


def make_constraints(
    privacy: Sequence[Constraint],
    sensitive: Sequence[str],
    numbers: Sequence[str],
    weight: str | None = None,
    amounts: Sequence[str] = (),
) -> list[Constraint] | None:
    """The constraints: those on units first, then on amounts, then of each sensitive column."""
    for constraint in privacy:
        column = None if constraint.is_about_units else constraint.column
        allowed = [*sensitive, *(amounts if constraint.is_about_amounts else [])]
        if column is not None and column not in allowed:
            # Otherwise it would be demanded, and nobody would look at it.
            text = "{constraint} is about {name!r}, which must be a column of {sensitive}."
            facts = {"constraint": Option(_name_of(constraint)), "name": column}
            option = Option("sensitive")
            raise RequestError("not_sensitive", text, column, sensitive=option, **facts)
    made = [clone(constraint) for constraint in privacy if constraint.is_about_units]
    with_amounts = [name for name in sensitive if name in numbers] or amounts
    for constraint in privacy:
        if constraint.is_about_amounts:
            made += _on_amounts(constraint, weight, with_amounts)
    for name in sensitive:
        for constraint in privacy:
            is_about_others = constraint.is_about_units or constraint.is_about_amounts
            if is_about_others or constraint.column not in (None, name):
                continue
            one = clone(constraint).set_params(column=name)
            if getattr(one, "distance", None) == "auto":
                one.set_params(distance="ordered" if name in numbers else "equal")
            made.append(one)
    return made or None


def _on_amounts(constraint: Constraint, weight: str | None, names: Sequence[str]) -> list:
    """A constraint on amounts for each column that it is about."""
    if constraint.column is not None:
        return [clone(constraint)]
    if constraint.is_about_weights:
        return [constraint.about(weight)]
    if not names:
        text = "{constraint} needs a column of numbers from 0 on, sensitive or anonymized."
        raise RequestError("no_amounts", text, constraint=Option(_name_of(constraint)))
    return [constraint.about(name) for name in names]


@contextmanager
def warnings_as_messages(progress: Any) -> Iterator[None]:
    """Pass on the warnings of the estimators."""
    with warnings.catch_warnings(record=True) as caught:
        expected = "All records .*in one group", "k=1: nothing is anonymized", LOST, SIMILAR
        expected += RARE_WEIGHTS, SMALL_GROUPS
        warnings.filterwarnings("always", "|".join(expected))
        yield
    for warning in caught:
        text, option = one_line(Warning(warning.message)), None
        for ending, remedy in REMEDIES.items():
            if text.endswith(ending):
                text, option = text.removesuffix(ending), remedy
        if option is None:
            progress.warn(Message("estimator", "{text}", text=text))
        else:
            progress.warn(Message("estimator", "{text}{Advice}.", text=text, advice=(option,)))


def warn_of_large_units(
    unit: str | None, share: float | None, k: int, progress: Any, least: float | None = None
) -> None:
    """Warn if one unit has more of a group than k would; `least`: the least share, None on Dask."""
    if share is None or not is_share_large(share, k):
        return
    proposed, unless = rounded_down(1 / k, 4), ""
    if least is None:
        unless = " unless somebody has more of the whole table"
    elif least > proposed:
        proposed = rounded_up(least / STEP_OF_PROPOSALS, 0) * STEP_OF_PROPOSALS
    text = "{share} of the rows of a group belong to one value of {column}, more than 1 in k={k}: "
    text += "{meaning}. "
    text += "{Advice}{unless}, or release" if proposed < share else "Release"
    facts = {
        "share": percent(share),
        "k": k,
        "meaning": RIGHT_THAT_OFTEN,
        "advice": (Option("unit_share", proposed),),
        "unless": unless,
    }
    progress.warn(Message("large_unit", text + " fewer rows per person.", unit, **facts))


def facts_on_demands(
    unit: str | None,
    privacy: Sequence[Constraint] | None,
    figures: Sequence[float],
    n_units: int | None,
    k: int,
    share: float | None = None,
) -> dict:
    """What was demanded of each group and what holds, by the names of facts."""
    facts: dict[str, Fact] = {}
    if n_units is not None and share is not None:
        words = f"{n_units}  (different values of {unit}; {k} demanded)"
        facts["units per group"] = Fact(words, n_units)
        words = f"{at_most(share)} of the rows of a group belong to one of them"
        facts["unit share"] = Fact(words, share)
    for constraint, figure in zip(privacy or [], figures, strict=True):
        words, title = constraint.in_words(figure), constraint.title
        if constraint.is_about_units:
            facts[title] = Fact(words, figure)
            continue
        if n_units is not None and constraint.counts_rows:
            words += "; counted in rows"
        about = {
            "column": constraint.column,
            "figure": figure,
            "demanded": constraint.demanded,
        }
        lines, values = facts.setdefault(title, Fact([], []))
        lines.append(f"{constraint.column}: {words}")
        values.append(about)
    return facts


@dataclass(frozen=True)
class Demands:
    """Constraints, and the values of the records that they are about."""

    privacy: list | None
    sensitive: pd.DataFrame
    unit: pd.Series | None
    strata: pd.DataFrame
    weight: pd.Series | None
    amounts: pd.DataFrame

    @classmethod
    def from_table(
        cls,
        table: Table,
        roles: TableRoles,
        privacy: Sequence[Constraint],
        read: Mapping[str, Column],
    ) -> Demands:
        """Take them from a table, given the columns whose kinds are clear."""
        sensitive = values_of([read[name] for name in roles.sensitive])
        numbers = [name for name, dtype in sensitive.dtypes.items() if dtype.kind in "iuf"]
        unit = None if roles.unit is None else table.values([roles.unit])[roles.unit]
        weight = None
        if roles.weight is not None:
            weight = values_of([read[roles.weight]])[roles.weight]
            if weight.dtype.kind in "iu":  # Their means are no integers.
                weight = weight.astype(np.float64)
        amounts = pd.DataFrame(index=sensitive.index)
        if any(each.is_about_amounts for each in privacy):
            amounts = _amounts(values_of([read[name] for name in roles.quasi_identifiers]))
        constraints = make_constraints(
            privacy, roles.sensitive, numbers, roles.weight, list(amounts)
        )
        strata = _strata(table, roles.strata)
        return cls(constraints, sensitive, unit, strata, weight, amounts)

    def names(self) -> dict:
        """The names of these columns, by their roles, as parameters of an estimator."""
        return {
            role: list(columns) if isinstance(columns, pd.DataFrame) else columns.name
            for role, columns in self.columns().items()
        }

    def units(self) -> np.ndarray | None:
        return None if self.unit is None else codes_of(self.unit)[0]

    def with_cells(self, cells: dict[str, Any]) -> pa.Table:
        """A table of columns to anonymize, together with these columns."""
        for columns in self.columns().values():
            of_role = table_of(pd.DataFrame(columns))
            for name, column in zip(of_role.column_names, of_role.columns, strict=True):
                # To constraints, categories are None or NaN if missing, and text of Arrow is NA.
                is_text = pa.types.is_string(column.type)
                cells[name] = column.dictionary_encode() if is_text else column
        return pa.Table.from_arrays([*cells.values()], names=[*cells])

    def columns(self) -> dict:
        """The columns by their roles, without those that nobody named."""
        columns = {"sensitive": self.sensitive, "strata": self.strata}
        columns = {role: frame for role, frame in columns.items() if len(frame.columns)}
        single = {"unit": self.unit, "weight": self.weight}
        return columns | {role: column for role, column in single.items() if column is not None}

    def check(self, labels: np.ndarray, k: int) -> dict:
        """Raise unless classes of equal rows satisfy all constraints; return the facts."""
        if not self.privacy and self.unit is None:
            return {}
        by_group = [self._figures(constraint, labels) for constraint in self.privacy or []]
        n_units = None if self.unit is None else units_per_group(labels, self.unit)
        share = self.share(labels)
        pairs = [*zip(self.privacy or [], by_group, strict=True)]
        are_met = all(constraint.accepts_each(each).all() for constraint, each in pairs)
        if not are_met or (n_units is not None and n_units < k):
            raise RequestError(
                "violated",
                "The release violates a constraint: nothing was written. Please report this.",
            )
        unit = None if self.unit is None else self.unit.name
        worst = [(max if c.is_worse_if_larger else min)(each.tolist()) for c, each in pairs]
        return facts_on_demands(unit, self.privacy, worst, n_units, k, share)

    def share(self, labels: np.ndarray) -> float | None:
        """The largest share of one unit in a group; None without units."""
        return None if self.unit is None else unit_share(labels, self.unit)

    def least_share(self) -> float:
        """The least such share that groups can have; 0 without units."""
        if self.unit is None:
            return 0.0
        whole = np.zeros(len(self.unit), dtype=np.intp)
        # No group has a smaller one than the table, or than its stratum.
        return unit_share(self.strata if len(self.strata.columns) else whole, self.unit)

    def _figures(self, constraint: Constraint, labels: np.ndarray) -> np.ndarray:
        if constraint.is_about_units:
            values = self.unit
        elif constraint.is_about_weights:
            values = self.weight
        else:
            frame = self.sensitive if constraint.column in self.sensitive else self.amounts
            values = frame[constraint.column]
        prepared, table = constraint.prepare_with(values, self.units(), self.weight)
        return constraint.measure_groups(labels, prepared, table)


def _amounts(values: pd.DataFrame) -> pd.DataFrame:
    """The columns of numbers from 0 on."""
    numbers = [name for name, dtype in values.dtypes.items() if dtype.kind in "iuf"]
    return values[[name for name in numbers if not (values[name] < 0).any()]]


def _strata(table: Table, columns: Sequence[str]) -> pd.DataFrame:
    """The cells of the strata exactly as they are released: those that differ are different."""
    text = {name: texts_of(without_nan(table.cells[name])) for name in columns}
    return pd.DataFrame(text, index=range(table.cells.num_rows), dtype=object)
