"""Lines for columns whose kind is not clear: what was found, and what to do."""

import re
import shlex
from itertools import product

import numpy as np

from sk_microagg._cli._dates import LIKE_A_DATE
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._numbers import SYMBOL, Numbers
from sk_microagg._utils._formatting import shown

# Texts that are used for missing values, in lower case.
MARKERS = {"n/a", "#n/a", "#na", "<na>", "n.a.", "na", "none", "nil", "nan", "null", "missing"}
MARKERS |= {"unknown", "unk", "not available", "not applicable", "k.a.", "#null!", "#value!"}
MARKERS |= {"-", "--", "---", ".", "..", "...", "/", "#", "–", "—"}

# Counts in messages are rounded to multiples of this: exact ones tell of single records.
STEP = 5

# From this share on, cells that are numbers make the others suspicious.
SMALLEST_SHARE = 0.5

# Numbers and dates that are used for missing values: no measurement of a person.
CODES = {
    "number": [-1, -9, -99, -999, -9999, 99, 999, 9999, 99999],
    "date": np.array(["1900-01-01", "1970-01-01", "9999-12-31"], dtype="datetime64[us]"),
}

# They are taken for codes if they are this far from other values, as a share of their span: people
# may be 99, but not -9. Any other integer has to be far away, as incomes have long tails.
GAP_ABOVE, GAP_BELOW = 0.5, 0.1
FAR = 10.0
FEWEST_VALUES = 4

# Names of columns whose integers are codes of categories, if there are not more than this many.
MOST_CODES = 100
WORDS_FOR_CODES = {
    "state",
    "county",
    "country",
    "region",
    "district",
    "province",
    "zip",
    "postcode",
}
WORDS_FOR_CODES |= {
    "marital",
    "status",
    "race",
    "ethnicity",
    "sex",
    "gender",
    "religion",
    "language",
}
WORDS_FOR_CODES |= {
    "nationality",
    "citizenship",
    "relationship",
    "occupation",
    "industry",
    "sector",
}
WORDS_FOR_CODES |= {"code", "type", "category", "diagnosis", "ward", "hospital", "school", "fips"}

MARKS = [".", ","]
SEPARATORS: list = [
    None,
    ",",
    ".",
    " ",
    "'",
    "\N{RIGHT SINGLE QUOTATION MARK}",
    "\N{NO-BREAK SPACE}",
    "\N{NARROW NO-BREAK SPACE}",
]

# What may be a number with one of these marks, to look closer at.
LIKE_A_NUMBER = rf"^[+-]?(?:{SYMBOL})?[\d{re.escape(''.join(SEPARATORS[1:]))}]+(?:{SYMBOL})?$"


def are_most(texts, is_of_them):
    """Whether most cells, but not all, have one of the texts that are marked."""
    n_cells = texts.n_cells(is_of_them)
    return SMALLEST_SHARE * texts.n_known <= n_cells < texts.n_known


def refuse_others(name, texts, fits, what, declared_by=None):
    """Raise, since some cells are not what the others are.

    Parameters
    ----------
    name : str
        Name of the column.

    texts : Texts
        Its texts.

    fits : ndarray of bool
        The texts that are as they should be.

    what : str
        What these are, in the plural, such as "numbers".

    declared_by : str or None, default=None
        The option by which the user says that all are.
    """
    found = f"{_about(texts.n_cells(fits), texts)} are {what}"
    odd = _marker(texts, ~fits)
    if declared_by == "--ordinal":
        otherwise = "complete the order"
    elif declared_by:
        otherwise = f"leave out {declared_by}"
    else:
        otherwise = f"use --categorical {shell(name)} to take all as categories"
    if odd is None:
        advice = f"name texts that mean missing by --na, or {otherwise}"
        raise CommandError(f"{shown(name)}: {found}, some are not: {advice}.")
    raise CommandError(
        f"{shown(name)}: {found}, {odd!r} is not one: use {_na(odd)}; or {otherwise}."
    )


def refuse_other_notations(name, texts, n_numbers, format):
    """Raise if more cells are numbers with other marks than those of the user."""
    if texts.n_cells(texts.matches(LIKE_A_NUMBER)) < SMALLEST_SHARE * texts.n_known:
        return
    by_marks = {
        (decimal, thousands): texts.n_cells(Numbers.of(texts, decimal, thousands).is_number)
        for decimal, thousands in product(MARKS, SEPARATORS)
        if decimal != thousands
    }
    most = max(by_marks.values())
    if most <= n_numbers or most < SMALLEST_SHARE * texts.n_known:
        return
    # The fewest settings that differ from those in use; if several do, the user decides.
    best = [marks for marks, n_cells in by_marks.items() if n_cells == most]
    options = [_options(marks, format) for marks in best]
    fewest = min(map(len, options))
    advice = dict.fromkeys(" ".join(words) for words in options if len(words) == fewest)
    which = ", whichever is meant" if len(advice) > 1 else ""
    raise CommandError(
        f"{shown(name)}: {_about(most, texts)} are numbers with other marks: use "
        f"{' or '.join(advice)}{which}; or --categorical {shell(name)}."
    )


