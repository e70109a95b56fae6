"""Columns of Arrow cells: their kinds, their different texts, and their values for pandas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sk_microagg._utils._places import POSITIONS, RowNames, cells_in_words, in_rows


@dataclass(frozen=True)
class Texts:
    """The different texts of a column, without spaces around them."""

    cells: pa.ChunkedArray
    unique: pa.Array
    codes: np.ndarray
    rows: RowNames = POSITIONS

    @classmethod
    def from_cells(
        cls, cells: pa.ChunkedArray, missing: tuple, rows: RowNames = POSITIONS
    ) -> Texts:
        """Take them from a column; some texts mean that a value is missing."""
        cells = without_missing(cells, missing)
        encoded = cells.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):  # as pyarrow returns columns without a chunk
            encoded = encoded.combine_chunks()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return cls(cells, encoded.dictionary, codes, rows)

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

    def in_words(self, mask: np.ndarray, what: tuple[str, str]) -> str:
        """How many of the known cells have texts of a mask, what they are, and where."""
        places = np.flatnonzero(self._spread(mask))
        return cells_in_words(places, self.n_known, what, self.rows)

    def most_in_words(self, mask: np.ndarray, what: tuple[str, str]) -> str:
        """How many of the known cells have texts of a mask, and where the others are."""
        n_cells, n_known = self.n_cells(mask), self.n_known
        if n_cells == n_known:
            return f"all {n_known:,} cells {what[1]}" if n_known > 1 else f"the only cell {what[0]}"
        others = in_rows(np.flatnonzero(self._spread(~mask)), self.rows)
        said = f"{n_cells:,} of {n_known:,} cells {what[n_cells > 1]}"
        return f"{said}, but not {n_known - n_cells:,}, {others}"

    def _spread(self, mask: np.ndarray) -> np.ndarray:
        """A mask of all cells, given that of the different texts."""
        return np.append(mask, False)[self.codes]

    def spread_cells(self, values: pa.Array) -> pa.ChunkedArray:
        """What all cells mean, given the values of the different texts; null for missing ones."""
        return pa.chunked_array([values.take(pa.array(self.codes, mask=self.codes < 0))])


def without_missing(cells: pa.ChunkedArray, missing: tuple) -> pa.ChunkedArray:
    """The cells without spaces around them, null where they are missing."""
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(cells, pa.array(missing, cells.type)), None, cells)


def without_nan(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells with null instead of NaN: both are missing."""
    if not pa.types.is_floating(cells.type):
        return cells
    return pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)


def plain_type(cells: pa.ChunkedArray) -> pa.DataType:
    """The type of cells; that of the values, if they are in a dictionary."""
    return cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type


def texts_of(cells: pa.ChunkedArray) -> np.ndarray:
    """Cells of any type as texts, None for missing ones."""
    texts = [None if cell is None else str(cell) for cell in cells.to_pylist()]
    return np.array([*texts, None], dtype=object)[:-1]


def moments_of(cells: pa.ChunkedArray) -> np.ndarray:
    """Dates and times as NumPy has them; those with a time zone are in UTC."""
    moments = cells.cast(pa.timestamp("us", getattr(cells.type, "tz", None)), safe=False)
    return moments.cast(pa.int64()).cast(pa.timestamp("us")).to_numpy()


def plain_values(cells: pa.ChunkedArray) -> Any:
    """Cells as arrays of numbers, dates, or texts as objects; an ordered categorical."""
    kind = cells.type
    if pa.types.is_dictionary(kind) and kind.ordered:
        return cells.to_pandas().array
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return moments_of(cells)
    if pa.types.is_decimal(kind):
        return cells.cast(pa.float64()).to_numpy()
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return cells.to_numpy() if is_number else texts_of(cells)


def frame_of(table: pa.Table) -> pd.DataFrame:
    """A table as reports and drawings have it: see `plain_values`."""
    return pd.DataFrame({name: plain_values(table[name]) for name in table.column_names})


def table_of(frame: pd.DataFrame) -> pa.Table:
    """The same in Arrow, for a table of numbers and of texts as objects."""
    kinds = [pa.string() if kind.kind == "O" else None for kind in frame.dtypes]
    pairs = zip(kinds, frame.items(), strict=True)
    columns = [pa.array(column, kind, from_pandas=True) for kind, (_, column) in pairs]
    return pa.Table.from_arrays(columns, names=[*frame])


@dataclass(frozen=True)
class Column:
    """A column: its kind, how that was recognized, and its cells in a type, null if missing.

    Cells that are text in the file have the type of what they mean. Numbers, dates and values with
    an order have a notation.
    """

    name: str
    kind: str
    how: str
    cells: pa.ChunkedArray
    notation: Any = None

    @cached_property
    def values(self) -> Any:
        """The cells as an array; those of categories of any type as texts."""
        return texts_of(self.cells) if self.notation is None else plain_values(self.cells)

    @property
    def numbers(self) -> np.ndarray:
        """Numbers, dates as numbers of units or ranks of ordinals, NaN where one is missing."""
        return self.notation.numbers(self.values)
