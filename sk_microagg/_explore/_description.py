"""What the page says about a table before anything is done."""

from dataclasses import replace

import numpy as np
import pandas as pd

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._identifiers import count_distinct, is_identifier, names_people
from sk_microagg._cli._mistyped import hint_at_categories, hint_at_missing
from sk_microagg._explore._distributions import FEWEST, distributions
from sk_microagg._explore._words import on_the_page
from sk_microagg._utils._formatting import share_in_words

K = 5
KS = (2, 3, 5, 10, 20, 50)
N_ROWS = 8
LONGEST_CELL = 200

# Previews are computed on this many rows at most.
N_SAMPLE = 5_000

# If no row of the original is to be seen, categories are shown up to this many of a column: more of
# them may name people, whatever the number of their rows.
MOST_CATEGORIES = 20

# Fewer values are hardly names, even if the table is small.
FEWEST_NAMES = 6


def describe_table(table, shows_rows):
    """Describe a table, without telling of single records.

    Parameters
    ----------
    table : Table
        The table.

    shows_rows : bool
        Whether to include the first rows as they are.

    Returns
    -------
    description : dict
        What the page expects.
    """
    names = table.cells.column_names
    rows = sampled_rows(table.cells.num_rows)
    return {
        "n_records": table.cells.num_rows,
        "n_sample": len(rows),
        "rows": _first_rows(table) if shows_rows else None,
        "columns": [_describe_column(table, name, rows, shows_rows) for name in names],
        "ks": [k for k in KS if k <= len(rows)],
    }


def sampled_rows(n):
    """The rows that previews are computed on: all, or a random sample if there are many."""
    if n <= N_SAMPLE:
        return np.arange(n)
    return np.sort(np.random.RandomState(0).choice(n, N_SAMPLE, replace=False))


def _first_rows(table):
    first = replace(table, cells=table.cells.slice(0, N_ROWS))
    return [[*map(_shortened, row)] for row in first.as_text(first.cells.column_names).to_numpy()]


def _shortened(cell):
    return cell if cell is None or len(cell) <= LONGEST_CELL else f"{cell[:LONGEST_CELL]}…"


def _describe_column(table, name, rows, shows_rows):
    column, problem = _recognized(table, name)
    known = table.known(name)
    n_records, n_known = table.cells.num_rows, len(known)
    share = 1 - n_known / n_records
    n_distinct = count_distinct(known)[0]
    seem_names = names_people(n_distinct, n_known)
    has_many = seem_names or n_distinct > MOST_CATEGORIES
    hides_values = not shows_rows and has_many and column.kind != "boolean"
    role = _suggested_role(column, problem, n_distinct, n_known)
    return {
        "name": name,
        "kind": column.kind,
        "recognized": column.how,
        "problem": problem,
        "missing": share_in_words(share, n_records, FEWEST),
        "n_distinct": n_distinct,
        "hides_values": hides_values,
        "distribution": _distribution(column, rows, hides_values),
        "role": role,
        "hint": (_hint(column, role, n_distinct, n_known) if seem_names or hides_values else None)
        or _worded(hint_at_missing(column, is_typed=not table.is_text)),
        # It is beside the point as soon as the kind is chosen.
        "hint_at_kind": _worded(hint_at_categories(column)),
    }


def _hint(column, role, n_distinct, n_known):
    """What to think of before values that may be names are released; None if they are no names."""
    if column.kind != "category" or role == "drop" or n_distinct < FEWEST_NAMES:
        return None
    return (
        f"{n_distinct:,} values in {n_known:,} rows: if they name people, choose Unit or Drop, or "
        "names will be in the release."
    )


def _worded(line):
    return None if line is None else on_the_page(line)


def _distribution(column, rows, hides_values):
    if column.kind == "empty":
        return {"type": "note", "text": column.how}
    frame = pd.DataFrame({column.name: column.values[rows]})
    if frame[column.name].notna().sum() < FEWEST:
        return {"type": "note", "text": "hardly any value is known"}
    hidden = [column.name] if hides_values else []
    (drawn,) = distributions(frame, frame, [column], hidden=hidden)
    drawn.pop("after", None)
    return drawn


def _recognized(table, name):
    """The column, and why its kind is not clear, or None."""
    try:
        return table.columns([name], is_strict=True)[0], None
    except CommandError as error:
        return table.columns([name])[0], on_the_page(error)


def _suggested_role(column, problem, n_distinct, n_known):
    """Names and numbers of people are dropped; everything else may be known to an intruder."""
    if problem is not None or not is_identifier(n_distinct, n_known):
        return "quasi_identifier"
    if column.kind == "category":
        return "drop"
    are_numbered = (
        column.kind == "number"
        and column.values.dtype.kind == "i"
        and n_distinct == n_known == int(np.ptp(column.values)) + 1
    )
    return "drop" if are_numbered else "quasi_identifier"
