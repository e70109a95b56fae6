"""What the encoding of columns needs to know of the whole table: one pass over it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Integral
from threading import Lock
from typing import Any, Self

import dask
import numpy as np
import pandas as pd

from sk_microagg._utils._tables import (
    check_types,
    folded,
    is_categorical,
    kind_of,
    texts_of,
    warn_of_similar_values,
)
from sk_microagg._utils._typing import DataFrame, Floats, Labels, Series
from sk_microagg.tables import DateColumn, NumberColumn

# A hash travels as a float, which has 53 bits. Units that share one by chance count as one unit, so
# that a group may have more units than are counted, but not fewer.
BITS_LOST = np.uint64(11)

# Of a column with more texts, as many are compared, drawn by their hashes: memory stays bounded.
TEXTS_COMPARED = 2**16

MERGED_AT_A_TIME = 4

# An index builds its table of hashes when it is first needed: two threads must not do that at once.
BUILDING = Lock()


@dataclass(frozen=True)
class People:
    """Up to k people of each value, which is enough to know whether there are k of them."""

    codes: Labels
    keys: Floats

    @classmethod
    def of_part(cls, codes: Labels, keys: Floats, k: int) -> Self:
        """Choose up to k people of each value, given hashes of the people of all rows."""
        order = np.lexsort((keys, codes))
        codes, keys = codes[order], keys[order]
        is_new = np.ones(len(codes), dtype=bool)
        is_new[1:] = (codes[1:] != codes[:-1]) | (keys[1:] != keys[:-1])
        codes, keys = codes[is_new], keys[is_new]
        place = np.arange(len(codes)) - np.searchsorted(codes, codes)  # among those of its value
        return cls(codes[place < k], keys[place < k])

    @classmethod
    def merged(cls, parts: Sequence["People"], positions: list[Labels], k: int) -> Self:
        """The people of several parts, given the positions of their values in the whole table."""
        codes = [new[part.codes] for part, new in zip(parts, positions, strict=True)]
        return cls.of_part(np.concatenate(codes), np.concatenate([part.keys for part in parts]), k)

    def counts(self, n_values: int) -> Labels:
        """Number of people of each value; k stands for k or more."""
        return np.bincount(self.codes, minlength=n_values)


@dataclass(frozen=True)
class Values:
    """The different values of a column, and how often each occurs."""

    known: pd.Index
    counts: Labels

    @classmethod
    def of_part(cls, column: Series) -> Self:
        codes, known = pd.factorize(_plain(column))  # missing values have code -1
        counts = np.bincount(codes + 1, minlength=len(known) + 1)
        return cls(pd.Index(known), np.roll(counts, -1))

    @classmethod
    def merged(cls, parts: Sequence["Values"]) -> Self:
        known = [pd.Series(one.counts[:-1], index=one.known) for one in parts if len(one.known)]
        n_missing = sum(one.counts[-1] for one in parts)
        if not known:
            return cls(parts[0].known, np.array([n_missing], dtype=np.int64))
        counts = pd.concat(known).groupby(level=0, sort=False).sum()
        return cls(counts.index, np.array([*counts, n_missing], dtype=np.int64))

    def as_column(self) -> Series:
        """Every value once, in the order of `counts`."""
        if self.counts[-1] == 0:
            return self.known.to_series(index=range(len(self.known)))
        return pd.Series([*self.known.astype(object), None], dtype=object)

    def positions(self, column: Series) -> Labels:
        """Position of the values of some rows in `counts`."""
        column = _plain(column)
        with BUILDING:
            assert self.known.is_unique
        positions = self.known.get_indexer(column)
        is_missing = column.isna().to_numpy()
        if (positions[~is_missing] < 0).any() or (is_missing.any() and self.counts[-1] == 0):
            raise RuntimeError(
                f"X has values of {column.name!r} that it did not have before: X changed on the "
                "way. It must give the same rows each time that it is computed."
            )
        return np.where(is_missing, len(self.known), positions)


def _plain(column: Series) -> Series:
    """A column of numbers or dates as it is, and of any other type as objects."""
    is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufmM"
    return column if is_plain else column.astype(object)


def keys_of(column: Series) -> Floats:
    """A hash of each unit; all missing ones are one unit."""
    codes, different = pd.factorize(column)
    # As text, so that a number is the same unit as an integer and as a float.
    text = pd.Series(["missing", *map(_as_text, different)], dtype=object)
    keys = pd.util.hash_pandas_object(text, index=False).to_numpy() >> BITS_LOST
    return keys[codes + 1].astype(np.float64)


def spellings_of(column: Series) -> DataFrame:
    """Hashes of the different texts of a part, folded and as written."""
    texts = list(texts_of(column))
    hashes = {
        name: pd.util.hash_array(np.array(those, dtype=object))
        for name, those in (("folded", [*map(folded, texts)]), ("written", texts))
    }
    return merge_spellings([pd.DataFrame(hashes)])


def merge_spellings(parts: Iterable[DataFrame]) -> DataFrame:
    """Hashes of the texts of several parts, those whose folded texts have the lowest ones."""
    return pd.concat(parts).drop_duplicates().sort_values("folded")[:TEXTS_COMPARED]


def _as_text(unit: Any) -> str:
    if isinstance(unit, float | np.floating) and unit.is_integer():
        unit = int(unit)
    return f"{'text' if isinstance(unit, str) else 'other'} {unit}"


@dataclass(frozen=True)
class Survey:
    """What some rows show of a column; `line` is for numbers and dates, values for others."""

    n_known: int
    n_missing: int
    line: Any
    values: Values | None
    people: People | None
    categories: pd.Index | None

    @classmethod
    def of_part(
        cls,
        column: Series,
        kind: str,
        decimals: Any,
        keys: Floats | None,
        k: int,
        has_intervals: bool = False,
    ) -> Self:
        """Look at the rows of one part of the table, given hashes of people or None."""
        line: Any = None
        values = people = categories = None
        cells = column
        if kind == "number":
            _check_no_codes(column)
            line = NumberColumn(column, decimals)
            cells = type(column)(line.values(column), name=column.name)
        elif kind == "date":
            line = DateColumn(column, decimals)
        else:
            cells = column.astype(object)
            categories = column.dtype.categories if is_categorical(column) else None
        if line is None or has_intervals:
            values = Values.of_part(cells)
            if keys is not None:
                people = People.of_part(values.positions(cells), keys, k)
        n_missing = int(column.isna().sum())
        return cls(len(column) - n_missing, n_missing, line, values, people, categories)

    @classmethod
    def merged(cls, parts: Sequence["Survey"], k: int) -> Self:
        """What several parts show together, in the order of the parts."""
        first = parts[0]
        values = people = None
        if first.values is not None:
            of_parts = [part.as_categories() for part in parts]
            values = Values.merged(of_parts)
            if first.people is not None:
                positions = [values.positions(one.as_column()) for one in of_parts]
                those = [part.people for part in parts if part.people is not None]
                people = People.merged(those, positions, k)
        return cls(
            sum(part.n_known for part in parts),
            sum(part.n_missing for part in parts),
            None if first.line is None else max((part.line for part in parts), key=_precision),
            values,
            people,
            None if first.categories is None else _together([part.categories for part in parts]),
        )

    def as_categories(self) -> Values:
        """The values and how often they occur, also of numbers and dates that are all missing."""
        if self.values is not None:
            return self.values
        return Values(pd.Index([], dtype=object), np.array([self.n_missing], dtype=np.int64))

    def n_people(self) -> Labels:
        """Number of people of each value; k stands for k or more."""
        counts = self.as_categories().counts
        return (counts if self.people is None else self.people.counts(len(counts)))[:-1]


def _precision(line: Any) -> float:
    """The more decimals, or the shorter the steps, the larger."""
    if isinstance(line, DateColumn):
        return -line.step
    return np.inf if line.own_decimals is None else line.own_decimals


def _together(categories: list[Any]) -> pd.Index:
    first = categories[0]
    for others in categories[1:]:
        first = first.append(others[~others.isin(first)])
    return first


def _check_no_codes(column: Series) -> None:
    if column.dtype != object and kind_of(column) != "number":
        raise ValueError(
            f"Column {column.name!r} of X holds integers of 2**53 or more, which floats do not "
            "distinguish: name it in `categorical`, or convert it to text."
        )


def survey_columns(
    frame: Any,
    kinds: dict[Any, str],
    unit: Any,
    k: int,
    decimals: dict[Any, Any] | None = None,
    has_intervals: bool = False,
) -> dict[Any, Survey]:
    """Look at all rows of some columns, and count up to k people of each value."""
    look = dask.delayed(_survey_part, pure=False)
    parts = frame[[*kinds, *([] if unit is None else [unit])]].to_delayed()
    surveys = [look(part, kinds, decimals or {}, unit, k, has_intervals) for part in parts]
    surveys = compute_merged(surveys, _merged, k)
    for name, survey in zip(kinds, surveys, strict=True):
        if survey.line is None and survey.values is not None:
            warn_of_similar_values(f"Column {name!r}", survey.values.known)
    orders = [name for name in kinds if getattr(frame.dtypes[name], "ordered", False)]
    if orders:
        _check_orders(frame[orders])
    return dict(zip(kinds, surveys, strict=True))


def _survey_part(
    frame: DataFrame,
    kinds: dict[Any, str],
    decimals: dict[Any, Any],
    unit: Any,
    k: int,
    has_intervals: bool,
) -> list[Survey]:
    keys = None if unit is None else keys_of(frame[unit])
    return [
        Survey.of_part(frame[name], kind, decimals.get(name, "auto"), keys, k, has_intervals)
        for name, kind in kinds.items()
    ]


def _merged(parts: Iterable[list[Survey]], k: int) -> list[Survey]:
    return [Survey.merged(of_column, k) for of_column in zip(*parts, strict=True)]


def _check_orders(frame: Any) -> None:
    """Raise unless ordered categories are the same in all parts: others have no common order."""
    for name, parts in categories_of_parts(frame).items():
        if any(known != parts[0][0] for known, _ in parts):
            raise ValueError(
                f"Column {name!r} of X has ordered categories that differ by partition: they must "
                "be the same in all of them."
            )


def categories_of_parts(frame: Any) -> dict[Any, Any]:
    """By column, the categories of each part, and those that occur in its rows."""
    parts = dask.compute(*map(dask.delayed(_categories, pure=False), frame.to_delayed()))
    return dict(zip(frame.columns, zip(*parts, strict=True), strict=True))


def _categories(frame: DataFrame) -> list[tuple[list[Any], list[Any]]]:
    both = ((column.cat, column.cat.remove_unused_categories().cat) for _, column in frame.items())
    return [(list(known.categories), list(used.categories)) for known, used in both]


def find_kinds(frame: Any, given: dict[Any, str]) -> tuple[dict[Any, str], dict[Any, Series]]:
    """Kinds of columns, as given or found; and of columns of objects, one cell with its type."""
    kinds = {name: given.get(name) or kind_of(frame._meta[name]) for name in frame.columns}
    have_objects = [name for name, column in frame._meta.items() if column.dtype == object]
    names = [name for name in have_objects if name not in given]
    prototypes = {}
    if names:
        look = dask.delayed(_look_at_objects, pure=False)
        parts = dask.compute(*map(look, frame[names].to_delayed()))
        for name, *seen in zip(names, *parts, strict=True):
            found = {kind for kind, _ in seen if kind is not None}
            kinds[name] = found.pop() if len(found) == 1 else "category"
            types = set().union(*(cell_types for _, cell_types in seen))
            prototypes[name] = _prototype(name, kinds[name], types)
    return kinds, prototypes


def _look_at_objects(frame: DataFrame) -> list[tuple[str | None, set[type]]]:
    """For each column its kind, None if nothing is known, and the types of its cells."""
    seen = []
    for _, column in frame.items():
        known = column.dropna()
        seen.append((kind_of(known) if len(known) else None, {type(cell) for cell in known}))
    return seen


def _prototype(name: Any, kind: str, types: set[type]) -> Series:
    check_types(types, f"Column {name!r} of X")
    cell: Any = "text"
    if kind == "number":
        is_integer = all(issubclass(one, Integral) for one in types)
        cell = Decimal(0) if types == {Decimal} else 0 if is_integer else 0.0
    elif kind == "date":
        if types != {date}:
            names = ", ".join(sorted(one.__name__ for one in types))
            raise ValueError(
                f"Column {name!r} of X holds objects of type {names}: convert it to a type of "
                "pandas for dates, such as datetime64[s]."
            )
        cell = date(2000, 1, 1)
    return pd.Series([cell], dtype=object, name=name)


def compute_merged(tasks: list[Any], merge: Callable[..., Any], *arguments: Any) -> Any:
    """Compute `merge(results, *arguments)` of tasks, a few at a time: no worker holds all of them.

    There is one task per part, at least one, and results are merged in their order.
    """
    merge = dask.delayed(merge, pure=False)
    arguments = tuple(dask.delayed(argument, traverse=False) for argument in arguments)
    while len(tasks) > 1:
        tasks = [
            merge(tasks[start : start + MERGED_AT_A_TIME], *arguments)
            for start in range(0, len(tasks), MERGED_AT_A_TIME)
        ]
    return dask.compute(*tasks)[0]
