"""Values of columns on Dask as numbers: their position among the different ones, or a hash."""

from dataclasses import dataclass
from threading import Lock

import numpy as np
import pandas as pd

# A hash travels as a float, which has 53 bits. Units that share one by chance count as one unit, so
# that a group may have more units than are counted, but not fewer.
BITS_LOST = np.uint64(11)

# An index builds its table of hashes when it is first needed: two threads must not do that at once.
BUILDING = Lock()


@dataclass(frozen=True)
class Values:
    """The different values of a column, and how often each occurs."""

    known: pd.Index
    counts: np.ndarray

    @classmethod
    def of_part(cls, column):
        """Count the values of one part of the table."""
        codes, known = pd.factorize(plain(column))  # missing values have code -1
        counts = np.bincount(codes + 1, minlength=len(known) + 1)
        return cls(pd.Index(known), np.roll(counts, -1))

    @classmethod
    def merged(cls, parts):
        """The values of several parts together."""
        known = [pd.Series(one.counts[:-1], index=one.known) for one in parts if len(one.known)]
        n_missing = sum(one.counts[-1] for one in parts)
        if not known:
            return cls(parts[0].known, np.array([n_missing], dtype=np.int64))
        counts = pd.concat(known).groupby(level=0, sort=False).sum()
        return cls(counts.index, np.array([*counts, n_missing], dtype=np.int64))

    def as_column(self):
        """Every value once, in the order of `counts`."""
        if self.counts[-1] == 0:
            return self.known.to_series(index=range(len(self.known)))
        return pd.Series([*self.known.astype(object), None], dtype=object)

    def positions(self, column):
        """Position of the values of some rows in `counts`."""
        column = plain(column)
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


def plain(column):
    """A column of numbers or dates as it is, and of any other type as objects."""
    is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufmM"
    return column if is_plain else column.astype(object)


def keys_of(column):
    """A hash of each unit; all missing ones are one unit."""
    codes, different = pd.factorize(column)
    # As text, so that a number is the same unit as an integer and as a float.
    text = pd.Series(["missing", *map(_as_text, different)], dtype=object)
    keys = pd.util.hash_pandas_object(text, index=False).to_numpy() >> BITS_LOST
    return keys[codes + 1].astype(np.float64)


def _as_text(unit):
    if isinstance(unit, float | np.floating) and unit.is_integer():
        unit = int(unit)
    return f"{'text' if isinstance(unit, str) else 'other'} {unit}"
