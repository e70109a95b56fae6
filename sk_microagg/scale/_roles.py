"""Constraints beyond k for tables on Dask: what the whole table tells, and the values of rows.

Values of sensitive columns, units and strata travel with the rows of the columns that are
anonymized, as numbers: the position of a value among the different ones of the table, a hash of the
unit, and the number of the stratum.
"""

from dataclasses import dataclass, field, replace

import dask
import numpy as np

from sk_microagg._utils._tables import check_types, warn_of_similar_values, warn_of_spellings
from sk_microagg._utils._validation import check_k
from sk_microagg.privacy import DistinctUnits, LDiversity, Rules, TCloseness, UnitShare
from sk_microagg.privacy._codes import GroupCounts
from sk_microagg.privacy._rules import Rule
from sk_microagg.privacy._strata import StratumNames
from sk_microagg.scale._column_survey import Values, keys_of, merge_spellings, spellings_of
from sk_microagg.scale._strata import (
    StratumColumns,
    check_rules,
    check_shares,
    count_strata,
    merge_counts,
)
from sk_microagg.scale._survey import compute_merged


@dataclass(frozen=True)
class Roles:
    """What each group must satisfy beyond its size."""

    k: int = 1
    unit: object = None
    values: dict = field(default_factory=dict, repr=False)
    rules: tuple = ()
    columns: tuple = ()
    on_units: tuple = ()
    strata: StratumColumns | None = None
    sizes: tuple = field(default=(), repr=False)

    @property
    def names(self):
        """Columns of the table that are needed to encode rows."""
        units = [] if self.unit is None else [self.unit]
        return [*self.values, *units, *([] if self.strata is None else self.strata.columns)]

    @property
    def width(self):
        """Number of encoded columns: sensitive ones, then the unit, then the stratum."""
        return len(self.values) + (self.unit is not None) + (self.strata is not None)

    def encode(self, frame):
        """The values of some rows as floats."""
        encoded = [values.positions(frame[name]) for name, values in self.values.items()]
        if self.unit is not None:
            encoded.append(keys_of(frame[self.unit]))
        if self.strata is not None:
            encoded.append(self.strata.numbers(frame))
        return np.column_stack(encoded).astype(np.float64)

    def rules_of(self, encoded):
        """The rules for rows, given their encoded values."""
        rules = []
        if self.unit is not None:
            keys = encoded[:, len(self.values)]
            rules += self.rules_of_units(np.unique(keys, return_inverse=True)[1])
        numbers = {name: number for number, name in enumerate(self.values)}
        for rule, name in zip(self.rules, self.columns, strict=True):
            rules.append(rule.subset(encoded[:, numbers[name]].astype(np.intp)))
        return Rules(tuple(rules))

    def rules_of_units(self, codes=()):
        """The rules about units, for rows with these numbers of units: their number is first."""
        codes = np.asarray(codes, dtype=np.int32)
        constraints = DistinctUnits(self.k), *self.on_units
        names = [constraint.describe(f"column {self.unit!r}") for constraint in constraints]
        return [Rule(*pair, codes, None) for pair in zip(constraints, names, strict=True)]

    def strata_of(self, encoded):
        """Number of the stratum of each row, given the encoded values; 0 without strata."""
        if self.strata is None:
            return np.zeros(len(encoded), dtype=np.intp)
        return encoded[:, -1].astype(np.intp)


def find_roles(frame, k, constraints, unit, strata, on_units=()):
    """Count what the roles need of the whole table; raise an error if they cannot be satisfied.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.

    k : int
        Smallest number of rows in a group, or of different units.

    constraints : dict
        By the name of each sensitive column, its constraints.

    unit : str or None
        The column that says who a row belongs to.

    strata : list
        The columns that name strata, maybe none.

    on_units : list of Constraint, default=()
        Further constraints on units.

    Returns
    -------
    roles : Roles
        The roles.
    """
    names = [*constraints, *([] if unit is None else [unit]), *strata]
    count = dask.delayed(_count, pure=False)
    counted = [
        count(part, list(constraints), unit, strata, k) for part in frame[names].to_delayed()
    ]
    values, keys, sizes, spellings, types = compute_merged(counted, _merged, k)
    for name, cell_types in zip(names, types, strict=True):
        check_types(cell_types, f"Column {name!r} of X")
    for column in values:
        check_k(k, int(column.counts.sum()))  # Nothing is known of the values of no rows.
    if unit is not None and len(keys) < k:
        raise ValueError(DistinctUnits(k).why_impossible(len(keys), f"unit column {unit!r}"))
    values = dict(zip(constraints, values, strict=True))
    _warn_of_similar_texts(values, unit, spellings, strata, sizes)
    pairs = [(name, constraint) for name, those in constraints.items() for constraint in those]
    rules = tuple(_rule(constraint, name, values[name]) for name, constraint in pairs)
    roles = Roles(k, unit, values, rules, tuple(name for name, _ in pairs), tuple(on_units))
    roles = _within_strata(roles, frame, strata, sizes) if strata else roles
    if on_units:
        check_shares(frame, roles)
    return roles


