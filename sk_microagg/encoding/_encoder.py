"""A whole table as points, and groups of points as rows of a table."""

import numpy as np
from scipy.sparse import csr_array, hstack

from sk_microagg._model._points import SparsePoints
from sk_microagg._utils._extras import import_extra
from sk_microagg._utils._scaling import make_scaler
from sk_microagg._utils._space import FEWEST_KNOWN, ScaledSpace, known_people
from sk_microagg._utils._statistics import (
    group_means,
    loss_share,
    squared_error,
    total_sum_of_squares,
)
from sk_microagg.encoding._categories import CategoryColumn
from sk_microagg.encoding._frames import is_missing
from sk_microagg.encoding._kinds import kind_of
from sk_microagg.encoding._numbers import DateColumn, NumberColumn, group_averages
from sk_microagg.encoding._ordinals import OrdinalColumn
from sk_microagg.encoding._trees import HierarchyColumn

ON_A_LINE = (NumberColumn, OrdinalColumn, DateColumn)

# A group is released as its most frequent category. Where nearly all members have that one, the
# share of the others, compared with that in the whole table, is between one half (many values that
# are equally frequent) and all (one value that is much more frequent) of the loss of variance.
WEIGHT_OF_CATEGORIES = 0.75

# With more coordinates, points are sparse. Columns with more than this many do not divide records
# into blocks value by value, but by the order of their values.
MAX_DENSE = 512
MAX_FOR_ROUTING = 32


