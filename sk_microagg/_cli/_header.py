"""The header of a CSV file: the names of its columns, if its first row holds them.

What the user says of it is "check" (nothing: names that look like values are an error), "given"
or "none".
"""

import re

import pyarrow.compute as pc

from sk_microagg._cli._errors import CommandError

MADE_NAME = re.compile(r"c([1-9]\d*)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT")


def made_names(n_columns):
    """Names of columns that have none."""
    return [f"c{number}" for number in range(1, n_columns + 1)]


def holds_names(row, header):
    """Whether the first row of a file is its header, by what the user says.

    Parameters
    ----------
    row : list of str
        The row.

    header : {"check", "given", "none", "none or made"}
        What the user says. With the last, names that were made are a header, and nothing else is.

    Returns
    -------
    is_header : bool
        Whether it is.
    """
    if header == "none or made":
        matches = [MADE_NAME.fullmatch(cell) for cell in row]
        numbers = [int(match[1]) for match in matches if match]
        return len(numbers) == len(row) and numbers == sorted(set(numbers))
    return header != "none"


def header_of_release(header):
    """What is known of a release's header, if the user says `header` of the original and of it.

    A release of a file without a header has names that were made, less those of dropped columns.
    """
    return "none or made" if header == "none" else header


def check_header(path, cells):
    """Raise if a name looks like a value: the first record would be released as names.

    Parameters
    ----------
    path : str
        The file.

    cells : pyarrow.Table
        Its columns, of text.
    """
    for place, (name, column) in enumerate(zip(cells.column_names, cells.columns, strict=True), 1):
        name = name.strip()
        if _is_number_or_date(name):
            what = "a number or a date"
        elif name and pc.any(pc.equal(pc.utf8_trim_whitespace(column), name)).as_py():
            what = "what a later row holds as a value"
        else:
            continue
        # The cell itself is not told: it may be somebody's.
        raise CommandError(
            f"{path} seems to have no header: in column {place} of {cells.num_columns} its first "
            f"row holds {what}. If that row is a record, say --no-header, which names the columns "
            "c1, c2, ...; if it holds names, say --header."
        )


def _is_number_or_date(cell):
    if not any(map(str.isdigit, cell)):
        return False
    if not any(map(str.isalpha, cell)) or TIME.match(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True
