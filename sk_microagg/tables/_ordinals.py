"""Columns of values with an order, on a line by their ranks.

Values that fewer than k records share are not to be known to a fitted model, unless a user names
them. It finds their place among the known ones.
"""

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sk_microagg._utils._places import check_cells
from sk_microagg._utils._statistics import n_people, take_units
from sk_microagg._utils._tables import import_extra, is_categorical
from sk_microagg._utils._typing import Array, Floats, Series
from sk_microagg.tables._frames import is_missing, with_room, without_rare_categories


class OrdinalColumn:
    """A column of values with an order, represented by their ranks.

    Values in `order` may be released, and have `ranks` among all values: those that at least k
    people share, or all if they are given, lowest first. Others lie halfway between the next ones.
    """

    kind = "ordinal"
    # Averages are values that k people share.
    rounding = finer_than = None

    def __init__(
        self, column: Series, k: int, order: Sequence[Any] | None = None, units: Array | None = None
    ) -> None:
        self.name = column.name
        self._k = k
        self._is_given = order is not None
        self._is_sorted = order is None and not is_categorical(column)
        values = self._values_in_order(column) if order is None else list(order)
        if len({*values}) < len(values):
            raise ValueError(f"ordinal[{self.name!r}]={values!r} must hold each value once.")
        n_have = _people_by_value(column, units)
        counts = np.array([n_have.get(value, 0) for value in values], dtype=np.intp)
        may_be_known = (counts == 0) | (counts >= k) | self._is_given
        self.ranks = np.flatnonzero(may_be_known).astype(np.float64)
        self.order = [values[rank] for rank in np.flatnonzero(may_be_known)]
        self._rank_of = dict(zip(self.order, self.ranks.tolist(), strict=True))
        ends = np.array([-1.0, *self.ranks, len(values)])
        self._between = (ends[:-1] + ends[1:]) / 2
        if self._is_given and any(value not in self._rank_of for value in n_have):
            known = ~is_missing(column)
            is_lacking = np.array([value not in self._rank_of for value in column.astype(object)])
            check_cells(
                known & is_lacking,
                f"ordinal[{self.name!r}]",
                ("has a value that it lacks", "have values that it lacks"),
                n_cells=int(known.sum()),
                advice="It must hold all values of the column, lowest first.",
                column=self.name,
            )

    def find_rounding(self, values: Floats, spread: float) -> None:
        """Averages of ranks become values, which are not rounded."""

    def _values_in_order(self, column: Series) -> list[Any]:
        if is_categorical(column):
            return list(column.dtype.categories)
        try:
            return sorted(column.dropna().unique().tolist())
        except TypeError as error:
            raise TypeError(
                f"ordinal names column {self.name!r}, whose values cannot be sorted: it must be a "
                f"dict with all of them, lowest first. {error}"
            ) from error

    def values(self, column: Series) -> Floats:
        """The ranks as floats, with NaN where a value is missing or has no place in the order."""
        if is_categorical(column):
            codes, different = column.cat.codes.to_numpy(), list(column.dtype.categories)
        else:
            pandas = import_extra("pandas", "table", "A table of columns of any kind")
            codes, different = pandas.factorize(column.astype(object))
            codes = np.where(is_missing(column), -1, codes)
        if self._is_given or not (self._is_sorted or is_categorical(column)):
            ranks = [self._rank_of.get(value, np.nan) for value in different]
        elif self._is_sorted:
            ranks = [self._rank_by_value(value) for value in different]
        else:
            ranks = self._ranks_by_neighbors(different)
        return np.array([*ranks, np.nan])[codes]

    def all_ranks(self, column: Series) -> Floats:
        """As `values`, with ranks of their own for the rare values of the table itself."""
        order = self.order if self._is_given else self._values_in_order(column)
        rank_of = {value: float(rank) for rank, value in enumerate(order)}
        return np.array([rank_of.get(value, np.nan) for value in column.astype(object)])

    def _rank_by_value(self, value: Any) -> float:
        if value in self._rank_of:
            return self._rank_of[value]
        try:
            return self._between[bisect(self.order, value)]
        except TypeError:
            return np.nan

    def _ranks_by_neighbors(self, categories: Iterable[Any]) -> list[float]:
        """Ranks of categories in their order, by the last one before them that is known."""
        ranks, n_before = [], 0
        for category in categories:
            if category in self._rank_of:
                ranks.append(self._rank_of[category])
                n_before = self.order.index(category) + 1
            else:
                ranks.append(self._between[n_before])
        return ranks

    def released(self, values: Floats, like: Series) -> Series:
        """Values whose rank is nearest to some averages, the lower one of two, as a column.

        It has the type of `like`, where that has room for what is missing.
        """
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        cells = [
            None if np.isnan(value) or not self.order else self._nearest(value) for value in values
        ]
        if is_categorical(like):
            lacking = [value for value in self.order if value not in like.dtype.categories]
            like = like.cat.add_categories(lacking)
        kind = like.dtype if None not in cells else with_room(like.iloc[:0]).dtype
        released = pandas.Series(cells, dtype=kind, name=self.name)
        released = without_rare_categories(released, like, self._k)
        if is_categorical(released):
            # A value may be rare, since few people have it, although many records do.
            shared = [value for value in released.cat.categories if value in self._rank_of]
            released = released.cat.set_categories(shared)
        return released

    def _nearest(self, value: float) -> Any:
        return self.order[np.argmin(np.abs(self.ranks - value))]


def _people_by_value(column: Series, units: Array | None) -> dict[Any, int]:
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    codes, different = pandas.factorize(column.astype(object))
    known = ~is_missing(column)
    people = n_people(codes[known], len(different), take_units(units, known))
    return dict(zip(different, people, strict=True))
