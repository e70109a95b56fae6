"""Columns of numbers, and averages of these and of dates. One coordinate each.

They are standardized together with the ranks of ordinal values, by the scaler that
:class:`MicroAggregator` uses. A missing value lies in the middle, and is told apart by a coordinate
of its own.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from sk_microagg._utils._formatting import decimals_of
from sk_microagg._utils._statistics import Members, means_of_known, too_few_known
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Floats, Series
from sk_microagg._utils._validation import LARGEST_VALUE
from sk_microagg.encoding._dates import UNITS_OF_DATES
from sk_microagg.encoding._frames import can_be_missing


class NumberColumn:
    """A column of numbers, released with `decimals`: "auto" for its own, None for all."""

    kind = "number"

    def __init__(self, column: Series, decimals: int | Literal["auto"] | None = "auto") -> None:
        self.name = column.name
        if decimals in UNITS_OF_DATES:
            raise ValueError(
                f"decimals={decimals!r} for column {self.name!r} is a unit of dates, but the "
                "column holds numbers."
            )
        self.decimals: Any = decimals
        if decimals == "auto":
            values = self.values(column)
            # What has one decimal has many more if it is converted from 4 bytes to 8.
            is_narrow = getattr(column.dtype, "itemsize", 8) < 8 and _cell_type(column) is float
            self.decimals = decimals_of(values.astype(np.float32) if is_narrow else values)

    def values(self, column: Series) -> Floats:
        try:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            raise ValueError(
                f"Column {self.name!r} of X must hold numbers, as it did in fit."
            ) from None  # The message of NumPy quotes a cell.
        largest = np.max(np.abs(values), initial=0.0, where=~np.isnan(values))
        if largest > LARGEST_VALUE:
            raise ValueError(
                f"Column {self.name!r} of X holds infinite or very large numbers: numbers must be "
                f"finite and at most {LARGEST_VALUE:.3g}."
            )
        return values

    def released(self, values: Floats, like: Series) -> Series:
        """Averages as a column of the type of another one, rounded; missing where they are NaN."""
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        cell = _cell_type(like)
        # Integers are rounded once: 5.45 is 5, and not 5.5 and then 6.
        decimals = min(self.decimals, 0) if cell is int and self.decimals else self.decimals
        # Adding zero turns -0.0 into 0.0.
        rounded = values if decimals is None else np.round(values, decimals) + 0.0
        if cell is int and like.dtype != object:
            # Rounded to hundreds, say, a number may exceed its type.
            limits = np.iinfo(getattr(like.dtype, "numpy_dtype", like.dtype))
            rounded = np.clip(rounded, limits.min, limits.max)
        if cell is float and isinstance(like.dtype, np.dtype) and like.dtype.kind == "f":
            return pandas.Series(rounded.astype(like.dtype), name=self.name)
        write: Any = {int: round, float: float}.get(cell) or self._decimal_writer(like)
        cells = [None if np.isnan(value) else write(value) for value in rounded.tolist()]
        return pandas.Series(cells, dtype=like.dtype, name=self.name)

    def _decimal_writer(self, like: Series) -> Callable[[float], Decimal]:
        """Return what writes a float as a Decimal, without digits that its type has no room for."""
        digits = None if self.decimals is None else max(self.decimals, 0)
        room = getattr(getattr(like.dtype, "pyarrow_dtype", None), "scale", None)
        if room is not None:
            digits = room if digits is None else min(digits, room)
        return lambda value: Decimal(repr(value) if digits is None else f"{value:.{digits}f}")


def _cell_type(column: Series) -> type:
    """The type of the numbers in a column: int, float or Decimal."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    if pandas.api.types.is_integer_dtype(column.dtype):
        return int
    if "decimal" in str(column.dtype):
        return Decimal
    if column.dtype == object:
        known = column.dropna()
        if all(isinstance(cell, Decimal) for cell in known):
            return Decimal
        return int if pandas.api.types.infer_dtype(known) == "integer" else float
    return float


def group_averages(values: Floats, members: Members, average: str, like: Series) -> Floats:
    """Mean or median of the known values of each group; NaN where too few are known."""
    labels, n_groups = members.labels, members.n_groups
    if average == "mean":
        averages = means_of_known(values, labels, n_groups, members.weights)
    else:
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        known = ~np.isnan(values)
        medians = pandas.Series(values[known]).groupby(labels[known]).median()
        averages = np.full(n_groups, np.nan)
        averages[medians.index] = medians.to_numpy()
    if can_be_missing(like):
        averages[too_few_known(values, labels, n_groups, members.units)] = np.nan
    return averages
