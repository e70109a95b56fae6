"""The space in which records of columns of any kind are compared."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from sk_microagg._model._points import Points, SparsePoints, with_values
from sk_microagg._utils._space import ScaledSpace, fewest_known, known_people, make_scaler
from sk_microagg._utils._statistics import group_means, squared_error, total_sum_of_squares
from sk_microagg._utils._typing import Array, Booleans, DataFrame, Floats, Labels
from sk_microagg.tables._columns import Line

# A group is released as its most frequent category, unless as shares. Where nearly all members have
# that one, the share of the others, compared with that in the whole table, is between one half
# (many values that are equally frequent) and all (one value that is much more frequent) of the loss
# of variance.
WEIGHT_OF_CATEGORIES = 0.75

# With more than MAX_DENSE coordinates, points are sparse; in large tables, if all records together
# have more than MAX_DENSE_CELLS coordinates of categories. Those of columns with more than
# MAX_WITHOUT_CODES become codes. Columns with more than MAX_FOR_ROUTING do not divide records into
# blocks value by value, but by the order of their values.
MAX_DENSE = 512
MAX_WITHOUT_CODES = 64
MAX_DENSE_CELLS = 16_000_000
MAX_FOR_ROUTING = 32


def numbers_of(table: DataFrame, columns: list[Any]) -> Floats:
    """The cells of records as numbers, NaN where a value is missing."""
    return np.column_stack([column.numbers(table[column.name]) for column in columns])


class Coordinates:
    """Coordinates of columns of any kind, which together have the variance of their weights."""

    # Models of earlier versions say nothing about these.
    _is_large = False
    _has_codes = False

    def __init__(
        self,
        columns: list[Any],
        k: int,
        weights: dict[Any, float],
        numbers: Floats,
        units: Array | None = None,
        shares: bool = False,
        n_records: int | None = None,
    ) -> None:
        self._columns = columns
        self._lines = [column for column in columns if isinstance(column, Line)]
        self._categories = [column for column in columns if not isinstance(column, Line)]
        self._weights = {column.name: float(weights.get(column.name, 1.0)) for column in columns}
        for column in self._categories:
            self._weights[column.name] *= 1.0 if shares else WEIGHT_OF_CATEGORIES
        n_of_categories = sum(column.rows.shape[1] for column in self._categories)
        n_cells = n_of_categories * (len(numbers) if n_records is None else n_records)
        self._has_codes = any(map(_is_coded, self._categories))
        self._is_large = n_of_categories > 2 * MAX_FOR_ROUTING and n_cells > MAX_DENSE_CELLS
        # Standardized as MicroAggregator does it, to the last digit.
        self._space = ScaledSpace(make_scaler("standard"), min_known=1)
        if self._lines:
            values = self._values(numbers)
            few = known_people(values, units) < fewest_known(k)
            self._has_few = few & np.isnan(values).any(axis=0)
            self._space.fit(self._without_few(values), units)

    def _values(self, numbers):
        """A copy of the columns on a line."""
        places = [place for place, c in enumerate(self._columns) if isinstance(c, Line)]
        return np.ascontiguousarray(numbers[:, places])

    def _codes(self, numbers):
        """By the name of each column of categories, the codes of its cells."""
        return {
            column.name: column.codes_of_numbers(numbers[:, place])
            for place, column in enumerate(self._columns)
            if not isinstance(column, Line)
        }

    def _without_few(self, values):
        """Replace values of which fewer than k are known by 0: their mean would reveal them."""
        values[:, self._has_few] = np.where(np.isnan(values[:, self._has_few]), np.nan, 0.0)
        return values

    def numbers(self, table: DataFrame) -> Floats:
        return numbers_of(table, self._columns)

    def points(self, numbers: Floats) -> Points:
        lines, flags = self._lines_of(numbers)
        codes = self._codes(numbers)
        weight_of = {name: np.sqrt(weight) for name, weight in self._weights.items()}
        categories = [
            column.rows[codes[column.name]] * weight_of[column.name] for column in self._categories
        ]
        n_coordinates = sum(part.shape[1] for part in (lines, flags, *categories))
        if n_coordinates == 0:  # Records that have nothing to tell them apart are at one place.
            return np.zeros((len(numbers), 1))
        if n_coordinates <= MAX_DENSE and not self._is_large and not self._has_codes:
            return np.concatenate([lines, flags, *(part.toarray() for part in categories)], axis=1)
        others = [csr_array(lines), csr_array(flags)]
        matrix = hstack([*others, *categories], format="csr")
        few = [part for part in categories if part.shape[1] <= MAX_FOR_ROUTING]
        many = [
            # The place of each value in their order, as a column of variance 1 or so.
            csr_array(
                column.places(codes[column.name])[:, None]
                * np.sqrt(12.0 * self._weights[column.name])
            )
            for column, part in zip(self._categories, categories, strict=True)
            if part.shape[1] > MAX_FOR_ROUTING
        ]
        n_others = lines.shape[1] + flags.shape[1]
        routing = hstack([*others, *few, *many], format="csr")
        return SparsePoints(matrix, routing, *self._slots_and_squares(n_others))

    def _slots_and_squares(self, n_others: int) -> tuple[Labels, Floats]:
        """Slot and squared value of each coordinate that is a code; for others, -1 and 0."""
        slots, squares, n_slots = [np.full(n_others, -1)], [np.zeros(n_others)], 0
        for column in self._categories:
            own, own_squares = np.full(column.rows.shape[1], -1), np.zeros(column.rows.shape[1])
            if _is_coded(column):
                own = n_slots + _levels(column.rows)
                n_slots = own.max() + 1
                own_squares[column.rows.indices] = column.rows.data**2 * self._weights[column.name]
            slots.append(own)
            squares.append(own_squares)
        return np.concatenate(slots), np.concatenate(squares)

    def column_of_coordinates(self) -> Array:
        """Name of the column that each coordinate of the points belongs to."""
        names = [column.name for column in self._lines]
        if self._lines:
            names += [names[place] for place in self._space.with_missing]
        for column in self._categories:
            names += [column.name] * column.rows.shape[1]
        column_of = np.empty(len(names), dtype=object)
        column_of[:] = names
        return column_of

    def _lines_of(self, numbers):
        """Coordinates of numbers, ranks and dates, and of where these are missing."""
        if not self._lines:
            return np.empty((len(numbers), 0)), np.empty((len(numbers), 0))
        values, flags = self._space.parts(self._without_few(self._values(numbers)))
        factors = self._line_factors()
        if np.any(factors != 1.0):
            values = values * factors
        return values, flags * factors[self._space.with_missing]

    def sums_of_squares(
        self,
        numbers: Floats,
        labels: Labels,
        hidden: tuple[Labels, Labels] | None = None,
    ) -> dict[Any, tuple[float, float]]:
        """Squared errors of each column, within groups and in all."""
        sums = {}
        lines, flags = self._lines_of(numbers)
        if hidden is not None:
            lines = with_values(lines, *self.stand_ins(self.missing(numbers), labels, *hidden))
        codes = self._codes(numbers)
        for place, column in enumerate(self._lines):
            own_flags = flags[:, self._space.with_missing == place]
            points = np.concatenate([lines[:, [place]], own_flags], axis=1)
            within = squared_error(points, group_means(points, labels), labels)
            sums[column.name] = within, total_sum_of_squares(np.ascontiguousarray(points))
        for column in self._categories:
            within, total = column.sums_of_squares(codes[column.name], labels)
            weight = self._weights[column.name]
            sums[column.name] = weight * within, weight * total
        return {column.name: sums[column.name] for column in self._columns}

    def errors_of_missing(self, numbers: Floats, labels: Labels) -> dict[Any, float]:
        """Squared errors within groups of the coordinates that say where numbers are missing."""
        flags, names = self._lines_of(numbers)[1], [column.name for column in self._lines]
        within = {}
        for place, line in enumerate(self._space.with_missing if names else ()):
            own = np.ascontiguousarray(flags[:, [place]])
            within[names[line]] = squared_error(own, group_means(own, labels), labels)
        return within

    def rare_shares(self, numbers: Floats) -> dict[Any, float]:
        """By the name of each column of plain categories, the share of cells with rare values."""
        codes = self._codes(numbers)
        return {
            column.name: float(np.mean(codes[column.name] == column.rows.shape[0] - 2))
            for column in self._categories
            if column.kind == "category"
        }

    def missing(self, numbers: Floats) -> Booleans:
        if not self._lines:
            return np.empty((len(numbers), 0), dtype=bool)
        return self._space.missing(self._values(numbers))

    def single_values(
        self, missing: Booleans, labels: Labels, units: Array | None = None
    ) -> tuple[Labels, Labels, Floats]:
        """Groups and coordinates whose mean is the only known value, and what replaces it."""
        if not self._lines:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
        groups, columns, places = self._space.single_values(missing, labels, units)
        return groups, columns, places * self._line_factors()[columns]

    def stand_ins(
        self, missing: Booleans, labels: Labels, groups: Labels, columns: Labels
    ) -> tuple[Labels, Labels, Floats]:
        """Hidden values, and what losses count in their place: see `ScaledSpace.stand_ins`."""
        if not len(groups):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
        rows, columns, places = self._space.stand_ins(missing, labels, groups, columns)
        return rows, columns, places * self._line_factors()[columns]

    def shares(self) -> Floats:
        """The share of each column in the variance of all."""
        return np.array([*self._weights.values()]) / sum(self._weights.values())

    def _line_factors(self) -> Floats:
        return np.sqrt([self._weights[column.name] for column in self._lines])


def _is_coded(column: Any) -> bool:
    return column.rows.shape[1] > MAX_WITHOUT_CODES


def _levels(rows: csr_array) -> Labels:
    """Numbers of coordinates, different for all that a value has: in hierarchies, their levels."""
    n_rows = np.bincount(rows.indices, minlength=rows.shape[1])
    # Nodes come after those above them, which have more leaves.
    rank = np.argsort(np.argsort(-n_rows, kind="stable"))
    together = (rows.T @ rows).tocoo()
    is_above = rank[together.col] < rank[together.row]
    return np.bincount(together.row[is_above], minlength=rows.shape[1])
