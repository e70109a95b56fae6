"""Types of arguments: text from the command line, checked and converted."""

import argparse
import csv
import math
from argparse import ArgumentTypeError, Namespace
from contextlib import contextmanager
from difflib import get_close_matches

from sk_microagg._table_space import LARGEST_WEIGHT
from sk_microagg.files._errors import CommandError

LISTS = ("columns", "drop", "sensitive", "strata", "categorical", "number")
SINGLE = ("unit", "target")

# A message lists no more columns than this.
MOST_NAMES = 20


class Once(argparse.Action):
    """Take an option that must not be repeated, where the last one would win silently."""

    def __call__(self, parser, namespace, values, option_string=None):
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "it is given twice, but must name one column")
        setattr(namespace, self.dest, values)


def at_least_1(text):
    """An integer of at least 1."""
    return number(text, int, lambda value: value >= 1, "an integer of at least 1")


def positive(text):
    """A number above 0."""
    return number(text, float, lambda value: 0 < value < math.inf, "a number above 0")


def share(text):
    """A number from 0 to 1."""
    return number(text, float, lambda value: 0 <= value <= 1, "a number from 0 to 1")


def positive_share(text):
    """A number above 0 and at most 1."""
    return number(text, float, lambda value: 0 < value <= 1, "a number above 0 and at most 1")


def diversity(text):
    """A number of at least 1."""
    value = number(text, float, lambda value: 1 <= value < math.inf, "a number of at least 1")
    return int(value) if value.is_integer() else value


def seed(text):
    """An integer from 0 to 2**32 - 1."""
    return number(text, int, lambda value: 0 <= value < 2**32, "an integer from 0 to 2**32 - 1")


def jobs(text):
    """An integer other than 0."""
    return number(text, int, lambda value: value != 0, "an integer other than 0")


def separator(text):
    """The separator of cells."""
    text = {"\\t": "\t"}.get(text, text)
    return checked(text, len(text) == 1 and text not in '"\r\n', "one character, or \\t for a tab")


def mark(text):
    """The decimal mark, or what separates thousands."""
    is_mark = len(text) == 1 and not text.isalnum() and text not in '+-"\r\n'
    return checked(text, is_mark, "one character that is neither a letter, a digit nor a sign")


def encoding(text):
    """An encoding of text that Python knows."""
    try:
        "".encode(text)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be an encoding, such as utf-8, latin-1, cp1252 or utf-16"
        ) from None
    return text


def texts(text):
    """Texts, separated by commas; a text that contains a comma is in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def weight(name, value):
    """How much a column counts."""
    if value is None:
        raise argparse.ArgumentTypeError(f"{name!r} must have a number, as in {name}=2")
    allowed = f"a number above 0 and at most {LARGEST_WEIGHT:g}"
    return number(value, float, lambda given: 0 < given <= LARGEST_WEIGHT, allowed)


def decimals(text):
    """A number of decimals; -2 stands for hundreds."""
    return number(text, int, lambda value: -15 <= value <= 15, "an integer from -15 to 15")


def number(text, convert, is_allowed, allowed):
    """The number that a text is; raise unless it is one that is allowed."""
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or not is_allowed(value):
        raise argparse.ArgumentTypeError(f"{text!r} must be {allowed}")
    return value


def checked(value, is_allowed, allowed):
    """The value; raise unless it is allowed."""
    if not is_allowed:
        raise argparse.ArgumentTypeError(f"{value!r} must be {allowed}")
    return value


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
