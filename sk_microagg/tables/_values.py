"""The different values of a column and the people who have them, learned part by part."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from numbers import Integral
from threading import Lock
from typing import Any, Self

import numpy as np

from sk_microagg._utils._tables import folded, is_categorical, texts_of
from sk_microagg._utils._typing import Array, DataFrame, Floats, Labels, Series
from sk_microagg.tables._frames import import_pandas, is_missing

# A hash travels as a float, which has 53 bits. Units that share one by chance count as one unit, so
# that a group may have more units than are counted, but not fewer.
BITS_LOST = np.uint64(11)

# Of a column with more texts, as many are compared, drawn by their hashes: memory stays bounded.
TEXTS_COMPARED = 2**16

# An index builds its table of hashes when it is first needed: two threads must not do that at once.
LOOKING_UP = Lock()


@dataclass(frozen=True)
class Values:
    """The different values of a column in the order in which they occur, and how often each does.

    If cells are missing, the first of these is the last of `cells`. The last count is that of all.
    """

    cells: Series
    counts: Labels

    @classmethod
    def of_part(cls, column: Series) -> Self:
        """The values of some rows."""
        codes, different = factorize(column)
        counts = np.bincount(codes + 1, minlength=len(different) + 1)
        first = np.empty(len(counts), dtype=np.intp)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        return cls(column.iloc[first[: len(counts) - (counts[0] == 0)]], np.roll(counts, -1))

    @classmethod
    def merged(cls, parts: Sequence[Values]) -> Values:
        """The values of several parts, in the order of the parts."""
        if len(parts) == 1:
            return parts[0]
        cells = import_pandas().concat([part.cells for part in parts])
        counts = np.concatenate([part.counts[: len(part.cells)] for part in parts])
        together = cls.of_part(cells)
        codes = together.positions(cells)
        return cls(together.cells, np.bincount(codes, counts, len(together.counts)).astype(np.intp))

    @cached_property
    def known(self) -> Any:
        """The values without a missing one, as objects."""
        cells = self.cells.iloc[: len(self.counts) - 1]
        return import_pandas().Index(cells.astype(object), dtype=object)

    def as_column(self) -> Series:
        """Every value once, in the order of `counts`."""
        if self.counts[-1] == 0:
            return self.cells.reset_index(drop=True)
        return import_pandas().Series([*self.known, None], dtype=object)

    def positions(self, column: Series) -> Labels:
        """Position of the values of some rows in `counts`."""
        codes, different = factorize(column)
        positions = np.append(positions_in(self.known, different), len(self.known))
        if (positions < 0).any() or (self.counts[-1] == 0 and (codes < 0).any()):
            raise RuntimeError(
                f"X has values of {column.name!r} that it did not have before: X changed on the "
                "way. It must give the same rows each time that it is computed."
            )
        return positions[codes]


@dataclass(frozen=True)
class People:
    """Some people of each value: up to k are enough to know whether there are k of them."""

    codes: Labels
    keys: Floats

    @classmethod
    def of_part(cls, codes: Labels, keys: Array, most: float) -> Self:
        """Choose up to so many people of each value, given keys of the people of all rows."""
        order = np.lexsort((keys, codes))
        codes, keys = codes[order], keys[order]
        is_new = np.ones(len(codes), dtype=bool)
        is_new[1:] = (codes[1:] != codes[:-1]) | (keys[1:] != keys[:-1])
        codes, keys = codes[is_new], keys[is_new]
        place = np.arange(len(codes)) - np.searchsorted(codes, codes)  # among those of its value
        return cls(codes[place < most], keys[place < most])

    @classmethod
    def merged(cls, parts: Sequence[People], positions: Sequence[Labels], most: float) -> People:
        """The people of several parts, given the positions of their values in the whole table."""
        codes = [new[part.codes] for part, new in zip(parts, positions, strict=True)]
        keys = np.concatenate([part.keys for part in parts])
        return cls.of_part(np.concatenate(codes), keys, most)

    def counts(self, n_values: int) -> Labels:
        """Number of people of each value."""
        return np.bincount(self.codes, minlength=n_values)

    @property
    def units(self) -> Labels:
        """The people, numbered from 0."""
        return np.unique(self.keys, return_inverse=True)[1]


def factorize(column: Series) -> tuple[Labels, Any]:
    """Codes of cells, -1 where one is missing, and the different values as objects."""
    pandas = import_pandas()
    # Text, numbers and dates are compared as they are stored, which is much faster.
    is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufmM"
    is_text = isinstance(column.dtype, pandas.StringDtype)
    cells = column if is_plain or is_text else column.astype(object)
    try:
        codes, different = pandas.factorize(cells)
    except TypeError as error:
        kinds = {type(cell).__name__ for cell in cells if not isinstance(cell, Hashable)}
        raise TypeError(
            f"Column {column.name!r} of X holds {' and '.join(sorted(kinds))}, which cannot be "
            "compared: it must hold numbers, text, dates or other single values."
        ) from error
    return codes, pandas.Index(different, dtype=object)


def positions_in(index: Any, values: Any) -> Labels:
    """Position of each value in a pandas index, -1 for others."""
    with LOOKING_UP:
        return index.get_indexer(values)


def prototype_of(column: Series) -> Series:
    """No cell, but the type of a column; of objects, a few that tell of which kind all are.

    These are the first one of each type and time zone, and the largest number.
    """
    if column.dtype != object:
        return column.iloc[:0]
    cells = column.to_numpy()[~is_missing(column)]
    types = [*map(type, cells)]
    places = {types.index(kind) for kind in {*types}}
    if any(issubclass(kind, datetime) for kind in {*types}):
        zones = [getattr(cell, "tzinfo", None) for cell in cells]
        places |= {zones.index(zone) for zone in {*zones}}
    counted = {kind for kind in {*types} if issubclass(kind, Integral | Decimal)}
    if counted:
        numbers = (place for place, kind in enumerate(types) if kind in counted)
        places.add(max(numbers, key=lambda place: abs(cells[place])))
    return type(column)(cells[sorted(places)], dtype=object, name=column.name)


def categories_of(column: Series) -> Any:
    """The categories that the type of a column lists; None if it lists none."""
    return column.dtype.categories if is_categorical(column) else None


def keys_of(column: Series) -> Floats:
    """A hash of each unit; all missing ones are one unit."""
    pandas = import_pandas()
    codes, different = pandas.factorize(column)
    # As text, so that a number is the same unit as an integer and as a float.
    text = pandas.Series(["missing", *map(_as_text, different)], dtype=object)
    keys = pandas.util.hash_pandas_object(text, index=False).to_numpy() >> BITS_LOST
    return keys[codes + 1].astype(np.float64)


def spellings_of(column: Series) -> DataFrame:
    """Hashes of the different texts of a part, folded and as written."""
    pandas, texts = import_pandas(), list(texts_of(column))
    hashes = {
        name: pandas.util.hash_array(np.array(those, dtype=object))
        for name, those in (("folded", [*map(folded, texts)]), ("written", texts))
    }
    return merge_spellings([pandas.DataFrame(hashes)])


def merge_spellings(parts: Iterable[DataFrame]) -> DataFrame:
    """Hashes of the texts of several parts, those whose folded texts have the lowest ones."""
    return import_pandas().concat(parts).drop_duplicates().sort_values("folded")[:TEXTS_COMPARED]


def _as_text(unit: Any) -> str:
    if isinstance(unit, float | np.floating) and unit.is_integer():
        unit = int(unit)
    return f"{'text' if isinstance(unit, str) else 'other'} {unit}"
