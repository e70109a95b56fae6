"""How well an intruder who knows all other columns guesses a column from a release."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np

from sk_microagg._model._points import Points, SparsePoints
from sk_microagg._utils._scaling import make_scaler, scale
from sk_microagg._utils._typing import Floats, Labels, TableLike
from sk_microagg._utils._validation import (
    LARGEST_VALUE,
    check_n_jobs,
    check_number,
    check_records,
)
from sk_microagg.metrics._classes import row_classes
from sk_microagg.metrics._disclosure import INTERVAL
from sk_microagg.metrics._mixed import MixedPair, are_numbers, nearest_points
from sk_microagg.metrics._most_frequent import most_frequent, most_frequent_by_class
from sk_microagg.metrics._numeric import check_names_match, column_names, standard_deviations


@dataclass(frozen=True)
class AttributeInference:
    """How well an intruder guesses a column.

    Attributes
    ----------
    success : float
        Share of the records whose value the intruder guesses, from the release and from what is
        known of them in other columns.

    baseline : float
        The same for the best guess that knows nothing of them: one value for all records.

    Examples
    --------
    >>> from sk_microagg.metrics import AttributeInference
    >>> AttributeInference(success=0.75, baseline=0.5).advantage
    0.25
    """

    success: float
    baseline: float

    @property
    def advantage(self) -> float:
        """How much larger `success` is than `baseline`; below 0 if the attack only misleads."""
        return self.success - self.baseline


def attribute_inference(
    release: TableLike,
    X: TableLike,
    column: Hashable,
    *,
    width: float = INTERVAL,
    n_jobs: int | None = None,
) -> AttributeInference:
    """How well an intruder guesses a column from a release, given all other columns.

    The intruder knows the original values of all columns but one. For each record, the intruder
    finds the released rows that are nearest in the known columns, and guesses the value that is
    most frequent in them.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_released, n_features)
        The release: rows in any order. Columns that are released unchanged may be among them.

    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records that the intruder asks about, with the same columns: numbers, or
        columns of any kind with missing values.

    column : str or int
        Name or number of the column to guess.

    width : float, default=0.1
        A number or date counts as guessed if it is at most this many standard deviations of the
        original column away; any other value must be guessed exactly.

    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Returns
    -------
    found : AttributeInference
        `success`, `baseline` and their difference, `advantage`.

    See Also
    --------
    interval_disclosure : How close the released values are to the original ones, for an intruder
        who knows the released row of each record.
    record_linkage : How well an intruder links records to released rows.
    membership_inference : How well an intruder recognizes the training records of a model.

    Notes
    -----
    The most frequent value is the one with the most released values within the same distance, the
    lowest of several. That of the whole release is the guess for the baseline: of a column in which
    most numbers are 0, it is 0, where the mean would hardly ever be right. Records whose value is
    missing do not count, and a missing value, or one that `X` does not have such as "*", is not
    guessed. Of rows at the same distance, any may be taken as the nearest.

    The intruder may also learn what is true of everybody, such as that people with a doctorate are
    older than twenty, which no useful release can hide. `attribute_inference(release, others,
    column)` with records of other people, who are not in the release, measures this part. What
    `success` exceeds it by is what the release tells of its own records.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.metrics import attribute_inference
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, size=1000)
    >>> X = np.column_stack([age, 500 * age + rng.normal(0, 1000, size=1000)])
    >>> for k in (1, 10, 100):
    ...     found = attribute_inference(MicroAggregator(k=k).fit_transform(X), X, 1)
    ...     print(f"k = {k}: {found.success:.2f}, by chance {found.baseline:.2f}")
    k = 1: 1.00, by chance 0.08
    k = 10: 0.44, by chance 0.07
    k = 100: 0.40, by chance 0.04

    Columns of any kind:

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 35, 36, 52, 58], "ward": ["A", "A", "A", "B", "B"]})
    >>> release = people.assign(age=[34, 34, 34, 55, 55])
    >>> attribute_inference(release, people, "ward")
    AttributeInference(success=1.0, baseline=0.6)
    """
    width = check_number("width", width, at_least=0, at_most=LARGEST_VALUE)
    check_n_jobs(n_jobs)
    if are_numbers(X, release):
        attack = AttributeAttack.of_numbers(release, X)
    else:
        attack = AttributeAttack.of_pair(MixedPair(X, release, same_rows=False))
    return attack.guess(_place(column, attack.names), width, n_jobs)


def _place(column: Hashable, names: list[Any]) -> int:
    if not isinstance(column, bool):
        if column in names:
            return names.index(column)
        if isinstance(column, Integral) and 0 <= column < len(names):
            return int(column)
    raise ValueError(
        f"column={column!r} must be the name of a column or a number below {len(names)}."
    )


class AttributeAttack:
    """Records and different released rows as points, to guess one column after another.

    Parameters
    ----------
    names : list
        Names of the columns.

    points, rows : ndarray of shape (n_points, n_coordinates) or SparsePoints
        Records, and different released rows.

    counts : ndarray of shape (n_rows,)
        How often each of these rows is released.

    column_of : ndarray of shape (n_coordinates,)
        The number of the column that each coordinate belongs to.

    columns : list of tuple
        For each column, original values, those of the different rows, and whether they are on a
        line, as :meth:`MixedPair.columns` yields them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.metrics._attribute_inference import AttributeAttack
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 7.0], [9.0, 7.0]])
    >>> attack = AttributeAttack.of_numbers(np.round(X, -1), X)
    >>> attack.guess(0, width=1.0, n_jobs=None)
    AttributeInference(success=1.0, baseline=0.5)
    """

    def __init__(
        self,
        names: list[Any],
        points: Points,
        rows: Points,
        counts: Labels,
        column_of: Labels,
        columns: list[tuple[Floats, Floats, bool]],
    ) -> None:
        self.names = names
        self._points, self._rows, self._counts = points, rows, counts
        self._column_of, self._columns = column_of, columns

    @classmethod
    def of_numbers(cls, release: TableLike, X: TableLike, records: Any = slice(None)) -> Self:
        """From tables of numbers; `records` are asked about."""
        names, released_names = column_names(X), column_names(release)
        X, release = check_records(X), check_records(release, name="release")
        if X.shape[1] != release.shape[1]:
            raise ValueError(
                f"release with {release.shape[1]} columns must have those of X, {X.shape[1]}."
            )
        check_names_match(names, released_names)
        release, counts = np.unique(release, axis=0, return_counts=True)
        scaler = make_scaler("standard").fit(X)
        X = X[records]
        places = np.arange(X.shape[1])
        return cls(
            names or list(range(X.shape[1])),
            scale(scaler, X),
            scale(scaler, release),
            counts,
            places,
            columns=[(*pair, True) for pair in zip(X.T, release.T, strict=True)],
        )

    @classmethod
    def of_pair(cls, pair: MixedPair, records: Any = slice(None)) -> Self:
        """From a table with columns of any kind and its release; `records` are asked about."""
        classes = row_classes(pair.released, "release")
        first, counts = np.unique(classes, return_index=True, return_counts=True)[1:]
        names = list(pair.original.columns)
        places = {name: place for place, name in enumerate(names)}
        column_of = pair.encoder.coordinates.column_of_coordinates()
        columns = [
            (values[records], released[first], is_line)
            for values, released, is_line in pair.columns()
        ]
        return cls(
            names,
            pair.encoder.points(pair.original.iloc[records]),
            pair.encoder.points(pair.released.iloc[first]),
            counts,
            np.array([places[name] for name in column_of], dtype=np.intp),
            columns,
        )

    def guess(self, place: int, width: float, n_jobs: int | None) -> AttributeInference:
        """How well a column is guessed from all others."""
        values, released, is_line = self._columns[place]
        is_known = ~np.isnan(values)
        values = values[is_known]
        if not len(values):
            return AttributeInference(0.0, 0.0)
        tolerance = width * standard_deviations(values[:, None])[0] if is_line else 0.0
        if not is_line:
            # What no record has is no guess.
            released = np.where(np.isin(released, values), released, np.nan)
        classes = self._classes_without(place)
        guesses = most_frequent_by_class(classes, released, self._counts, tolerance)
        nearest = self._nearest(place, classes, n_jobs)[is_known]
        blind = most_frequent(released, self._counts, tolerance)
        return AttributeInference(
            success=float(np.mean(np.abs(guesses[nearest] - values) <= tolerance)),
            baseline=float(np.mean(np.abs(blind - values) <= tolerance)),
        )

    def share_known(self, place: int) -> float:
        """Share of the records whose value is not missing."""
        return float(np.mean(~np.isnan(self._columns[place][0])))

    def _classes_without(self, place: int) -> Labels:
        """Classes of the rows that are equal in all columns but one."""
        others = [released for j, (_, released, _) in enumerate(self._columns) if j != place]
        if not others:
            return np.zeros(len(self._counts), dtype=np.intp)
        return row_classes(np.column_stack(others), "release")

    def _nearest(self, place: int, classes: Labels, n_jobs: int | None) -> Labels:
        """The class that is nearest to each record in all columns but one."""
        kept = np.flatnonzero(self._column_of != place)
        first = np.unique(classes, return_index=True)[1]
        if not len(kept):  # Nothing is known that tells one record from another.
            return np.zeros(len(self._points), dtype=np.intp)
        points, rows = (_coordinates(part, kept) for part in (self._points, self._rows[first]))
        return nearest_points(points, rows, n_jobs)


def _coordinates(points: Points, kept: Labels) -> Points:
    if isinstance(points, SparsePoints):
        return SparsePoints(points.matrix[:, kept], points.routing)
    return np.ascontiguousarray(points[:, kept])
