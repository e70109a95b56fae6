"""Lines for columns whose kind is not clear: what was found, and what to do."""

import re
import shlex
from itertools import product

import numpy as np

from sk_microagg._cli._terminal import WARNING
from sk_microagg._utils._formatting import in_a_list, shown
from sk_microagg.files._date_notation import LIKE_A_DATE
from sk_microagg.files._errors import CommandError
from sk_microagg.files._number_notation import SYMBOL, Numbers

# Texts that are used for missing values, in lower case.
MARKERS = {"n/a", "#n/a", "#na", "<na>", "n.a.", "na", "none", "nil", "nan", "null", "missing"}


MARKERS |= {"unknown", "unk", "not available", "not applicable", "k.a.", "#null!", "#value!"}
MARKERS |= {"-", "--", "---", ".", "..", "...", "/", "#", "–", "—"}

# Counts in messages are rounded to multiples of this: exact ones tell of single records.
STEP = 5

# From this share on, cells that are numbers make the others suspicious.
SMALLEST_SHARE = 0.5

# Numbers and dates that are used for missing values: no measurement of a person. The numbers repeat
# 7, 8 or 9, as 77, 888 or -9, or end in .9, as 99.9.
REPEATED = [float(digit * n) for digit in "789" for n in range(1, 7)]
REPEATED += [float(f"{'9' * n}.9") for n in range(2, 6)]
CODES = {
    "number": np.array([-1, *REPEATED, *(-code for code in REPEATED)]),
    "date": np.array(["1900-01-01", "1970-01-01", "9999-12-31"], dtype="datetime64[us]"),
}

# They are taken for codes if they are this far from other values, as a share of themselves, as a
# share of the span of the others (of one digit: all of it), and in gaps between these: people may
# be 99. Any other integer has to be far away, as incomes have long tails.
GAP_OF_CODE, GAP_OF_SPAN, GAP_OF_GAPS = 0.2, 0.25, 3.0
GAP_ABOVE_DATES, GAP_BELOW_DATES, GAP_OF_GAPS_OF_DATES = 0.5, 0.1, 2.0
FAR = 10.0
FEWEST_VALUES = 4

# Names of columns whose integers are codes of categories, if there are not more than this many: a
# word of a name is one of these, or starts with a stem. Other words say that they are quantities.
# 1 and 2 are codes whatever the name, but not in a few cells.
MOST_CODES = 100
FEWEST_CELLS = 10
WORD_FOR_CODES = re.compile(
    r"(?<![a-z0-9])(?:state|st|county|country|region|district|province|zip|postcode|fips|mar|marst"
    r"|marstat|marital|status|race|gender|language|relationship|industry|sector|code|type|category"
    r"|diagnosis|ward|hospital|school|(?:educ|sex|ethnic|relig|nationalit|citizen|occup)[a-z]*)"
    r"(?![a-z])"
)
WORD_FOR_QUANTITIES = re.compile(
    r"(?<![a-z])(?:n|num|number|counts?|total|sum|mean|average|avg|median|rates?|ratio|share"
    r"|percent|percentage|pct|scores?|points|index|amount|value|size|ages?|years?|months?|weeks?"
    r"|days?|hours?|minutes?|time|duration|income|wage|salary|costs?|price|sales|tax|weight|height"
    r"|length|distance|area|population|visits|children|members)(?![a-z])"
)

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


def hint_at_codes(columns, declared, progress, *, is_typed):
    """Say which numbers may be codes for missing values or categories, a line for each column."""
    for column in columns:
        is_declared = column.name in declared.kinds
        for line in hints_about(column, is_typed=is_typed, is_declared=is_declared):
            progress.say(f"{WARNING}{shown(column.name)}: {line}")


def hints_about(column, *, is_typed, is_declared=False):
    """Lines about numbers that may be codes for missing values or categories, without the name."""
    about_categories = None if is_declared else hint_at_categories(column)
    return [line for line in (hint_at_missing(column, is_typed=is_typed), about_categories) if line]


def hint_at_missing(column, *, is_typed):
    """A line about numbers or dates that may stand for missing values, or None."""
    codes, is_far = _codes_for_missing(column)
    if codes:
        texts = [*map(column.notation.text, codes)]
        advice = "replace it by null" if is_typed else f"use {_na(*texts)}"
        return (
            f"{in_a_list(texts)}, unlike other values, may stand for missing values: {advice}; "
            f"otherwise it is averaged as a {column.kind}."
        )
    if is_far:
        # The number is not quoted: it is what few people have, or one.
        advice = "replace it by null" if is_typed else "pass it to --na"
        return (
            "the smallest or largest value is very far from all others: if it stands for missing "
            f"values, {advice}."
        )
    return None


def hint_at_categories(column):
    """A line about integers that may be codes of categories, or None."""
    if column.kind != "number":
        return None
    known = np.setdiff1d(_known(column), _codes_for_missing(column)[0])
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column.name).lower()
    if not _are_integers(known) or WORD_FOR_QUANTITIES.search(name):
        return None
    is_named_so = WORD_FOR_CODES.search(name) and len(known) <= MOST_CODES
    are_two = known.tolist() == [1, 2] and len(column.values) >= FEWEST_CELLS
    if not is_named_so and not are_two:
        return None
    return (
        "its few integers may be codes, whose mean is meaningless: use --categorical "
        f"{shell(column.name)}."
    )


def _known(column):
    # As floats: differences of unsigned integers would overflow.
    return np.unique(column.values[~np.isnan(column.values)]).astype(np.float64)


def _codes_for_missing(column):
    """Typical codes at the ends of the values, and whether another integer is far from all."""
    if column.kind not in CODES:
        return [], False
    known, is_date = _known(column), column.kind == "date"
    is_code = np.isin(column.notation.moments(known) if is_date else known, CODES[column.kind])
    rest = known[
        np.logical_or.accumulate(~is_code) & np.logical_or.accumulate(~is_code[::-1])[::-1]
    ]
    if len(rest) < (FEWEST_VALUES if is_date else 2):
        return [], False
    is_apart = _is_date_apart if is_date else _is_number_apart
    ends = known[(known < rest[0]) | (known > rest[-1])]
    codes = [code for code in ends if is_apart(code, rest)]
    if is_date or len(rest) < FEWEST_VALUES or not _are_integers(rest):
        return codes, False
    gaps = np.diff(rest)
    is_far = gaps[-1] > FAR * (rest[-2] - rest[0]) or gaps[0] > FAR * (rest[-1] - rest[1])
    return codes, bool(is_far)


def _is_number_apart(code, rest):
    """Whether a code below or above sorted numbers is none of them."""
    if code < 0 <= rest[0]:
        return code < -1 or rest[-1] > 1  # -1, 0 and 1 are a scale
    span = rest[-1] - rest[0]
    least = [
        GAP_OF_CODE * abs(code),
        span if abs(code) < 10 else GAP_OF_SPAN * span,
        GAP_OF_GAPS * np.diff(rest).max(),
    ]
    return max(rest[0] - code, code - rest[-1]) >= max(least)


def _is_date_apart(code, rest):
    least = GAP_OF_GAPS_OF_DATES * np.diff(rest).max()
    span = rest[-1] - rest[0]
    below, above = rest[0] - code, code - rest[-1]
    return below >= max(GAP_BELOW_DATES * span, least) or above >= max(
        GAP_ABOVE_DATES * span, least
    )


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
