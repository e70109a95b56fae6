"""What groups are released as, from the numbers of their members.

A form belongs to a column and knows its whole table. `numbers` are those that travel with the rows
to their groups, `averages` what each group is released as, also as numbers, and `losses` what
generalized ones lose. `released` is what a model keeps of it: no value but those that are released.
Its `cells` are the typed cells of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_microagg._utils._statistics import (
    Members,
    group_means,
    means_of_known,
    n_people,
    too_few_known,
)
from sk_microagg._utils._tables import is_categorical, text_of_day
from sk_microagg._utils._typing import Booleans, DataFrame, Floats, Labels, Series
from sk_microagg.tables._categories import CategoryColumn
from sk_microagg.tables._columns import Line, Survey, Treatment
from sk_microagg.tables._dates import DateColumn, days_of_dates
from sk_microagg.tables._domain import (
    Cover,
    DateDomain,
    IntervalEnds,
    NumberDomain,
    moments_of_days,
)
from sk_microagg.tables._frames import can_be_missing, import_pandas, take, with_room
from sk_microagg.tables._grid import Grid, SharedGrid
from sk_microagg.tables._hierarchical import HierarchyColumn
from sk_microagg.tables._labels import ROOT, interval_text, label_of
from sk_microagg.tables._ordinals import OrdinalColumn, values_in_order
from sk_microagg.tables._sampling_weights import rounded_means


class Form:
    """How the groups of a column are released."""

    column: Any
    width = 1

    def numbers(self, cells: Series) -> Floats:
        """The cells of the table as numbers, NaN where a value is missing."""
        return self.column.numbers(cells)

    def averages(self, numbers: Floats, members: Members) -> Floats:
        """What groups are released as, one number for each or, beyond a width of 1, several."""
        raise NotImplementedError

    def losses(self, averages: Floats) -> Floats:
        """What generalized groups lose, from 0 to 1, as KAIM measures it."""
        raise NotImplementedError

    def shown(self, averages: Floats) -> Floats:
        """Those averages that stand for values of the table, each once."""
        return averages[:0]

    def released(self, shown: Floats) -> Any:
        """What a model keeps, given what is shown of all groups."""
        raise NotImplementedError


class Averages(Form):
    """Means or medians of numbers, dates or ranks."""

    def __init__(self, column: Line, survey: Survey, average: str) -> None:
        self.column, self._like, self._average = column, survey.typed_like(), average

    def averages(self, numbers: Floats, members: Members) -> Floats:
        return group_averages(numbers, members, self._average, can_be_missing(self._like))

    def shown(self, averages: Floats) -> Floats:
        return np.unique(averages) if isinstance(self.column, OrdinalColumn) else averages[:0]

    def released(self, shown: Floats) -> ReleasedAverages:
        if self._like.dtype != object:
            return ReleasedAverages(self.column, self.column.released(shown, self._like)[:0])
        # The cell of nobody, of the type of others.
        return ReleasedAverages(self.column, self.column.released(np.zeros(1), self._like))


@dataclass(frozen=True)
class ReleasedAverages:
    """Averages, which become cells of the type of a column."""

    column: Line
    like: Series

    def cells(self, averages: Floats) -> DataFrame:
        """The released cells."""
        different, places = np.unique(averages, return_inverse=True)
        cells = take(self.column.released(different, self.like), places)
        return cells.astype(self.like.dtype).to_frame()


def group_averages(
    values: Floats, members: Members, average: str, may_be_missing: bool = True
) -> Floats:
    """Mean or median of the known values of each group; NaN where too few are known."""
    labels, n_groups = members.labels, members.n_groups
    if average == "mean":
        averages = means_of_known(values, labels, n_groups, members.weights)
    else:
        known = ~np.isnan(values)
        medians = import_pandas().Series(values[known]).groupby(labels[known]).median()
        averages = np.full(n_groups, np.nan)
        averages[medians.index] = medians.to_numpy()
    if may_be_missing:
        averages[too_few_known(values, labels, n_groups, members.units)] = np.nan
    return averages


class Intervals(Form):
    """Intervals of numbers, dates or ranks, whose ends tell nobody's value."""

    width = 2

    def __init__(self, column: Line, survey: Survey, treatment: Treatment, k: int) -> None:
        self.column = column
        values = survey.as_categories()
        cells = values.cells.iloc[: len(values.counts) - 1]
        if isinstance(column, OrdinalColumn):
            # Rare values have ranks of their own, so that none becomes an end.
            places = {value: rank for rank, value in enumerate(values_in_order(survey, treatment))}
            at: Floats = np.array([places[value] for value in values.known], dtype=np.float64)
        else:
            is_date = isinstance(column, DateColumn)
            at = days_of_dates(cells) if is_date else column.numbers(cells)
        people, grid = survey.people, SharedGrid if isinstance(column, OrdinalColumn) else Grid
        rows = np.arange(len(at))
        if people is not None:
            rows = people.codes[people.codes < len(at)]
            units, counts = people.units[people.codes < len(at)], None
        else:
            units, counts = None, values.counts[:-1]
        kind = DateDomain if isinstance(column, DateColumn) else NumberDomain
        unit = 1.0 if isinstance(column, OrdinalColumn) else None
        self._domain = kind(at[rows], grid(k, units=units, counts=counts), unit)
        # Numbers that travel, of the lowest and of the highest value at each place of the domain.
        order = np.lexsort((numbers := column.numbers(cells), at))
        edges = np.unique(at[order], return_index=True)[1]
        numbers = numbers[order]
        self._lowest = numbers[edges]
        self._highest = numbers[np.append(edges[1:], len(numbers)) - 1]

    def averages(self, numbers: Floats, members: Members) -> Floats:
        """The ends of the interval of each group, NaN for "*"."""
        low, high, is_complete = extremes(numbers, members)
        first = np.searchsorted(self._highest, low[is_complete])
        last = np.searchsorted(self._lowest, high[is_complete], side="right") - 1
        covers = [self._domain.cover(*ends) for ends in zip(first, last, strict=True)]
        ends = np.full((members.n_groups, 2), np.nan)
        ends[is_complete] = np.reshape([cover or (np.nan, np.nan) for cover in covers], (-1, 2))
        return ends

    def losses(self, averages: Floats) -> Floats:
        """The widths of intervals as shares of the range of all of them."""
        covers = [*map(_cover_of, averages.tolist())]
        ends = [end for cover in covers for end in cover]
        return np.array([*map(NumberDomain(ends, unit=self._domain.unit).loss_of, covers)])

    def released(self, shown: Floats) -> ReleasedIntervals:
        return ReleasedIntervals(self.column)