def refuse_symbols(name):
    """Raise, since numbers have different symbols."""
    raise CommandError(
        f"{shown(name)}: its numbers have different symbols, or some have none: write them alike, "
        f"or use --categorical {shell(name)}."
    )


def refuse_undeclared_dates(name, texts):
    """Raise if most cells seem to be dates that are not written as in ISO."""
    n_dates = texts.n_cells(texts.matches(LIKE_A_DATE))
    if n_dates >= SMALLEST_SHARE * texts.n_known:
        raise CommandError(
            f"{shown(name)}: {_about(n_dates, texts)} seem to be dates: use --date {shell(name)}, "
            f"or --categorical {shell(name)}."
        )


def hints_about(column, *, is_typed, is_declared=False):
    """Lines about numbers that may be codes: for missing values, or for categories."""
    if column.kind not in ("number", "date"):
        return []
    known = np.unique(column.values[~np.isnan(column.values)])
    name = shown(column.name)
    lines = []
    codes, is_far = _codes_for_missing(known, column)
    if codes:
        texts = [*map(column.notation.text, codes)]
        advice = "replace it by null" if is_typed else f"use {_na(*texts)}"
        lines.append(
            f"{name}: {' and '.join(texts)}, far from other values, may stand for missing values: "
            f"{advice}, or it is averaged as it is."
        )
    elif is_far:
        # The number is not quoted: it is what few people have, or one.
        advice = "replace it by null" if is_typed else "name it by --na"
        lines.append(
            f"{name}: the smallest or largest value is very far from all others: if it stands for "
            f"missing values, {advice}."
        )
    words = {*re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column.name).lower())}
    is_named_so = bool(words & WORDS_FOR_CODES) and not is_declared and column.kind == "number"
    if is_named_so and len(known) <= MOST_CODES and _are_integers(known):
        lines.append(
            f"{name}: its few integers may be codes, of which a mean means nothing: use "
            f"--categorical {shell(column.name)}."
        )
    return lines


def _codes_for_missing(known, column):
    """Typical codes at the ends of sorted values, and whether another integer is far from all."""
    is_date = column.kind == "date"
    is_code = np.isin(column.notation.moments(known) if is_date else known, CODES[column.kind])
    rest = known[
        np.logical_or.accumulate(~is_code) & np.logical_or.accumulate(~is_code[::-1])[::-1]
    ]
    if len(rest) < FEWEST_VALUES:
        return [], False
    gaps, span = np.diff(rest), rest[-1] - rest[0]
    below, above = known[known < rest[0]], known[known > rest[-1]]
    least = 2 * gaps.max()
    codes = [
        *below[rest[0] - below >= max(GAP_BELOW * span, least)],
        *above[above - rest[-1] >= max(GAP_ABOVE * span, least)],
    ]
    is_far = gaps[-1] > FAR * (rest[-2] - rest[0]) or gaps[0] > FAR * (rest[-1] - rest[1])
    return codes, is_far and not is_date and _are_integers(rest)


def _are_integers(numbers):
    return bool(np.all(numbers == np.rint(numbers)))


def shell(text):
    """A name as one types it on the command line."""
    return shlex.quote(f'"{text}"' if "," in text else text)


def _about(n_cells, texts):
    """A number of known cells and that of all, in words."""
    if texts.n_known < 2 * STEP:
        return "some cells"
    n_cells, n_known = (STEP * round(n / STEP) for n in (n_cells, texts.n_known))
    return f"about {n_cells} of {n_known} cells"


def _marker(texts, odd):
    """The most frequent of some texts that is used for missing values; None if there is none.

    Others are not quoted, since they may be what a single person has.
    """
    found = [
        place for place in np.flatnonzero(odd) if texts.unique[place].as_py().lower() in MARKERS
    ]
    return texts.unique[max(found, key=texts.counts.__getitem__)].as_py() if found else None


def _na(*texts):
    listed = ",".join(f'"{text}"' if "," in text else text for text in texts)
    return f"--na{'=' if listed.startswith('-') else ' '}{shlex.quote(listed)}"


def _options(marks, format):
    """The options that change the marks in use to others."""
    decimal, thousands = marks
    words = []
    if decimal != format.decimal:
        words.append(f"--decimal {shlex.quote(decimal)}")
    if thousands is not None and thousands != format.thousands:
        words.append(f"--thousands {shlex.quote(thousands)}")
    return words
