"""What a column of text holds, decided by its different texts: numbers, dates, categories, ..."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg.encoding._kinds import SMALLEST_CODE
from sk_microagg.files._cells import Column, Texts
from sk_microagg.files._date_notation import Dates, fitting_patterns
from sk_microagg.files._declared import Declared
from sk_microagg.files._format import Format
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.files._mistyped import (
    is_majority,
    refuse_other_notations,
    refuse_others,
    refuse_symbols,
    refuse_undeclared_dates,
    refuse_zones,
)
from sk_microagg.files._number_notation import Numbers
from sk_microagg.files._ordinal_notation import ordinal_of

TRUTH = r"^(?i:true|false|yes|no)$"


def column_of_text(
    cells: pa.ChunkedArray, name: str, format: Format, declared: Declared, *, is_strict: bool
) -> Column:
    """Recognize the kind of a column of text, whose spaces at the ends are ignored.

    If it is strict, raise if most cells are numbers or dates, but not all, or if cells seem to be
    numbers or dates of another format; otherwise they are categories.
    """
    texts = Texts.of(cells, format.missing)
    if not texts.n_known:
        return Column(name, "empty", "all cells are missing", texts.as_categories())
    kind = declared.kinds.get(name)
    if kind is not None and (is_strict or kind == "category"):
        return DECLARED[kind](texts, name, format, declared)
    numbers = Numbers.of(texts, format.decimal, format.thousands)
    if numbers.is_number.all() and len(numbers.symbols()) == 1:
        return _numbers_or_codes(texts, name, numbers)
    dates = Dates.of_iso(texts)
    if dates.is_date.all() and dates.notation is not None:
        return _dates(texts, name, dates, _all(texts, "are ISO dates"))
    if texts.matches(TRUTH).all():
        how = _all(texts, "are truth values")
        return Column(name, "boolean", how, texts.as_categories())
    if is_strict:
        _refuse_mistyped(texts, name, format, numbers, dates)
    return Column(name, "category", "text", texts.as_categories())


def _refuse_mistyped(
    texts: Texts, name: str, format: Format, numbers: Numbers, dates: Dates
) -> None:
    """Raise if a column that is no other kind should not be categories without being asked."""
    if numbers.is_number.all():
        refuse_symbols(name)
    if dates.is_date.all():
        refuse_zones(name)
    if numbers.is_number.any() and numbers.have_leading_zeros():
        return
    refuse_other_notations(name, texts, texts.n_cells(numbers.is_number), format)
    if is_majority(texts, numbers.is_number):
        refuse_others(name, texts, numbers.is_number, "numbers")
    if is_majority(texts, dates.is_date):
        refuse_others(name, texts, dates.is_date, "dates")
    refuse_undeclared_dates(name, texts)


def _numbers_or_codes(texts: Texts, name: str, numbers: Numbers) -> Column:
    """Numbers, unless they are written as codes are."""
    symbol = numbers.symbols()[0].replace("number", "")
    if not symbol and numbers.have_leading_zeros():
        return Column(
            name, "category", "some have leading zeros, as codes have", texts.as_categories()
        )
    values = numbers.values()
    are_integers = not numbers.have_decimals()
    if are_integers and np.abs(values).max() >= SMALLEST_CODE:
        how = "some are integers of 2**53 or more, as codes are"
        return Column(name, "category", how, texts.as_categories())
    what = "integers" if are_integers else "numbers"
    how = _all(texts, f"are {what}" + (f" with {symbol}" if symbol else ""))
    return _column_of_numbers(texts, name, how, numbers, values)


def _column_of_numbers(
    texts: Texts, name: str, how: str, numbers: Numbers, values: np.ndarray
) -> Column:
    values = texts.spread(values, np.nan)
    if not texts.n_missing and not numbers.have_decimals():
        values = values.astype(np.int64)
    return Column(name, "number", how, values, numbers.notation())


def _dates(texts: Texts, name: str, dates: Dates, how: str) -> Column:
    values = texts.spread(dates.values(), np.nan)
    return Column(name, "date", how, values, dates.notation)


def _declared_category(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    return Column(name, "category", "declared as categories", texts.as_categories())


def _declared_number(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    numbers = Numbers.of(texts, format.decimal, format.thousands)
    if not numbers.is_number.all():
        refuse_other_notations(name, texts, texts.n_cells(numbers.is_number), format)
        refuse_others(name, texts, numbers.is_number, "numbers", "number")
    if len(numbers.symbols()) > 1:
        refuse_symbols(name)
    return _column_of_numbers(texts, name, "declared as numbers", numbers, numbers.values())


def _declared_date(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    pattern = declared.date_patterns.get(name)
    if pattern is not None:
        dates = Dates.of_pattern(texts, pattern)
        if not dates.is_date.all():
            refuse_others(name, texts, dates.is_date, f"dates as {pattern}", "date")
        return _dates(texts, name, dates, f"declared as dates, {pattern}")
    dates = Dates.of_iso(texts)
    if dates.is_date.all():
        if dates.notation is None:
            refuse_zones(name)
        return _dates(texts, name, dates, "declared as dates, as in ISO")
    found = dict(fitting_patterns(texts))
    if len(found) > 1:
        advice = tuple(Option("date", pattern, name) for pattern in found)
        text = "{column}: day and month cannot be told apart: {advice}."
        raise RequestError("day_or_month", text, name, advice=advice)
    for pattern, dates in found.items():
        return _dates(texts, name, dates, f"declared as dates, {pattern}")
    if dates.is_date.any():
        refuse_others(name, texts, dates.is_date, "ISO dates", "date")
    text = "{column}: not all cells are dates of one common format: {advice}."
    advice = Option("say_pattern", Option("date", "%d %b %Y", name)), Option("name_missing")
    raise RequestError("unknown_dates", text, name, advice=advice)


def _declared_ordinal(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    numbers = Numbers.of(texts, format.decimal, format.thousands)
    ranks, notation = ordinal_of(texts, name, numbers, declared.orders.get(name))
    values = texts.spread(ranks, np.nan)
    return Column(name, "ordinal", "declared as ordinal", values, notation)


DECLARED = {
    "category": _declared_category,
    "number": _declared_number,
    "date": _declared_date,
    "ordinal": _declared_ordinal,
}


def _all(texts: Texts, what: str) -> str:
    """The words for what all cells are."""
    return f"all known cells {what}" if texts.n_missing else f"all {texts.n_known} cells {what}"


def why_no_numbers(values: pd.Series) -> str | None:
    """Why a column does not hold numbers without missing values; None if it does."""
    if values.dtype.kind not in "iuf":
        return "holds categories"
    return "has missing values" if values.isna().any() else None
