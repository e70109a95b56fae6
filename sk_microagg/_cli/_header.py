"""The header of a CSV file: the names of its columns, if its first row holds them.

The user says that it is "given" or that there is "none". By default it is "check": the first row is
the header, and names that look like values are an error.
"""

import re

import pyarrow.compute as pc

from sk_microagg._cli._errors import CommandError

MADE_NAME = re.compile(r"c([1-9]\d*)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT")


def made_names(n_columns):
    """Names for the columns of a file without a header."""
    return [f"c{number}" for number in range(1, n_columns + 1)]


def holds_names(row, header):
    """Whether the first row of a file is its header, according to the user.

    Parameters
    ----------
    row : list of str
        The row.

    header : {"check", "given", "none", "none or made"}
        What the user says. "none or made": it is a header only if it holds names of `made_names`.

    Returns
    -------
    is_header : bool
        Whether it is the header.
    """
    if header == "none or made":
        matches = [MADE_NAME.fullmatch(cell) for cell in row]
        numbers = [int(match[1]) for match in matches if match]
        return len(numbers) == len(row) and numbers == sorted(set(numbers))
    return header != "none"


def header_of_release(header):
    """What is known about the header of a release, given that of the original.

    The release of a file without a header has names of `made_names`, without the dropped columns.
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
        # The message does not quote the cell, which may belong to a person.
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
