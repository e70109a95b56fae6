"""Columns that are released unchanged and may identify people."""

import pyarrow as pa
import pyarrow.compute as pc

LARGEST_SHARE = 0.9
N_LINES = 5


def warn_of_identifiers(names, progress):
    """Warn of columns that may identify people.

    Parameters
    ----------
    names : list of str
        Their names.

    progress : CommandProgress
        Where to print the warnings.
    """
    for name in names[:N_LINES]:
        progress.say(
            f"sk-microagg: warning: column {name!r} comes out unchanged, with a different value in "
            "almost every row; use --drop, or name it in --columns"
        )
    if len(names) > N_LINES:
        progress.say(f"sk-microagg: warning: and {len(names) - N_LINES} more")


def identifiers(table, columns):
    """Columns in which almost all known values differ, as patient numbers do.

    Parameters
    ----------
    table : Table
        The table.

    columns : list of str
        Columns that are released unchanged.

    Returns
    -------
    names : list of str
        Those in which more than 90% of the known values are distinct.
    """
    return [name for name in columns if is_identifier(*_count_distinct(table.known(name)))]


def is_identifier(n_distinct, n_known):
    """Whether almost all known values of a column are distinct."""
    return n_known > 1 and n_distinct > LARGEST_SHARE * n_known


def _count_distinct(known):
    try:
        return pc.count_distinct(known).as_py(), len(known)
    except pa.ArrowNotImplementedError:  # lists, for example
        return len({str(cell) for cell in known.to_pylist()}), len(known)
