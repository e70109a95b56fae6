"""Tables and their releases, of numbers or of columns of any kind: as points, and by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sk_microagg._model._points import SparsePoints, squared_errors
from sk_microagg._model._power_cells import Cells
from sk_microagg._model._router import Router
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._space import make_scaler, own_floats, scale
from sk_microagg._utils._statistics import share_of_total
from sk_microagg._utils._tables import (
    cells_of,
    columns_of,
    has_numbers,
    import_extra,
    is_frame,
    is_null,
    missing_cells,
)
from sk_microagg._utils._typing import Floats, Labels, ScalerLike, Series
from sk_microagg._utils._validation import check_records
from sk_microagg.metrics._anonymity import row_classes
from sk_microagg.tables import TableEncoder
from sk_microagg.tables._columns import Line
from sk_microagg.tables._frames import Frame, is_missing
from sk_microagg.tables._labels import label_of

# Distances to be held in memory at a time.
DISTANCES_AT_A_TIME = 10_000_000


def are_numbers(X: Any, release: Any = None) -> bool:
    """Whether a table holds numbers only, none of them missing; in its release, none may miss."""
    return all(map(_holds_numbers, columns_of(X, "X"))) and (
        release is None
        or not any(missing_cells(column).any() for column in columns_of(release, "release"))
    )


def holds_only_numbers(X: Any) -> bool:
    """Whether all values of a table that are not missing are numbers."""
    return all(
        has_numbers(column)
        or all(isinstance(cell, Real) or is_null(cell) for cell in cells_of(column))
        for column in columns_of(X, "X")
    )


def _holds_numbers(column: Any) -> bool:
    if has_numbers(column):
        return not np.isnan(np.asarray(column)).any()
    return all(isinstance(cell, Real) and not is_null(cell) for cell in cells_of(column))


class Pair:
    """A table of numbers, none of them missing, and its release, matched by position."""

    def __init__(
        self, X: Any, release: Any, scaler: ScalerLike = "standard", same_rows: bool = True
    ) -> None:
        self.original: Any
        self.released: Any
        self.original, self.released = check_pair(X, release, same_rows)
        self.names = names_in_frame(X) or list(range(self.original.shape[1]))
        self._scaler = make_scaler(scaler)
        if self._scaler is not None:
            self._scaler.fit(own_floats(self._scaler, self.original))

    @cached_property
    def classes(self) -> Labels:
        """Classes of equal released rows."""
        return row_classes(self.released, "release")

    def columns(self) -> Iterator[tuple[Floats, Floats, bool]]:
        """Yield original and released values of each column, and that these lie on a line."""
        for values, released in zip(self.original.T, self.released.T, strict=True):
            yield values, released, True

    def column_of_coordinates(self) -> Any:
        """The name of the column that each coordinate of the points belongs to."""
        return self.names

    def numbers(self) -> tuple[Floats, ...]:
        """Columns of numbers, original and released."""
        return self.original, self.released

    def points(self, records: Any = slice(None)) -> Any:
        return scale(self._scaler, self.original[records])

    def released_points(self, rows: Any = slice(None)) -> Any:
        return scale(self._scaler, self.released[rows])

    def points_of_classes(self) -> Any:
        return self.released_points(np.unique(self.classes, return_index=True)[1])

    def distances(self, records: Labels) -> Floats:
        """Squared distances of some records from the rows of all classes."""
        points, rows = self.points()[records], self.points_of_classes()
        if not isinstance(points, SparsePoints):
            return cdist(points, rows, "sqeuclidean")
        squares = [np.asarray(part.matrix.power(2).sum(axis=1)).ravel() for part in (points, rows)]
        products = (points.matrix @ rows.matrix.T).toarray()
        return np.maximum(squares[0][:, None] + squares[1] - 2.0 * products, 0.0)

    def with_others(self, others: Any) -> Pair:
        """The pair with original rows of other people behind those of the release."""
        return Pair(self.original, np.vstack([self.released, others]), same_rows=False)

    def information_loss(self) -> float:
        """Squared distances to the released rows, as a share of the total sum of squares."""
        points = self.points()
        return share_of_total(np.sum((points - self.released_points()) ** 2), points)


class MixedPair(Pair):
    """A table with columns of any kind, and its release.

    Columns are matched by position. Distances are those of the encoded original, in which every
    category has a coordinate, however rare it is. A released category that the original does not
    have, such as "*", has none.
    """

    def __init__(
        self,
        X: Any,
        release: Any,
        kinds: Mapping[Any, str] | tuple[()] = (),
        same_rows: bool = True,
    ) -> None:
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        original, released = Frame(X).table, Frame(release).table
        if original.shape[not same_rows :] != released.shape[not same_rows :]:
            raise ValueError(
                f"release of shape {released.shape} must have the shape of X, {original.shape}: "
                "the same columns, as they were anonymized."
            )
        check_names_match(
            [] if isinstance(original.columns, pandas.RangeIndex) else list(original.columns),
            [] if isinstance(released.columns, pandas.RangeIndex) else list(released.columns),
        )
        self.original = original.reset_index(drop=True)
        self.names = list(original.columns)
        self._kinds = kinds
        self.encoder = TableEncoder(self.original, 1, kinds=kinds)
        self.released = pandas.DataFrame(
            {
                column.name: _as_in_original(column, released.iloc[:, place])
                for place, column in enumerate(self.encoder.columns)
            }
        )

    def columns(self) -> Iterator[tuple[Floats, Floats, bool]]:
        """Yield numbers and dates, which lie on a line, or codes of values; NaN if missing."""
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        for column in self.encoder.columns:
            cells, released = self.original[column.name], self.released[column.name]
            if isinstance(column, Line):
                yield column.numbers(cells), column.numbers(released), column.kind != "ordinal"
            else:
                both = np.concatenate([cells.astype(object), released.astype(object)])
                codes = pandas.factorize(both)[0].astype(np.float64)
                codes[codes < 0] = np.nan
                yield codes[: len(cells)], codes[len(cells) :], False

    def column_of_coordinates(self) -> Any:
        return self.encoder.coordinates.column_of_coordinates()

    def numbers(self) -> tuple[Floats, ...]:
        """Columns of numbers and dates, original and released, with means for missing values."""
        known = [(x, released) for x, released, is_line in self.columns() if is_line]
        filled = [
            [np.where(np.isnan(values), np.nanmean(x), values) for values in (x, released)]
            for x, released in known
        ]
        empty = np.empty((len(self.original), 0))
        return tuple(
            np.column_stack([empty, *(pair[side] for pair in filled)]) for side in range(2)
        )

    def points(self, records: Any = slice(None)) -> Any:
        return self.encoder.points(self.original.iloc[records])

    def released_points(self, rows: Any = slice(None)) -> Any:
        return self.encoder.points(self.released.iloc[rows])

    def with_others(self, others: Any) -> Pair:
        pandas = import_extra("pandas", "table", "A table of columns of any kind")
        both = pandas.concat([self.released, others])
        return MixedPair(self.original, both, self._kinds, same_rows=False)

    def information_loss(self) -> float:
        """Squared distances to the released rows, as a share of the total sum of squares."""
        rows = self.points_of_classes()
        rows = rows.matrix if isinstance(rows, SparsePoints) else rows
        errors, total = squared_errors(self.points(), rows, self.classes)
        return errors / total if total > 0 else 0.0


def make_pair(X: Any, release: Any, estimator: Any = None, same_rows: bool = True) -> Pair:
    """What was anonymized and its release; a TableAggregator says which columns were."""
    if isinstance(estimator, TableAggregator):
        return pair_of(estimator, X, release)
    if are_numbers(X, release):
        return Pair(X, release, same_rows=same_rows)
    return MixedPair(X, release, same_rows=same_rows)


def pair_of(estimator: Any, X: Any, release: Any) -> MixedPair:
    """What a fitted TableAggregator anonymized, and its release of these columns."""
    names = list(estimator.kinds_)
    columns = estimator._table_roles.released
    released = Frame(release).table
    if estimator.categories == "shares" or released.shape[1] != len(columns):
        raise ValueError(
            f"release has {released.shape[1]} columns: it must have the {len(columns)} that "
            "fit_transform returns with categories='mode' or 'generalize'."
        )
    released = released.set_axis(columns, axis=1)[names]
    kinds = {
        name: "category"
        for name, kind in estimator.kinds_.items()
        if kind in ("category", "hierarchy")
    }
    return MixedPair(Frame(X).table[names], released, kinds)


def _as_in_original(column: Any, cells: Series) -> Series:
    """Released cells of a column, such that they can be compared with the original ones."""
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    cells = cells.reset_index(drop=True).rename(column.name)
    if not isinstance(column, Line):
        # Generalized values are text, also those of numbers that are categories.
        value_of = {label_of(value): value for value in column.values}
        codes, different = pandas.factorize(cells.astype(object))
        values = np.empty(len(different) + 1, dtype=object)
        values[:-1] = [value_of.get(label_of(value), value) for value in different]
        return pandas.Series(values[codes], name=column.name, dtype=object)
    missing = missing_cells(cells)
    if np.any(missing != is_missing(cells)):
        cells = cells.astype(object).where(~missing, None).infer_objects()
    try:
        column.numbers(cells)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {column.name!r} of release must hold {column.kind}s, or missing values, as "
            f"that of X does. {error}"
        ) from error
    return cells


def nearest_points(points: Any, rows: Any, n_jobs: int | None) -> Labels:
    """The row nearest to each point, both dense or both sparse."""
    if not isinstance(points, SparsePoints):
        # Rows have cells of a power diagram in which all weights are 0.
        cells = Cells(Router.single_block(), np.array([0, len(rows)]), rows, np.zeros(len(rows)))
        return cells.find(points, n_jobs)
    squares = np.asarray(rows.matrix.power(2).sum(axis=1)).ravel()
    step = max(DISTANCES_AT_A_TIME // len(squares), 1)
    nearest = np.empty(len(points), dtype=np.intp)
    transposed = rows.matrix.T.tocsr()
    for start in range(0, len(points), step):
        products = (points.matrix[start : start + step] @ transposed).toarray()
        nearest[start : start + step] = np.argmin(squares - 2.0 * products, axis=1)
    return nearest


def names_in_frame(table: Any) -> list[Any]:
    """Names of the columns of a DataFrame; an empty list for other tables."""
    return list(table.columns) if is_frame(table) else []


def check_pair(X: Any, release: Any, same_rows: bool = True) -> tuple[Floats, Floats]:
    """Return a table and its release as arrays of finite floats, or raise if they do not match."""
    names, released_names = names_in_frame(X), names_in_frame(release)
    X, release = check_records(X), check_records(release, name="release")
    if not same_rows and X.shape[1] != release.shape[1]:
        raise ValueError(
            f"release with {release.shape[1]} columns must have those of X, {X.shape[1]}."
        )
    if same_rows and X.shape != release.shape:
        raise ValueError(f"release of shape {release.shape} must have the shape of X, {X.shape}.")
    check_names_match(names, released_names)
    return X, release


def check_names_match(names: list[Any], released_names: list[Any], table: str = "release") -> None:
    """Raise if columns, which are matched by position, have the same names in another order."""
    if names != released_names and set(names) == set(released_names):
        raise ValueError(
            f"{table} has the columns {released_names}: they must be in the order of X, {names}."
        )


def standard_deviations(X: Floats) -> Floats:
    """Standard deviation of each column; exactly 0 if it is constant."""
    return np.ptp(X, axis=0) * _in_unit_ranges(X).std(axis=0)


def correlations(X: Floats) -> Floats:
    """Pearson correlations of the columns; 0 where one of the two is constant."""
    deviations = _in_unit_ranges(X)
    deviations -= deviations.mean(axis=0)
    lengths = np.sqrt((deviations**2).sum(axis=0))
    deviations /= np.where(lengths > 0, lengths, 1.0)
    return deviations.T @ deviations


def _in_unit_ranges(X: Floats) -> Floats:
    """Columns scaled to [0, 1], constant ones to 0: sums are accurate and squares do not vanish."""
    ranges = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(ranges > 0, ranges, 1.0)
