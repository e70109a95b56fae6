"""Columns of amounts, such as sales or sampling weights, which a group adds up."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from sk_microagg._utils._places import NO_NUMBER, check_cells, no_numbers
from sk_microagg._utils._tables import cells_of, has_numbers, missing_cells
from sk_microagg._utils._typing import Array, Codes, Floats, Labels
from sk_microagg.privacy._base import ROUNDING, BoundConstraint
from sk_microagg.privacy._codes import as_column

# An amount and the number of the unit that it belongs to; -1 if the record is a unit of its own.
AMOUNTS = np.dtype([("amount", np.float64), ("unit", np.int32)])

# Larger amounts are scaled down, so that sums of them stay finite.
LARGE = 2.0**900


class AmountConstraint(BoundConstraint):
    """Base class of constraints on amounts, which may be those of quasi-identifiers, too."""

    is_about_amounts = True
    _rounding = ROUNDING

    # How several amounts of one unit are taken together.
    _add: ClassVar[Any] = np.add

    @property
    def n_apart(self) -> int:
        """How many of the largest amounts of a group its figure takes one by one."""
        return 1

    @property
    def counts_rows(self) -> bool:
        return False

    def prepare(self, values: Any) -> tuple[Array, Any]:
        self.check_parameters()
        amounts = amounts_of(values, self._words())
        missing = np.isnan(amounts)
        check_cells(
            (amounts < 0) | np.isinf(amounts),
            self._words(),
            ("is negative or infinite", "are negative or infinite"),
            n_cells=int(np.sum(~missing)),
            advice="Amounts must be finite numbers of at least 0.",
            column=self.column,
        )
        prepared = np.zeros(len(amounts), dtype=AMOUNTS)
        prepared["amount"] = np.where(missing, 0.0, amounts)
        prepared["unit"] = -1
        return prepared, None

    def _words(self) -> str:
        named = f"column={self.column!r} of {type(self).__name__}"
        return "amounts" if self.column is None else named

    def with_units(self, values: Array, units: Array | None) -> Array:
        if units is None:
            return values
        values = values.copy()
        values["unit"] = units
        return values

    def is_weighted(self, weight: Hashable) -> bool:
        # A weighted mean adds up weights times amounts; weights themselves are added as they are.
        return weight is not None and not self.is_about_weights and self.column != weight

    def with_weights(self, values: Array, weights: Floats) -> Array:
        values = values.copy()
        with np.errstate(over="ignore"):
            values["amount"] *= weights
        if np.isinf(values["amount"]).any():
            raise ValueError(f"{self._words()} must have finite products with the weights.")
        return values

    def suits_block(self, figure: float) -> bool:
        # Otherwise most of a block may become one group.
        bound = getattr(self, self._bound)
        return figure <= bound / 2 if self.is_worse_if_larger else figure >= 2 * bound

    def measure_groups(self, labels: Labels, values: Array, table: Any) -> Array:
        return self.measure_amounts(*contributions(labels, values, self._add))

    def measure_amounts(self, labels: Labels, amounts: Floats, rest: Any = 0.0) -> Array:
        """Return the figure of each group, given amounts in the order of labels.

        Of more than `n_apart`, the sum of the `rest` of each group is enough.
        """
        raise NotImplementedError


def amounts_of(values: Any, words: str) -> Floats:
    """The numbers of a column as floats, NaN for missing ones; `words` name it in messages."""
    column = as_column(values)
    if has_numbers(column):
        return np.asarray(column, dtype=np.float64)
    cells, missing = cells_of(column), missing_cells(column)
    is_text = np.array([isinstance(cell, str | bytes) for cell in cells], dtype=bool)
    is_bad = (is_text | no_numbers(cells)) & ~missing
    check_cells(is_bad, words, NO_NUMBER, n_cells=int(np.sum(~missing)))
    known = [
        np.nan if is_missing else cell for cell, is_missing in zip(cells, missing, strict=True)
    ]
    return np.array(known, dtype=np.float64)


def units_in(values: Array) -> tuple[Floats, Codes | None]:
    """Prepared values as guards need them: amounts, and units or None."""
    units = values["unit"]
    has_units = len(units) > 0 and units[0] >= 0
    return np.ascontiguousarray(values["amount"]), units.copy() if has_units else None


def contributions(labels: Labels, values: Array, add: Any) -> tuple[Labels, Floats]:
    """Groups, in their order, and what each of their units contributes."""
    amounts, units = units_in(values)
    if units is None:
        order = np.argsort(labels, kind="stable")
        labels, amounts = labels[order], amounts[order]
    else:
        order = np.lexsort((units, labels))
        labels, units = labels[order], units[order]
        is_new = (np.diff(labels, prepend=-1) != 0) | (np.diff(units, prepend=-1) != 0)
        starts = np.flatnonzero(is_new)
        labels, amounts = labels[starts], add.reduceat(amounts[order], starts)
    return labels, amounts


def largest_and_others(
    labels: Labels, amounts: Floats, n_bounded: int, n_apart: int
) -> tuple[Floats, Floats]:
    """Sums of the `n_bounded` largest amounts of each group, and of all but the `n_apart` largest.

    Labels are in order.
    """
    if amounts.max(initial=0.0) > LARGE:
        amounts = amounts * 2.0**-64
    amounts = amounts[np.lexsort((-amounts, labels))]
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    rank = np.arange(len(labels)) - np.repeat(starts, np.diff(starts, append=len(labels)))
    bounded, others = np.where(rank < n_bounded, amounts, 0), np.where(rank < n_apart, 0, amounts)
    return np.add.reduceat(bounded, starts), np.add.reduceat(others, starts)
