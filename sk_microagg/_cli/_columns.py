"""Which columns are anonymized, released unchanged or dropped."""

from dataclasses import dataclass

from sk_microagg._cli._errors import CommandError


@dataclass(frozen=True)
class Choice:
    """The columns of a table by what happens to them, each list in the order of the table.

    Attributes
    ----------
    anonymized : list of str
        Columns that are anonymized together.

    unchanged : list of str
        Columns that are released unchanged.

    names : list of str
        All columns.
    """

    anonymized: list
    unchanged: list
    names: list

    @property
    def dropped(self):
        """Columns that are not released."""
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
        All columns.

    columns : list of str or None
        Columns to anonymize; None for all but `drop`.

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
    """Raise unless all columns that an option names exist."""
    for name in given:
        if name not in names:
            raise CommandError(
                f"{option} names {name!r}, but the columns are {', '.join(map(repr, names))}."
            )
