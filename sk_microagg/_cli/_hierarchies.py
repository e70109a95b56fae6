"""A folder of hierarchies."""

from pathlib import Path

from sk_microagg._cli._errors import CommandError, one_line, reason
from sk_microagg.generalization import Hierarchy


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
