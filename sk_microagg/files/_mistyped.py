"""Messages about columns whose kind is not clear: what was found, and what to do."""

import re
from itertools import product

import numpy as np

from sk_microagg._utils._formatting import in_a_list
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import Message, Option, RequestError
from sk_microagg.files._notations import LIKE_A_DATE, SYMBOL, Column, Numbers, Texts

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
    name: str, texts: Texts, fits: np.ndarray, what: str, declared_by: str | None = None
) -> None:
    """Raise, since only the texts of a mask are `what`, as a parameter may declare of all."""
    about, is_minority = _about(texts.n_cells(fits), texts)
    facts = {"about": about, "what": what, "odd": _marker(texts, ~fits)}
    if declared_by == "ordinal":
        otherwise = Option("complete_order")
    elif declared_by:
        otherwise = Option("leave_out", declared_by)
    else:
        otherwise = Option("categorical", column=name)
    if is_minority:  # The others mean something, and are not missing values.
        advice = (otherwise,)
        raise RequestError(
            "few_fit", "{column}: {about} are {what}: {advice}.", name, advice=advice, **facts
        )
    if facts["odd"] is None:
        text = "{column}: {about} are {what}, some are not: {advice}."
        raise RequestError(
            "some_do_not_fit", text, name, advice=(Option("name_missing"), otherwise), **facts
        )
    text = "{column}: {about} are {what}, {odd!r} is not one: {advice}."
    raise RequestError(
        "marker_does_not_fit", text, name, advice=(Option("na", [facts["odd"]]), otherwise), **facts
    )


def refuse_other_notations(name: str, texts: Texts, n_numbers: int, format: Format) -> None:
    """Raise if more cells are numbers with other marks than those of the user."""
    if texts.n_cells(texts.matches(LIKE_A_NUMBER)) < SMALLEST_SHARE * texts.n_known:
        return
    by_marks = {
        (decimal, thousands): texts.n_cells(Numbers.from_texts(texts, decimal, thousands).is_number)
        for decimal, thousands in product(MARKS, SEPARATORS)
        if decimal != thousands
    }
    most = max(by_marks.values())
    if most <= n_numbers or most < SMALLEST_SHARE * texts.n_known:
        return
    # The fewest settings that differ from those in use; if several do, the user decides.
    best = [marks for marks, n_cells in by_marks.items() if n_cells == most]
    settings = dict.fromkeys(_settings(marks, format) for marks in best)
    fewest = min(map(len, settings))
    choices = [tuple(Option(*mark) for mark in each) for each in settings if len(each) == fewest]
    text = "{column}: {about} are numbers with other marks: {advice}."
    advice = (*choices, Option("categorical", column=name))
    about, _ = _about(most, texts)
    raise RequestError("other_marks", text, name, about=about, advice=advice)


def refuse_symbols(name: str) -> None:
    text = "{column}: its numbers have different symbols, or some have none: {advice}."
    advice = (Option("write_alike"), Option("categorical", column=name))
    raise RequestError("different_symbols", text, name, advice=advice)


def refuse_zones(name: str) -> None:
    text = "{column}: some times have a time zone and some have none: {advice}."
    advice = (Option("write_alike"), Option("categorical", column=name))
    raise RequestError("different_zones", text, name, advice=advice)


def refuse_undeclared_dates(name: str, texts: Texts) -> None:
    """Raise if most cells seem to be dates that are not written as in ISO."""
    n_dates = texts.n_cells(texts.matches(LIKE_A_DATE))
    if n_dates >= SMALLEST_SHARE * texts.n_known:
        advice = Option("date", column=name), Option("categorical", column=name)
        text = "{column}: {about} seem to be dates: {advice}."
        about, _ = _about(n_dates, texts)
        raise RequestError("undeclared_dates", text, name, about=about, advice=advice)


def hint_at_codes(columns: list[Column], declared: Declared, *, is_typed: bool) -> list[Message]:
    """Messages about numbers that may be codes for missing values or categories."""
    hints = []
    for column in columns:
        hints.append(hint_at_missing(column, is_typed=is_typed))
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


def hint_at_missing(column: Column, *, is_typed: bool) -> Message | None:
    """A message, without the name, about numbers or dates that may stand for missing values."""
    codes, is_far = _codes_for_missing(column)
    if codes:
        texts = [*map(column.notation.text, codes)]
        return Message(
            "codes_for_missing",
            "{codes}, unlike other values, may stand for missing values: {advice}; "
            "otherwise it is averaged as a {kind}.",
            column.name,
            codes=in_a_list(texts),
            advice=(Option("replace_by_null") if is_typed else Option("na", texts),),
            kind=column.kind,
        )
    if is_far:
        # The number is not quoted: it is what few people have, or one.
        return Message(
            "far_value",
            "the smallest or largest value is very far from all others: if it stands for missing "
            "values, {advice}.",
            column.name,
            advice=(Option("replace_by_null" if is_typed else "pass_to_na"),),
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


def _codes_for_missing(column: Column) -> tuple[list, bool]:
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


def _about(n_cells: int, texts: Texts) -> tuple[str, bool]:
    """A number of known cells and that of all, in words, and whether these are a minority."""
    if texts.n_known < 2 * STEP:
        return "some cells", False
    n_cells, n_known = (STEP * round(n / STEP) for n in (n_cells, texts.n_known))
    return f"about {n_cells} of {n_known} cells", n_cells < SMALLEST_SHARE * n_known


def _marker(texts: Texts, odd: np.ndarray) -> str | None:
    """The most frequent odd text that marks missing values, or None: others may be one person's."""
    found = [
        place for place in np.flatnonzero(odd) if texts.unique[place].as_py().lower() in MARKERS
    ]
    return texts.unique[max(found, key=texts.counts.__getitem__)].as_py() if found else None


def _settings(marks: tuple, format: Format) -> tuple:
    """Names and values of the parameters that change the marks in use to others."""
    wanted = {"decimal": marks[0], "thousands": marks[1] or format.thousands}
    return tuple((name, mark) for name, mark in wanted.items() if mark != getattr(format, name))