class TableEncoder:
    """Columns of any kind as coordinates.

    The coordinates of a column have a total variance of 1 for numbers, ordinal values and dates,
    and of 0.75 for categories; times its weight.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns, of the records that the variance refers to.

    k : int
        Categories that fewer records share have no coordinate of their own.

    units : ndarray of shape (n_records,) or None, default=None
        Who each record belongs to, numbered from 0; None if each belongs to somebody else.

    kinds : dict, default=()
        Kinds of columns by their names, where they are not to be found from their types.

    orders : dict, default=()
        By the name of an ordinal column, its values, lowest first.

    hierarchies : dict, default=()
        By the name of a column, its hierarchy.

    weights : dict, default=()
        By the name of a column, its weight; 1 for others.

    decimals : dict, default=()
        By the name of a column of numbers, the decimals in the release; "auto" for others.

    Attributes
    ----------
    columns : list
        An object per column, of one of the classes for its kind.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_microagg.encoding import TableEncoder
    >>> table = pd.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "m", "m", "f"]})
    >>> TableEncoder(table, k=2).points(table).round(2)
    array([[-1.34,  0.  ],
           [-0.45,  1.73],
           [ 0.45,  1.73],
           [ 1.34,  0.  ]])
    """

    def __init__(
        self,
        table,
        k,
        *,
        units=None,
        kinds=(),
        orders=(),
        hierarchies=(),
        weights=(),
        decimals=(),
    ):
        options = {
            "units": units,
            "kinds": dict(kinds),
            "orders": dict(orders),
            "hierarchies": dict(hierarchies),
            "decimals": dict(decimals),
        }
        columns = [_make_column(table[name], k, **options) for name in table.columns]
        self._set_columns(columns, k, dict(weights))
        self._fit_lines(self.numbers(table), units)

    @classmethod
    def of_columns(cls, columns, k, weights, numbers):
        """The encoder of columns that were made one by one.

        Parameters
        ----------
        columns : list
            An object per column, of one of the classes for its kind.

        k : int
            Smallest size of a group.

        weights : dict
            By the name of a column, its weight; 1 for others.

        numbers : ndarray of shape (n_records, n_columns)
            Records as `numbers` gives them, to which the variance of what lies on a line refers.

        Returns
        -------
        encoder : TableEncoder
            The encoder.
        """
        encoder = cls.__new__(cls)
        encoder._set_columns(columns, k, weights)
        encoder._fit_lines(numbers)
        return encoder

    def _set_columns(self, columns, k, weights):
        self.k = k
        self.columns = columns
        self._lines = [column for column in columns if isinstance(column, ON_A_LINE)]
        self._categories = [column for column in columns if not isinstance(column, ON_A_LINE)]
        self._weights = {column.name: float(weights.get(column.name, 1.0)) for column in columns}
        for column in self._categories:
            self._weights[column.name] *= WEIGHT_OF_CATEGORIES

    def _fit_lines(self, numbers, units=None):
        """Standardize what lies on a line, as MicroAggregator does, to the last digit."""
        self._space = ScaledSpace(make_scaler("standard"), min_known=1)
        if self._lines:
            values = self._values(numbers)
            self._has_few = known_people(values, units) < max(self.k, FEWEST_KNOWN)
            self._space.fit(self._without_few(values), units)

    def numbers(self, table):
        """The cells of records as numbers.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        Returns
        -------
        numbers : ndarray of shape (n_records, n_columns)
            What lies on a line by its value, a category by its code; NaN where one is missing.
        """
        return np.column_stack(
            [
                (column.values if isinstance(column, ON_A_LINE) else column.numbers)(
                    table[column.name]
                )
                for column in self.columns
            ]
        )

    def _values(self, numbers):
        """A copy of the columns on a line."""
        places = [place for place, c in enumerate(self.columns) if isinstance(c, ON_A_LINE)]
        return np.ascontiguousarray(numbers[:, places])

    def _codes(self, numbers):
        """By the name of each column of categories, the codes of its cells."""
        return {
            column.name: column.codes_of_numbers(numbers[:, place])
            for place, column in enumerate(self.columns)
            if not isinstance(column, ON_A_LINE)
        }

    def _without_few(self, values):
        """Values of which fewer than k are known are all equal: a mean would tell of few people."""
        values[:, self._has_few] = np.where(np.isnan(values[:, self._has_few]), np.nan, 0.0)
        return values

    def points(self, table):
        """The points of records.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        Returns
        -------
        points : ndarray of shape (n_records, n_coordinates) or SparsePoints
            The points: numbers, ranks and dates first, then what tells that one of these is
            missing, then categories.
        """
        return self.points_of(self.numbers(table))

    def points_of(self, numbers):
        """As `points`, for cells as `numbers` gives them."""
        lines, flags = self._lines_of(numbers)
        codes = self._codes(numbers)
        weight_of = {name: np.sqrt(weight) for name, weight in self._weights.items()}
        categories = [
            column.rows[codes[column.name]] * weight_of[column.name] for column in self._categories
        ]
        n_coordinates = sum(part.shape[1] for part in (lines, flags, *categories))
        if n_coordinates == 0:  # Records that have nothing to tell them apart are at one place.
            return np.zeros((len(numbers), 1))
        if n_coordinates <= MAX_DENSE:
            return np.concatenate([lines, flags, *(part.toarray() for part in categories)], axis=1)
        matrix = hstack([csr_array(lines), csr_array(flags), *categories], format="csr")
        few = [part.toarray() for part in categories if part.shape[1] <= MAX_FOR_ROUTING]
        many = [
            self._order_of(column, codes[column.name])
            for column, part in zip(self._categories, categories, strict=True)
            if part.shape[1] > MAX_FOR_ROUTING
        ]
        return SparsePoints(matrix, np.concatenate([lines, flags, *few, *many], axis=1))

    def column_of_coordinates(self):
        """Name of the column that each coordinate of the points belongs to."""
        names = [column.name for column in self._lines]
        if self._lines:
            names += [names[place] for place in self._space.with_missing]
        for column in self._categories:
            names += [column.name] * column.rows.shape[1]
        column_of = np.empty(len(names), dtype=object)
        column_of[:] = names
        return column_of

    def _order_of(self, column, codes):
        """The place of each value in the order of the values, as a column of variance 1 or so."""
        return column.places(codes)[:, None] * np.sqrt(12.0 * self._weights[column.name])

    def _lines_of(self, numbers):
        """Coordinates of numbers, ranks and dates, and of where these are missing."""
        if not self._lines:
            return np.empty((len(numbers), 0)), np.empty((len(numbers), 0))
        values, flags = self._space.parts(self._without_few(self._values(numbers)))
        factors = np.sqrt([self._weights[column.name] for column in self._lines])
        if np.any(factors != 1.0):
            values = values * factors
        return values, flags * factors[self._space.with_missing]

    def single_values(self, table, labels, units=None):
        """Groups and coordinates whose mean would tell the only known value, and what to say there.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        Returns
        -------
        groups, columns : ndarray of int
            The groups and the coordinates.

        places : ndarray of float
            Where missing values lie.
        """
        return self.single_values_of(self.numbers(table), labels, units)

    def sums_of_squares(self, table, labels):
        """Squared errors of each column, within groups and in all.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        Returns
        -------
        sums : dict
            By the name of each column, the sum of squared distances to the means of the groups, and
            to the mean of all records.
        """
        return self.sums_of_squares_of(self.numbers(table), labels)

    def sums_of_squares_of(self, numbers, labels):
        """As `sums_of_squares`, for cells as `numbers` gives them."""
        sums = {}
        lines, flags = self._lines_of(numbers)
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
        return {column.name: sums[column.name] for column in self.columns}

    def single_values_of(self, numbers, labels, units=None):
        """Groups and coordinates whose mean would tell the only known value, and what to say there.

        Parameters
        ----------
        numbers : ndarray of shape (n_records, n_columns)
            The records, as `numbers` gives them.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        Returns
        -------
        groups, columns : ndarray of int
            The groups and the coordinates.

        places : ndarray of float
            Where missing values lie.
        """
        if not self._lines:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
        values = self._without_few(self._values(numbers))
        groups, columns, places = self._space.single_values(values, labels, units)
        weights = np.sqrt([self._weights[column.name] for column in self._lines])
        return groups, columns, places * weights[columns]

    def losses(self, table, labels):
        """What each column loses, from 0 to 1.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        Returns
        -------
        losses : dict
            By the name of each column, the share of its variance that groups lose; for categories,
            how often two records of the same group differ, relative to any two of the table.
        """
        sums = self.sums_of_squares(table, labels)
        losses = {name: loss_share(*pair) for name, pair in sums.items()}
        for column in self._categories:
            losses[column.name] = column.loss(table[column.name], labels)
        return losses

    def released(self, table, labels, *, numbers="mean", categories="mode", units=None):
        """The row that each group is released as.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        numbers : {"mean", "median"}, default="mean"
            How numbers, ranks and dates are averaged.

        categories : {"mode", "shares", "generalize"}, default="mode"
            How categories are released.

        units : ndarray of shape (n_records,) or None, default=None
            Who each record belongs to, numbered from 0; None if each belongs to somebody else.

        Returns
        -------
        rows : dict
            By the name of each column, a pandas DataFrame with a row per group.
        """
        n_groups = int(labels.max()) + 1
        return {
            column.name: self._released(
                column, table[column.name], labels, n_groups, numbers, categories, units
            )
            for column in self.columns
        }

    def _released(self, column, cells, labels, n_groups, numbers, categories, units):
        if isinstance(column, ON_A_LINE):
            averages = group_averages(column.values(cells), labels, n_groups, numbers, cells, units)
            return column.released(averages, cells).to_frame()
        if categories == "mode":
            return column.modes(cells, labels, n_groups, self.k, units).to_frame()
        if categories == "generalize":
            return column.generalized(cells, labels, n_groups).to_frame()
        names, indicators = column.shares(cells)
        return _frame(names, group_means(indicators, labels))

    def formatted(self, table, *, categories="mode"):
        """Records as they are, in the columns of the release.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        categories : {"mode", "shares", "generalize"}, default="mode"
            How categories are released.

        Returns
        -------
        columns : dict
            By the name of each column, a pandas DataFrame with a row per record.
        """
        formatted = {}
        for column in self.columns:
            cells = table[column.name]
            if categories == "shares" and not isinstance(column, ON_A_LINE):
                formatted[column.name] = _frame(*column.shares(cells))
            else:
                formatted[column.name] = cells.reset_index(drop=True).to_frame()
        return formatted


def _frame(names, values):
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    return pandas.DataFrame(values, columns=names)


def _make_column(column, k, *, units, kinds, orders, hierarchies, decimals):
    """The object for a column, by its kind."""
    name = column.name
    if name in hierarchies:
        return HierarchyColumn(column, k, hierarchies[name], units)
    if name in orders:
        return OrdinalColumn(column, k, orders[name], units)
    kind = kinds.get(name) or kind_of(column)
    if is_missing(column).all():
        kind = "category"
    if kind == "number":
        return NumberColumn(column, decimals.get(name, "auto"))
    if kind == "ordinal":
        return OrdinalColumn(column, k, units=units)
    if kind == "date":
        return DateColumn(column)
    category = CategoryColumn(column, k, units)
    category.kind = kind
    return category
