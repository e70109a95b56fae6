"""A Dask table and its parts, the partitions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from sk_microagg._table_roles import TableRoles
from sk_microagg._utils._typing import DataFrame, Floats, Labels
from sk_microagg._utils._validation import check_names_differ
from sk_microagg.privacy import Rules
from sk_microagg.scale._coding import ReleasedColumns
from sk_microagg.scale._group_constraints import GroupConstraints
from sk_microagg.scale._parquet import read_parquet
from sk_microagg.scale._survey import categories_of_parts, compute_merged


def as_dask_frame(X: Any) -> Any:
    """The table that the user gave, or that is in a Parquet folder."""
    if is_path(X):
        X = read_parquet(X)
    if not isinstance(X, dd.DataFrame):
        raise TypeError(
            f"X of type {type(X).__name__} must be a dask DataFrame or the path of a Parquet "
            "folder; TableAggregator takes what fits into memory."
        )
    check_names_differ(X.columns)
    return X.optimize()  # Once, as it may join parts: all steps must see the same ones.


def is_path(X: Any) -> bool:
    return isinstance(X, str | PathLike)


@dataclass(frozen=True)
class Sample:
    """A uniform sample of the rows of a table, or all rows if there are few."""

    n_rows: int
    largest_part: int
    keys: Floats
    place: Labels
    rows: Floats

    @classmethod
    def of_part(cls, records: Floats, part: int, seed: int, size: int) -> "Sample":
        """Sample one part of the table. Seed and number of the part determine the result."""
        keys = np.random.default_rng([seed, part]).random(len(records))
        place = np.column_stack([np.full(len(records), part), np.arange(len(records))])
        return cls(len(records), len(records), keys, place, records)._lowest(size)

    @classmethod
    def merged(cls, samples: list["Sample"], size: int) -> "Sample":
        together = cls(
            sum(sample.n_rows for sample in samples),
            max(sample.largest_part for sample in samples),
            np.concatenate([sample.keys for sample in samples]),
            np.concatenate([sample.place for sample in samples]),
            np.concatenate([sample.rows for sample in samples]),
        )
        return together._lowest(size)

    def _lowest(self, size: int) -> "Sample":
        if len(self.keys) <= size:
            return self
        chosen = np.sort(np.argpartition(self.keys, size)[:size])
        keys, place, rows = self.keys[chosen], self.place[chosen], self.rows[chosen]
        return Sample(self.n_rows, self.largest_part, keys, place, rows)


@dataclass(frozen=True)
class RowFormat:
    """How the rows of a table become arrays that travel."""

    columns: list[Any]
    coding: Any
    constraints: GroupConstraints

    @property
    def names(self) -> list[Any]:
        """All columns of the table that are needed."""
        return [*dict.fromkeys([*self.columns, *self.constraints.names])]

    @property
    def width(self) -> int:
        return len(self.columns) + self.constraints.width

    def no_rows(self) -> Floats:
        return np.empty((0, self.width))

    def encode(self, frame: DataFrame) -> Floats:
        if not len(frame):
            return self.no_rows()
        records = self.coding.encode(frame)
        if not self.constraints.width:
            return records
        return np.column_stack([records, self.constraints.encode(frame)])

    def records(self, rows: Floats) -> Floats:
        """The quasi-identifiers."""
        return np.ascontiguousarray(rows[:, : len(self.columns)])

    def rules(self, rows: Floats) -> Rules:
        """What groups of these rows must satisfy beyond their size."""
        return self.constraints.rules_of(rows[:, len(self.columns) :])

    def weights(self, rows: Floats) -> Floats | None:
        if self.constraints.weight is None:
            return None
        return self.constraints.amounts_in(rows[:, len(self.columns) :], self.constraints.weight)

    def strata(self, rows: Floats) -> Labels:
        """Number of the stratum of each row; 0 if there are no strata."""
        return self.constraints.strata_of(rows[:, len(self.columns) :])


@dataclass(frozen=True)
class Parts:
    """A Dask DataFrame, the roles of its columns, and how its rows travel."""

    frame: Any
    roles: TableRoles
    coding: Any
    constraints: GroupConstraints = field(default_factory=GroupConstraints)

    @property
    def format(self) -> RowFormat:
        return RowFormat(self.roles.quasi_identifiers, self.coding, self.constraints)

    def __len__(self) -> int:
        return self.frame.npartitions

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Make tasks `function(rows, number of the part, *arguments)`, one per part."""
        # Wrapped once, so that they are not sent along with every task.
        on_rows = dask.delayed(_on_rows, pure=False, traverse=False)
        function = dask.delayed(function)
        arguments = tuple(dask.delayed(argument, traverse=False) for argument in arguments)
        row_format = dask.delayed(self.format, traverse=False)
        return [
            on_rows(part, function, row_format, number, *arguments)
            for number, part in enumerate(self.frame[self.format.names].to_delayed())
        ]

    def lengths(self) -> list[int]:
        return dask.compute(*self.map(_length))

    def sample(self, seed: int, size: int) -> Sample:
        """Draw a uniform sample of the rows; seed and parts determine it."""
        return compute_merged(self.map(Sample.of_part, seed, size), Sample.merged, size)

    def has_index(self) -> bool:
        """Whether the index carries information, and does not just count the rows of each part."""
        if self.frame.known_divisions or not isinstance(self.frame._meta.index, pd.RangeIndex):
            return True
        is_counter = dask.delayed(_is_counter, pure=False)
        return not all(dask.compute(*map(is_counter, self.frame.index.to_delayed())))

    def with_released(self, released: list[Any], coding: ReleasedColumns, model: Any) -> Any:
        """The table with the columns replaced, given tasks for the released rows of each part.

        The result keeps a reference to the folder of the model, since the work of a lost worker is
        done again.
        """
        dropped = [name for name in self.frame.columns if name in self.roles.dropped]
        frame = self.frame.drop(columns=dropped) if dropped else self.frame
        categories = self._used_categories(frame)
        meta = _replace(frame._meta, np.empty((0, coding.n_released)), coding, categories)
        put, coding = dask.delayed(_replace, pure=False), dask.delayed(coding, traverse=False)
        parts = [
            put(part, rows, coding, categories, model)
            for part, rows in zip(frame.to_delayed(), released, strict=True)
        ]
        # Otherwise, Dask would turn lists and other objects into text.
        with dask.config.set({"dataframe.convert-string": False}):
            return dd.from_delayed(parts, meta=meta, divisions=frame.divisions, verify_meta=False)

    def _used_categories(self, frame: Any) -> dict[Any, list[Any]]:
        """For each categorical column the values that occur; categories may differ by part."""
        names = [
            name
            for name, dtype in frame.dtypes.items()
            if isinstance(dtype, pd.CategoricalDtype) and name not in self.roles.quasi_identifiers
        ]
        if not names:
            return {}
        used = {}
        for name, parts in categories_of_parts(frame[names]).items():
            known = dict.fromkeys(value for all_of_part, _ in parts for value in all_of_part)
            found = set().union(*(of_rows for _, of_rows in parts))
            used[name] = [value for value in known if value in found]
        return used


def _is_counter(index: Any) -> bool:
    return index.name is None and index.equals(pd.RangeIndex(len(index)))


def _length(rows: Floats, part: int) -> int:
    return len(rows)


def _on_rows(
    frame: DataFrame, function: Callable[..., Any], row_format: RowFormat, number: int, *rest: Any
) -> Any:
    return function(row_format.encode(frame), number, *rest)


def _replace(
    frame: DataFrame,
    rows: Floats,
    coding: ReleasedColumns,
    categories: dict[Any, list[Any]],
    model: Any = None,
) -> DataFrame:
    """Replace the values in some columns; remove metadata and categories that do not occur."""
    if len(rows) != len(frame):
        raise RuntimeError(
            f"A part of X had {len(rows)} rows and now has {len(frame)}: X changed on the way."
        )
    frame = frame.copy(deep=False)
    frame.attrs = {}
    for name, cells in coding.cells(rows).items():
        if name in frame.columns:  # New rows may have no weight.
            frame[name] = cells.array
    for name, used in categories.items():
        frame[name] = frame[name].cat.set_categories(used)
    return frame
