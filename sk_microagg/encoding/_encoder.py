"""A whole table as points, and groups of points as rows of a table."""

import numpy as np

from sk_microagg._utils._extras import import_extra
from sk_microagg._utils._scaling import make_scaler
from sk_microagg._utils._statistics import group_means
from sk_microagg.encoding._categories import CategoryColumn
from sk_microagg.encoding._frames import is_missing
from sk_microagg.encoding._kinds import kind_of
from sk_microagg.encoding._numbers import DateColumn, NumberColumn, group_averages
from sk_microagg.encoding._ordinals import OrdinalColumn
from sk_microagg.encoding._trees import HierarchyColumn

ON_A_LINE = (NumberColumn, OrdinalColumn, DateColumn)


class TableEncoder:
    """Columns of any kind as coordinates, each column with a total variance of 1 or its weight.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns, of the records that the variance refers to.

    k : int
        Categories that fewer records share have no coordinate of their own.

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

    n_coordinates : int
        Number of coordinates of a point.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_microagg.encoding import TableEncoder
    >>> table = pd.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "m", "m", "f"]})
    >>> TableEncoder(table, k=2).points(table).round(2)
    array([[-1.34,  0.  ],
           [-0.45,  2.  ],
           [ 0.45,  2.  ],
           [ 1.34,  0.  ]])
    """

    def __init__(self, table, k, *, kinds=(), orders=(), hierarchies=(), weights=(), decimals=()):
        self.k = k
        options = {
            "kinds": dict(kinds),
            "orders": dict(orders),
            "hierarchies": dict(hierarchies),
            "decimals": dict(decimals),
        }
        self.columns = [_make_column(table[name], k, **options) for name in table.columns]
        self._weights = {name: float(dict(weights).get(name, 1.0)) for name in table.columns}
        self._fit_lines(table)

    def _fit_lines(self, table):
        """Standardize what lies on a line, as MicroAggregator does, to the last digit."""
        self._lines = [column for column in self.columns if isinstance(column, ON_A_LINE)]
        self._scaler = None
        if not self._lines:
            return
        values = self._values(table)
        missing = np.isnan(values)
        self._share_missing = missing.mean(axis=0)
        self._has_few = (~missing).sum(axis=0) < self.k
        self._scaler = make_scaler("standard").fit(self._without_few(values))

    def _values(self, table):
        return np.column_stack([column.values(table[column.name]) for column in self._lines])

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
        points : ndarray of shape (n_records, n_coordinates)
            The points: numbers, ranks and dates first, then what tells that one of these is
            missing, then categories.
        """
        parts = [coordinates for _, coordinates in self._parts(table)]
        points = np.concatenate(parts, axis=1) if parts else np.empty((len(table), 0))
        # Records that have nothing to tell them apart are at the same place.
        return points if points.shape[1] else np.zeros((len(table), 1))

    def _parts(self, table):
        """Yield names of columns, and coordinates of these."""
        if self._lines:
            scaled = self._scaler.transform(self._without_few(self._values(table)))
            missing = np.isnan(scaled)
            scaled[missing] = 0.0
            # The known values have variance 1. A missing one is as far from a known one, on the
            # average, as two known ones are from each other.
            factors = np.array([np.sqrt(self._weights[column.name]) for column in self._lines])
            has_holes = (self._share_missing > 0) & (self._share_missing < 1)
            factors[has_holes] /= np.sqrt(1.0 - self._share_missing[has_holes] ** 2)
            if np.any(factors != 1.0):
                scaled *= factors
            names = [column.name for column in self._lines]
            yield names, scaled
            with_holes = [name for name, has in zip(names, has_holes, strict=True) if has]
            yield with_holes, (missing * factors)[:, has_holes]
        for column in self.columns:
            if not isinstance(column, ON_A_LINE):
                weight = np.sqrt(self._weights[column.name])
                points = column.points(table[column.name]) * weight
                yield [column.name] * points.shape[1], points

    def losses(self, table, labels):
        """The share of each column's variance that groups lose.

        Parameters
        ----------
        table : pandas.DataFrame
            The records.

        labels : ndarray of shape (n_records,)
            Group of each record, numbered from 0.

        Returns
        -------
        losses : dict
            The loss of each column, from 0 to 1; 0 for one without variance.
        """
        lost = dict.fromkeys(table.columns, 0.0)
        total = dict.fromkeys(table.columns, 0.0)
        for names, points in self._parts(table):
            within = ((points - group_means(points, labels)[labels]) ** 2).sum(axis=0)
            whole = ((points - points.mean(axis=0)) ** 2).sum(axis=0)
            for name, part, all_of_it in zip(names, within, whole, strict=True):
                lost[name] += part
                total[name] += all_of_it
        return {
            name: min(float(lost[name] / total[name]), 1.0) if total[name] > 0 else 0.0
            for name in table.columns
        }

    def released(self, table, labels, *, numbers="mean", categories="mode"):
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

        Returns
        -------
        rows : dict
            By the name of each column, a pandas DataFrame with a row per group.
        """
        n_groups = int(labels.max()) + 1
        return {
            column.name: self._released(
                column, table[column.name], labels, n_groups, numbers, categories
            )
            for column in self.columns
        }

    def _released(self, column, cells, labels, n_groups, numbers, categories):
        if isinstance(column, ON_A_LINE):
            averages = group_averages(column.values(cells), labels, n_groups, numbers, cells)
            return column.released(averages, cells).to_frame()
        if categories == "mode":
            return column.modes(cells, labels, n_groups, self.k).to_frame()
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


def _make_column(column, k, *, kinds, orders, hierarchies, decimals):
    """The object for a column, by its kind."""
    name = column.name
    if name in hierarchies:
        return HierarchyColumn(column, k, hierarchies[name])
    if name in orders:
        return OrdinalColumn(column, k, orders[name])
    kind = kinds.get(name) or kind_of(column)
    if is_missing(column).all():
        kind = "category"
    if kind == "number":
        return NumberColumn(column, decimals.get(name, "auto"))
    if kind == "ordinal":
        return OrdinalColumn(column, k)
    if kind == "date":
        return DateColumn(column)
    category = CategoryColumn(column, k)
    category.kind = kind
    return category
