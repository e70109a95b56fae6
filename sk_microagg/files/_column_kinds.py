"""What a column of a file holds, by its texts or its type: numbers, dates, categories, ..."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from sk_microagg._utils._decimals import decimals_of
from sk_microagg._utils._places import NO_NUMBER, POSITIONS, RowNames
from sk_microagg._utils._tables import SMALLEST_CODE, kind_of
from sk_microagg.files._columns import Column, Texts, moments_of, plain_type, texts_of, without_nan
from sk_microagg.files._format import Declared, Format
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.files._mistyped import (
    is_majority,
    no_date,
    refuse_other_notations,
    refuse_others,
    refuse_symbols,
    refuse_unclear_dates,
    refuse_undeclared_dates,
    refuse_zones,
)
from sk_microagg.files._notations import (
    UNITS,
    DateNotation,
    Dates,
    NumberNotation,
    Numbers,
    OrdinalNotation,
    likely_patterns,
)

TRUTH = r"^(?i:true|false|yes|no)$"

NOT_IN_ORDER = "is no value of its order", "are no values of its order"

# How dates of a type are written, by what they are multiples of.
PATTERNS = {"day": "%Y-%m-%d", "minute": "%Y-%m-%d %H:%M"}


def column_of_text(
    cells: pa.ChunkedArray,
    name: str,
    format: Format,
    declared: Declared,
    *,
    is_strict: bool,
    rows: RowNames = POSITIONS,
) -> Column:
    """Recognize the kind of a column of text, whose spaces at the ends are ignored.

    If it is strict, raise if most cells are numbers or dates, but not all, or if cells seem to be
    numbers or dates of another format; otherwise they are categories.
    """
    texts = Texts.from_cells(cells, format.missing_in(name), rows)
    if not texts.n_known:
        return Column(name, "empty", "all cells are missing", texts.cells)
    kind = declared.kinds.get(name)
    if kind is not None and (is_strict or kind == "category"):
        return DECLARED[kind](texts, name, format, declared)
    numbers = Numbers.from_texts(texts, format.decimal, format.thousands)
    if numbers.is_number.all() and numbers.have_one_symbol():
        return _numbers_or_codes(texts, name, numbers)
    dates = Dates.from_iso(texts)
    if dates.is_date.all() and dates.notation is not None:
        return _dates(texts, name, dates, _all(texts, "are ISO dates"))
    if texts.matches(TRUTH).all():
        how = _all(texts, "are truth values")
        return Column(name, "boolean", how, texts.cells)
    if is_strict:
        _refuse_mistyped(texts, name, format, numbers, dates)
    return Column(name, "category", "text", texts.cells)


def _refuse_mistyped(
    texts: Texts, name: str, format: Format, numbers: Numbers, dates: Dates
) -> None:
    """Raise if a column that is no other kind should not be categories without being asked."""
    if numbers.is_number.all():
        refuse_symbols(name, texts, numbers)
    if dates.is_date.all():
        refuse_zones(name, texts)
    if numbers.is_number.any() and numbers.have_leading_zeros():
        return
    refuse_other_notations(name, texts, texts.n_cells(numbers.is_number), format)
    if is_majority(texts, numbers.is_number):
        refuse_others(name, texts, numbers.is_number, NO_NUMBER)
    if is_majority(texts, dates.is_date):
        refuse_others(name, texts, dates.is_date, no_date("in ISO"))
    refuse_undeclared_dates(name, texts)


def _numbers_or_codes(texts: Texts, name: str, numbers: Numbers) -> Column:
    """Numbers, unless they are written as codes are."""
    if not numbers.symbol() and numbers.have_leading_zeros():
        how = "some have leading zeros, as codes have"
        return Column(name, "category", how, texts.cells)
    are_integers = not numbers.have_decimals()
    if are_integers and np.abs(numbers.values).max() >= SMALLEST_CODE:
        how = "some are integers of 2**53 or more, as codes are"
        return Column(name, "category", how, texts.cells)
    symbol = f" with {numbers.symbol()}" if numbers.symbol() else ""
    how = _all(texts, f"are {'integers' if are_integers else 'numbers'}{symbol}")
    return _column_of_numbers(texts, name, how, numbers)


def _column_of_numbers(texts: Texts, name: str, how: str, numbers: Numbers) -> Column:
    notation, values = numbers.notation(), numbers.values
    is_whole = np.abs(values) < SMALLEST_CODE if notation.decimals == 0 else np.zeros(1)
    kind = pa.int64() if is_whole.all() and not np.any(values % 1) else pa.float64()
    return Column(name, "number", how, texts.spread_cells(pa.array(values).cast(kind)), notation)


def _dates(texts: Texts, name: str, dates: Dates, how: str) -> Column:
    moments, notation = pa.array(dates.moments, pa.timestamp("us")), dates.notation
    is_day = notation is not None and notation.unit == "day"
    cells = texts.spread_cells(moments.cast(pa.date32()) if is_day else moments)
    return Column(name, "date", how, cells, notation)


def _declared_category(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    return Column(name, "category", "declared as categories", texts.cells)


def _declared_number(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    numbers = Numbers.from_texts(texts, format.decimal, format.thousands)
    if not numbers.is_number.all():
        refuse_other_notations(name, texts, texts.n_cells(numbers.is_number), format)
        refuse_others(name, texts, numbers.is_number, NO_NUMBER, "number")
    if not numbers.have_one_symbol():
        refuse_symbols(name, texts, numbers)
    return _column_of_numbers(texts, name, "declared as numbers", numbers)


def _declared_date(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    pattern = declared.date_patterns.get(name)
    if pattern is not None:
        dates = Dates.from_pattern(texts, pattern)
        if not dates.is_date.all():
            refuse_others(name, texts, dates.is_date, no_date(pattern), "date")
        return _dates(texts, name, dates, f"declared as dates, {pattern}")
    dates = Dates.from_iso(texts)
    if dates.is_date.all():
        if dates.notation is None:
            refuse_zones(name, texts)
        return _dates(texts, name, dates, "declared as dates, as in ISO")
    likely = likely_patterns(texts)
    if len(likely) != 1 or not all(dates.is_date.all() for dates in likely.values()):
        refuse_unclear_dates(name, texts, likely)
    [(pattern, dates)] = likely.items()
    return _dates(texts, name, dates, f"declared as dates, {pattern}")


def _declared_ordinal(texts: Texts, name: str, format: Format, declared: Declared) -> Column:
    numbers = Numbers.from_texts(texts, format.decimal, format.thousands)
    ranks, notation = _ranks(texts, name, numbers, declared.orders.get(name))
    codes = texts.spread_cells(pa.array(ranks, pa.int32())).combine_chunks()
    cells = pa.DictionaryArray.from_arrays(codes, pa.array(notation.levels), ordered=True)
    how = "declared as ordinal"
    return Column(name, "ordinal", how, pa.chunked_array([cells]), notation)


def _ranks(
    texts: Texts, name: str, numbers: Numbers, order: list | None
) -> tuple[np.ndarray, OrdinalNotation]:
    """The ranks of the different texts of a column; without an order, by that of numbers."""
    unique = texts.unique.to_pylist()
    if order is None:
        if not numbers.is_number.all():
            text = "{column}: {cells}, so that their order is unknown: {advice}."
            advice = (Option("not_in_order", Option("ordinal", ["low", "medium", "high"], name)),)
            cells = texts.in_words(~numbers.is_number, NO_NUMBER)
            raise RequestError("unknown_order", text, name, cells=cells, advice=advice)
        order = [unique[place] for place in np.argsort(numbers.values, kind="stable")]
    known = np.array([text in order for text in unique], dtype=bool)
    if not known.all():
        refuse_others(name, texts, known, NOT_IN_ORDER, "ordinal")
    rank_of = {text: rank for rank, text in enumerate(order)}
    ranks = np.array([rank_of[text] for text in unique], dtype=np.intp)
    return ranks, OrdinalNotation(order, np.arange(len(order)))


DECLARED = {
    "category": _declared_category,
    "number": _declared_number,
    "date": _declared_date,
    "ordinal": _declared_ordinal,
}


def _all(texts: Texts, what: str) -> str:
    """The words for what all cells are."""
    return f"all known cells {what}" if texts.n_missing else f"all {texts.n_known} cells {what}"


def column_of_type(
    cells: pa.ChunkedArray,
    name: str,
    format: Format,
    declared: Declared,
    *,
    rounds_floats: bool = True,
    rows: RowNames = POSITIONS,
) -> Column:
    """Recognize the kind of a column by its type; if asked to, find the decimals of floats."""
    kind = plain_type(cells)
    check_type(name, kind)
    cells = without_nan(cells.cast(kind) if pa.types.is_floating(kind) else cells)
    if cells.null_count == len(cells):
        return Column(name, "empty", "all cells are missing", cells)
    wanted = declared.kinds.get(name)
    if wanted == "category":
        return Column(name, "category", "declared as categories", cells)
    is_fit = {
        "number": pa.types.is_integer(kind) or pa.types.is_floating(kind),
        "date": pa.types.is_timestamp(kind) or pa.types.is_date(kind),
        None: True,
    }
    if not is_fit.get(wanted, False):
        texts = pa.chunked_array([pa.array(texts_of(cells), pa.string())])
        return column_of_text(texts, name, format, declared, is_strict=True, rows=rows)
    if wanted == "date" and name in declared.date_patterns:
        _refuse_pattern(name, declared.date_patterns[name], kind)
    column = _by_type(cells, name, is_declared=wanted is not None)
    if pa.types.is_floating(kind) and not rounds_floats:
        return replace(column, notation=NumberNotation())
    return column


def check_type(name: str, kind: pa.DataType) -> None:
    """Raise if a column has a type that cannot be anonymized."""
    if pa.types.is_nested(kind) or "binary" in str(kind):
        text = "Column {name!r} has type {type}, which cannot be anonymized: {advice}."
        facts = {"name": name, "type": kind, "advice": (Option("drop_it", column=name),)}
        raise RequestError("type", text, name, **facts)


def _refuse_pattern(name: str, pattern: str, kind: pa.DataType) -> None:
    """Raise, since a pattern says how text is read, and would have no effect."""
    raise RequestError(
        "needless_pattern",
        "{date}: the column holds dates already, of type {type}, and no text to read by a pattern: "
        "{advice}.",
        name,
        date=Option("date", pattern, name),
        type=kind,
        advice=(Option("no_pattern", Option("date", column=name)),),
    )


def _by_type(cells: pa.ChunkedArray, name: str, *, is_declared: bool) -> Column:
    """The column, whose type says what it holds."""
    kind = plain_type(cells)
    plain = cells.cast(kind)
    found = kind_of(pd.Series(pd.arrays.ArrowExtensionArray(plain), name=name))
    if pa.types.is_integer(kind) and (found == "number" or is_declared):
        return Column(name, "number", f"type {kind}", plain, NumberNotation(0))
    if found == "number":
        is_decimal = pa.types.is_decimal(kind)
        decimals = kind.scale if is_decimal else decimals_of(plain.to_numpy())
        return Column(name, "number", f"type {kind}", plain, NumberNotation(decimals))
    # Times of day and durations are no dates to a file.
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        notation = _notation_of_dates(moments_of(plain))
        return Column(name, "date", f"type {kind}", plain, notation)
    is_code = pa.types.is_integer(kind)
    how = "some are integers of 2**53 or more, as codes are" if is_code else f"type {kind}"
    return Column(name, "boolean" if found == "boolean" else "category", how, cells)


def _notation_of_dates(moments: np.ndarray) -> DateNotation:
    """The notation of dates that are written by no file: as in ISO."""
    known = moments[~np.isnat(moments)].astype(np.int64)
    sizes = {unit: size // UNITS["microsecond"] for unit, size in UNITS.items()}
    unit = next(unit for unit, size in sizes.items() if not np.any(known % size))
    return DateNotation(unit, PATTERNS.get(unit, "%Y-%m-%d %H:%M:%S"))


def why_no_numbers(values: pd.Series) -> str | None:
    """Why a column does not hold numbers without missing values; None if it does."""
    if values.dtype.kind not in "iuf":
        return "holds categories"
    return "has missing values" if values.isna().any() else None
