"""Which columns are anonymized, which pass through."""

from dataclasses import dataclass

from sk_microagg._cli._errors import CommandError


@dataclass(frozen=True)
class Choice:
    """What happens to the columns of a table, in its order.

    Attributes
    ----------
    anonymized : list of str
        Columns that are anonymized together.

    unchanged : list of str
        Columns that pass through.
    """

    anonymized: list
    unchanged: list
    names: list

    @property
    def dropped(self):
        """Columns that are left out."""
        return [name for name in self.names if name not in {*self.anonymized, *self.unchanged}]

    @property
    def kept(self):
        """Columns of the release."""
        return [name for name in self.names if name in {*self.anonymized, *self.unchanged}]


def choose_columns(names, columns, drop):
    """Choose columns of a table.

    Parameters
    ----------
    names : list of str
        The columns that there are.

    columns : list of str or None
        Columns to anonymize; None for all others than `drop`.

    drop : list of str
        Columns to leave out.

    Returns
    -------
    choice : Choice
        The choice.
    """
    check_names("--columns", columns or [], names)
    check_names("--drop", drop, names)
    for name in drop:
        if name in (columns or []):
            raise CommandError(f"Column {name!r} is named by --columns and by --drop.")
    kept = [name for name in names if name not in set(drop)]
    anonymized = [name for name in kept if columns is None or name in columns]
    if not anonymized:
        raise CommandError("There is no column left to anonymize: --drop names all.")
    return Choice(anonymized, [name for name in kept if name not in set(anonymized)], names)


def check_names(option, given, names):
    """Raise unless all columns that an option names are there."""
    for name in given:
        if name not in names:
            raise CommandError(
                f"{option} names {name!r}, but the columns are {', '.join(map(repr, names))}."
            )
