"""Messages about columns whose kind is not clear: what was found, and what to do."""

import re
from itertools import product

import numpy as np

from sk_microagg._utils._formatting import in_a_list
from sk_microagg._utils._places import POSITIONS, RowNames, in_rows
from sk_microagg.files._columns import Column, Texts
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import Message, Option, RequestError
from sk_microagg.files._notations import LIKE_A_DATE, SYMBOL, Dates, Numbers, likely_patterns

# From this share on, cells that are numbers make the others suspicious.
SMALLEST_SHARE = 0.5

# The time zone at the end of a moment as in ISO.
ZONE = r"(Z|[+-]\d\d:\d\d)$"

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
# More levels of education than this are years of it, of which nobody has more than that.
MOST_LEVELS, MOST_YEARS = 10, 25
WORD_FOR_CODES = re.compile(
    r"(?<![a-z0-9])(?:state|st|county|country|region|district|province|zip|postcode|fips|mar|marst"
    r"|marstat|marital|status|race|gender|language|birthplace|relationship|industry|sector|code|type"
    r"|category|diagnosis|ward|hospital|school|(?:educ|sex|ethnic|relig|nationalit|citizen|occup)[a-z]*)"
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


def is_majority(texts: Texts, mask: np.ndarray) -> bool:
    n_cells = texts.n_cells(mask)
    return SMALLEST_SHARE * texts.n_known <= n_cells < texts.n_known


def refuse_others(
    name: str,
    texts: Texts,
    fits: np.ndarray,
    what: tuple[str, str],
    declared_by: str | None = None,
) -> None:
    """Raise, since the texts that do not fit are `what`, but a parameter may declare all others."""
    cells = texts.in_words(~fits, what)
    if declared_by == "ordinal":
        otherwise = Option("complete_order")
    elif declared_by:
        otherwise = Option("leave_out", declared_by)
    else:
        otherwise = Option("categorical", column=name)
    # If most do not fit, they mean something, and are not missing values.
    is_minority = texts.n_cells(fits) < SMALLEST_SHARE * texts.n_known
    advice = (otherwise,) if is_minority else (_texts_to_name(name), otherwise)
    raise RequestError(
        "do_not_fit", "{column}: {cells}: {advice}.", name, cells=cells, advice=advice
    )


def no_date(pattern: str) -> tuple[str, str]:
    """What is said of cells that are no dates of a pattern."""
    return f"is no date as {pattern}", f"are no dates as {pattern}"


def refuse_other_notations(name: str, texts: Texts, n_numbers: int, format: Format) -> None:
    """Raise if more cells are numbers with other marks than those of the user."""
    if texts.n_cells(texts.matches(LIKE_A_NUMBER)) < SMALLEST_SHARE * texts.n_known:
        return
    by_marks = {
        (decimal, thousands): Numbers.from_texts(texts, decimal, thousands).is_number
        for decimal, thousands in product(MARKS, SEPARATORS)
        if decimal != thousands
    }
    n_cells = {marks: texts.n_cells(is_number) for marks, is_number in by_marks.items()}
    most = max(n_cells.values())
    if most <= n_numbers or most < SMALLEST_SHARE * texts.n_known:
        return
    # The fewest settings that differ from those in use; if several do, the user decides.
    best = [marks for marks in by_marks if n_cells[marks] == most]
    settings = dict.fromkeys(_settings(marks, format) for marks in best)
    fewest = min(map(len, settings))
    choices = [tuple(Option(*mark) for mark in each) for each in settings if len(each) == fewest]
    advice = (*choices, Option("categorical", column=name))
    what = "is a number with other marks", "are numbers with other marks"
    cells = texts.most_in_words(by_marks[best[0]], what)
    raise RequestError(
        "other_marks", "{column}: {cells}: {advice}.", name, cells=cells, advice=advice
    )


def refuse_symbols(name: str, texts: Texts, numbers: Numbers) -> None:
    """Raise, since all texts are numbers, but not with the same symbol."""
    symbols = numbers.symbols
    usual = max({*symbols}, key=lambda symbol: (texts.n_cells(symbols == symbol), symbol))
    what = "has another symbol than most, or none", "have other symbols than most, or none"
    advice = (Option("write_alike"), Option("categorical", column=name))
    cells = texts.in_words(symbols != usual, what)
    raise RequestError(
        "different_symbols", "{column}: {cells}: {advice}.", name, cells=cells, advice=advice
    )


def refuse_zones(name: str, texts: Texts) -> None:
    """Raise, since all texts are dates, but only some have a time zone."""
    are_odd, what = texts.matches(ZONE), ("has a time zone", "have a time zone")
    if 2 * texts.n_cells(are_odd) > texts.n_known:
        are_odd, what = ~are_odd, ("has no time zone", "have no time zone")
    advice = (Option("write_alike"), Option("categorical", column=name))
    cells = texts.in_words(are_odd, what)
    text = "{column}: {cells}, unlike the others: {advice}."
    raise RequestError("different_zones", text, name, cells=cells, advice=advice)


def refuse_undeclared_dates(name: str, texts: Texts) -> None:
    """Raise if most cells seem to be dates that are not written as in ISO; say how they are."""
    seem_dates = texts.matches(LIKE_A_DATE)
    if texts.n_cells(seem_dates) < SMALLEST_SHARE * texts.n_known:
        return
    likely, otherwise = likely_patterns(texts), Option("categorical", column=name)
    if not likely:
        cells = texts.most_in_words(seem_dates, ("seems to be a date", "seem to be dates"))
        advice = (_pattern_to_say(name), otherwise)
        text = "{column}: {cells}: {advice}."
        raise RequestError("undeclared_dates", text, name, cells=cells, advice=advice)
    shown = " or ".join(likely)
    [fits, *_] = (dates.is_date for dates in likely.values())
    what = f"seems to be a date as {shown}", f"seem to be dates as {shown}"
    cells, advice = texts.most_in_words(fits, what), (*_patterns(name, likely), otherwise)
    text = "{column}: {cells}: {advice}."
    if not fits.all():
        text = "{column}: {cells}: {missing}, and {advice}."
    missing = (_texts_to_name(name),)
    facts = {"cells": cells, "advice": advice, "missing": missing}
    raise RequestError("undeclared_dates", text, name, **facts)


def refuse_unclear_dates(name: str, texts: Texts, likely: dict[str, Dates]) -> None:
    """Raise, since texts that are declared as dates are none, or several of the likely patterns."""
    iso = Dates.from_iso(texts)
    if texts.n_cells(iso.is_date) >= SMALLEST_SHARE * texts.n_known:
        refuse_others(name, texts, iso.is_date, no_date("in ISO"), "date")
    if len(likely) > 1:
        text = "{column}: day and month cannot be told apart: {advice}."
        raise RequestError("day_or_month", text, name, advice=_patterns(name, likely))
    for pattern, dates in likely.items():
        refuse_others(name, texts, dates.is_date, no_date(pattern), "date")
    text = "{column}: its cells are dates of no common pattern: {advice}."
    advice = _pattern_to_say(name), Option("leave_out", "date")
    raise RequestError("unknown_dates", text, name, advice=advice)


def _patterns(name: str, likely: dict[str, Dates]) -> tuple:
    return tuple(Option("date", pattern, name) for pattern in likely)


def _texts_to_name(name: str) -> Option:
    return Option("name_missing", Option("na", ["TEXT"], name))


def _pattern_to_say(name: str) -> Option:
    return Option("say_pattern", Option("date", "%d %b %Y", name))


def hint_at_codes(
    columns: list[Column], declared: Declared, *, is_typed: bool, rows: RowNames = POSITIONS
) -> list[Message]:
    """Messages about numbers that may be codes for missing values or categories."""
    hints = []
    for column in columns:
        hints.append(hint_at_missing(column, is_typed=is_typed, rows=rows))
        hints.append(None if column.name in declared.kinds else hint_at_categories(column))
    return [
        Message(hint.code, "{column}: " + hint.text, hint.column, **hint.facts)
        for hint in hints
        if hint is not None
    ]


def say_what_is_omitted(columns: list[Column]) -> list[Message]:
    """Messages about symbols and thousands separators of numbers, which are not released."""
    text = "{column}: its numbers are released without {omitted}."
    written = [(column, getattr(column.notation, "omitted", "")) for column in columns]
    return [Message("omitted", text, c.name, omitted=omitted) for c, omitted in written if omitted]


def hint_at_missing(
    column: Column, *, is_typed: bool, rows: RowNames = POSITIONS
) -> Message | None:
    """A message, without the name, about numbers or dates that may stand for missing values."""
    codes, is_far = _codes_for_missing(column)
    if codes:
        texts = [*map(column.notation.text, codes)]
        return Message(
            "codes_for_missing",
            "{codes}, unlike other values, may stand for missing values, {where}: {advice}; "
            "otherwise it is averaged as a {kind}.",
            column.name,
            codes=in_a_list(texts),
            where=in_rows(np.flatnonzero(np.isin(column.numbers, codes)), rows),
            advice=(Option("replace_by_null") if is_typed else Option("na", texts, column.name),),
            kind=column.kind,
        )
    if is_far:
        # The number is not quoted: it is what few people have, or one.
        end = np.nanmax(column.numbers) if is_far > 0 else np.nanmin(column.numbers)
        return Message(
            "far_value",
            "the {end} value, {where}, is very far from all others: if it stands for missing "
            "values, {advice}.",
            column.name,
            end="largest" if is_far > 0 else "smallest",
            where=in_rows(np.flatnonzero(column.numbers == end), rows),
            advice=(Option("replace_by_null") if is_typed else _texts_to_name(column.name),),
        )
    return None


def hint_at_categories(column: Column) -> Message | None:
    """A message, without the name, about integers that may be codes of categories."""
    if column.kind != "number":
        return None
    known = np.setdiff1d(_known(column), _codes_for_missing(column)[0])
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column.name).lower()
    if not _are_integers(known) or WORD_FOR_QUANTITIES.search(name):
        return None
    is_named_so = WORD_FOR_CODES.search(name) and len(known) <= MOST_CODES
    if is_named_so and len(known) > MOST_LEVELS and known[-1] <= MOST_YEARS:
        is_named_so = not ("educ" in name or (known[0] == 0 and "school" in name))
    are_two = known.tolist() == [1, 2] and len(column.values) >= FEWEST_CELLS
    if not is_named_so and not are_two:
        return None
    text = "its few integers may be codes, whose mean is meaningless: {advice}."
    advice = (Option("categorical", column=column.name),)
    return Message("codes_of_categories", text, column.name, advice=advice)


