"""A table with categories, numbers and missing values, ready to be generalized."""

import reprlib
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_array

from sk_microagg._utils._places import found_in, in_rows
from sk_microagg._utils._statistics import take_units
from sk_microagg._utils._tables import (
    as_table,
    cells_of,
    columns_of,
    exact_kind_of,
    has_numbers,
    has_type_of_dates,
    is_frame,
    missing_cells,
    warn_of_similar_values,
)
from sk_microagg._utils._typing import Array, Booleans, Codes, Estimator
from sk_microagg._utils._validation import cells_explained, check_dict, check_names_differ
from sk_microagg.tables._grid import Grid
from sk_microagg.tables._hierarchy import Hierarchy
from sk_microagg.tables._labels import COLLECTIONS


def names_of(X: Any) -> list[Any]:
    """Names of the columns of a table, numbers for an array; none if it has no columns."""
    if is_frame(X):
        check_names_differ(X.columns)
        return list(X.columns)
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return list(range(shape[1])) if len(shape) == 2 else []


def columns_at(X: Any, places: list[int]) -> Any:
    return getattr(X, "iloc", X if is_frame(X) else np.asarray(X))[:, places]


class MixedTable:
    """Columns of numbers and categories at some `places`: known values, and which are missing."""

    def __init__(self, X: Any, estimator: Estimator, places: list[int] | None = None) -> None:
        X = as_table(X)
        self.names = names_of(X)
        if places is not None and len(places) < len(self.names):
            self.names = [self.names[place] for place in places]
            X = columns_at(X, places)
        with cells_explained(X):
            checked = check_array(
                _with_common_type(X),
                dtype=None,
                ensure_all_finite="allow-nan",
                estimator=estimator,
                input_name="X",
            )
        columns = columns_of(X if is_frame(X) else checked, "X")
        for name, column in zip(self.names, columns, strict=True):
            _check_cells(column, f"Column {name!r} of X")
        self.missing = np.column_stack([missing_cells(column) for column in columns])
        known = [_known_cells(*each) for each in zip(columns, self.missing.T, strict=True)]
        self.kinds = [exact_kind_of(*each) for each in zip(columns, known, strict=True)]
        self.known = [
            cells.astype(np.float64 if kind == "number" else object)
            for cells, kind in zip(known, self.kinds, strict=True)
        ]

    def warn_of_similar_values(self) -> None:
        """Warn of columns in which texts differ only in case, spaces or forms of letters."""
        for name, values in zip(self.names, self.known, strict=True):
            if values.dtype == object:
                warn_of_similar_values(f"Column {name!r}", values)

    def __len__(self) -> int:
        return len(self.missing)

    def encode(self, domains: list[Any]) -> tuple[Codes, Codes]:
        """First and last position of each cell, in the domains of the columns."""
        ranges = np.empty((2, *self.missing.shape), dtype=np.int32)
        for j, domain in enumerate(domains):
            ranges[:, self.missing[:, j], j] = np.array(domain.range_of(()))[:, None]
            ranges[:, ~self.missing[:, j], j] = domain.encode(self.known[j]).T
        return ranges[0], ranges[1]

    def hierarchies(self, given: Any) -> list[Hierarchy]:
        """A hierarchy for each column: the one given under its name, or the default."""
        given = check_dict("hierarchies", given, "hierarchies")
        for name in given:
            if name not in self.names:
                raise ValueError(f"hierarchies names {name!r}; the columns are {self.names}.")
        return [
            read_hierarchy(name, given[name]) if name in given else _default_hierarchy(name, kind)
            for name, kind in zip(self.names, self.kinds, strict=True)
        ]

    def domains(
        self, hierarchies: list[Hierarchy], grid: Grid | None = None, units: Array | None = None
    ) -> list[Any]:
        """The domain of each column, from its hierarchy, its values and the grid of intervals."""
        columns = zip(hierarchies, self.known, self.names, self.missing.T, strict=True)
        domains = []
        for hierarchy, values, name, missing in columns:
            of_known = grid and grid.with_units(take_units(units, ~missing))
            with found_in(np.flatnonzero(~missing), name):
                domains.append(hierarchy._domain(values, f"Column {name!r}", of_known))
        return domains


def _with_common_type(X: Any) -> Any:
    """The table; of objects if it is a DataFrame with types that NumPy has no common one for."""
    if not is_frame(X) or 0 in X.shape or not any(map(_has_own_type, columns_of(X, "X"))):
        return X
    cells = np.empty(X.shape, dtype=object)
    for j, column in enumerate(columns_of(X, "X")):
        cells[:, j] = cells_of(column)
    return cells


def _has_own_type(column: Any) -> bool:
    """Whether a column has a type for dates, or one that only pandas knows, such as Int64."""
    if has_type_of_dates(column):
        return True
    return hasattr(column, "iloc") and not isinstance(column.dtype, np.dtype)


def _check_cells(column: Any, name: str) -> None:
    """Raise an error if a cell holds a collection, which is not a category."""
    if has_numbers(column):
        return
    for row, cell in enumerate(cells_of(column)):
        if isinstance(cell, COLLECTIONS) or not isinstance(cell, Hashable):
            raise TypeError(
                f"{name} has a {type(cell).__name__} {in_rows([row])}: a cell must hold a number, "
                "text or another single value, or be missing."
            )


def _known_cells(column: Any, missing: Booleans) -> Array:
    if has_numbers(column):
        return np.asarray(column)[~missing]
    cells = np.empty(len(missing), dtype=object)
    cells[:] = cells_of(column)
    return cells[~missing]


def _default_hierarchy(name: Hashable, kind: str) -> Hierarchy:
    if kind in ("number", "date"):
        return Hierarchy.intervals()
    if kind in ("duration", "time"):
        raise TypeError(
            f"Column {name!r} of X holds times of day or durations, for which there are no "
            "intervals: convert them to numbers, such as hours, or to text, for categories."
        )
    return Hierarchy.flat()


def read_hierarchy(name: Hashable, hierarchy: Any) -> Hierarchy:
    try:
        return _make_hierarchy(hierarchy)
    except (TypeError, ValueError) as error:
        shown = reprlib.repr(hierarchy)  # A whole tree would be too long.
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"hierarchies[{name!r}]={shown}: {error}") from error


def _make_hierarchy(hierarchy: Any) -> Hierarchy:
    if isinstance(hierarchy, Hierarchy):
        return hierarchy
    if isinstance(hierarchy, str | Path):
        return Hierarchy.from_csv(hierarchy)
    if isinstance(hierarchy, dict | list):
        return Hierarchy.from_nested(hierarchy)
    raise TypeError(
        f"It must be a Hierarchy, a path or a nested dict, got {type(hierarchy).__name__}."
    )
