"""What the options of a user mean for a table in memory: roles, kinds and the estimator."""

from argparse import Namespace
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from sk_microagg._cli._arguments import check_names, named_columns
from sk_microagg.files._declared import Declared
from sk_microagg.files._errors import CommandError, one_line, reason
from sk_microagg.files._format import has_types
from sk_microagg.files._table import Table
from sk_microagg.generalization import Hierarchy
from sk_microagg.release._demands import Roles
from sk_microagg.release._estimators import make_estimator
from sk_microagg.release._summary import released_by_column, with_decimals, with_shared_levels


@dataclass(frozen=True)
class Choice:
    """The columns of a table by what happens to them, each list in the order of the table."""

    anonymized: list
    unchanged: list
    names: list
    sensitive: list | tuple = ()
    unit: str | None = None
    strata: list | tuple = ()

    @property
    def exposed(self):
        """Unchanged columns that an intruder may know: all but sensitive ones."""
        return [name for name in self.unchanged if name not in self.sensitive]

    @property
    def dropped(self):
        """Columns that are not released."""
        return [name for name in self.names if name not in {*self.anonymized, *self.unchanged}]

    @property
    def kept(self):
        """Columns of the release."""
        return [name for name in self.names if name in {*self.anonymized, *self.unchanged}]


def choose_columns(names, columns, drop, *, sensitive=(), unit=None, strata=()):
    """Choose columns of a table.

    Parameters
    ----------
    names : list of str
        All columns.

    columns : list of str or None
        Columns to anonymize; None for all that have no other role.

    drop : list of str
        Columns to leave out.

    sensitive, strata : list of str, default=()
        Columns to release unchanged: sensitive ones, and those whose values no group may mix.

    unit : str or None, default=None
        The column that says who a record belongs to, which is left out.

    Returns
    -------
    choice : Choice
        The choice.
    """
    units = [] if unit is None else [unit]
    named = {
        "--columns": columns or [],
        "--drop": drop,
        "--sensitive": sensitive,
        "--unit": units,
        "--strata": strata,
    }
    for option, given in named.items():
        check_names(option, given, names)
    for one, other in combinations(named, 2):
        both = [name for name in named[one] if name in named[other]]
        # A unit is dropped anyway.
        if both and (one, other) != ("--drop", "--unit"):
            raise CommandError(f"Column {both[0]!r} is named by {one} and by {other}.")
    kept = [name for name in names if name not in {*drop, *units}]
    others = {*sensitive, *strata}
    anonymized = [
        name for name in kept if (name not in others if columns is None else name in columns)
    ]
    if not anonymized:
        options = [option for option, given in named.items() if given]
        raise CommandError(
            f"There is no column left to anonymize: {' and '.join(options)} "
            f"{'names' if len(options) == 1 else 'name'} all."
        )
    unchanged = [name for name in kept if name not in set(anonymized)]
    in_order = {
        role: [name for name in names if name in given]
        for role, given in (("sensitive", sensitive), ("strata", strata))
    }
    return Choice(anonymized, unchanged, names, unit=unit, **in_order)


def choose_by_options(names, options):
    """Choose columns of a table by the options of the user."""
    return choose_columns(
        names,
        options.columns,
        options.drop,
        sensitive=options.sensitive,
        unit=options.unit,
        strata=options.strata,
    )


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


def read_hierarchies(folder, names, columns):
    """Read the hierarchies of some columns.

    Parameters
    ----------
    folder : str
        A folder with a file `<column>.csv` for each column that has a hierarchy.

    names : list of str
        All columns of the table.

    columns : list of str
        The columns whose hierarchies are needed.

    Returns
    -------
    hierarchies : dict
        Hierarchies by the names of their columns.
    """
    try:
        paths = sorted(Path(folder).iterdir())
    except NotADirectoryError as error:
        raise CommandError(
            f"--hierarchies {folder} cannot be read: it must be a folder, with a file COLUMN.csv "
            "for each hierarchy."
        ) from error
    except OSError as error:
        raise CommandError(f"--hierarchies {folder} cannot be read: {error.strerror}.") from error
    paths = [path for path in paths if path.suffix == ".csv" and not path.name.startswith(".")]
    if not paths:
        raise CommandError(f"--hierarchies {folder} holds no .csv file.")
    for path in paths:
        if path.stem not in names:
            raise CommandError(
                f"{path} is a hierarchy for {path.stem!r}, but the columns are "
                f"{', '.join(map(repr, names))}."
            )
    return {path.stem: _read(path) for path in paths if path.stem in columns}


def _read(path):
    try:
        return Hierarchy.from_csv(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {reason(error)}.") from error
    except ValueError as error:
        raise CommandError(f"{path} is not a hierarchy: {one_line(error)}") from error