def _known(column: Column) -> np.ndarray:
    # As floats: differences of unsigned integers would overflow.
    return np.unique(column.numbers[~np.isnan(column.numbers)]).astype(np.float64)


def _codes_for_missing(column: Column) -> tuple[list, int]:
    """Typical codes at the ends of the values; 1 if the largest integer is far from all, or -1."""
    if column.kind not in CODES:
        return [], 0
    known, is_date = _known(column), column.kind == "date"
    is_code = np.isin(column.notation.moments(known) if is_date else known, CODES[column.kind])
    rest = known[
        np.logical_or.accumulate(~is_code) & np.logical_or.accumulate(~is_code[::-1])[::-1]
    ]
    if len(rest) < (FEWEST_VALUES if is_date else 2):
        return [], 0
    is_apart = _is_date_apart if is_date else _is_number_apart
    ends = known[(known < rest[0]) | (known > rest[-1])]
    codes = [code for code in ends if is_apart(code, rest)]
    if is_date or len(rest) < FEWEST_VALUES or not _are_integers(rest):
        return codes, 0
    gaps = np.diff(rest)
    if gaps[-1] > FAR * (rest[-2] - rest[0]):
        return codes, 1
    return codes, -int(gaps[0] > FAR * (rest[-1] - rest[1]))


def _is_number_apart(code: float, rest: np.ndarray) -> bool:
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


def _is_date_apart(code: float, rest: np.ndarray) -> bool:
    """Whether a code below or above sorted dates is none of them."""
    least = GAP_OF_GAPS_OF_DATES * np.diff(rest).max()
    span = rest[-1] - rest[0]
    below, above = rest[0] - code, code - rest[-1]
    return below >= max(GAP_BELOW_DATES * span, least) or above >= max(
        GAP_ABOVE_DATES * span, least
    )


def _are_integers(numbers: np.ndarray) -> bool:
    return bool(np.all(numbers == np.rint(numbers)))


def _settings(marks: tuple, format: Format) -> tuple:
    """Names and values of the parameters that change the marks in use to others."""
    wanted = {"decimal": marks[0], "thousands": marks[1] or format.thousands}
    return tuple((name, mark) for name, mark in wanted.items() if mark != getattr(format, name))
