"""The cells of a column as different texts, each looked at once."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._formatting import shown
from sk_microagg.encoding._kinds import SMALLEST_CODE
from sk_microagg.files._date_notation import Dates, fitting_patterns
from sk_microagg.files._errors import CommandError
from sk_microagg.files._mistyped import (
    are_most,
    refuse_other_notations,
    refuse_others,
    refuse_symbols,
    refuse_undeclared_dates,
    shell,
)
from sk_microagg.files._number_notation import Numbers
from sk_microagg.files._ordinal_notation import ordinal_of

TRUTH = r"^(?i:true|false|yes|no)$"


@dataclass(frozen=True)
class Texts:
    """The different texts of a column, without spaces around them."""

    unique: pa.Array
    codes: np.ndarray

    @classmethod
    def of(cls, cells, missing):
        """Take them from a column.

        Parameters
        ----------
        cells : pyarrow.ChunkedArray of str
            The column.

        missing : tuple of str
            Texts that mean that a value is missing.

        Returns
        -------
        texts : Texts
            Its texts.
        """
        encoded = without_missing(cells, missing).combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):  # as pyarrow returns columns without a chunk
            encoded = encoded.combine_chunks()
        return cls(encoded.dictionary, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False))

    @property
    def n_missing(self):
        """Number of cells that are missing."""
        return int(np.count_nonzero(self.codes < 0))

    @property
    def n_known(self):
        """Number of cells that are not missing."""
        return len(self.codes) - self.n_missing

    @property
    def counts(self):
        """How often each text occurs, as an array of integers."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.unique))

    def matches(self, pattern):
        """Whether each text matches a regular expression, as an array of bool."""
        found = pc.match_substring_regex(self.unique, pattern)
        return found.to_numpy(zero_copy_only=False).astype(bool)

    def n_cells(self, is_of_them):
        """Number of cells whose text is one of those that are marked."""
        return int(self.counts[is_of_them].sum())

    def spread(self, values, missing):
        """Values of all cells, given those of the different texts and that of a missing cell."""
        return np.append(values, missing)[self.codes]

    def as_categories(self):
        """The texts of all cells, None for missing ones."""
        values = np.empty(len(self.unique) + 1, dtype=object)
        values[:-1] = self.unique.to_pylist()
        return values[self.codes]


def without_missing(cells, missing):
    """The cells without spaces around them, null where they are missing."""
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(cells, pa.array(missing, cells.type)), None, cells)


@dataclass(frozen=True)
class Column:
    """A column, its kind and its values."""

    name: str
    kind: str
    how: str
    values: np.ndarray
    notation: object = None
    type: object = None


def column_of_text(cells, name, format, declared, *, is_strict):
    """Recognize the kind of a column of text.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray of str
        The text. Spaces around it are ignored.

    name : str
        Its name.

    format : Format
        How cells are written.

    declared : Declared
        What the user says.

    is_strict : bool
        Whether to raise if most cells are numbers or dates, but not all, or if cells seem to be
        numbers or dates of another format; otherwise they are categories.

    Returns
    -------
    column : Column
        The column.
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


def _refuse_mistyped(texts, name, format, numbers, dates):
    if numbers.is_number.all():
        refuse_symbols(name)
    if dates.is_date.all():
        _refuse_zones(name)
    if numbers.is_number.any() and numbers.have_leading_zeros():
        return
    refuse_other_notations(name, texts, texts.n_cells(numbers.is_number), format)
    if are_most(texts, numbers.is_number):
        refuse_others(name, texts, numbers.is_number, "numbers")
    if are_most(texts, dates.is_date):
        refuse_others(name, texts, dates.is_date, "dates")
    refuse_undeclared_dates(name, texts)


def _refuse_zones(name):
    raise CommandError(
        f"{shown(name)}: some times have a time zone and some have none: write them alike, or use "
        f"--categorical {shell(name)}."
    )


def _numbers_or_codes(texts, name, numbers):
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


def _column_of_numbers(texts, name, how, numbers, values):
    values = texts.spread(values, np.nan)
    if not texts.n_missing and not numbers.have_decimals():
        values = values.astype(np.int64)
    return Column(name, "number", how, values, numbers.notation())


def _dates(texts, name, dates, how):
    values = texts.spread(dates.values(), np.nan)
    return Column(name, "date", how, values, dates.notation)


def _declared_category(texts, name, format, declared):
    return Column(name, "category", "declared with --categorical", texts.as_categories())


def _declared_number(texts, name, format, declared):
    numbers = Numbers.of(texts, format.decimal, format.thousands)
    if not numbers.is_number.all():
        refuse_other_notations(name, texts, texts.n_cells(numbers.is_number), format)
        refuse_others(name, texts, numbers.is_number, "numbers", "--number")
    if len(numbers.symbols()) > 1:
        refuse_symbols(name)
    return _column_of_numbers(texts, name, "declared with --number", numbers, numbers.values())


def _declared_date(texts, name, format, declared):
    pattern = declared.date_patterns.get(name)
    if pattern is not None:
        dates = Dates.of_pattern(texts, pattern)
        if not dates.is_date.all():
            refuse_others(name, texts, dates.is_date, f"dates as {pattern}", "--date")
        return _dates(texts, name, dates, f"declared with --date, as {pattern}")
    dates = Dates.of_iso(texts)
    if dates.is_date.all():
        if dates.notation is None:
            _refuse_zones(name)
        return _dates(texts, name, dates, "declared with --date, as ISO dates")
    found = dict(fitting_patterns(texts))
    if len(found) > 1:
        choices = " or ".join(f"--date {shell(f'{name}={pattern}')}" for pattern in found)
        raise CommandError(f"{shown(name)}: day and month cannot be told apart: use {choices}.")
    for pattern, dates in found.items():
        return _dates(texts, name, dates, f"declared with --date, as {pattern}")
    if dates.is_date.any():
        refuse_others(name, texts, dates.is_date, "ISO dates", "--date")
    raise CommandError(
        f"{shown(name)}: not all cells are dates of one common format: say which, as in --date "
        f"{shell(name + '=%d %b %Y')}; texts that mean missing are named by --na."
    )


def _declared_ordinal(texts, name, format, declared):
    numbers = Numbers.of(texts, format.decimal, format.thousands)
    ranks, notation = ordinal_of(texts, name, numbers, declared.orders.get(name))
    values = texts.spread(ranks, np.nan)
    return Column(name, "ordinal", "declared with --ordinal", values, notation)


DECLARED = {
    "category": _declared_category,
    "number": _declared_number,
    "date": _declared_date,
    "ordinal": _declared_ordinal,
}


def _all(texts, what):
    """The words for what all cells are."""
    return f"all known cells {what}" if texts.n_missing else f"all {texts.n_known} cells {what}"


def why_no_numbers(values):
    """Why a column does not hold numbers without missing values; None if it does.

    Parameters
    ----------
    values : pandas.Series
        The column.

    Returns
    -------
    why : str or None
        The reason.
    """
    if values.dtype.kind not in "iuf":
        return "holds categories"
    return "has missing values" if values.isna().any() else None
