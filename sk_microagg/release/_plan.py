"""What a request means for a table in memory: roles, kinds and the estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._table_roles import TableRoles
from sk_microagg.files._columns import Column
from sk_microagg.files._format import Declared, has_types
from sk_microagg.files._messages import Option, RequestError, one_line, reason
from sk_microagg.files._notations import interval_texts
from sk_microagg.files._table import Table
from sk_microagg.refiners import REFINERS
from sk_microagg.refiners._chain import name_of, refiner_by_name
from sk_microagg.release._demands import Demands, demands_beyond_k
from sk_microagg.release._request import ReleaseRequest
from sk_microagg.release._roles import check_effects, roles_of
from sk_microagg.release._totals import ChangedTotal, changed_totals, weighted_sums, with_columns
from sk_microagg.tables import Hierarchy
from sk_microagg.tables._domain import IntervalEnds

DEFAULTS = MicroAggregator().get_params()

REFINERS_OF_KAIM = ("local_search", "iterated_local_search", "none")

# What only groups that are released as averages can be asked for.
FOR_AVERAGES = ("categories", "decimals", "analysis")

GENERALIZED: Any = {"numbers": "interval", "categories": "generalize"}

# What KAIM does not take.
NOT_FOR_KAIM = ("builder", "certificate", "column_weights", "weight")

# What disjoint intervals, which are not those of groups that are searched for, do not take.
NOT_FOR_DISJOINT = ("builder", "refiner", "time_limit", "certificate", "column_weights")


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
        table.format.check_names(names)
        hierarchies = read_hierarchies(request.hierarchies, names, roles.quasi_identifiers)
        read = _read_columns(table, roles, declared, hierarchies)
        demands = Demands.from_table(table, roles, request.privacy, read)
        columns = _anonymized_columns(read, roles, declared, hierarchies, request, demands)
        return cls(table, request, declared, roles, hierarchies, demands, columns)

    @property
    def known(self) -> list[Column]:
        """The columns that are anonymized and have a known value."""
        return [column for column in self.columns if column.kind != "empty"]

    @cached_property
    def unchanged(self) -> pd.DataFrame:
        """The cells of columns that are released unchanged, as text."""
        return self.table.as_text(self.roles.unchanged)

    def n_unchanged(self, name: str) -> int:
        """How many different values a column has that is released unchanged."""
        return int(self.unchanged[name].nunique(dropna=False))

    @cached_property
    def unchanged_numbers(self) -> pd.DataFrame:
        """Those of them that hold numbers or dates, as numbers, if there are analyses."""
        names = self.roles.unchanged if self.request.analysis else []
        return self.table.values(names, self.declared).select_dtypes("number")

    def changed_totals(self, released: pa.Table) -> list[ChangedTotal]:
        """What mean weights do to totals of unchanged columns; nothing if weights are kept."""
        weight = self.roles.weight
        if weight is None or self.roles.keeps_weight:
            return []
        columns = self.table.columns(self.roles.unchanged, self.declared)
        values = {c.name: c.numbers for c in columns if c.kind == "number"}
        table = with_columns(self.unchanged, values)
        weights = self.demands.weight, released[weight].to_numpy()
        return changed_totals(*(weighted_sums(table, each) for each in weights))

    def make_estimator(self, verbose: int = 0) -> Any:
        return make_estimator(
            self.known, self.hierarchies, self.declared, self.demands, self.request, verbose
        )

    def records(self) -> pa.Table:
        """The table to fit it on: columns to anonymize, in their types, and columns with a role."""
        return self.demands.with_cells({c.name: self._cells_to_fit(c) for c in self.known})

    def _cells_to_fit(self, column: Column) -> Any:
        if column.notation is None:
            is_text = pa.types.is_string(column.cells.type)
            return column.cells if is_text else pa.array(column.values, pa.string())
        if self.request.generalizes and column.kind == "ordinal":
            # To KAIM and to measures of intervals, only numbers and dates have an order.
            return pa.array(column.numbers, from_pandas=True)
        kind, decimals = column.cells.type, column.notation.decimals
        # Means of integers may have decimals. Decimals are floats here, and clipped when written.
        are_finer = pa.types.is_integer(kind) and (decimals is None or decimals > 0)
        is_float = are_finer or pa.types.is_decimal(kind)
        return column.cells.cast(pa.float64()) if is_float else column.cells

    def people_as_text(self) -> dict:
        """Who rows belong to, as text like that of earlier releases, if there are some."""
        unit = self.roles.unit
        return {"unit": self.table.as_text([unit])[unit]} if self.request.earlier else {}

    def release(self, released: pa.Table, estimator: Any, ends: dict[Any, IntervalEnds]) -> Release:
        """What the estimator made of the records, as it is written.

        `ends` are those of intervals, by column and for each row.
        """
        by_column = _released_by_column(released, self.known, estimator)
        for column in self.known:
            if column.name in ends and column.notation and not column.notation.is_plain:
                texts = pa.array(interval_texts(ends[column.name], column.notation), pa.string())
                by_column[column.name] = pa.table({column.name: texts})
        weights = []
        if self.roles.weight is not None and not self.roles.keeps_weight:
            # Means have decimals of their own.
            [weight] = self.table.columns([self.roles.weight], self.declared, is_strict=True)
            notation = replace(weight.notation, decimals=None, is_padded=False)
            weights = [replace(weight, notation=notation)]
            by_column[weight.name] = released.select([weight.name])
        cells = self.table.with_released(
            by_column,
            [*self.columns, *weights],
            self.roles.released,
            has_types=has_types(self.request.output),
            are_values=getattr(estimator, "categories", None) == "mode",
        )
        parts = {name: released.column_names for name, released in by_column.items()}
        names = [name for c in self.columns for name in parts.get(c.name, [c.name])]
        classes = pd.concat([cells.select(names).to_pandas(), self.demands.strata], axis=1)
        return Release(by_column, cells, classes)


def ends_of_rows(estimator: Any) -> dict[Any, IntervalEnds]:
    """By column, the ends of the interval in each row of the release."""
    found = estimator.interval_ends_.items()
    return {name: ends.take(estimator.labels_) for name, ends in found}


@dataclass(frozen=True)
class Release:
    """A release as it is written."""

    by_column: dict
    cells: Any
    classes: pd.DataFrame

    @cached_property
    def labels(self) -> np.ndarray:
        groups = self.classes.groupby(list(self.classes), sort=False, dropna=False)
        return groups.ngroup().to_numpy()


def _released_by_column(released: pa.Table, columns: Sequence[Column], estimator: Any) -> dict:
    """What is released for each column: one column, or one for each category with its share."""
    names = {column.name: [column.name] for column in columns}
    if getattr(estimator, "categories", None) == "shares":
        names = {name: list(rows.columns) for name, rows in estimator._released.items()}
    return {name: released.select(parts) for name, parts in names.items()}


def _read_columns(
    table: Table, roles: TableRoles, declared: Declared, hierarchies: dict
) -> dict[str, Column]:
    """The columns whose kinds have to be clear; what is wrong is said of all of them at once."""
    for name in hierarchies:
        if declared.kinds.get(name, "category") != "category":
            text = "Column {name!r} has a hierarchy, so that it is categorical."
            raise RequestError("has_hierarchy", text, name, name=name)
    kinds = declared.kinds | dict.fromkeys(hierarchies, "category")
    weights = [] if roles.weight is None else [roles.weight]
    names = [*roles.quasi_identifiers, *roles.sensitive, *weights]
    columns = table.columns(names, replace(declared, kinds=kinds), is_strict=True)
    return {column.name: column for column in columns}


def _anonymized_columns(
    read: dict[str, Column],
    roles: TableRoles,
    declared: Declared,
    hierarchies: dict,
    request: ReleaseRequest,
    demands: Demands,
) -> list[Column]:
    """The columns that are anonymized, with their kinds; at least one is not empty."""
    columns = [read[name] for name in roles.quasi_identifiers]
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


def read_hierarchies(folder: str | None, names: Sequence[str], columns: Sequence[str]) -> dict:
    if folder is None:
        return {}
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


def make_estimator(
    columns: Sequence[Column],
    hierarchies: dict,
    declared: Declared,
    demands: Demands,
    request: ReleaseRequest,
    verbose: int,
) -> TableAggregator | KAIM:
    """One estimator for all columns: two partitions are not k-anonymous in combination."""
    names = [column.name for column in columns]
    settings: dict[str, Any] = {
        "k": request.k,
        "hierarchies": {name: tree for name, tree in hierarchies.items() if name in names} or None,
        "random_state": request.random_state,
        "n_jobs": request.n_jobs,
        "verbose": verbose,
    }
    if request.method == "kaim":
        return KAIM(
            quasi_identifiers=names,
            **demands.names(),
            privacy=demands.privacy,
            refiner=_refiner_of_kaim(request),
            **settings,
        )
    averages: dict[str, Any] = {
        "categories": request.categories or "mode",
        "decimals": {
            c.name: request.decimals.get(c.name, request.decimals.get(None, "auto"))
            for c in columns
            if c.kind == "number"
        },
        "ordinal": {n: order for n, order in declared.orders.items() if n in names} or None,
    }
    weights = {name: weight for name, weight in request.column_weights.items() if name in names}
    return TableAggregator(
        quasi_identifiers=names,
        **demands.names(),
        column_weights=weights or None,
        weight_release=request.weight_release,
        privacy=demands.privacy,
        builder=request.builder or DEFAULTS["builder"],
        refiner=make_refiner(request.refiner, request.time_limit),
        **({**GENERALIZED, "intervals": request.intervals} if request.generalizes else averages),
        **settings,
    )


def check_method(request: ReleaseRequest) -> None:
    """Raise if a parameter is not for generalized values, or for KAIM, before reading anything."""
    is_kaim, method = request.method == "kaim", Option("method", "kaim")
    if request.intervals == "disjoint":
        _check_disjoint(request)
    names = FOR_AVERAGES if request.generalizes else ()
    given = [
        name for name in (*names, *(NOT_FOR_KAIM if is_kaim else ())) if getattr(request, name)
    ]
    if given:
        text, other = "{given} is not for {method}: leave out one of them", method
        generalized = Option("release", "generalized")
        if not is_kaim:
            other = generalized
        elif given[0] in NOT_FOR_KAIM:
            text += ", or use {generalized} instead of KAIM"
        facts = {"given": Option(given[0]), "method": other, "generalized": generalized}
        raise RequestError("not_for_method", f"{text}.", **facts)
    if not is_kaim:
        return
    if request.refiner not in (None, *REFINERS_OF_KAIM):
        text = "{refiner} is not for {method}: take one of {choices}."
        facts = {"refiner": Option("refiner", request.refiner), "method": method}
        raise RequestError("refiner", text, choices=", ".join(REFINERS_OF_KAIM), **facts)
    _refiner_of_kaim(request)


def _check_disjoint(request: ReleaseRequest) -> None:
    disjoint = Option("intervals", "disjoint")
    if request.release != "generalized":
        facts = {"option": disjoint, "needed": Option("release", "generalized")}
        raise RequestError("needs", "{option} needs {needed}.", **facts)
    for name in NOT_FOR_DISJOINT:
        if getattr(request, name):
            text = "{given} is not for {method}: leave out one of them."
            raise RequestError("not_for_method", text, given=Option(name), method=disjoint)


def _refiner_of_kaim(request: ReleaseRequest) -> Any:
    return make_refiner(
        request.refiner,
        request.time_limit,
        default=KAIM().refiner,
        default_search="iterated_local_search",
    )


def check_refiner_keeps_constraints(request: ReleaseRequest) -> None:
    if request.method == "kaim":  # It merges groups after its refiner.
        return
    constraints = [option for option in demands_beyond_k(request) if option.name != "strata"]
    refiner = make_refiner(request.refiner, request.time_limit)
    if isinstance(refiner, str):
        refiner = refiner_by_name(refiner)
    if constraints and refiner is not None and not refiner.keeps_rules:
        names = [name for name, kind in REFINERS.items() if kind().keeps_rules]
        text = "{refiner} does not know {constraint}: take one of {choices}."
        facts = {
            "refiner": Option("refiner", request.refiner or name_of(refiner)),
            "constraint": constraints[0],
            "choices": ", ".join([*names, "none"]),
        }
        raise RequestError("refiner", text, **facts)


def make_refiner(
    name: str | None,
    time_limit: float | None,
    default: Any = DEFAULTS["refiner"],
    default_search: str = "recombination",
) -> Any:
    """The refiner of a name and time limit, as the parameter of an estimator."""
    if time_limit is None:
        return None if name == "none" else name or default
    have_limits = [name for name in REFINERS if "time_limit" in REFINERS[name]().get_params()]
    if name not in (None, *have_limits):
        text = "{refiner} has no time limit: leave out {time_limit}, or take {choices}."
        facts = {"refiner": Option("refiner", name), "time_limit": Option("time_limit")}
        raise RequestError("refiner", text, choices=" or ".join(have_limits), **facts)
    search: Any = REFINERS[name or default_search]
    return search(time_limit=time_limit)
