"""A table in parts: what is learned of its columns, and how its rows become arrays that travel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sk_microagg._table_roles import TableRoles
from sk_microagg._table_space import check_weights, treatments_for
from sk_microagg._utils._tables import warn_of_similar_values
from sk_microagg._utils._typing import DataFrame, Floats, Labels, Series
from sk_microagg._utils._validation import check_k
from sk_microagg.privacy import Rules
from sk_microagg.scale._engine import PartedTable
from sk_microagg.scale._group_constraints import GroupConstraints
from sk_microagg.tables._coding import ReleasedTable, TableCoding, merge_surveys, survey_table
from sk_microagg.tables._coordinates import Coordinates
from sk_microagg.tables._values import keys_of, prototype_of

# Beyond so many times k people of a number, further ones are not counted for intervals, so that
# ends may be coarser than in memory where very many people have values that few share.
MOST_COUNTED = 200


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
class NewRows:
    """The coding of rows that are assigned to groups, which have so many released values."""

    space: Coordinates
    n_released: int

    def encode(self, frame: DataFrame) -> Floats:
        """The numbers that travel, NaN where a value is missing."""
        return self.space.numbers(frame)


@dataclass(frozen=True)
class Parts:
    """A table in parts, the roles of its columns, and how its rows travel."""

    table: PartedTable
    roles: TableRoles
    coding: Any
    constraints: GroupConstraints = field(default_factory=GroupConstraints)

    @property
    def format(self) -> RowFormat:
        return RowFormat(self.roles.quasi_identifiers, self.coding, self.constraints)

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Make tasks `function(rows, number of the part, *arguments)`, one per part."""
        return self.table.map(self.format.names, _on_rows, function, self.format, *arguments)

    def lengths(self) -> Sequence[int]:
        return self.table.compute(self.map(_length))

    def sample(self, seed: int, size: int) -> Sample:
        """Draw a uniform sample of the rows; seed and parts determine it."""
        return self.table.merge(self.map(Sample.of_part, seed, size), Sample.merged, size)

    def with_released(self, released: Sequence[Any], coding: ReleasedTable, model: Any) -> Any:
        """The table with the columns replaced, given tasks for the released rows of each part.

        The result keeps a reference to the folder of the model, since the work of a lost worker is
        done again.
        """
        return self.table.replaced(
            _replace, released, coding, self.roles.dropped, self._used_categories(), model
        )

    def _used_categories(self) -> dict[Any, list[Any]]:
        """For each categorical column the values that occur; categories may differ by part."""
        names = [
            name
            for name, dtype in self.table.meta.dtypes.items()
            if isinstance(dtype, pd.CategoricalDtype)
            and name not in (*self.roles.quasi_identifiers, *self.roles.dropped)
        ]
        if not names:
            return {}
        used, parts = {}, self.table.compute(self.table.map(names, _categories))
        for name, *both in zip(names, *parts, strict=True):
            known = dict.fromkeys(value for all_of_part, _ in both for value in all_of_part)
            found = set().union(*(of_rows for _, of_rows in both))
            used[name] = [value for value in known if value in found]
        return used


def learn_columns(
    table: PartedTable, estimator: Any, roles: TableRoles, k: int
) -> tuple[TableCoding, dict[Any, float]]:
    """Look at all rows of the quasi-identifiers; return what is learned, and their weights."""
    names, weights = roles.quasi_identifiers, estimator.column_weights
    if weights is not None and not isinstance(weights, dict):
        raise TypeError(
            f"column_weights={weights!r} must be a dict from columns to numbers or None, got "
            f"{type(weights).__name__}."
        )
    weights = check_weights(weights, names)
    treatments = treatments_for(estimator, _prototypes(table, names))
    unit = [] if roles.unit is None else [roles.unit]
    # Beyond so many people of a value, further ones are not counted.
    most = k * (MOST_COUNTED if estimator.numbers == "interval" else 1)
    tasks = table.map([*names, *unit], _survey, treatments, roles.unit, most)
    surveys = table.merge(tasks, merge_surveys, treatments, most)
    for name, survey in surveys.items():
        check_k(k, survey.n_known + survey.n_missing)  # Nothing is known of the values of no rows.
        if survey.facts is None:
            warn_of_similar_values(f"Column {name!r}", survey.as_categories().known)
    weight = None if roles.keeps_weight else roles.weight
    forms = estimator.numbers, estimator.categories
    return TableCoding.from_surveys(surveys, treatments, k, *forms, weight), weights


def _prototypes(table: PartedTable, names: Sequence[Any]) -> dict[Any, Series]:
    """By name, a prototype of each column; of objects, all rows tell of which kind they are."""
    prototypes = {name: table.meta[name] for name in names}
    have_objects = [name for name, column in prototypes.items() if column.dtype == object]
    if have_objects:
        prototypes |= table.merge(table.map(have_objects, _look_at_objects), _merged_prototypes)
    return prototypes


def _look_at_objects(frame: DataFrame, part: int) -> dict[Any, Series]:
    return {name: prototype_of(column) for name, column in frame.items()}


def _merged_prototypes(parts: Sequence[dict[Any, Series]]) -> dict[Any, Series]:
    return {name: prototype_of(pd.concat([part[name] for part in parts])) for name in parts[0]}


def _survey(frame: DataFrame, part: int, treatments: Any, unit: Any, most: int) -> Any:
    return survey_table(frame, treatments, None if unit is None else keys_of(frame[unit]), most)


def _categories(frame: DataFrame, part: int) -> list[tuple[list[Any], list[Any]]]:
    """By column, its categories, and those that occur."""
    both = ((column.cat, column.cat.remove_unused_categories().cat) for _, column in frame.items())
    return [(list(known.categories), list(used.categories)) for known, used in both]


def _length(rows: Floats, part: int) -> int:
    return len(rows)


def _on_rows(
    frame: DataFrame, number: int, function: Callable[..., Any], row_format: RowFormat, *rest: Any
) -> Any:
    return function(row_format.encode(frame), number, *rest)


def _replace(
    frame: DataFrame,
    rows: Floats | None,
    coding: ReleasedTable,
    dropped: list[Any],
    categories: dict[Any, list[Any]],
    model: Any,
) -> DataFrame:
    """Replace the values in some columns; remove metadata and categories that do not occur."""
    rows = np.empty((0, coding.n_released)) if rows is None else rows
    if len(rows) != len(frame):
        raise RuntimeError(
            f"A part of X had {len(rows)} rows and now has {len(frame)}: X changed on the way."
        )
    released, cells = coding.cells(rows), []
    for name in frame.columns:
        if name in released:
            cells += [column.set_axis(frame.index) for _, column in released[name].items()]
        elif name in categories:
            cells.append(frame[name].cat.set_categories(categories[name]))
        elif name not in dropped:
            cells.append(frame[name])
    names = pd.Index([each.name for each in cells], name=frame.columns.name, tupleize_cols=False)
    replaced = pd.DataFrame(dict(enumerate(cells)), index=frame.index, copy=False)
    return replaced.set_axis(names, axis=1)
