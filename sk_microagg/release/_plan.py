"""What a request means for a table in memory: roles, kinds and the estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg._table_roles import TableRoles
from sk_microagg.files._cells import Column
from sk_microagg.files._declared import Declared
from sk_microagg.files._format import has_types
from sk_microagg.files._messages import Option, RequestError, one_line, reason
from sk_microagg.files._table import Table
from sk_microagg.generalization import Hierarchy
from sk_microagg.release._demands import Demands
from sk_microagg.release._estimators import make_estimator
from sk_microagg.release._request import ReleaseRequest, check_effects, roles_of


@dataclass(frozen=True)
class Plan:
    """What is done to each column of a table."""

    table: Table
    request: ReleaseRequest
    declared: Declared
    roles: TableRoles
    hierarchies: dict
    demands: Demands
    columns: list

    @classmethod
    def from_request(cls, request: ReleaseRequest, table: Table) -> Plan:
        """Plan; raise RequestError if what is asked for is not possible for this table."""
        names = table.cells.column_names
        request = request.resolve(names)
        declared, roles = Declared.from_request(request), roles_of(request, names)
        check_effects(request, declared, roles)
        _check_target_column(request.target, roles)
        hierarchies = {}
        if request.hierarchies is not None:
            hierarchies = read_hierarchies(request.hierarchies, names, roles.quasi_identifiers)
        demands = Demands.from_table(table, roles, request.privacy, declared)
        columns = _anonymized_columns(table, roles, declared, hierarchies, request, demands)
        return cls(table, request, declared, roles, hierarchies, demands, columns)

    @property
    def known(self) -> list[Column]:
        """The columns that are anonymized and have a known value."""
        return [column for column in self.columns if column.kind != "empty"]

    @cached_property
    def unchanged(self) -> pd.DataFrame:
        """The cells of columns that are released unchanged, as text."""
        return self.table.as_text(self.roles.unchanged)

    def make_estimator(self, verbose: int = 0) -> Any:
        return make_estimator(
            self.known, self.hierarchies, self.declared, self.demands, self.request, verbose
        )

    def records(self) -> pd.DataFrame:
        """The table to fit it on: values to anonymize, and columns with a role."""
        if self.request.generalizes:  # Dates and ranks are generalized as the numbers they are.
            cells = {c.name: c.numbers if c.notation else c.values for c in self.known}
            return self.demands.with_values(pd.DataFrame(cells))
        values = pd.DataFrame({column.name: column.values for column in self.known})
        # Means of integers may have decimals.
        have_decimals = [c.name for c in self.known if c.kind == "number" and c.notation.decimals]
        return self.demands.with_values(values.astype(dict.fromkeys(have_decimals, np.float64)))

    def target(self) -> pd.Series | None:
        """What a model is to predict, numbers or text; None if the user does not say."""
        name = self.request.target
        return None if name is None else self.table.values([name], self.declared)[name]

    def release(self, released: pd.DataFrame, estimator: Any) -> Release:
        """What the estimator made of the records, as it is written."""
        by_column = _released_by_column(released, self.known, estimator)
        weights = []
        if self.roles.weight is not None:
            # Means have all digits: otherwise totals would change.
            [weight] = self.table.columns([self.roles.weight], self.declared, is_strict=True)
            notation = replace(weight.notation, decimals=None, is_padded=False)
            weights = [replace(weight, notation=notation)]
            by_column[weight.name] = released[[weight.name]]
        cells = self.table.with_released(
            by_column,
            [*self.columns, *weights],
            self.roles.released,
            has_types=has_types(self.request.output),
            are_values=getattr(estimator, "categories", None) == "mode",
        )
        names = [name for c in self.columns for name in by_column.get(c.name, [c.name])]
        classes = pd.concat([cells.select(names).to_pandas(), self.demands.strata], axis=1)
        return Release(by_column, cells, classes)


@dataclass(frozen=True)
class Release:
    """A release as it is written."""

    by_column: dict
    cells: Any
    classes: pd.DataFrame

    @cached_property
    def labels(self) -> np.ndarray:
        """The number of the class of each row."""
        groups = self.classes.groupby(list(self.classes), sort=False, dropna=False)
        return groups.ngroup().to_numpy()


def _released_by_column(released: pd.DataFrame, columns: Sequence[Column], estimator: Any) -> dict:
    """What is released for each column: one column, or one for each category with its share."""
    names = {column.name: [column.name] for column in columns}
    if getattr(estimator, "categories", None) == "shares":
        names = {name: list(rows.columns) for name, rows in estimator._released.items()}
    return {name: released[parts] for name, parts in names.items()}


def _check_target_column(target: str | None, roles: TableRoles) -> None:
    if target is not None and target not in roles.unchanged:
        text = (
            "{target} must be one of the columns that are released unchanged: {columns}. "
            "{sensitive} makes such a column."
        )
        facts = {"target": Option("target", target), "sensitive": Option("sensitive")}
        columns = ", ".join(map(repr, roles.unchanged)) or "there is none"
        raise RequestError("target_not_unchanged", text, target, columns=columns, **facts)


def _anonymized_columns(
    table: Table,
    roles: TableRoles,
    declared: Declared,
    hierarchies: dict,
    request: ReleaseRequest,
    demands: Demands,
) -> list[Column]:
    """The columns that are anonymized, with their kinds; at least one is not empty."""
    for name in hierarchies:
        if declared.kinds.get(name, "category") != "category":
            text = "Column {name!r} has a hierarchy, so that it is categorical."
            raise RequestError("has_hierarchy", text, name, name=name)
    kinds = declared.kinds | dict.fromkeys(hierarchies, "category")
    declared_all = replace(declared, kinds=kinds)
    columns = table.columns(roles.quasi_identifiers, declared_all, is_strict=True)
    if all(column.kind == "empty" for column in columns):
        raise RequestError("all_missing", "In all columns to anonymize, all values are missing.")
    units = demands.units()
    return [
        replace(column, how="it has a hierarchy")
        if column.name in hierarchies
        else _with_shared_levels(
            _with_decimals(column, request.decimals), declared, request.k, units
        )
        for column in columns
    ]


def _with_decimals(column: Column, wanted: dict) -> Column:
    """The column, with the number of decimals that the user wants, if it holds numbers."""
    if column.name in wanted and column.kind not in ("number", "empty"):
        text = "{decimals} names {name!r}, which must hold numbers, but is of the kind {kind}."
        facts = {"decimals": Option("decimals"), "name": column.name, "kind": column.kind}
        raise RequestError("no_number", text, column.name, **facts)
    decimals = wanted.get(column.name, wanted.get(None))
    if decimals is None or column.kind != "number":
        return column
    return replace(column, notation=replace(column.notation, decimals=decimals, is_padded=False))


def _with_shared_levels(
    column: Column, declared: Declared, k: int, units: np.ndarray | None
) -> Column:
    """The column, which releases only ordinal values that k people have or the user names."""
    if column.kind != "ordinal" or column.name in declared.orders:
        return column
    return replace(column, notation=column.notation.of_shared(column.values, k, units))


def read_hierarchies(folder: str, names: Sequence[str], columns: Sequence[str]) -> dict:
    """The hierarchies of some columns, from files COLUMN.csv in a folder."""
    about: dict = {"folder": Option("hierarchies", folder)}
    try:
        paths = sorted(Path(folder).iterdir())
    except NotADirectoryError as error:
        text = (
            "{folder} cannot be read: it must be a folder, with a file COLUMN.csv for each "
            "hierarchy."
        )
        raise RequestError("no_folder", text, **about) from error
    except OSError as error:
        text = "{folder} cannot be read: {why}."
        raise RequestError("cannot_read", text, why=error.strerror, **about) from error
    paths = [path for path in paths if path.suffix == ".csv" and not path.name.startswith(".")]
    if not paths:
        raise RequestError("no_hierarchy", "{folder} holds no .csv file.", **about)
    for path in paths:
        if path.stem not in names:
            text = "{path} is a hierarchy for {name!r}, but the columns are {columns}."
            facts = {"path": path, "name": path.stem, "columns": ", ".join(map(repr, names))}
            raise RequestError("unknown_column", text, path.stem, **facts)
    return {path.stem: _read_hierarchy(path) for path in paths if path.stem in columns}


def _read_hierarchy(path: Path) -> Hierarchy:
    try:
        return Hierarchy.from_csv(path)
    except OSError as error:
        text = "{path} cannot be read: {why}."
        raise RequestError("cannot_read", text, path=path, why=reason(error)) from error
    except ValueError as error:
        text = "{path} is not a hierarchy: {why}"
        raise RequestError("bad_hierarchy", text, path=path, why=one_line(error)) from error