@dataclass(frozen=True)
class ReleasedIntervals:
    """Intervals, which become text."""

    column: Line

    def ends(self, averages: Floats) -> IntervalEnds:
        """The ends of each interval as values of the column."""
        closed = np.ones(len(averages), dtype=bool)
        return values_of_ends(self.column, averages[:, 0], averages[:, 1], closed)

    def cells(self, averages: Floats) -> DataFrame:
        """The released cells."""
        ends = np.nan_to_num(averages, nan=np.inf)
        pairs, places = np.unique(ends, axis=0, return_inverse=True)
        covers = [() if low == np.inf else (low, high) for low, high in pairs.tolist()]
        texts = np.array([text_of_cover(self.column, cover) for cover in covers], dtype=object)
        cells = texts[places.reshape(-1)]
        return import_pandas().Series(cells, dtype=object, name=self.column.name).to_frame()


def _cover_of(ends: Sequence[float]) -> Cover:
    return () if np.isnan(ends[0]) else tuple(ends)


def values_of_ends(column: Any, low: Floats, high: Floats, closed: Booleans) -> IntervalEnds:
    """The ends of intervals, given as numbers, as values of a column."""
    if isinstance(column, DateColumn):
        return IntervalEnds(moments_of_days(low), moments_of_days(high), closed)
    if isinstance(column, OrdinalColumn):
        values = np.array([*column.order, None], dtype=object)
        # NaN is beyond all ranks, where the missing value is.
        first, last = (values[np.searchsorted(column.ranks, ends)] for ends in (low, high))
        return IntervalEnds(first, last, closed)
    return IntervalEnds(low, high, closed)


