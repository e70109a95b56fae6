"""Columns of amounts, such as sales or sampling weights, which a group adds up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sk_microagg._utils._places import NO_NUMBER, check_cells, no_numbers
from sk_microagg._utils._tables import cells_of, has_numbers, missing_cells
from sk_microagg._utils._typing import Array, Booleans, Codes, Floats, Labels
from sk_microagg.privacy._base import ROUNDING, BoundConstraint
from sk_microagg.privacy._codes import as_column

# An amount and the number of the unit that it belongs to; -1 if the record is a unit of its own.
AMOUNTS = np.dtype([("amount", np.float64), ("unit", np.int32)])

# Larger amounts are scaled down, so that sums of them stay finite.
LARGE = 2.0**900


class AmountConstraint(BoundConstraint):
    """Base class of constraints on amounts, which may be those of quasi-identifiers, too."""

    needs: ClassVar[Literal["records", "counts", "amounts"]] = "amounts"
    is_about_amounts = True
    _rounding = ROUNDING

    # How several amounts of one unit are taken together.
    _add: ClassVar[Any] = np.add

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        own = {*vars(cls)}
        if own & {"measure", "measure_groups"} and "measure_contributions" not in own:
            cls.needs = "records"  # It may measure something else than its parent.

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
        return self.measure_contributions(self.contributions(labels, *units_in(values)))

    def contributions(self, labels: Labels, amounts: Floats, units: Array | None) -> Contributions:
        """Return what each unit contributes to groups; None if each record is a unit."""
        return Contributions.of_records(labels, amounts, units, self._add)

    def merged(self, parts: list[Contributions]) -> Contributions:
        """Return what units contribute in several parts of a table, as far as it matters."""
        return Contributions.merged(parts, self._add, self.n_apart)

    @abstractmethod
    def measure_contributions(self, groups: Contributions) -> Floats:
        """Return the figure of each group, given what units contribute to it."""


@dataclass(frozen=True)
class Contributions:
    """What units contribute to groups, which are in the order of their labels.

    There is a label and an amount for each contribution; `units` are None if each is that of
    another unit. Of such ones it is enough to know the largest: `rest` is the sum of the others.
    """

    labels: Labels
    units: Array | None
    amounts: Floats
    rest: Floats

    @classmethod
    def of_records(
        cls, labels: Labels, amounts: Floats, units: Array | None, add: Any
    ) -> Contributions:
        """Take the amounts of each unit in a group together."""
        if units is None:
            order = np.argsort(labels, kind="stable")
            labels, amounts = labels[order], amounts[order]
        else:
            order = np.lexsort((units, labels))
            labels, units = labels[order], units[order]
            starts = np.flatnonzero(_is_new(labels) | _is_new(units))
            labels, units = labels[starts], units[starts]
            # Without any record, there is nothing to reduce.
            amounts = add.reduceat(amounts[order], starts) if len(starts) else amounts
        return cls(labels, units, amounts, np.zeros(int(_is_new(labels).sum())))

    @classmethod
    def merged(cls, parts: list[Contributions], add: Any, n_apart: int) -> Contributions:
        """Take those of several parts together; of units that have no name, keep the largest."""
        labels, amounts, rest = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("labels", "amounts", "rest")
        )
        if parts[0].units is not None:
            units = np.concatenate([part.units for part in parts if part.units is not None])
            return cls.of_records(labels, amounts, units, add)
        of_rest = np.concatenate([part.labels[part.starts] for part in parts])
        order = np.lexsort((-amounts, labels))
        labels, amounts = labels[order], amounts[order]
        starts = np.flatnonzero(_is_new(labels))
        is_apart = np.arange(len(labels)) - starts[np.cumsum(_is_new(labels)) - 1] < n_apart
        groups = np.searchsorted(labels[starts], np.concatenate([of_rest, labels[~is_apart]]))
        sums = np.zeros(len(starts))
        np.add.at(sums, groups, np.concatenate([rest, amounts[~is_apart]]))
        return cls(labels[is_apart], None, amounts[is_apart], sums)

    @property
    def starts(self) -> Labels:
        """The place of the first contribution to each group."""
        return np.flatnonzero(_is_new(self.labels))

    def totals(self) -> Floats:
        """The sum of each group."""
        return np.add.reduceat(self.amounts, self.starts) + self.rest

    def largest_and_others(self, n_bounded: int, n_apart: int) -> tuple[Floats, Floats]:
        """Sums of the `n_bounded` largest of each group, and of all but the `n_apart` largest."""
        amounts, rest, starts = self.amounts, self.rest, self.starts
        if max(amounts.max(initial=0.0), rest.max(initial=0.0)) > LARGE:
            amounts, rest = amounts * 2.0**-64, rest * 2.0**-64
        amounts = amounts[np.lexsort((-amounts, self.labels))]
        n_records = np.diff(starts, append=len(amounts))
        rank = np.arange(len(amounts)) - np.repeat(starts, n_records)
        bounded = np.where(rank < n_bounded, amounts, 0)
        others = np.where(rank < n_apart, 0, amounts)
        return np.add.reduceat(bounded, starts), np.add.reduceat(others, starts) + rest


def _is_new(values: Array) -> Booleans:
    """Whether each value differs from the one before it."""
    is_new = np.ones(len(values), dtype=bool)
    is_new[1:] = values[1:] != values[:-1]
    return is_new


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
