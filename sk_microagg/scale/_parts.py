"""A Dask table and its parts, the partitions."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from numbers import Integral
from os import PathLike

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from sk_microagg.scale._coding import NumberCoding, are_numbers
from sk_microagg.scale._release import read_parquet
from sk_microagg.scale._roles import Roles
from sk_microagg.scale._survey import Sample, compute_merged


@dataclass(frozen=True)
class Parts:
    """A Dask DataFrame with the names of the columns to anonymize."""

    frame: object
    columns: list
    coding: object
    unit: object = None
    roles: Roles = field(default_factory=Roles)

    @classmethod
    def of(cls, X, columns, sensitive=(), unit=None, strata=()):
        """Check a Dask DataFrame, or read a Parquet folder; check the columns.

        `sensitive`, `unit` and `strata` name columns that are not to be anonymized.
        """
        if is_path(X):
            X = read_parquet(X)
        if not isinstance(X, dd.DataFrame):
            raise TypeError(
                f"X of type {type(X).__name__} must be a dask DataFrame or the path of a Parquet "
                "folder; MicroAggregator takes what fits into memory."
            )
        X = X.optimize()  # Once, as it may join parts: all steps must see the same ones.
        others = _check_roles(X, columns, sensitive, unit, strata)
        if columns is None:
            columns = [name for name in X.columns if name not in others]
        columns = as_list(columns)
        if not columns:
            raise ValueError(f"columns={columns!r} must name at least one column.")
        for name in columns:
            if columns.count(name) + (list(X.columns).count(name) != 1) > 1:
                raise ValueError(
                    f"columns={columns!r}: {name!r} must be there once, in `columns` and in X, "
                    f"which has the columns {list(X.columns)!r}."
                )
            if pd.api.types.is_complex_dtype(X.dtypes[name]):
                raise TypeError(f"columns={columns!r}: {name!r} holds complex numbers.")
        coding = None
        if are_numbers(X.dtypes[name] for name in columns):
            dtype = X._meta[columns].to_numpy().dtype
            coding = NumberCoding(dtype if dtype == np.float32 else np.dtype(np.float64))
        return cls(X, columns, coding, unit)

    def with_coding(self, coding):
        """The same table, with the values of its columns in a coding."""
        return replace(self, coding=coding)

    def with_roles(self, roles):
        """The same table, with values of other columns in each row that travels."""
        return replace(self, roles=roles)

    def without(self, unit):
        """The same table, which is released without a column, if it has that."""
        return replace(self, unit=unit) if unit in self.frame.columns else self

    @property
    def format(self):
        """How rows travel."""
        return RowFormat(self.columns, self.coding, self.roles)

    def __len__(self):
        return self.frame.npartitions

    def map(self, function, *arguments):
        """Make tasks `function(rows, number of the part, *arguments)`, one per part."""
        # Wrapped once, so that they are not sent along with every task.
        function = dask.delayed(_on_rows, pure=False, traverse=False), dask.delayed(function)
        arguments = [dask.delayed(argument, traverse=False) for argument in arguments]
        row_format = dask.delayed(self.format, traverse=False)
        return [
            function[0](part, function[1], row_format, number, *arguments)
            for number, part in enumerate(self.frame[self.format.names].to_delayed())
        ]

    def lengths(self):
        """Number of rows of each part."""
        return dask.compute(*self.map(_length))

    def sample(self, seed, size):
        """Draw a uniform sample of the rows; seed and parts determine it."""
        return compute_merged(self.map(Sample.of_part, seed, size), Sample.merged, size)

    def check_names(self):
        """Raise unless all columns have names that Parquet files can have."""
        for name in self.frame.columns:
            if not isinstance(name, str):
                raise TypeError(
                    f"X has a column named {name!r}: to be written to `path`, names must be str."
                )

    def has_index(self):
        """Whether the index carries information, and does not just count the rows of each part."""
        if self.frame.known_divisions or not isinstance(self.frame._meta.index, pd.RangeIndex):
            return True
        is_counter = dask.delayed(_is_counter, pure=False)
        return not all(dask.compute(*map(is_counter, self.frame.index.to_delayed())))

    def with_released(self, released, coding, model):
        """The table with the columns replaced, given tasks for the released rows of each part.

        The result keeps a reference to the folder of the model, since the work of a lost worker is
        done again.
        """
        frame = self.frame if self.unit is None else self.frame.drop(columns=[self.unit])
        categories = self._used_categories()
        no_rows = np.empty((0, len(self.columns)))
        meta = _replace(frame._meta, no_rows, self.columns, coding, categories)
        put, coding = dask.delayed(_replace, pure=False), dask.delayed(coding, traverse=False)
        parts = [
            put(part, rows, self.columns, coding, categories, model)
            for part, rows in zip(frame.to_delayed(), released, strict=True)
        ]
        # Otherwise, Dask would turn lists and other objects into text.
        with dask.config.set({"dataframe.convert-string": False}):
            return dd.from_delayed(parts, meta=meta, divisions=frame.divisions, verify_meta=False)

    def _used_categories(self):
        """For each categorical column the values that occur; categories may differ by part."""
        names = [
            name
            for name, dtype in self.frame.dtypes.items()
            if isinstance(dtype, pd.CategoricalDtype) and name not in {*self.columns, self.unit}
        ]
        if not names:
            return {}
        categories_of = dask.delayed(_categories, pure=False)
        parts = dask.compute(*map(categories_of, self.frame[names].to_delayed()))
        used = {}
        for name in names:
            known = dict.fromkeys(value for part in parts for value in part[name][0])
            found = set().union(*(part[name][1] for part in parts))
            used[name] = [value for value in known if value in found]
        return used


def is_path(X):
    """Whether a table is given by its path."""
    return isinstance(X, str | PathLike)


def as_list(columns):
    """A name, or several, as a list."""
    if isinstance(columns, str | Integral):
        return [columns]
    return list(columns)


def _check_roles(X, columns, sensitive, unit, strata):
    """Raise unless columns with roles exist and have no other role; return their names."""
    units = [] if unit is None else [unit]
    roles = {"sensitive": list(sensitive), "unit": units, "strata": list(strata)}
    for role, names in roles.items():
        for name in names:
            if list(X.columns).count(name) != 1:
                raise ValueError(
                    f"{role}={name!r} must be a column of X, which has the columns "
                    f"{list(X.columns)!r}."
                )
            if columns is not None and name in as_list(columns):
                raise ValueError(f"{role}={name!r} must not be one of columns={columns!r}.")
    for one, other in combinations(roles, 2):
        for name in roles[other]:
            if name in roles[one]:
                raise ValueError(f"{other}={name!r} must not be one of {one}={roles[one]!r}.")
    return {*sensitive, *units, *strata}


def _is_counter(index):
    return index.name is None and index.equals(pd.RangeIndex(len(index)))


def _length(records, part):
    return len(records)


def _on_rows(frame, function, row_format, number, *arguments):
    return function(row_format.encode(frame), number, *arguments)


def _categories(frame):
    """For each column its categories, and those that occur in its rows."""
    return {
        name: (
            list(column.cat.categories),
            list(column.cat.remove_unused_categories().cat.categories),
        )
        for name, column in frame.items()
    }


def _replace(frame, rows, columns, coding, categories, model=None):
    """Replace the values in some columns; remove metadata and categories that do not occur."""
    if len(rows) != len(frame):
        raise RuntimeError(
            f"A part of X had {len(rows)} rows and now has {len(frame)}: X changed on the way."
        )
    frame = frame.copy(deep=False)
    frame.attrs = {}
    for name, cells in coding.columns_of(rows, columns).items():
        frame[name] = cells.array if isinstance(cells, pd.Series) else cells
    for name, used in categories.items():
        frame[name] = frame[name].cat.set_categories(used)
    return frame


@dataclass(frozen=True)
class RowFormat:
    """How the rows of a table become arrays that travel."""

    columns: list
    coding: object
    roles: Roles

    @property
    def names(self):
        """All columns of the table that are needed."""
        return self.columns + self.roles.names

    @property
    def width(self):
        """Number of values in a row."""
        return len(self.columns) + self.roles.width

    def no_rows(self):
        """Rows as they travel, but none of them."""
        return np.empty((0, self.width), np.float64 if self.roles.width else self.coding.dtype)

    def encode(self, frame):
        """The rows of a part of the table."""
        if not len(frame):
            return self.no_rows()
        records = self.coding.encode(frame[self.columns])
        if not self.roles.width:
            return records
        return np.column_stack([records, self.roles.encode(frame)])

    def records(self, rows):
        """The columns that are anonymized, in their own float type."""
        return np.ascontiguousarray(rows[:, : len(self.columns)], self.coding.dtype)

    def rules(self, rows):
        """What groups of these rows must satisfy beyond their size."""
        return self.roles.rules_of(rows[:, len(self.columns) :])

    def strata(self, rows):
        """Number of the stratum of each row; 0 if there are no strata."""
        return self.roles.strata_of(rows[:, len(self.columns) :])
