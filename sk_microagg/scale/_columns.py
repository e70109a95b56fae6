"""Columns of any kind on Dask: as numbers that travel, and as the release of groups.

A category travels as a number: those which the encoder knows are the first ones, in its order. The
fitted model has no more of the others than was released.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sk_microagg.encoding import CategoryColumn, OrdinalColumn
from sk_microagg.encoding._categories import mode_positions
from sk_microagg.encoding._frames import can_be_missing, is_categorical, take, with_room
from sk_microagg.encoding._numbers import group_averages
from sk_microagg.scale._column_survey import Values


@dataclass(frozen=True)
class Line:
    """Numbers, dates or ordinal values. It knows no values of rows, so it is part of the model."""

    column: object
    like: pd.Series

    def numbers(self, cells):
        """The numbers that travel, NaN where a value is missing."""
        return self.column.values(cells)

    def averages(self, numbers, labels, n_groups, units):
        """What groups are released as, as numbers."""
        return group_averages(numbers, labels, n_groups, "mean", self.like, units)

    def shown(self, averages):
        """Nothing: numbers say themselves what they stand for."""
        return averages[:0]

    def as_released(self, shown):
        """What the model keeps of the column."""
        return self

    def cells(self, averages):
        """The released cells, with their type."""
        different, places = np.unique(averages, return_inverse=True)
        return take(self.column.released(different, self.like), places)


@dataclass(frozen=True)
class Categories:
    """Categories, and all values of the table."""

    column: object
    like: pd.Series
    values: Values
    people: np.ndarray
    order: np.ndarray
    categories: pd.Index | None
    k: int

    def numbers(self, cells):
        """The numbers that travel, NaN where a value is missing."""
        numbers = np.empty(len(self.order) + 1)
        numbers[self.order] = np.arange(len(self.order))
        numbers[-1] = np.nan
        return numbers[self.values.positions(cells.astype(object))]

    def averages(self, numbers, labels, n_groups, units):
        """The most frequent values of groups, as numbers."""
        n_values = len(self.order)
        places = np.where(np.isnan(numbers), n_values, numbers).astype(np.intp)
        codes = np.append(self.order, n_values)[places]
        positions = mode_positions(
            codes, self.values.counts, labels, n_groups, self.k, units, self.people
        )
        modes = np.where(positions < 0, np.nan, numbers[positions])
        if n_values and not can_be_missing(self.like):
            most_frequent = np.argmax(self.values.counts[:-1])
            if self.people[most_frequent] >= self.k:
                modes[positions < 0] = np.flatnonzero(self.order == most_frequent)[0]
        return modes

    def shown(self, averages):
        """The values that groups are released as, each once."""
        return np.unique(averages)

    def as_released(self, shown):
        """What the model keeps of the column, given the values that groups are released as."""
        is_missing = np.isnan(shown)
        codes = shown[~is_missing].astype(np.intp)
        released = self.values.known.astype(object)[self.order[codes]]
        like = with_room(self.like) if is_missing.any() else self.like
        if self.categories is not None:
            people = _people_by_category(self.categories, self.values, self.people)
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

    codes: np.ndarray
    values: pd.Series
    like: pd.Series

    def cells(self, averages):
        """The released cells, with their type."""
        places = np.searchsorted(self.codes, averages)
        places[np.isnan(averages)] = len(self.codes)
        cells = take(self.values, places)
        return cells.astype(self.like.dtype).rename(self.like.name)


def make_column(survey, kind, like, k, order=None):
    """The column of a table, from what is known of all its rows.

    Parameters
    ----------
    survey : Survey
        What is known.

    kind : str
        The kind.

    like : pandas.Series
        A column of the type.

    k : int
        Smallest size of a group.

    order : list or None, default=None
        All values of an ordinal column, lowest first; None for the order of the type or of values.

    Returns
    -------
    column : Line or Categories
        The column.
    """
    name = like.name
    if survey.n_known and survey.line is not None:
        return Line(survey.line, like)
    if survey.n_known and kind == "ordinal":
        return _make_ordinal(survey, like, k, order)
    values, people = survey.as_categories(), survey.n_people()
    different, counts = values.known.astype(object), values.counts[:-1]
    column = CategoryColumn.of_counts(name, different, counts, people, int(values.counts[-1]), k)
    # Those with a coordinate first, which have k people, and the most frequent ones of these.
    travel_order = np.lexsort((-counts, people < k))
    column.kind = kind if survey.n_known else "category"
    if is_categorical(like):
        like = pd.Series([], dtype=pd.CategoricalDtype([], ordered=like.dtype.ordered), name=name)
    return Categories(column, like, values, people, travel_order, survey.categories, k)


def _people_by_category(categories, values, people):
    """Number of people of each category of a type, given those of the values that occur."""
    by_category = np.zeros(len(categories), dtype=np.intp)
    by_category[categories.get_indexer(values.known)] = people
    return by_category


def _make_ordinal(survey, like, k, order):
    # It matters only whether there are k people of a value, or none.
    some = np.repeat(survey.values.known.astype(object), np.minimum(survey.n_people(), k))
    some = pd.Series(some, dtype=object, name=like.name)
    if survey.categories is not None:
        some = some.astype(pd.CategoricalDtype(survey.categories, ordered=like.dtype.ordered))
    column = OrdinalColumn(some, k, order)
    if survey.categories is not None:
        kind = pd.CategoricalDtype(
            survey.categories[survey.categories.isin(column.order)], ordered=like.dtype.ordered
        )
        like = pd.Series([], dtype=kind, name=like.name)
    # Without a value that may be released, all cells are missing.
    return Line(column, like if column.order else with_room(like))
