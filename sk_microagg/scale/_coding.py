"""The columns that are anonymized, as numbers that travel with the rows, and back.

A coding turns the cells of a part into numbers, finds the space in which rows are compared, and
says what groups of rows are released as: one for columns of numbers, which works as MicroAggregator
does, and one for columns of any kind, which works as TableAggregator does.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from sk_microagg._table_space import check_decimals, check_kinds, check_weights
from sk_microagg._utils._space import ScaledSpace, fewest_known, warn_of_exact_scaler
from sk_microagg._utils._statistics import group_means, squared_error
from sk_microagg._utils._validation import check_records
from sk_microagg.encoding._coordinates import Coordinates
from sk_microagg.scale._column_survey import find_kinds, survey_columns
from sk_microagg.scale._columns import make_column


def are_numbers(dtypes):
    """Whether all of some types are for numbers."""
    types = pd.api.types
    return all(types.is_numeric_dtype(kind) and not types.is_bool_dtype(kind) for kind in dtypes)


@dataclass(frozen=True)
class NumberCoding:
    """Columns of numbers, which travel as they are."""

    dtype: np.dtype

    def encode(self, frame):
        """The numbers that travel, NaN where one is missing."""
        return check_records(frame, dtype=self.dtype, allow_missing=True)

    def fit_space(self, scaler, records, k, units, n_rows):
        """Fit the space in which rows are compared on a sample, for which its points are made.

        Parameters
        ----------
        scaler : estimator or None
            The scaler, not fitted.

        records : ndarray of shape (n_records, n_columns)
            The sample.

        k : int
            Smallest size of a group.

        units : ndarray of shape (n_records,) or None
            Who each record belongs to; None if each belongs to somebody else.

        n_rows : int
            Number of rows of the table.

        Returns
        -------
        space : ScaledSpace
            The space.

        points : ndarray of shape (n_records, n_coordinates)
            The points.

        rounding : ndarray of shape (n_coordinates,)
            How much points may differ in another batch.
        """
        space = ScaledSpace(scaler, fewest_known(k))
        points, _ = space.fit(records, units)
        if not space.is_coarse:
            warn_of_exact_scaler(scaler)
        return space, points, space.rounding(records, points)

    def averaged(self, records, points):
        """What the means of groups are of: the numbers themselves."""
        return records

    def finish(self, space, groups, records, kept, labels, units, hidden):
        """The groups with what they are released as, the means, and with the errors of points."""
        if hidden is None or not len(hidden[0]):
            return groups
        return replace(groups, sse=squared_error(kept, group_means(kept, labels), labels))

    def kinds(self, names):
        """The kind of each column, by its name."""
        return dict.fromkeys(names, "number")

    def shown(self, centroids):
        """Values that the model needs in addition to the numbers of the groups: none."""
        return ()

    def as_released(self, shown):
        """What the model keeps."""
        return self

    def for_new_rows(self, parts, space):
        """The coding of rows that are assigned to groups: numbers of any type."""
        if parts.coding is None:
            dtypes = parts.frame.dtypes[parts.columns]
            names = [name for name, dtype in dtypes.items() if not are_numbers([dtype])]
            raise ValueError(
                f"X has the column {names[0]!r} of type {dtypes[names[0]]}: in `fit`, all were "
                "numeric."
            )
        return parts.coding

    def columns_of(self, released, names):
        """The released columns, by their names, from released rows."""
        return {name: released[:, j].astype(self.dtype) for j, name in enumerate(names)}


@dataclass(frozen=True)
class TableCoding:
    """Columns of any kind."""

    columns: tuple
    k: int
    weights: dict

    dtype = np.dtype(np.float64)

    @classmethod
    def of(cls, frame, names, unit, k, options):
        """Look at all rows of the columns.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
            The table.

        names : list
            The columns that are anonymized.

        unit : str or None
            The column that says who a row belongs to.

        k : int
            Smallest size of a group.

        options : ColumnOptions
            What the user says about columns.

        Returns
        -------
        coding : TableCoding
            The coding.
        """
        kinds, prototypes = find_kinds(frame[names], options.kinds)
        surveys = survey_columns(frame, kinds, unit, k, options.decimals)
        likes = {name: prototypes.get(name, frame._meta[name]) for name in kinds}
        columns = tuple(
            make_column(surveys[name], kind, likes[name], k, options.orders.get(name))
            for name, kind in kinds.items()
        )
        return cls(columns, k, options.weights)

    def encode(self, frame):
        """The numbers that travel, NaN where a value is missing."""
        return np.column_stack(
            [column.numbers(frame[column.column.name]) for column in self.columns]
        )

    def fit_space(self, scaler, records, k, units, n_rows):
        """As `NumberCoding.fit_space`; points are computed cell by cell, without rounding."""
        columns = [column.column for column in self.columns]
        space = Coordinates(columns, k, self.weights, records, units=units, n_records=n_rows)
        points = space.points(records)
        return space, points, np.zeros(points.shape[1])

    def averaged(self, records, points):
        """What the means of groups are of: codes have none."""
        return points

    def finish(self, space, groups, records, kept, labels, units, hidden):
        """The groups with what they are released as, as numbers, and with their errors."""
        n_groups = len(groups.sizes)
        averages = [
            column.averages(records[:, j], labels, n_groups, units)
            for j, column in enumerate(self.columns)
        ]
        sums = space.sums_of_squares(records, labels, hidden)
        return replace(
            groups,
            centroids=np.column_stack(averages),
            sse=float(sum(within for within, _ in sums.values())),
        )

    def kinds(self, names):
        """The kind of each column, by its name."""
        return {name: column.column.kind for name, column in zip(names, self.columns, strict=True)}

    def shown(self, centroids):
        """The categories that groups are released as."""
        return tuple(column.shown(centroids[:, j]) for j, column in enumerate(self.columns))

    def as_released(self, shown):
        """What the model keeps: no categories but those that are released."""
        return ReleasedColumns(
            tuple(column.as_released(one) for column, one in zip(self.columns, shown, strict=True))
        )


@dataclass(frozen=True)
class ReleasedColumns:
    """What a model knows of columns of any kind beyond the space of their points."""

    columns: tuple

    def for_new_rows(self, parts, space):
        """The coding of rows that are assigned to groups."""
        return NewRowCoding(space)

    def columns_of(self, released, names):
        """The released columns, by their names, from released rows."""
        return {
            name: column.cells(released[:, j])
            for j, (name, column) in enumerate(zip(names, self.columns, strict=True))
        }


@dataclass(frozen=True)
class NewRowCoding:
    """Columns of any kind of rows that are assigned to groups, as their space knows them."""

    space: Coordinates

    dtype = np.dtype(np.float64)

    def encode(self, frame):
        """The numbers that travel, NaN where a value is missing."""
        return self.space.numbers(frame)


@dataclass(frozen=True)
class ColumnOptions:
    """What the user says about columns, by their names."""

    kinds: dict
    orders: dict
    weights: dict
    decimals: dict

    @classmethod
    def of(cls, estimator, names):
        """Check the parameters of an estimator."""
        weights = estimator.column_weights
        if weights is not None and not isinstance(weights, dict):
            raise TypeError(
                f"column_weights={weights!r} must be a dict from columns to numbers or None, got "
                f"{type(weights).__name__}."
            )
        return cls(
            *check_kinds(estimator.categorical, estimator.ordinal, names),
            check_weights(weights, names),
            check_decimals(estimator.decimals, names),
        )

    def __bool__(self):
        has_decimals = any(number != "auto" for number in self.decimals.values())
        return bool(self.kinds or self.weights or has_decimals)
