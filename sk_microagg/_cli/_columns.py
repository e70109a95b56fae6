"""Which columns are anonymized, released unchanged or dropped."""

from dataclasses import dataclass
from itertools import combinations

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._named import check_names


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
