"""Types of arguments: text from the command line, checked and converted."""

import argparse
import csv
import math


def names(text):
    """Names, separated by commas; a name that contains a comma is in double quotes."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    if not names:
        raise argparse.ArgumentTypeError("it must name at least one column")
    return list(dict.fromkeys(names))


def at_least_1(text):
    """An integer of at least 1."""
    return checked(int(text), int(text) >= 1, "an integer of at least 1")


def positive(text):
    """A number above 0."""
    return checked(float(text), 0 < float(text) < math.inf, "a number above 0")


def share(text):
    """A number from 0 to 1."""
    return checked(float(text), 0 <= float(text) <= 1, "a number from 0 to 1")


def diversity(text):
    """A number of at least 1."""
    number = checked(float(text), 1 <= float(text) < math.inf, "a number of at least 1")
    return int(number) if number.is_integer() else number


def seed(text):
    """An integer from 0 to 2**32 - 1."""
    return checked(int(text), 0 <= int(text) < 2**32, "an integer from 0 to 2**32 - 1")


def jobs(text):
    """An integer other than 0."""
    return checked(int(text), int(text) != 0, "an integer other than 0")


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


def names_with_texts(text):
    """Names, each alone or with a text, as in A=X,B; pairs of a name and a text or None."""
    pairs = []
    for item in names(text):
        name, is_pair, value = item.partition("=")
        pairs.append((name, value if is_pair else None))
    return pairs


def names_with_weights(text):
    """Names with positive numbers, as in A=2,B=0.5."""
    return [(name, positive(_value_of(name, value))) for name, value in names_with_texts(text)]


def names_with_decimals(text):
    """Names with integers, as in A=2; an integer alone has the name None."""
    return [
        (name, decimals(value)) if value is not None else (None, decimals(name))
        for name, value in names_with_texts(text)
    ]


def decimals(text):
    """A number of decimals; -2 stands for hundreds."""
    return checked(int(text), -15 <= int(text) <= 15, "an integer from -15 to 15")


def _value_of(name, value):
    if value is None:
        raise argparse.ArgumentTypeError(f"{name!r} must have a number, as in {name}=2")
    return value


def checked(value, is_allowed, allowed):
    """The value; raise unless it is allowed."""
    if not is_allowed:
        raise argparse.ArgumentTypeError(f"{value!r} must be {allowed}")
    return value
