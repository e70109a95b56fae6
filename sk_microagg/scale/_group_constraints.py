"""Constraints beyond k for tables on Dask: what the whole table tells, and the values of rows.

Values of sensitive columns, units, amounts and strata travel with the rows of the columns that are
anonymized, as numbers: the position of a value among the different ones of the table, a hash of the
unit, the amounts themselves, and the number of the stratum.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._tables import check_types, warn_of_similar_values, warn_of_spellings
from sk_microagg._utils._typing import Array, DataFrame, Floats, Labels
from sk_microagg._utils._validation import check_k
from sk_microagg.privacy import Constraint, DistinctUnits, Rules
from sk_microagg.privacy._amounts import AmountConstraint, amounts_of
from sk_microagg.privacy._columns import check_one_kind
from sk_microagg.privacy._rules import Rule, split_constraints
from sk_microagg.privacy._strata import StratumNames
from sk_microagg.scale._engine import PartedTable
from sk_microagg.scale._stratum_columns import (
    StratumColumns,
    check_amounts,
    check_rules,
    check_shares,
    count_strata,
    merge_counts,
)
from sk_microagg.tables._sampling_weights import about_weights, warn_of_rare_weights, weights_of
from sk_microagg.tables._values import Values, keys_of, merge_spellings, spellings_of


@dataclass(frozen=True)
class GroupConstraints:
    """What each group must satisfy beyond its size, and the columns that this is about."""

    k: int = 1
    unit: Any = None
    values: dict[Any, Values] = field(default_factory=dict, repr=False)
    rules: tuple[Rule, ...] = ()
    columns: tuple[Any, ...] = ()
    on_units: tuple[Constraint, ...] = ()
    on_amounts: tuple[tuple[AmountConstraint, str], ...] = ()
    weight: Any = None
    strata: StratumColumns | None = None
    sizes: tuple[int, ...] = field(default=(), repr=False)

    @property
    def names(self) -> list[Any]:
        """Columns of the table that are needed to encode rows."""
        units = [] if self.unit is None else [self.unit]
        strata = [] if self.strata is None else self.strata.columns
        return [*dict.fromkeys([*self.values, *units, *self.amounts, *strata])]

    @property
    def amounts(self) -> list[Any]:
        """Columns of amounts, and that of weights."""
        weights = [] if self.weight is None else [self.weight]
        return [*dict.fromkeys([*(each.column for each, _ in self.on_amounts), *weights])]

    @property
    def width(self) -> int:
        """Number of encoded columns: sensitive ones, the unit, amounts, then the stratum."""
        return self.n_before_amounts + len(self.amounts) + (self.strata is not None)

    @property
    def n_before_amounts(self) -> int:
        return len(self.values) + (self.unit is not None)

    def encode(self, frame: DataFrame) -> Floats:
        encoded: list[Any] = [values.positions(frame[name]) for name, values in self.values.items()]
        if self.unit is not None:
            encoded.append(keys_of(frame[self.unit]))
        for name in self.amounts:
            words = f"column={name!r} of a constraint"
            is_weight = name == self.weight
            encoded.append(weights_of(frame[name]) if is_weight else amounts_of(frame[name], words))
        if self.strata is not None:
            encoded.append(self.strata.numbers(frame))
        return np.column_stack(encoded).astype(np.float64)

    def rules_of(self, encoded: Floats) -> Rules:
        rules: list[Rule] = []
        if self.unit is not None:
            keys = encoded[:, len(self.values)]
            units = np.unique(keys, return_inverse=True)[1].astype(np.int32)
            rules += self.rules_of_units(units)
        numbers = {name: number for number, name in enumerate(self.values)}
        for rule, name in zip(self.rules, self.columns, strict=True):
            rules.append(rule.subset(encoded[:, numbers[name]].astype(np.intp)))
        for constraint, words in self.on_amounts:
            prepared = self.prepared_amounts(constraint, encoded)
            own = constraint.with_units(prepared, None if self.unit is None else units)
            rules.append(Rule(constraint, constraint.describe(words), own, None))
        return Rules(tuple(rules))

    def amounts_in(self, encoded: Floats, column: Any) -> Floats:
        return encoded[:, self.n_before_amounts + self.amounts.index(column)]

    def prepared_amounts(self, constraint: AmountConstraint, encoded: Floats) -> Array:
        """The amounts that a constraint is about, times the weights if there are any."""
        prepared, _ = constraint.prepare(self.amounts_in(encoded, constraint.column))
        if constraint.is_weighted(self.weight):
            return constraint.with_weights(prepared, self.amounts_in(encoded, self.weight))
        return prepared

    def rules_of_units(self, codes: Any = ()) -> list[Rule]:
        """The rules about units, for rows with these numbers of units: their number is first."""
        codes = np.asarray(codes, dtype=np.int32)
        constraints = DistinctUnits(self.k), *self.on_units
        names = [constraint.describe(f"column {self.unit!r}") for constraint in constraints]
        return [Rule(*pair, codes, None) for pair in zip(constraints, names, strict=True)]

    def strata_of(self, encoded: Floats) -> Labels:
        """Number of the stratum of each row, given the encoded values; 0 without strata."""
        if self.strata is None:
            return np.zeros(len(encoded), dtype=np.intp)
        return encoded[:, -1].astype(np.intp)


def find_constraints(
    table: PartedTable, k: int, privacy: Any, roles: TableRoles
) -> GroupConstraints:
    """Count what constraints need of the whole table; raise if they cannot be satisfied."""
    on_units, others = split_constraints(about_weights(privacy, roles.weight))
    on_amounts = _amounts_by_column(others, table.meta.columns, roles)
    others = [each for each in others if not each.is_about_amounts]
    if on_units and roles.unit is None:
        raise ValueError(f"privacy={privacy!r} needs units: pass unit=, a column's name.")
    if others and not roles.sensitive:
        raise ValueError(
            f"privacy={privacy!r} needs sensitive values: pass sensitive=, the name of one or "
            "several columns."
        )
    for constraint in (*on_units, *others):
        _check_known(constraint)
    constraints = _constraints_by_column(others, roles.sensitive, table.meta.dtypes)
    unit, strata = roles.unit, roles.strata
    amounts = {"on_amounts": on_amounts, "weight": roles.weight}
    kept = [roles.weight] if roles.keeps_weight and roles.weight is not None else []
    names = [*constraints, *kept, *([] if unit is None else [unit]), *strata]
    if not names:
        return check_amounts(table, GroupConstraints(**amounts))
    counted = table.map(names, _count, [*constraints, *kept], unit, strata, k)
    columns, keys, sizes, spellings, types = table.merge(counted, _merged, k)
    for name, cell_types in zip(names, types, strict=True):
        check_types(cell_types, f"Column {name!r} of X")
        if name == roles.unit:
            check_one_kind(cell_types)
    for column in columns:
        check_k(k, int(column.counts.sum()))  # Nothing is known of the values of no rows.
    if unit is not None and len(keys) < k:
        raise ValueError(DistinctUnits(k).why_impossible(len(keys), f"unit column {unit!r}"))
    if kept:
        weights = columns.pop()
        weights_of(weights.as_column().rename(roles.weight))
        warn_of_rare_weights(weights.counts, k)
    values = dict(zip(constraints, columns, strict=True))
    _warn_of_similar_texts(values, unit, spellings, strata, sizes)
    pairs = [(name, constraint) for name, those in constraints.items() for constraint in those]
    rules = tuple(_rule(constraint, name, values[name]) for name, constraint in pairs)
    named = tuple(name for name, _ in pairs)
    found = GroupConstraints(k, unit, values, rules, named, tuple(on_units), **amounts)
    found = _within_strata(found, table, strata, sizes) if strata else found
    found = check_amounts(table, found)
    if on_units:
        check_shares(table, found)
    return found


def _warn_of_similar_texts(
    values: dict[Any, Values], unit: Any, spellings: Any, strata: list[Any], sizes: dict[Any, int]
) -> None:
    for name, column in values.items():
        warn_of_similar_values(f"Column {name!r}", column.known)
    if unit is not None and spellings["folded"].duplicated().any():
        warn_of_spellings(f"Column {unit!r}")
    for name, *cells in zip(strata, *sizes, strict=True):
        warn_of_similar_values(f"Column {name!r}", cells)


def _within_strata(
    constraints: GroupConstraints, table: PartedTable, columns: list[Any], sizes: dict[Any, int]
) -> GroupConstraints:
    """The constraints with strata, given the number of rows of each; check these."""
    strata = StratumColumns(columns, StratumNames(sizes))
    strata.names.check_sizes(sizes.values(), constraints.k)
    constraints = replace(constraints, strata=strata, sizes=tuple(sizes.values()))
    if constraints.rules or constraints.unit is not None:
        check_rules(table, constraints)
    return constraints


def _count(
    frame: DataFrame, part: int, sensitive: list[Any], unit: Any, strata: list[Any], k: int
) -> tuple[Any, ...]:
    """Values of sensitive columns, up to k units, sizes of strata, texts of units; and types."""
    keys = np.empty(0) if unit is None else np.unique(keys_of(frame[unit]))[:k]
    values = [Values.of_part(frame[name]) for name in sensitive]
    sizes = count_strata(frame[strata]) if strata else {}
    spellings = None if unit is None else spellings_of(frame[unit])
    types = [
        {type(cell) for cell in column.dropna()} if column.dtype == object else set()
        for _, column in frame.items()
    ]
    return values, keys, sizes, spellings, types


def _merged(counted: Iterable[tuple[Any, ...]], k: int) -> tuple[Any, ...]:
    values, keys, sizes, spellings, types = zip(*counted, strict=True)
    values = list(map(Values.merged, zip(*values, strict=True)))
    spellings = None if spellings[0] is None else merge_spellings(spellings)
    types = [set().union(*those) for those in zip(*types, strict=True)]
    return values, np.unique(np.concatenate(keys))[:k], merge_counts(sizes), spellings, types


def _rule(constraint: Any, name: Any, values: Values) -> Rule:
    column = values.as_column()
    words = f"sensitive column {name!r}"
    return Rule.of_counts(constraint, column, values.counts[: len(column)], words)


def _constraints_by_column(
    privacy: Sequence[Constraint], sensitive: list[Any], dtypes: Mapping[Any, Any]
) -> dict[Any, list[Constraint]]:
    by_column: dict[Any, list[Constraint]] = {}
    for constraint in privacy:
        names = sensitive if constraint.column is None else [constraint.column]
        for name in names:
            if name not in sensitive:
                raise ValueError(
                    f"column={constraint.column!r} must be one of the columns of "
                    f"sensitive={sensitive!r}."
                )
            by_column.setdefault(name, []).append(constraint)
            if getattr(dtypes[name], "ordered", False) and constraint.uses_order:
                raise ValueError(
                    f"sensitive column {name!r} has type {dtypes[name]}, whose order may differ "
                    "by partition: convert it to numbers or text."
                )
    return by_column


def _amounts_by_column(
    privacy: Sequence[Any], columns: Any, roles: TableRoles
) -> tuple[tuple[Any, str], ...]:
    """Those that are on amounts, about any column of the table, with the words for these."""
    found = []
    for constraint in [each for each in privacy if each.is_about_amounts]:
        _check_known(constraint)
        name = constraint.column
        if name is None and len(roles.sensitive) == 1:
            constraint = constraint.about(*roles.sensitive)
        elif name is None or name not in columns:
            raise ValueError(
                f"{'weight' if constraint.is_about_weights else 'column'}={name!r} of "
                f"{constraint!r} must be one of the columns {list(columns)}."
            )
        is_sensitive = constraint.column in roles.sensitive
        words = f"{'sensitive ' if is_sensitive else ''}column {constraint.column!r}"
        found.append((constraint, words))
    return tuple(found)


def _check_known(constraint: Constraint) -> None:
    """Raise an error unless a constraint can be satisfied part by part."""
    if constraint.needs == "records":
        raise TypeError(
            f"privacy={constraint!r} needs all records together: on Dask, it must be LDiversity, "
            "TCloseness, UnitShare, or one on amounts."
        )
    constraint.check_parameters()
