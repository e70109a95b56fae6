"""What every kind of column has in common: how it is learned part by part.

The class of a kind has three steps. `survey` says what some rows show, `merge` what several parts
show together, and `from_survey` makes the column from that. In memory a table is one part.

No sums are held: the space of the points is fitted on the table, or on a sample that is large
enough, and exact sums of all numbers would only be needed for a space without a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sk_microagg._utils._tables import check_types
from sk_microagg._utils._typing import Array, Floats, Labels, Series
from sk_microagg.tables._frames import import_pandas, is_missing
from sk_microagg.tables._values import People, Values, categories_of, prototype_of


@dataclass(frozen=True)
class Treatment:
    """What the user, or its type, says of a column."""

    kind: str
    decimals: Any = "auto"
    order: Sequence[Any] | None = None
    hierarchy: Any = None
    # Whether its numbers are released as intervals, whose ends depend on all values.
    has_intervals: bool = False


@dataclass(frozen=True)
class Survey:
    """What some rows show of a column."""

    like: Series  # a prototype of the column
    n_known: int
    n_missing: int
    facts: Any  # of numbers and dates
    values: Values | None  # of others, and for intervals
    people: People | None  # of the values
    categories: Any  # those that the type lists

    def as_categories(self) -> Values:
        """The values and how often they occur, also of numbers and dates that are all missing."""
        if self.values is not None and (self.n_known or self.facts is None):
            return self.values
        return Values(self.like.iloc[:0].reindex([0]), np.array([self.n_missing], dtype=np.intp))

    def n_people(self) -> Labels:
        """Number of people of each value, or of rows if there are no units."""
        counts = self.as_categories().counts
        return (counts if self.people is None else self.people.counts(len(counts)))[:-1]

    def typed_like(self) -> Series:
        """The prototype, with all categories of all parts."""
        if self.categories is None:
            return self.like
        pandas, ordered = import_pandas(), self.like.dtype.ordered
        kind = pandas.CategoricalDtype(self.categories, ordered=ordered)
        return pandas.Series([], dtype=kind, name=self.like.name)


class Column:
    """A column of one kind."""

    kind: str
    name: Any

    def __init__(self, survey: Survey, treatment: Treatment, k: int = 1) -> None:
        raise NotImplementedError

    def without_coordinates(self) -> Self:
        """The column without what depends on how often its values occur."""
        return self

    @classmethod
    def survey(
        cls, cells: Series, treatment: Treatment, keys: Array | None = None, most: float = np.inf
    ) -> Survey:
        """Look at some cells.

        `keys` say whose they are; up to `most` people of each value are counted.
        """
        like = prototype_of(cells)
        if cells.dtype == object:
            check_types({*map(type, like)}, f"Column {cells.name!r} of X")
        facts, counted = cls._look_at(cells, treatment)
        values = people = None
        if counted is not None:
            values = Values.of_part(counted)
            if keys is not None:
                people = People.of_part(values.positions(counted), keys, most)
        n_missing = int(is_missing(cells).sum())
        n_known = len(cells) - n_missing
        return Survey(like, n_known, n_missing, facts, values, people, categories_of(cells))

    @classmethod
    def _look_at(cls, cells: Series, treatment: Treatment) -> tuple[Any, Series | None]:
        """Facts about some cells, and what is counted of them; raise if they cannot be used."""
        return None, cells

    @classmethod
    def merge(cls, parts: Sequence[Survey], most: float = np.inf) -> Survey:
        """What several parts show together, in the order of the parts."""
        first = parts[0]
        if len(parts) == 1:
            return first
        values, people = None, None
        if first.values is not None:
            own = [part.values for part in parts if part.values is not None]
            values = Values.merged(own)
            if first.people is not None:
                positions = [values.positions(each.cells) for each in own]
                those = [part.people for part in parts if part.people is not None]
                people = People.merged(those, positions, most)
        like = first.like
        if like.dtype == object:
            like = prototype_of(import_pandas().concat([part.like for part in parts]))
            check_types({*map(type, like)}, f"Column {like.name!r} of X")
        facts = None if first.facts is None else first.facts.merged([one.facts for one in parts])
        categories = first.categories
        for part in parts[1:] if categories is not None else ():
            if first.like.dtype.ordered and list(part.categories) != list(categories):
                raise ValueError(
                    f"Column {like.name!r} of X has ordered categories that differ by partition: "
                    "they must be the same in all of them."
                )
            categories = categories.append(part.categories[~part.categories.isin(categories)])
        n_known, n_missing = (
            sum(getattr(part, name) for part in parts) for name in ("n_known", "n_missing")
        )
        return Survey(like, n_known, n_missing, facts, values, people, categories)

    @classmethod
    def from_survey(cls, survey: Survey, treatment: Treatment, k: int = 1) -> Self:
        """Make the column from what all rows show; a model may know what `k` people share."""
        return cls(survey, treatment, k)

    def numbers(self, cells: Series) -> Floats:
        """The cells as numbers, from which their coordinates are computed; NaN where missing."""
        raise NotImplementedError


class Line(Column):
    """Numbers, dates or ranks: one coordinate each. Groups are released as averages."""

    rounding: Any = None
    # What "auto" would do, if the user asked for more.
    finer_than: Any = None

    def find_rounding(self, numbers: Floats, spread: float) -> None:
        """Find how averages are rounded, given all numbers and their deviation within groups."""

    def rounded(self, averages: Floats) -> Floats:
        """Averages that are released as others are, but have no more digits than the release."""
        raise NotImplementedError

    def released(self, averages: Floats, like: Series) -> Series:
        """Averages as cells of the type of another column; missing where they are NaN."""
        raise NotImplementedError
