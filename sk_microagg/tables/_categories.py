"""Columns of categories: one coordinate per value, or per node of a hierarchy.

Only values that at least k records share have a coordinate. To any group, a value that nobody else
has costs the same, and values that few people have are not to be known to a fitted model.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from sk_microagg._utils._statistics import Members, loss_share, n_people, take_units
from sk_microagg._utils._tables import check_types, import_extra
from sk_microagg._utils._typing import Array, Floats, Labels, Series
from sk_microagg.tables._frames import (
    can_be_missing,
    is_missing,
    take,
    with_room,
    without_rare_categories,
)
from sk_microagg.tables._hierarchy import Hierarchy
from sk_microagg.tables._labels import ROOT, label_of


class CategoryColumn:
    """A column of categories: of text, or of any other values that are equal or not.

    Values that at least k people share are `values`, the most frequent first. `rows` has the
    coordinates of each of these, then those of all other values, then those of a missing one.
    """

    kind = "category"

    def __init__(self, column: Series, k: int, units: Array | None = None) -> None:
        self.name = column.name
        if column.dtype == object:
            check_types({type(cell) for cell in column.dropna()}, f"Column {self.name!r} of X")
        codes, different = self._factorize(column)
        known = codes >= 0
        counts = np.bincount(codes[known], minlength=len(different))
        people = n_people(codes[known], len(different), take_units(units, known))
        self._fit(different, counts, people, int((~known).sum()), k)

    @classmethod
    def from_counts(
        cls, name: Hashable, different: Any, counts: Labels, people: Labels, n_missing: int, k: int
    ) -> Self:
        """The column of a table of which only numbers of records and of people are known."""
        column = cls.__new__(cls)
        column.name = name
        column._fit(different, counts, people, n_missing, k)
        return column

    def _factorize(self, column: Series) -> tuple[Labels, Any]:
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        # Text is compared as it is stored, which is much faster.
        is_text = isinstance(column.dtype, pandas.StringDtype)
        cells = column if is_text else column.astype(object)
        try:
            codes, different = pandas.factorize(cells)
        except TypeError as error:
            kinds = {type(cell).__name__ for cell in cells if not isinstance(cell, Hashable)}
            raise TypeError(
                f"Column {self.name!r} of X holds {' and '.join(sorted(kinds))}, which cannot be "
                "compared: it must hold numbers, text, dates or other single values."
            ) from error
        return codes, pandas.Index(different, dtype=object)

    def _fit(self, different: Any, counts: Labels, people: Labels, n_missing: int, k: int) -> None:
        """Choose the values with a coordinate, and make their rows."""
        order = np.argsort(-counts, kind="stable")
        order = order[people[order] >= k]
        self.values = [different[code] for code in order]
        self._index = different.take(order)
        n_other, counts = int(counts.sum() - counts[order].sum()), counts[order]
        self._has_missing, self._has_other = n_missing > 0, n_other > 0
        n_values = len(counts)
        if n_values == 2 and n_other == n_missing == 0:
            # Two values are as far apart on one coordinate; what is new lies in the middle.
            rows = np.array([[0.0], [np.sqrt(2.0)], [np.sqrt(0.5)], [np.sqrt(0.5)]])
        else:
            coordinates = [*range(n_values), n_values] if n_missing else [*range(n_values)]
            places = [*range(n_values), n_values + 1][: len(coordinates)]
            shape = n_values + 2, len(coordinates)
            rows = csr_array((np.ones(len(places)), (places, coordinates)), shape=shape)
        self.rows = standardized(csr_array(rows), np.array([*counts, n_other, n_missing]))

    def _find(self, column: Series) -> Any:
        """Position of each cell in `values`; -1 for others."""
        codes, different = self._factorize(column)
        return np.append(self._index.get_indexer(different), -1)[codes]

    def codes(self, column: Series) -> Labels:
        """Position of each cell in `rows`."""
        n_rows = self.rows.shape[0]
        codes = self._find(column)
        return np.where(is_missing(column), n_rows - 1, np.where(codes < 0, n_rows - 2, codes))

    def numbers(self, column: Series) -> Floats:
        """Position of each cell in `rows` as a float, with NaN where a value is missing."""
        codes = self.codes(column)
        return np.where(codes == self.rows.shape[0] - 1, np.nan, codes)

    def codes_of_numbers(self, numbers: Floats) -> Labels:
        """Positions in `rows`, given floats; all that are larger stand for other values."""
        n_rows = self.rows.shape[0]
        codes = np.where(np.isnan(numbers), n_rows - 1, np.minimum(numbers, n_rows - 2))
        return codes.astype(np.intp)

    def points(self, column: Series) -> Any:
        """Coordinates of each cell, as a sparse array."""
        return self.rows[self.codes(column)]

    def places(self, codes: Labels) -> Floats:
        """Places in the order of all values, from 0 to 1, given codes; 0 for missing and others."""
        order = np.argsort(np.argsort([label_of(value) for value in self.values])) + 1
        of_rows = np.zeros(self.rows.shape[0])
        of_rows[: len(order)] = order / max(len(order), 1)
        return of_rows[codes]

    def loss(self, column: Series, labels: Labels) -> float:
        """How often records of a group differ, relative to any two; missing values are a value."""
        codes, different = self._factorize(column)
        codes = np.where(codes < 0, len(different), codes)
        one_hot = eye_array(len(different) + 1, format="csr")
        within, total = (
            sum_of_squares(one_hot, codes, groups, len(different) + 1)
            for groups in (labels, np.zeros_like(labels))
        )
        return loss_share(within, total)

    def sums_of_squares(self, codes: Labels, labels: Labels) -> tuple[float, ...]:
        """Squared errors within groups, and those of all cells together, given codes."""
        n_rows = self.rows.shape[0]
        return tuple(
            sum_of_squares(self.rows, codes, groups, n_rows)
            for groups in (labels, np.zeros_like(labels))
        )

    def modes(self, column: Series, members: Members, k: int) -> Series:
        """The most frequent value of each group, with the type of the column.

        Of equally frequent ones, the one that the table has most often. A value that one person of
        the group has, and fewer than k people of the table, is not released: it is missing then.
        Where the type has no room for missing values, it is the most frequent value of the table,
        or, if that is rare as well, the type is another one.
        """
        codes, different = self._factorize(column)
        n_codes = len(different) + 1
        codes = np.where(codes < 0, n_codes - 1, codes)
        in_table = np.bincount(codes, minlength=n_codes)
        positions = mode_positions(codes, in_table, members, k)
        if not can_be_missing(column) and (positions < 0).any():
            most_frequent = np.argmax(in_table)
            if n_people(codes, n_codes, members.units)[most_frequent] >= k:
                positions[positions < 0] = np.flatnonzero(codes == most_frequent)[0]
            else:
                column = with_room(column)
        return without_rare_categories(take(column, positions), column, k, members.units)

    def generalized(self, column: Series, members: Members) -> Series:
        """The common value of each group, or "*" where values differ or one is missing."""
        codes, different = self._factorize(column)
        common = self.common_codes(codes, members)
        return self._as_text(ROOT if code < 0 else different[code] for code in common)

    def generalization_losses(self, column: Series, members: Members) -> Floats:
        """The loss of what `generalized` returns for each group: 1 for "*", and 0 for a value."""
        return (self.common_codes(self._factorize(column)[0], members) < 0).astype(np.float64)

    def common_codes(self, codes: Labels, members: Members) -> Labels:
        """The code that all members of each group have; -1 if there is none."""
        lowest, highest = ends_of(codes, members)
        return np.where(lowest == highest, lowest, -1)

    def tree_of(self, column: Series) -> tuple[Any, Sequence[float], Labels]:
        """The tree of the values, the losses of its nodes, and the leaf of each cell, or -1."""
        codes, different = self._factorize(column)
        domain = Hierarchy.flat()._domain(different, f"Column {self.name!r}")
        leaves = np.append(domain.encode(different)[:, 0], -1)
        return domain.tree, domain.loss, leaves[codes]

    def _as_text(self, cells: Iterable[Any]) -> Series:
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        return pandas.Series([label_of(cell) for cell in cells], dtype=object, name=self.name)

    def shares(self, column: Series) -> tuple[list[str], Floats]:
        """A column per value, other ones and missing ones, with 1 where a record has it."""
        codes = self._find(column)
        missing = is_missing(column)
        has_value = [(codes == code) & ~missing for code in range(len(self.values))]
        if self._has_other:
            has_value.append((codes < 0) & ~missing)
        if self._has_missing:
            has_value.append(missing)
        names = share_names(self.name, self.values, self._has_other, self._has_missing)
        indicators = np.reshape(has_value, (len(names), len(column))).T.astype(np.float64)
        return names, indicators


def standardized(rows: Any, counts: Array) -> Any:
    """Rows of coordinates, scaled such that their total variance over all records is 1."""
    share = counts / counts.sum()
    mean = share @ rows
    variance = share @ rows.power(2).sum(axis=1) - mean @ mean
    # Values that differ have a variance of at least one record's share of it.
    if variance <= 0.5 / counts.sum() ** 2:
        return rows[:, :0]
    return rows / np.sqrt(variance)


def sum_of_squares(rows: Any, codes: Labels, labels: Labels, n_rows: int) -> float:
    """Squared distances to the means of groups, from how often each group has each row."""
    n_groups = int(labels.max()) + 1
    ones = np.ones(len(codes))
    counts = coo_array((ones, (labels, codes)), shape=(n_groups, n_rows)).tocsr()
    sums = counts @ rows
    sizes = np.bincount(labels, minlength=n_groups)
    of_means = (sums.power(2).sum(axis=1) / sizes).sum()
    return max(float(rows.power(2).sum(axis=1)[codes].sum() - of_means), 0.0)


def share_names(
    column: Hashable, values: list[Any], has_other: bool, has_missing: bool
) -> list[str]:
    """Different names for the share of each value, and of other and missing ones."""
    labels = [label_of(value) for value in values]
    # As code where several values have the same label.
    pairs = zip(labels, values, strict=True)
    names = [label if labels.count(label) == 1 else repr(value) for label, value in pairs]
    if has_other:
        names.append(_unused("(other)", names))
    if has_missing:
        names.append(_unused("(missing)", names))
    return [f"{column}={name}" for name in names]


def _unused(name: str, names: list[str]) -> str:
    """A name that is not among others."""
    return _unused(f"({name})", names) if name in names else name


def mode_positions(
    codes: Labels, in_table: Labels, members: Members, k: int, people_in_table: Any = None
) -> Labels:
    """A record of each group that has its most frequent value."""
    labels, units, weights = members.labels, members.units, members.weights
    n_codes = len(in_table)
    pairs, first, in_group = np.unique(
        labels * n_codes + codes, return_index=True, return_counts=True
    )
    group, code = np.divmod(pairs, n_codes)
    people, heaviness = in_group, in_group
    if units is not None or weights is not None:
        pair_of = np.searchsorted(pairs, labels * n_codes + codes)
        people = n_people(pair_of, len(pairs), units)
        heaviness = np.bincount(pair_of, weights)
    if people_in_table is None:
        people_in_table = in_table if units is None else n_people(codes, n_codes, units)
    is_shared = np.append(people_in_table[: n_codes - 1] >= k, True)  # missing values may be shown
    may_be_released = (people > 1) | is_shared[code]
    order = np.lexsort((code, -in_table[code], -heaviness, group))
    order = order[may_be_released[order]]
    found, best = np.unique(group[order], return_index=True)
    positions = np.full(members.n_groups, -1)
    chosen = order[best]
    positions[found] = np.where(code[chosen] == n_codes - 1, -1, first[chosen])
    return positions


def ends_of(codes: Labels, members: Members) -> tuple[Labels, Labels]:
    """Lowest and highest code of each group."""
    lowest = np.full(members.n_groups, np.iinfo(np.intp).max)
    highest = np.full(members.n_groups, -1)
    np.minimum.at(lowest, members.labels, codes)
    np.maximum.at(highest, members.labels, codes)
    return lowest, highest
