"""The cells of a column: its different texts, each looked at once, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Texts:
    """The different texts of a column, without spaces around them."""

    unique: pa.Array
    codes: np.ndarray

    @classmethod
    def of(cls, cells: pa.ChunkedArray, missing: tuple) -> Texts:
        """Take them from a column; some texts mean that a value is missing."""
        encoded = without_missing(cells, missing).combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):  # as pyarrow returns columns without a chunk
            encoded = encoded.combine_chunks()
        return cls(encoded.dictionary, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False))

    @property
    def n_missing(self) -> int:
        return int(np.count_nonzero(self.codes < 0))

    @property
    def n_known(self) -> int:
        return len(self.codes) - self.n_missing

    @property
    def counts(self) -> np.ndarray:
        """How often each text occurs, as an array of integers."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.unique))

    def matches(self, pattern: str) -> np.ndarray:
        """Whether each text matches a regular expression, as an array of bool."""
        found = pc.match_substring_regex(self.unique, pattern)
        return found.to_numpy(zero_copy_only=False).astype(bool)

    def n_cells(self, mask: np.ndarray) -> int:
        return int(self.counts[mask].sum())

    def spread(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """Values of all cells, given those of the different texts and that of a missing cell."""
        return np.append(values, missing)[self.codes]

    def as_categories(self) -> np.ndarray:
        """The texts of all cells, None for missing ones."""
        values = np.empty(len(self.unique) + 1, dtype=object)
        values[:-1] = self.unique.to_pylist()
        return values[self.codes]


def without_missing(cells: pa.ChunkedArray, missing: tuple) -> pa.ChunkedArray:
    """The cells without spaces around them, null where they are missing."""
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(cells, pa.array(missing, cells.type)), None, cells)


@dataclass(frozen=True)
class Column:
    """A column, its kind and its values.

    These are an array of integers, floats, dates, or objects for texts, or an ordered categorical.
    The type is that of its cells in a file with types.
    """

    name: str
    kind: str
    how: str
    values: Any
    notation: Any = None
    type: Any = None

    @property
    def numbers(self) -> np.ndarray:
        """Numbers, dates as numbers of units or ranks of ordinals, NaN where one is missing."""
        return self.notation.numbers(self.values)
