"""Columns of categories: one coordinate per value, or per node of a hierarchy.

Only values that at least k records share have a coordinate. To any group, a value that nobody else
has costs the same, and values that few people have are not to be known to a fitted model.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from sk_microagg._utils._statistics import Members, loss_share
from sk_microagg._utils._typing import Array, Floats, Labels, Series
from sk_microagg.tables._columns import Column, Survey, Treatment
from sk_microagg.tables._frames import is_missing
from sk_microagg.tables._hierarchy import Hierarchy
from sk_microagg.tables._labels import label_of
from sk_microagg.tables._values import factorize, positions_in


class CategoryColumn(Column):
    """A column of categories: of text, or of any other values that are equal or not.

    Values that at least k people share are `values`, the most frequent first. `rows` has the
    coordinates of each of these, then those of all other values, then those of a missing one.
    """

    kind = "category"

    def __init__(self, survey: Survey, treatment: Treatment, k: int) -> None:
        self.name = survey.like.name
        self.kind = treatment.kind if survey.n_known else "category"
        self._fit(survey, k)

    def _fit(self, survey: Survey, k: int) -> None:
        """Choose the values with a coordinate, and make their rows."""
        values = survey.as_categories()
        counts, n_missing = values.counts[:-1], int(values.counts[-1])
        order = np.argsort(-counts, kind="stable")
        order = order[survey.n_people()[order] >= k]
        self._index = values.known.take(order)
        self.values = [*self._index]
        n_other, counts = int(counts.sum() - counts[order].sum()), counts[order]
        self.has_missing, self.has_other = n_missing > 0, n_other > 0
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

    def without_coordinates(self) -> Self:
        column = copy(self)
        column.rows = column.rows[:, :0]
        return column

    def _find(self, column: Series) -> Any:
        """Position of each cell in `values`; -1 for others."""
        codes, different = factorize(column)
        return np.append(positions_in(self._index, different), -1)[codes]

    def codes(self, column: Series) -> Labels:
        """Position of each cell in `rows`."""
        n_rows = self.rows.shape[0]
        codes = self._find(column)
        return np.where(is_missing(column), n_rows - 1, np.where(codes < 0, n_rows - 2, codes))

    def numbers(self, cells: Series) -> Floats:
        """Position of each cell in `rows` as a float, with NaN where a value is missing."""
        codes = self.codes(cells)
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
        codes, different = factorize(column)
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

    def numbers_of_values(self, survey: Survey, k: int) -> Labels:
        """A number for each different value of the table: first those that have a coordinate."""
        counts = survey.as_categories().counts[:-1]
        return np.argsort(np.lexsort((-counts, survey.n_people() < k)))

    def places_of_values(self, numbers: Floats) -> Labels:
        """The places of some numbers in `values`; larger ones for others."""
        return np.minimum(numbers, len(self.values)).astype(np.intp)

    def common_codes(self, codes: Labels, members: Members) -> Labels:
        """The code that all members of each group have; -1 if there is none."""
        lowest, highest = ends_of(codes, members)
        return np.where(lowest == highest, lowest, -1)

    def tree_of(self, column: Series) -> tuple[Any, Sequence[float], Labels]:
        """The tree of the values, the losses of its nodes, and the leaf of each cell, or -1."""
        codes, different = factorize(column)
        domain = Hierarchy.flat()._domain(different, f"Column {self.name!r}")
        leaves = np.append(domain.encode(different)[:, 0], -1)
        return domain.tree, domain.loss, leaves[codes]

    def node_losses(self, common: Labels) -> Floats:
        """The loss of what `common_codes` returns: 1 for any value, and 0 for a single one."""
        return (common < 0).astype(np.float64)


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


def ends_of(codes: Labels, members: Members) -> tuple[Labels, Labels]:
    """Lowest and highest code of each group."""
    lowest = np.full(members.n_groups, np.iinfo(np.intp).max)
    highest = np.full(members.n_groups, -1)
    np.minimum.at(lowest, members.labels, codes)
    np.maximum.at(highest, members.labels, codes)
    return lowest, highest