def _warn_of_similar_texts(values, unit, spellings, strata, sizes):
    for name, column in values.items():
        warn_of_similar_values(f"Column {name!r}", column.known)
    if unit is not None and spellings["folded"].duplicated().any():
        warn_of_spellings(f"Column {unit!r}")
    for name, *cells in zip(strata, *sizes, strict=True):
        warn_of_similar_values(f"Column {name!r}", cells)


def _within_strata(roles, frame, columns, sizes):
    """The roles with strata, given the number of rows of each; check these."""
    strata = StratumColumns(columns, StratumNames(sizes))
    strata.names.check_sizes(sizes.values(), roles.k)
    roles = replace(roles, strata=strata, sizes=tuple(sizes.values()))
    if roles.rules or roles.unit is not None:
        check_rules(frame, roles)
    return roles


def _count(frame, sensitive, unit, strata, k):
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


def _merged(counted, k):
    values, keys, sizes, spellings, types = zip(*counted, strict=True)
    values = list(map(Values.merged, zip(*values, strict=True)))
    spellings = None if spellings[0] is None else merge_spellings(spellings)
    types = [set().union(*those) for those in zip(*types, strict=True)]
    return values, np.unique(np.concatenate(keys))[:k], merge_counts(sizes), spellings, types


def _rule(constraint, name, values):
    words = f"sensitive column {name!r}"
    codes, table = constraint.prepare(values.as_column())
    counts = np.zeros(len(codes), dtype=np.int64)
    counts[codes] = values.counts[: len(codes)]
    if isinstance(constraint, TCloseness):
        table = type(table)(counts)
    else:
        everything = GroupCounts.of_pairs(np.zeros_like(codes), codes, values.counts[: len(codes)])
        [figure] = constraint.measure_counts(everything, table)
        if not constraint.accepts(figure):
            raise ValueError(constraint.why_impossible(figure, words))
    return Rule(constraint, constraint.describe(words), codes, table)


def constraints_by_column(privacy, sensitive, dtypes):
    """Group constraints by the sensitive columns that they are about.

    Parameters
    ----------
    privacy : list of Constraint
        The constraints.

    sensitive : list
        Names of the sensitive columns.

    dtypes : mapping
        Types of the columns.

    Returns
    -------
    constraints : dict
        By name of a column its constraints, for columns that have any.
    """
    by_column = {}
    for constraint in privacy:
        name = constraint.column
        if name is None and len(sensitive) == 1:
            [name] = sensitive
        if name not in sensitive:
            raise ValueError(
                f"column={constraint.column!r} must be one of the columns of "
                f"sensitive={sensitive!r}."
            )
        by_column.setdefault(name, []).append(constraint)
        if getattr(dtypes[name], "ordered", False) and isinstance(constraint, TCloseness):
            raise ValueError(
                f"sensitive column {name!r} has type {dtypes[name]}, whose order may differ by "
                "partition: convert it to numbers or text."
            )
    return by_column


def check_known(constraint):
    """Raise an error unless a constraint can be satisfied part by part."""
    is_known = type(constraint) in (LDiversity, UnitShare) or (
        type(constraint) is TCloseness and isinstance(constraint.distance, str)
    )
    if not is_known:
        raise TypeError(
            f"privacy={constraint!r} needs all records together: on Dask, it must be LDiversity, "
            "UnitShare, or TCloseness with a distance of 'auto', 'ordered' or 'equal'."
        )
    if constraint.is_about_units:
        constraint.prepare([0])  # It checks its parameter; others are checked with their values.