def text_of_cover(column: Any, cover: Cover, is_closed: bool = True) -> str:
    """The text of an interval of a column."""
    if not cover:
        return ROOT
    write: Callable[[Any], str] = text_of_day if isinstance(column, DateColumn) else label_of
    if isinstance(column, OrdinalColumn):
        cover = tuple(column.order[np.searchsorted(column.ranks, rank)] for rank in cover)
    low, high = map(write, cover)
    return interval_text(low, high) if is_closed else f"[{low}, {high})"


def extremes(values: Floats, members: Members) -> tuple[Floats, Floats, Booleans]:
    """The smallest and largest known value of each group, and whether all are known."""
    known, labels, n_groups = ~np.isnan(values), members.labels, members.n_groups
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, labels[known], values[known])
    np.maximum.at(high, labels[known], values[known])
    return low, high, np.bincount(labels[~known], minlength=n_groups) == 0


class _OfCategories(Form):
    """A form of categories, with all values of the table."""

    def __init__(self, column: CategoryColumn, survey: Survey, k: int) -> None:
        self.column, self._values = column, survey.as_categories()
        self._number_of = column.numbers_of_values(survey, k)
        # The first value with each number.
        self._value_of = np.zeros(self._number_of.max(initial=-1) + 1, dtype=np.intp)
        self._value_of[self._number_of[::-1]] = np.arange(len(self._number_of))[::-1]

    def numbers(self, cells: Series) -> Floats:
        return np.append(self._number_of, np.nan)[self._values.positions(cells)]

    def shown(self, averages: Floats) -> Floats:
        return np.unique(averages)


class Modes(_OfCategories):
    """The most frequent values.

    Of equally frequent ones, the one that the table has most often. A value that one person of a
    group has, and fewer than k people of the table, is not released: it is missing then. Where the
    type has no room for missing values, it is the most frequent value of the table, or, if that is
    rare as well, the type is another one.
    """

    def __init__(self, column: CategoryColumn, survey: Survey, k: int) -> None:
        super().__init__(column, survey, k)
        self._like, self._k, self._people = survey.typed_like(), k, survey.n_people()

    def averages(self, numbers: Floats, members: Members) -> Floats:
        n_values = len(self._people)
        is_missing = np.isnan(numbers)
        places = np.where(is_missing, len(self._value_of), numbers).astype(np.intp)
        codes = np.append(self._value_of, n_values)[places]
        positions = mode_positions(codes, self._values.counts, self._people, members, self._k)
        modes = np.where(positions < 0, np.nan, numbers[positions])
        if n_values and not can_be_missing(self._like):
            most_frequent = np.argmax(self._values.counts[:-1])
            if self._people[most_frequent] >= self._k:
                modes[positions < 0] = self._number_of[most_frequent]
        return modes

    def released(self, shown: Floats) -> ReleasedValues:
        is_missing = np.isnan(shown)
        codes = shown[~is_missing].astype(np.intp)
        positions = np.append(self._value_of[codes], -1)
        cells = self._values.cells
        if not can_be_missing(cells):
            cells = with_room(cells) if is_missing.any() else cells
            positions = positions if is_missing.any() else positions[:-1]
        cells = take(cells, positions)
        if is_categorical(self._like):
            categories, known = self._like.dtype.categories, self._values.known
            people = np.zeros(len(categories), dtype=np.intp)
            people[categories.get_indexer(known)] = self._people
            # Of rare values, the type lists only those that are shown.
            listed = (people >= self._k) | ((people == 0) & self._like.dtype.ordered)
            listed[categories.get_indexer(known[self._value_of[codes]])] = True
            kind = import_pandas().CategoricalDtype(
                categories[listed], ordered=self._like.dtype.ordered
            )
            cells = cells.astype(object).astype(kind)
        return ReleasedValues(codes, cells.rename(self._like.name))


@dataclass(frozen=True)
class ReleasedValues:
    """The values that groups are released as, by their numbers; then that of a missing one."""

    codes: Labels
    values: Series

    def cells(self, averages: Floats) -> DataFrame:
        """The released cells."""
        places = np.searchsorted(self.codes, averages)
        places[np.isnan(averages)] = len(self.codes)
        return take(self.values, places).to_frame()


