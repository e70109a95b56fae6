"""The quasi-identifiers as numbers that travel with the rows, and groups of rows as released cells.

A category travels as a number: those which the encoder knows are the first ones, in its order. The
fitted model has no more of the others than was released.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from sk_microagg._table_roles import TableRoles, check_decimals
from sk_microagg._table_space import check_kinds, check_weights
from sk_microagg._utils._rounding import Rounding, Spread
from sk_microagg._utils._statistics import Members, without_single
from sk_microagg._utils._tables import is_categorical
from sk_microagg._utils._typing import Array, DataFrame, Floats, Labels, Series
from sk_microagg._utils._validation import check_k
from sk_microagg.scale._survey import Survey, Values, find_kinds, survey_columns
from sk_microagg.tables import CategoryColumn, Hierarchy, OrdinalColumn
from sk_microagg.tables._categories import mode_positions
from sk_microagg.tables._coordinates import Coordinates
from sk_microagg.tables._dates import UNITS_OF_DATES
from sk_microagg.tables._domain import NumberDomain
from sk_microagg.tables._encoder import find_roundings
from sk_microagg.tables._frames import can_be_missing, take, with_room
from sk_microagg.tables._labels import ROOT, label_of
from sk_microagg.tables._numbers import group_averages
from sk_microagg.tables._recoding import (
    extremes,
    make_domain,
    text_of_cover,
    values_for_intervals,
)
from sk_microagg.tables._sampling_weights import rounded_means
from sk_microagg.tables._trees import HierarchyColumn

# Beyond so many times k people of a number, further ones are not counted for intervals.
MOST_COUNTED = 200


@dataclass(frozen=True)
class TableCoding:
    """What is known of the quasi-identifiers of the whole table."""

    columns: tuple[Any, ...]
    k: int
    weights: dict[Any, float]
    n_rows: int
    weight: Any

    @classmethod
    def from_estimator(cls, estimator: Any, frame: Any, roles: TableRoles, k: int) -> Self:
        """Check what an estimator says about columns, and look at all their rows."""
        names, weights = roles.quasi_identifiers, estimator.column_weights
        has_intervals = estimator.numbers == "interval"
        if weights is not None and not isinstance(weights, dict):
            raise TypeError(
                f"column_weights={weights!r} must be a dict from columns to numbers or None, got "
                f"{type(weights).__name__}."
            )
        given, orders, trees = check_kinds(estimator, names)
        weights, decimals = (
            check_weights(weights, names),
            check_decimals(estimator.decimals, names, UNITS_OF_DATES),
        )
        kinds, prototypes = find_kinds(frame[names], given | dict.fromkeys(trees, "category"))
        n_counted = MOST_COUNTED * k if has_intervals else k
        surveys = survey_columns(frame, kinds, roles.unit, n_counted, decimals, has_intervals)
        some = next(iter(surveys.values()))
        n_rows = some.n_known + some.n_missing
        check_k(k, n_rows)  # Nothing is known of the values of no rows.
        likes = {name: prototypes.get(name, frame._meta[name]) for name in kinds}
        columns = tuple(
            _make_column(surveys[name], kind, likes[name], k, (orders | trees).get(name), estimator)
            for name, kind in kinds.items()
        )
        return cls(columns, k, weights, n_rows, None if roles.keeps_weight else roles.weight)

    @property
    def n_released(self) -> int:
        """Number of values in a released row as it travels."""
        return sum(column.width for column in self.columns) + (self.weight is not None)

    def encode(self, frame: DataFrame) -> Floats:
        """The numbers that travel, NaN where a value is missing."""
        return np.column_stack(
            [column.numbers(frame[column.column.name]) for column in self.columns]
        )

    def fit_space(self, records: Floats, units: Array | None, n_rows: int) -> Coordinates:
        """Fit the space in which rows are compared, on a sample of `n_rows` rows."""
        columns = [column.column for column in self.columns]
        return Coordinates(columns, self.k, self.weights, records, units=units, n_records=n_rows)

    def finish(
        self,
        space: Coordinates,
        groups: Any,
        records: Floats,
        labels: Labels,
        units: Array | None,
        hidden: Any,
        weights: Floats | None,
    ) -> Any:
        """The groups with what they are released as, as numbers, and with their errors."""
        members = Members(labels, units, weights)
        averages = [
            column.averages(records[:, j], members) for j, column in enumerate(self.columns)
        ]
        if self.weight is not None and weights is not None:
            averages.append(rounded_means(weights, labels))
        sums = space.sums_of_squares(records, labels, hidden)
        return replace(
            groups,
            centroids=np.column_stack(averages),
            sse=float(sum(within for within, _ in sums.values())),
        )

    @property
    def _averaged(self) -> list[int]:
        """The places of columns of numbers, dates or ranks that are released as averages."""
        return [place for place, column in enumerate(self.columns) if type(column) is Line]

    def spread(self, records: Floats, labels: Labels, units: Array | None) -> Spread:
        """Deviations within groups, of columns that are released as averages."""
        known = [without_single(records[:, place], labels, units) for place in self._averaged]
        return Spread.within(np.reshape(known, (-1, len(labels))).T, labels)

    def find_roundings(self, records: Floats, spread: Spread, weight: Any) -> dict[Any, Rounding]:
        """Find how averages are rounded, given some rows and the deviations within all groups."""
        columns = [self.columns[place].column for place in self._averaged]
        values = records[:, self._averaged].T
        for column, own, deviation in zip(columns, values, spread.deviations(), strict=True):
            column.find_rounding(own, deviation)
        return find_roundings(columns, weight)

    def shown(self, centroids: Floats) -> tuple[Array, ...]:
        """The categories that groups are released as."""
        parts = _by_column(centroids, [column.width for column in self.columns])
        return tuple(column.shown(part) for column, part in zip(self.columns, parts, strict=True))

    def as_released(self, shown: tuple[Array, ...]) -> "ReleasedColumns":
        """What the model keeps: no categories but those that are released."""
        pairs = zip(self.columns, shown, strict=True)
        released = {column.column.name: column.as_released(one) for column, one in pairs}
        if self.weight is not None:
            released[self.weight] = MeanWeights(self.weight)
        return ReleasedColumns(released)


@dataclass(frozen=True)
class ReleasedColumns:
    """What a model holds of the quasi-identifiers beyond the space of their points."""

    columns: dict[Any, Any]

    def cells(self, released: Floats) -> dict[Any, Series]:
        parts = _by_column(released, [column.width for column in self.columns.values()])
        return {
            name: column.cells(part)
            for (name, column), part in zip(self.columns.items(), parts, strict=True)
        }

    @property
    def n_released(self) -> int:
        return sum(column.width for column in self.columns.values())


def _by_column(released: Floats, widths: list[int]) -> list[Any]:
    """The values of each column in released rows, which have one value each, or two ends."""
    ends = np.cumsum(widths)
    pairs = zip(ends - widths, widths, strict=True)
    return [
        released[:, start] if width == 1 else released[:, start : start + width]
        for start, width in pairs
    ]


@dataclass(frozen=True)
class NewRowCoding:
    """The quasi-identifiers of rows that are assigned to groups."""

    space: Coordinates
    n_released: int

    def encode(self, frame: DataFrame) -> Floats:
        """The numbers that travel, NaN where a value is missing."""
        return self.space.numbers(frame)


@dataclass(frozen=True)
class Line:
    """Numbers, dates or ordinal values. It holds no values of rows, so it is part of the model."""

    column: Any
    like: Series
    width = 1

    def numbers(self, cells: Series) -> Floats:
        """The numbers that travel, NaN where a value is missing."""
        return self.column.values(cells)

    def averages(self, numbers: Floats, groups: Members) -> Floats:
        """What groups are released as, as numbers."""
        return group_averages(numbers, groups, "mean", self.like)

    def shown(self, averages: Floats) -> Floats:
        """The categories that groups are released as; numbers say what they stand for."""
        return np.unique(averages) if is_categorical(self.like) else averages[:0]

    def as_released(self, shown: Floats) -> Self:
        """What the model keeps of the column."""
        return replace(self, like=self._released(shown)[:0]) if is_categorical(self.like) else self

    def cells(self, averages: Floats) -> Series:
        """The released cells, with their type."""
        different, places = np.unique(averages, return_inverse=True)
        cells = take(self._released(different), places)
        return cells.astype(self.like.dtype) if is_categorical(cells) else cells

    def _released(self, averages: Floats) -> Series:
        return self.column.released(averages, self.like)


@dataclass(frozen=True)
class Intervals(Line):
    """A line whose groups are released as intervals; the values of the table, in order."""

    places: Floats
    domain: NumberDomain
    width = 2

    @classmethod
    def from_survey(cls, column: Any, like: Series, survey: Survey, k: int) -> Self:
        """Find the ends that intervals may have, from all values and numbers of people."""
        values = survey.as_categories()
        known = pd.Series(values.known.array, name=like.name)
        if like.dtype.kind not in "iuf":
            known = known.astype(like.dtype)
        at = values_for_intervals(column, known)
        order = np.argsort(at)
        counts = values.counts[:-1] if survey.people is None else survey.n_people()
        domain = make_domain(column, at[order], k, None, counts[order])
        return cls(column, like, column.values(known)[order], domain)

    def averages(self, numbers: Floats, groups: Members) -> Floats:
        """The ends of the interval of each group, NaN for "*"."""
        low, high, is_complete = extremes(numbers, groups)
        first = np.searchsorted(self.places, low[is_complete])
        last = np.searchsorted(self.places, high[is_complete], side="right") - 1
        covers = [self.domain.cover(*ends) for ends in zip(first, last, strict=True)]
        ends = np.full((groups.n_groups, 2), np.nan)
        ends[is_complete] = np.reshape([cover or (np.nan, np.nan) for cover in covers], (-1, 2))
        return ends

    def as_released(self, shown: Floats) -> Any:
        return ReleasedIntervals(self.column)


@dataclass(frozen=True)
class ReleasedIntervals:
    """Intervals, whose ends travel."""

    column: Any
    width = 2

    def cells(self, ends: Floats) -> Series:
        pairs, places = np.unique(np.nan_to_num(ends, nan=np.inf), axis=0, return_inverse=True)
        covers = [() if np.isinf(low) else (low, high) for low, high in pairs.tolist()]
        texts = np.array([text_of_cover(self.column, cover) for cover in covers], dtype=object)
        return pd.Series(texts[places.reshape(-1)], dtype=object, name=self.column.name)


@dataclass(frozen=True)
class MeanWeights:
    """The column of sampling weights, released as means."""

    name: Any
    width = 1

    def cells(self, averages: Floats) -> Series:
        return pd.Series(averages, name=self.name)


@dataclass(frozen=True)
class Categories:
    """Categories, and all values of the table."""

    column: Any
    like: Series
    values: Values
    people: Labels
    places: Labels  # of values, as they travel
    order: Labels  # the value at each place
    categories: pd.Index | None
    k: int
    generalizes: bool
    width = 1

    def numbers(self, cells: Series) -> Floats:
        return np.append(self.places, np.nan)[self.values.positions(cells.astype(object))]

    def averages(self, numbers: Floats, groups: Members) -> Floats:
        """The most frequent or common values of groups, as numbers."""
        if self.generalizes:
            codes = np.where(np.isnan(numbers), -1, numbers).astype(np.intp)
            common = self.column.common_codes(codes, groups)
            return np.where(common < 0, np.nan, common)
        places = np.where(np.isnan(numbers), len(self.order), numbers).astype(np.intp)
        codes = np.append(self.order, len(self.people))[places]
        positions = mode_positions(codes, self.values.counts, groups, self.k, self.people)
        modes = np.where(positions < 0, np.nan, numbers[positions])
        if len(self.people) and not can_be_missing(self.like):
            most_frequent = np.argmax(self.values.counts[:-1])
            if self.people[most_frequent] >= self.k:
                modes[positions < 0] = self.places[most_frequent]
        return modes

    def shown(self, averages: Floats) -> Floats:
        """The values that groups are released as, each once."""
        return np.unique(averages)

    def as_released(self, shown: Floats) -> "ReleasedCategories":
        """What the model keeps of the column, given the values that groups are released as."""
        is_missing = np.isnan(shown)
        codes = shown[~is_missing].astype(np.intp)
        has_nodes = self.generalizes and self.column.kind == "hierarchy"
        labels = pd.Index(self.column._tree.labels if has_nodes else self.values.known)
        released = labels.astype(object)[codes if has_nodes else self.order[codes]]
        if self.generalizes:
            texts = pd.Series([*map(label_of, released), ROOT], dtype=object, name=self.like.name)
            return ReleasedCategories(codes, texts, texts[:0])
        like = with_room(self.like) if is_missing.any() else self.like
        if self.categories is not None:
            people = np.zeros(len(self.categories), dtype=np.intp)
            people[self.categories.get_indexer(self.values.known)] = self.people
            stay = (people >= self.k) | ((people == 0) & self.like.dtype.ordered)
            stay[self.categories.get_indexer(released)] = True
            kind = pd.CategoricalDtype(self.categories[stay], ordered=self.like.dtype.ordered)
            like = pd.Series([], dtype=kind, name=self.like.name)
        cells = pd.Series([*released, None], dtype=object)
        # As the last cell is missing, the type must have room for it, at first.
        cells = cells.astype(with_room(like).dtype) if like.dtype != object else cells
        return ReleasedCategories(codes, cells, like)


@dataclass(frozen=True)
class ReleasedCategories:
    """The values that groups are released as."""

    codes: Labels
    values: Series
    like: Series
    width = 1

    def cells(self, averages: Floats) -> Series:
        places = np.searchsorted(self.codes, averages)
        places[np.isnan(averages)] = len(self.codes)
        cells = take(self.values, places)
        return cells.astype(self.like.dtype).rename(self.like.name)


def _make_column(
    survey: Survey, kind: str, like: Series, k: int, order: Any, estimator: Any
) -> Line | Categories:
    """The column, from what is known of all rows; `like` has its type, `order` may be a tree."""
    name, line = like.name, None
    if survey.n_known and survey.line is not None:
        line = Line(survey.line, like)
    elif survey.n_known and kind == "ordinal":
        line = _make_ordinal(survey, like, k, order)
    if line is not None and estimator.numbers == "interval":
        return Intervals.from_survey(line.column, like, survey, k)
    if line is not None:
        return line
    values, people = survey.as_categories(), survey.n_people()
    different, counts = values.known.astype(object), values.counts[:-1]
    if isinstance(order, Hierarchy):
        column: Any = _make_hierarchical(survey, like, k, order)
        places = column.codes(pd.Series(different, dtype=object))
    else:
        n_missing = int(values.counts[-1])
        column = CategoryColumn.from_counts(name, different, counts, people, n_missing, k)
        column.kind = kind if survey.n_known else "category"
        # Those with a coordinate first, which have k people, and the most frequent ones of these.
        places = np.argsort(np.lexsort((-counts, people < k)))
    at = np.zeros(places.max(initial=-1) + 1, dtype=np.intp)
    at[places] = np.arange(len(places))
    if is_categorical(like):
        like = pd.Series([], dtype=pd.CategoricalDtype([], ordered=like.dtype.ordered), name=name)
    generalizes = estimator.categories == "generalize"
    return Categories(column, like, values, people, places, at, survey.categories, k, generalizes)


def _make_hierarchical(survey: Survey, like: Series, k: int, tree: Hierarchy) -> HierarchyColumn:
    """The column, from all values or, if there are units, from up to k people of each."""
    values = survey.as_categories()
    cells, counts = values.as_column().rename(like.name), values.counts
    if survey.people is None:
        return HierarchyColumn(cells, k, tree, None, counts[: len(cells)])
    codes, units = survey.people.codes, pd.factorize(survey.people.keys)[0]
    counts = np.where(np.diff(codes, prepend=-1) > 0, counts[codes], 0)
    return HierarchyColumn(cells.iloc[codes], k, tree, units, counts)


def _make_ordinal(survey: Survey, like: Series, k: int, order: list[Any] | None) -> Line:
    # It matters only whether there are k people of a value, or none.
    known = survey.as_categories().known.astype(object)
    n_people = survey.n_people() if order is None else survey.as_categories().counts[:-1]
    some = pd.Series(np.repeat(known, np.minimum(n_people, k)), dtype=object, name=like.name)
    if survey.categories is not None:
        some = some.astype(pd.CategoricalDtype(survey.categories, ordered=like.dtype.ordered))
    column = OrdinalColumn(some, k, order)
    like = like if survey.categories is None else some
    # Without a value that may be released, all cells are missing.
    return Line(column, like if column.order else with_room(like))
