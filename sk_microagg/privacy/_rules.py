"""The constraints of a table, bound to its records."""

from dataclasses import dataclass

import numpy as np

from sk_microagg._kernels import Guards


@dataclass(frozen=True)
class Rule:
    """A constraint, the prepared values of some records, and what it knows of the whole table.

    Attributes
    ----------
    constraint : Constraint
        The constraint.

    name : str
        What it is about, in messages, such as "LDiversity(l=3) of sensitive column 'diagnosis'".

    values : ndarray of shape (n_records,)
        The values of the records, as prepared by the constraint.

    table : object
        What the constraint knows of the whole table.
    """

    constraint: object
    name: str
    values: np.ndarray
    table: object

    def of(self, records):
        """Return the rule for some of the records."""
        return Rule(self.constraint, self.name, self.values[records], self.table)

    def figures(self, labels):
        """Return the figure of each group, with labels numbered from 0."""
        return self.constraint.measure_groups(labels, self.values, self.table)

    def is_met(self, labels):
        """Return whether each group satisfies the constraint, by plain code."""
        return np.asarray(self.constraint.accepts(self.figures(labels)), dtype=bool)


@dataclass(frozen=True)
class Rules:
    """What every group of some records must satisfy beyond its size.

    Attributes
    ----------
    rules : tuple of Rule
        The constraints with the values of the records.
    """

    rules: tuple

    def __bool__(self):
        return bool(self.rules)

    def of(self, records):
        """Return the rules for some of the records, in this order; the table stays the same."""
        return Rules(tuple(rule.of(records) for rule in self.rules))

    def are_met(self, labels):
        """Return whether each group satisfies all rules, by plain code."""
        met = np.ones(labels.max() + 1, dtype=bool)
        for rule in self.rules:
            met &= rule.is_met(labels)
        return met

    def guards(self):
        """Return the kernels that refiners ask about groups of these records."""
        return Guards([rule.constraint.guard(rule.values, rule.table) for rule in self.rules])

    def check(self, labels, source):
        """Raise an error unless every group satisfies all rules.

        `source` names the labels in the message.
        """
        for rule in self.rules:
            n_bad = int(np.sum(~rule.is_met(labels)))
            if n_bad:
                raise ValueError(
                    f"{source} with {n_bad} groups that violate {rule.name}: every group must "
                    "satisfy it."
                )
