"""What the options of a user mean for a table in memory: roles, kinds and the estimator."""

from argparse import Namespace
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from sk_microagg._cli._columns import Choice, choose_by_options
from sk_microagg._cli._declared import Declared
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._estimators import make_estimator
from sk_microagg._cli._hierarchies import read_hierarchies
from sk_microagg._cli._named import named_columns
from sk_microagg._cli._paths import has_types
from sk_microagg._cli._released import released_by_column, with_decimals, with_shared_levels
from sk_microagg._cli._roles import Roles
from sk_microagg._cli._tables import Table


@dataclass(frozen=True)
class Plan:
    """What is done to each column of a table."""

    table: Table
    options: Namespace
    declared: Declared
    choice: Choice
    hierarchies: dict
    roles: Roles
    columns: list

    @classmethod
    def of(cls, table, options):
        """Plan; raise CommandError if what the user says is not possible for this table."""
        options = named_columns(options, table.cells.column_names)
        declared = Declared.of(options)
        choice = choose_by_options(table.cells.column_names, options)
        declared.check(choice)
        _check_target_column(options, choice)
        hierarchies = {}
        if options.hierarchies is not None:
            names = table.cells.column_names
            hierarchies = read_hierarchies(options.hierarchies, names, choice.anonymized)
        roles = Roles.of(table, choice, options, declared)
        columns = _anonymized_columns(table, choice, declared, hierarchies, options.k, roles)
        return cls(table, options, declared, choice, hierarchies, roles, columns)

    @property
    def known(self):
        """The columns that are anonymized and have a known value."""
        return [column for column in self.columns if column.kind != "empty"]

    @cached_property
    def unchanged(self):
        """The cells of columns that are released unchanged, as text."""
        return self.table.as_text(self.choice.unchanged)

    def make_estimator(self, verbose=0):
        """Make the estimator, not fitted."""
        return make_estimator(
            self.known, self.hierarchies, self.declared, self.roles, self.options, verbose
        )

    def records(self):
        """Return the table to fit it on: values to anonymize, and columns with a role."""
        values = pd.DataFrame({column.name: column.values for column in self.known})
        if self.options.method == "kaim":
            return values
        # Means of integers may have decimals.
        values = values.astype({c.name: np.float64 for c in self.known if c.notation})
        return self.roles.with_values(values)

    def target(self):
        """Return what a model is to predict, numbers or text; None if the user does not say."""
        name = self.options.target
        return None if name is None else self.table.values([name], self.declared)[name]

    def release(self, released, estimator):
        """Return the release as it is written.

        Parameters
        ----------
        released : pandas.DataFrame
            What the estimator made of the records.

        estimator : TableAggregator or KAIM
            The fitted estimator.

        Returns
        -------
        release : Release
            The release.
        """
        by_column = released_by_column(released, self.known, estimator)
        cells = self.table.with_released(
            by_column,
            self.columns,
            self.choice.kept,
            has_types=has_types(self.options.output),
            are_values=getattr(estimator, "categories", None) == "mode",
        )
        names = [name for c in self.columns for name in by_column.get(c.name, [c.name])]
        classes = pd.concat([cells.select(names).to_pandas(), self.roles.strata], axis=1)
        return Release(by_column, cells, classes)


@dataclass(frozen=True)
class Release:
    """A release as it is written."""

    by_column: dict
    cells: object
    classes: pd.DataFrame

    @cached_property
    def labels(self):
        """The number of the class of each row."""
        groups = self.classes.groupby(list(self.classes), sort=False, dropna=False)
        return groups.ngroup().to_numpy()


def _check_target_column(options, choice):
    if options.target is not None and options.target not in choice.unchanged:
        raise CommandError(
            f"--target {options.target!r} must be a column that is released unchanged: "
            f"{', '.join(map(repr, choice.unchanged)) or 'there is none'}. --sensitive makes one."
        )


def _anonymized_columns(table, choice, declared, hierarchies, k, roles):
    """The columns that are anonymized, with their kinds; at least one is not empty."""
    for name in hierarchies:
        if declared.kinds.get(name, "category") != "category":
            raise CommandError(f"Column {name!r} has a hierarchy, so that it is categorical.")
    kinds = declared.kinds | dict.fromkeys(hierarchies, "category")
    columns = table.columns(choice.anonymized, replace(declared, kinds=kinds), is_strict=True)
    if all(column.kind == "empty" for column in columns):
        raise CommandError("In all columns to anonymize, all values are missing.")
    units = roles.units()
    return [
        replace(column, how="it has a hierarchy")
        if column.name in hierarchies
        else with_shared_levels(with_decimals(column, declared), declared, k, units)
        for column in columns
    ]
