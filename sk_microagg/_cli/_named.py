"""The columns that options name, found in a table.

An option may be repeated, and names are separated by commas. A name that contains a comma is alone
in its option, or in double quotes. Spaces around names do not matter.
"""

import csv
from argparse import ArgumentTypeError, Namespace
from contextlib import contextmanager
from difflib import get_close_matches

from sk_microagg._cli._arguments import decimals, weight
from sk_microagg._cli._errors import CommandError

LISTS = ("columns", "drop", "sensitive", "strata", "categorical", "number")
SINGLE = ("unit", "target")

# A message lists no more columns than this.
MOST_NAMES = 20


def named_columns(options, names):
    """The options, with the columns that they name as the table has them.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the user, with text where columns are named.

    names : list of str
        The columns of the table.

    Returns
    -------
    options : argparse.Namespace
        The same options, with lists of names; `ordinal`, `date`, `weights` and `round` with pairs
        of a name and what is said of it.
    """
    found = {}
    for option, given in vars(options).items():
        if given is None:
            continue
        if option in LISTS:
            found[option] = _unique(f"--{option}", given, names)
        elif option in SINGLE:
            found[option] = _found_one(f"--{option}", given, names)
        elif option in ("ordinal", "date"):
            found[option] = _pairs(f"--{option}", given, names)
        elif option == "weights":
            found[option] = _weights(given, names)
        elif option == "round":
            found[option] = _rounded(given, names)
    return Namespace(**vars(options) | found)


def check_names(option, given, names):
    """Raise unless all columns that an option names exist."""
    for name in given:
        if name not in names:
            raise _unknown(option, name, names)


def _unique(option, given, names):
    return list(dict.fromkeys(name for text in given for name in _found(option, text, names)))


def _found(option, text, names):
    """The columns that a text names."""
    parts = _parts(text)
    if text not in names:
        return [_one(option, part, names) for part in parts]
    stripped = {name.strip() for name in names}
    if len(parts) > 1 and all(part.strip() in stripped for part in parts):
        raise CommandError(
            f"{option} {text} is one column or {len(parts)}: name each by {option} of its own, or "
            f"write '\"{text}\"' for the one."
        )
    return [text]


def _found_one(option, text, names):
    parts = _parts(text)
    return _one(option, text if text in names or len(parts) > 1 else parts[0], names)


def _one(option, name, names):
    """The column of a name; spaces around it are ignored if there is none that has them."""
    if name in names:
        return name
    alike = [other for other in names if other.strip() == name.strip()]
    if len(alike) == 1:
        return alike[0]
    raise _unknown(option, name, names)


def _pairs(option, given, names):
    """Columns, each with what is written after it and =, or None."""
    return [_pair(option, item, names) for text in given for item in _items(text, names)]


def _items(text, names):
    """Names with what is said of them, between commas; one item if its name contains a comma."""
    is_one = _beginning(text, [name for name in names if "," in name]) is not None
    return [text] if is_one else _parts(text)


def _pair(option, item, names):
    column = _beginning(item, names)
    if column is not None:
        return column, item[len(column) + 1 :] if item != column else None
    name, is_pair, value = item.partition("=")
    return _one(option, name, names), value if is_pair else None


def _weights(given, names):
    pairs = _pairs("--weights", given, names)
    with _as_command_error("--weights"):
        return [(name, weight(name, value)) for name, value in pairs]


def _rounded(given, names):
    """Columns with a number of decimals; a number alone is for all others, whose name is None."""
    items = [item for text in given for item in _items(text, names)]
    with _as_command_error("--round"):
        pairs = [_pair("--round", item, names) if "=" in item else (None, item) for item in items]
        return [(name, decimals(value)) for name, value in pairs]


@contextmanager
def _as_command_error(option):
    try:
        yield
    except ArgumentTypeError as error:
        raise CommandError(f"{option}: {error}.") from error


def _beginning(item, names):
    """The longest column that an item names, alone or before =; None if there is none."""
    found = [name for name in names if item == name or item.startswith(f"{name}=")]
    return max(found, key=len, default=None)


def _parts(text):
    """Texts between commas, of which some may be in double quotes."""
    try:
        return next(csv.reader([text], skipinitialspace=True), [""])
    except csv.Error:  # a line break
        return [text]


def _unknown(option, name, names):
    names = list(names)
    listed = ", ".join(map(repr, names[:MOST_NAMES]))
    if len(names) > MOST_NAMES:
        listed += f" and {len(names) - MOST_NAMES} more"
    message = f"{option} names {name!r}, but the columns are {listed}."
    if any("," in other and name and name in other for other in names):
        return CommandError(f"{message} A name that contains a comma must be in double quotes.")
    near = {other.strip().lower(): other for other in names}
    close = get_close_matches(name.strip().lower(), near, n=1)
    return CommandError(f"{message} Did you mean {near[close[0]]!r}?" if close else message)