class Nodes(_OfCategories):
    """The lowest common nodes of hierarchies, or common values; "*" where one is missing."""

    def averages(self, numbers: Floats, members: Members) -> Floats:
        codes = np.where(np.isnan(numbers), -1, numbers).astype(np.intp)
        common = self.column.common_codes(codes, members)
        return np.where(common < 0, np.nan, common)

    def losses(self, averages: Floats) -> Floats:
        return self.column.node_losses(np.where(np.isnan(averages), -1, averages).astype(np.intp))

    def released(self, shown: Floats) -> ReleasedValues:
        codes = shown[~np.isnan(shown)].astype(np.intp)
        is_tree = isinstance(self.column, HierarchyColumn)
        labels = (
            self.column.labels_of_nodes(codes)
            if is_tree
            else map(label_of, self._values.known[self._value_of[codes]])
        )
        texts = import_pandas().Series([*labels, ROOT], dtype=object, name=self.column.name)
        return ReleasedValues(codes, texts)


class Shares(_OfCategories):
    """The share of each value that k people have, of other values and of missing ones."""

    def __init__(self, column: CategoryColumn, survey: Survey, k: int) -> None:
        super().__init__(column, survey, k)
        self._released = ReleasedShares(column)
        self.width = len(self._released.names)

    def averages(self, numbers: Floats, members: Members) -> Floats:
        indicators = self._released.indicators(numbers)
        return group_means(indicators, members.labels, members.weights)

    def shown(self, averages: Floats) -> Floats:
        return np.empty(0)

    def released(self, shown: Floats) -> ReleasedShares:
        return self._released


@dataclass(frozen=True)
class ReleasedShares:
    """Shares, which become a column per value."""

    column: CategoryColumn

    @property
    def names(self) -> list[str]:
        """The names of these columns."""
        column = self.column
        return share_names(column.name, column.values, column.has_other, column.has_missing)

    def indicators(self, numbers: Floats) -> Floats:
        """A column per value, other ones and missing ones, with 1 where a record has it."""
        column, missing = self.column, np.isnan(numbers)
        places = np.where(missing, -1, column.places_of_values(np.where(missing, 0, numbers)))
        has_value = [places == place for place in range(len(column.values))]
        if column.has_other:
            has_value.append(places == len(column.values))
        if column.has_missing:
            has_value.append(missing)
        return np.reshape(has_value, (-1, len(numbers))).T.astype(np.float64)

    def cells(self, averages: Floats) -> DataFrame:
        """The released cells."""
        shares = np.reshape(averages, (len(averages), len(self.names)))
        return import_pandas().DataFrame(shares, columns=self.names)


class MeanWeights(Form):
    """The column of sampling weights, released as means with few digits."""

    def __init__(self, name: Any) -> None:
        self._name = name

    def averages(self, numbers: Floats, members: Members) -> Floats:
        return rounded_means(numbers, members.labels)

    def released(self, shown: Floats) -> ReleasedWeights:
        return ReleasedWeights(self._name)


@dataclass(frozen=True)
class ReleasedWeights:
    """Mean weights."""

    name: Any

    def cells(self, averages: Floats) -> DataFrame:
        """The released cells."""
        return import_pandas().DataFrame({self.name: averages})


def make_form(
    column: Any, survey: Survey, treatment: Treatment, k: int, numbers: str, categories: str
) -> Form:
    """The form that the user wants for a column."""
    if isinstance(column, Line):
        if numbers == "interval":
            return Intervals(column, survey, treatment, k)
        return Averages(column, survey, numbers)
    forms = {"mode": Modes, "generalize": Nodes, "shares": Shares}
    return forms[categories](column, survey, k)


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
    codes: Labels, in_table: Labels, people_in_table: Labels, members: Members, k: int
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
    is_shared = np.append(people_in_table >= k, True)  # missing values may be shown
    may_be_released = (people > 1) | is_shared[code]
    order = np.lexsort((code, -in_table[code], -heaviness, group))
    order = order[may_be_released[order]]
    found, best = np.unique(group[order], return_index=True)
    positions = np.full(members.n_groups, -1)
    chosen = order[best]
    positions[found] = np.where(code[chosen] == n_codes - 1, -1, first[chosen])
    return positions
