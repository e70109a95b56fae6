"""The constraints of a table, bound to its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from sk_microagg._kernels import Guards
from sk_microagg._utils._places import found_in
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels, Series, TableLike
from sk_microagg._utils._validation import check_k
from sk_microagg.privacy._base import Constraint
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.privacy._counted import CountedConstraint, GroupCounts
from sk_microagg.privacy._units import DistinctUnits

LEAST_SHORTFALL = 1e-12


@dataclass(frozen=True)
class Rule:
    """A constraint, the prepared values of some records, and what it needs from the whole table."""

    constraint: Any
    name: str
    values: Array = field(repr=False)  # nothing of single records in a traceback
    table: Any = field(repr=False)

    @classmethod
    def of_column(
        cls,
        constraint: Constraint,
        values: Any,
        column: str,
        units: Array | None = None,
        weights: Series | None = None,
    ) -> Self:
        """Apply a constraint to a column; raise an error if the whole table violates it.

        `column` names the column in messages.
        """
        codes, table = constraint.prepare_with(values, units, weights)
        check_whole_table(constraint, constraint.measure(codes, table), column)
        return cls(constraint, constraint.describe(column), codes, table)

    @classmethod
    def of_counts(
        cls, constraint: CountedConstraint, values: Any, counts: Array, column: str
    ) -> Self:
        """As `of_column`, given each value of the table once and how many records have it."""
        with found_in(None):
            codes, table = constraint.learn(values, counts)
        everything = GroupCounts.added(np.zeros_like(codes), codes, counts)
        check_whole_table(constraint, constraint.measure_counts(everything, table)[0], column)
        return cls(constraint, constraint.describe(column), codes, table)

    def subset(self, records: Any) -> Rule:
        return Rule(self.constraint, self.name, self.values[records], self.table)

    def figures(self, labels: Labels) -> Array:
        return self.constraint.measure_groups(labels, self.values, self.table)

    def shortfalls(self, figures: Array) -> Floats:
        """Return how far groups with these figures are from satisfying the constraint."""
        # Whether a group is good enough is decided by `accepts` alone.
        shortfalls = np.maximum(self.constraint.shortfall(figures), LEAST_SHORTFALL)
        return np.where(self.constraint.accepts_each(figures), 0.0, shortfalls)

    def is_met(self, labels: Labels) -> Booleans:
        """Return whether each group satisfies the constraint, by plain code."""
        return self.constraint.accepts_each(self.figures(labels))


def check_whole_table(constraint: Constraint, figure: Any, column: str) -> None:
    """Raise an error if the whole table has a figure that no groups can better."""
    if not constraint.accepts(figure):
        raise ValueError(constraint.why_impossible(figure, column))


@dataclass(frozen=True)
class Rules:
    """What every group of some records must satisfy beyond its size.

    Attributes
    ----------
    rules : tuple of Rule
        The constraints with the values of the records.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.privacy import LDiversity, Rules
    >>> diagnosis = ["flu", "flu", "gout", "flu", "gout"]
    >>> rules = Rules.of_table(5, k=2, privacy=LDiversity(l=2), sensitive=diagnosis)
    >>> rules.are_met(np.array([0, 0, 1, 1, 1]))
    array([False,  True])
    """

    rules: tuple[Rule, ...]

    @classmethod
    def of_table(
        cls,
        n_records: int,
        k: int,
        privacy: Constraint | Sequence[Constraint] | None = None,
        sensitive: TableLike | None = None,
        unit: TableLike | None = None,
        others: TableLike | None = None,
        weights: Series | None = None,
    ) -> Self:
        """Bind constraints to the columns that they are about.

        A constraint that the whole table violates is an error: every constraint is monotone, so no
        groups can satisfy it.

        Parameters
        ----------
        n_records : int
            Number of records.

        k : int
            Smallest number of records in a group, or of different units.

        privacy : Constraint, list of Constraint or None, default=None
            The constraints.

        sensitive : array-like, Series or DataFrame, or None, default=None
            One or several columns that the constraints are about.

        unit : array-like, Series or None, default=None
            Who each record belongs to: a group must have records of `k` different ones.

        others : DataFrame or None, default=None
            Further columns, such as those to anonymize: constraints on amounts may name them.

        weights : Series or None, default=None
            The column of sampling weights. Amounts of other columns count times them.

        Returns
        -------
        rules : Rules
            The rules.
        """
        rules = []
        about_units, constraints = split_constraints(privacy)
        if unit is not None:
            columns = RoleColumns(unit, n_records, "unit")
            columns.warn_of_similar_texts()
            number = columns.only()
            values, words = columns.values(number), columns.words(number)
            for constraint in (DistinctUnits(check_k(k, n_records)), *about_units):
                rules.append(Rule.of_column(constraint, values, words))
        elif about_units:
            raise ValueError(f"privacy={privacy!r} needs units: pass unit=, a value per record.")
        units = rules[0].values if rules else None
        columns = None if sensitive is None else RoleColumns(sensitive, n_records)
        if columns is not None:
            columns.warn_of_similar_texts()
        further = None if others is None else RoleColumns(others, n_records, "")
        for constraint in constraints:
            column, source = getattr(constraint, "column", None), columns
            if further is not None and constraint.is_about_amounts and further.has(column):
                source = further
            if source is None and unit is not None and isinstance(constraint, DistinctUnits):
                raise ValueError(
                    f"privacy={privacy!r} is needless with unit=: k={k} demands as many different "
                    "units already. Leave it out, and raise k if it is to demand more."
                )
            if source is None:
                those = "" if column is None else f", {column!r} among them"
                raise ValueError(
                    f"privacy={privacy!r} needs sensitive values: pass sensitive=, one or several "
                    f"columns with a value per record{those}."
                )
            for number in source.numbers_of(constraint):
                values, words = source.values(number), source.words(number)
                rules.append(Rule.of_column(constraint, values, words, units, weights))
        return cls(tuple(rules))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def subset(self, records: Any) -> Rules:
        """Return the rules for some of the records, in this order; the table stays the same."""
        return Rules(tuple(rule.subset(records) for rule in self.rules))

    def are_met(self, labels: Labels) -> Booleans:
        """Return whether each group satisfies all rules, by plain code."""
        met = np.ones(labels.max() + 1, dtype=bool)
        for rule in self.rules:
            met &= rule.is_met(labels)
        return met

    def shortfalls(self, labels: Labels, records: Any = slice(None)) -> Floats:
        """Return how far each group is from satisfying all rules; 0 if it does.

        With `records`, labels are those of these records, which may occur in several groups.
        """
        total = np.zeros(labels.max() + 1)
        for rule in self.subset(records).rules:
            total += rule.shortfalls(rule.figures(labels))
        return total

    def told(self, figures: Floats) -> Floats:
        """Make figures of groups, a row per rule, so coarse that they tell nobody's amount."""
        for own, rule in zip(figures, self.rules, strict=False):
            own[:] = [*map(rule.constraint.told, own)]
        return figures

    @property
    def units(self) -> Array | None:
        """Number of the unit of each record; None if there is no rule about units."""
        rules = (rule for rule in self.rules if isinstance(rule.constraint, DistinctUnits))
        return next((rule.values for rule in rules), None)

    def suit_block(self, records: Labels) -> bool:
        """Return whether some of the records can be divided into groups without the others."""
        everything = np.zeros(len(records), dtype=np.intp)
        return all(
            rule.constraint.suits_block(rule.figures(everything)[0])
            for rule in self.subset(records).rules
        )

    @property
    def are_compiled(self) -> bool:
        """Whether all guards are compiled; the others take a thousand times as long."""
        return all(type(rule.constraint).guard is not Constraint.guard for rule in self.rules)

    def guards(self) -> Guards:
        """Return the kernels that refiners ask about groups of these records."""
        return Guards([rule.constraint.guard(rule.values, rule.table) for rule in self.rules])

    def check(self, labels: Labels, source: str) -> None:
        """Raise an error unless every group satisfies all rules.

        `source` names the labels in the message.
        """
        for rule in self.rules:
            n_bad = int(np.sum(~rule.is_met(labels)))
            if n_bad:
                groups = "1 group that violates" if n_bad == 1 else f"{n_bad} groups that violate"
                raise ValueError(
                    f"{source} with {groups} {rule.name}: every group must satisfy it."
                )


def as_constraints(privacy: Any) -> Sequence[Constraint]:
    if privacy is None:
        return []
    constraints = privacy if isinstance(privacy, list | tuple) else [privacy]
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise TypeError(
                f"privacy={privacy!r} must be a Constraint such as LDiversity(l=2), a list of "
                f"them, or None, got {type(constraint).__name__}."
            )
    return constraints


def split_constraints(privacy: Any) -> tuple[list[Constraint], list[Constraint]]:
    """Return the constraints of a parameter `privacy` about units, and those about columns."""
    constraints = as_constraints(privacy)
    about_units = [constraint for constraint in constraints if constraint.is_about_units]
    return about_units, [each for each in constraints if not each.is_about_units]
