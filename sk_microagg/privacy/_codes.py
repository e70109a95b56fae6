"""Values of a column as numbers from 0. All missing values count as one value of their own."""

from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_microagg._utils._tables import DATES, as_table, cells_of, check_types, is_null
from sk_microagg._utils._typing import Array, Codes


def codes_of(values: Any) -> tuple[Codes, list[Any]]:
    values = as_column(values)
    if _is_sorted_by_unique(values):
        # All NaN and NaT are equal here, and last.
        different, codes = np.unique(np.asarray(values), return_inverse=True)
        known = different[different == different]
        return codes.astype(np.int32), known.tolist() if known.dtype.kind not in "mM" else [*known]
    return _codes_of_objects(cells_of(values))


def _is_sorted_by_unique(values: Any) -> bool:
    return isinstance(values.dtype, np.dtype) and values.dtype.kind in "biufmMSU"


def order_codes(values: Any, codes: Codes, different: list[Any]) -> Codes:
    """Number the values again, in their order; raise a TypeError if they have none.

    A categorical type may declare the order. Missing values still have the last code.
    """
    if _is_sorted_by_unique(values):
        return codes
    declared = declared_order(values)
    if declared is None:
        order = sorted(range(len(different)), key=different.__getitem__)
    else:
        place = {value: number for number, value in enumerate(declared)}
        order = sorted(range(len(different)), key=lambda code: place[different[code]])
    new_code = np.argsort([*order, len(different)]).astype(np.int32)
    return new_code[codes]


def have_order(values: Any, different: list[Any]) -> bool:
    """Whether values are numbers, dates, or of a categorical type with an order."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if declared_order(values) is not None or kind in ("i", "u", "f", "m", "M"):
        return True
    return bool(different) and (
        all(isinstance(v, Real | Decimal) and not isinstance(v, bool | np.bool_) for v in different)
        or all(isinstance(v, DATES) or type(v).__name__ == "Period" for v in different)
    )


def declared_order(values: Any) -> list[Any] | None:
    """The ordered categories of a categorical type of pandas or an Enum of polars, or None."""
    dtype: Any = getattr(values, "dtype", None)
    if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
        return list(dtype.categories)
    return None


def as_column(values: Any) -> Any:
    """Values as a Series or array; a list becomes an array."""
    if isinstance(values, list | tuple) and not any(map(np.ma.isMaskedArray, values)):
        return _as_array(values)
    values = as_table(values)
    return values if hasattr(values, "dtype") else np.asarray(values)


def _as_array(values: Any) -> Array:
    """An array of numbers if all values are numbers or all booleans, and otherwise of objects."""
    as_objects = np.array(values, dtype=object)
    types = {type(value) for value in values}
    is_mixed = bool in types and len(types) > 1  # True would become 1.
    if as_objects.ndim == 1 and all(issubclass(one, Real) for one in types) and not is_mixed:
        as_numbers = np.array(values)
        # Among floats, larger integers would be rounded.
        if as_numbers.dtype.kind in "biu" or all(
            not isinstance(value, Integral) or abs(int(value)) <= 2**53 for value in values
        ):
            return as_numbers
    return as_objects


def _codes_of_objects(cells: list[Any]) -> tuple[Codes, list[Any]]:
    if len({*map(type, cells)}) > 1:
        check_types({type(cell) for cell in cells if not is_null(cell)}, "A column")
    numbers: dict[Any, int] = {}
    try:
        codes = np.array([numbers.setdefault(cell, len(numbers)) for cell in cells], dtype=np.int32)
    except TypeError:
        kind = next(type(cell).__name__ for cell in cells if type(cell).__hash__ is None)
        raise TypeError(
            f"A column has values of type {kind}: values must be numbers, text, dates or other "
            "objects that can be hashed."
        ) from None
    is_missing = np.array([is_null(value) for value in numbers], dtype=np.bool_)
    # Known values keep their order; every NaN is an object of its own.
    new_code = np.where(is_missing, np.sum(~is_missing), np.cumsum(~is_missing) - 1)
    known = [value for value, missing in zip(numbers, is_missing, strict=True) if not missing]
    return new_code[codes].astype(np.int32), known
