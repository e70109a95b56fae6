"""How well intruders who know all other columns guess a column from a release."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import vstack
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import Ridge

from sk_microagg._model._points import Points, SparsePoints
from sk_microagg._utils._tables import columns_of, import_extra
from sk_microagg._utils._target_scaler import with_small_indices
from sk_microagg._utils._typing import Booleans, Floats, Labels, TableLike
from sk_microagg._utils._validation import LARGEST_VALUE, check_count, check_n_jobs, check_number
from sk_microagg.metrics._anonymity import number_values, row_classes
from sk_microagg.metrics._disclosure import INTERVAL
from sk_microagg.metrics._pairs import (
    Pair,
    are_numbers,
    check_names_match,
    check_pair,
    make_pair,
    names_in_frame,
    nearest_points,
    standard_deviations,
)
from sk_microagg.tables._frames import Frame

# Released rows that a forest is trained on, at most, and its trees.
MOST_ROWS = 2_000
N_TREES = 50


@dataclass(frozen=True)
class AttributeInference:
    """How well intruders guess a column.

    Attributes
    ----------
    success : float
        Share of the records whose value the best intruder guesses from the release and from their
        values in other columns.

    baseline : float
        The same for the best guess without any knowledge, which is one value for all records.

    attacker : str, default="nearest rows"
        The best intruder: "nearest rows", "corrected rows" or "forest".

    control : float or None, default=None
        The success of the same intruder on people who are not in the release, if some were given.

    Examples
    --------
    >>> from sk_microagg.metrics import AttributeInference
    >>> AttributeInference(success=0.75, baseline=0.5).advantage
    0.25
    """

    success: float
    baseline: float
    attacker: str = "nearest rows"
    control: float | None = None

    @property
    def advantage(self) -> float:
        """How much larger `success` is than `baseline`; below 0 if the attack only misleads."""
        return self.success - self.baseline


def attribute_inference(
    release: TableLike,
    X: TableLike,
    column: Hashable,
    *,
    control: TableLike | None = None,
    width: float = INTERVAL,
    max_records: int = 10_000,
    n_jobs: int | None = None,
) -> AttributeInference:
    """How well intruders guess a column from a release, given all other columns.

    Intruders know the original values of all columns but one. Three of them try, and the best one
    counts:

    - "nearest rows" finds the released rows that are nearest in the known columns, and guesses the
      value that is most frequent in them.
    - "corrected rows" adds how much the value should differ from that, by a linear model of the
      released rows; for numbers and dates only.
    - "forest" predicts it with a forest that is trained on the released rows.

    Parameters
    ----------
    release : array-like or DataFrame of shape (n_released, n_features)
        The release: rows in any order. Columns that are released unchanged may be among them.

    X : array-like or DataFrame of shape (n_samples, n_features)
        The original records that the intruder asks about, with the same columns: numbers, or
        columns of any kind with missing values.

    column : str or int
        Name or number of the column to guess.

    control : array-like or DataFrame of shape (n_others, n_features) or None, default=None
        Records of people who are not in the release, with the same columns.

    width : float, default=0.1
        A number or date counts as guessed if it is at most this many standard deviations of the
        original column away; any other value must be guessed exactly.

    max_records : int, default=10_000
        If there are more records, the attack uses a random sample of this size, always the same.

    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Returns
    -------
    found : AttributeInference
        `success`, `baseline` and their difference, `advantage`; the `attacker`, and its success on
        the `control`.

    See Also
    --------
    interval_disclosure : How close the released values are to the original ones, for an intruder
        who knows the released row of each record.
    record_linkage : How well an intruder links records to released rows.
    membership_inference : How well an intruder recognizes the training records of a model.

    Notes
    -----
    The most frequent value is the one with the most released values within the same distance; ties
    go to the lowest. That of the whole release is the guess for the baseline: 0 in a column in
    which most numbers are 0, where the mean would hardly ever be right. Records whose value is
    missing do not count, and no intruder guesses a missing value or one that `X` does not have,
    such as "*". If several rows are at the same distance, any of them may be taken as the nearest.

    The best of three intruders may be the best by chance. This raises `success` by at most about
    one standard error of a share: 0.5 divided by the square root of the number of records.

    Intruders also learn what is true of everybody, such as that people with a doctorate are older
    than twenty, which no useful release can hide. Their success on the `control` measures this
    part. The difference is what the release reveals about its own records.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.metrics import attribute_inference
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, size=2000)
    >>> X = np.column_stack([age, 500 * age + rng.normal(0, 1000, size=2000)])
    >>> X, others = X[:1000], X[1000:]
    >>> for k in (1, 10, 100):
    ...     release = MicroAggregator(k=k).fit_transform(X)
    ...     found = attribute_inference(release, X, 1, control=others)
    ...     print(f"k = {k}: {found.success:.2f} by {found.attacker}, others {found.control:.2f}")
    k = 1: 1.00 by nearest rows, others 0.38
    k = 10: 0.47 by forest, others 0.46
    k = 100: 0.53 by forest, others 0.50

    Columns of any kind:

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 35, 36, 52, 58], "ward": ["A", "A", "A", "B", "B"]})
    >>> release = people.assign(age=[34, 34, 34, 55, 55])
    >>> attribute_inference(release, people, "ward")
    AttributeInference(success=1.0, baseline=0.6, attacker='nearest rows', control=None)
    """
    width = check_number("width", width, at_least=0, at_most=LARGEST_VALUE)
    max_records = check_count("max_records", max_records)
    check_n_jobs(n_jobs)
    records = draw_records(len(columns_of(X, "X")[0]), max_records)
    n_control = 0
    if control is not None:
        n_control = len(columns_of(control, "control")[0])
        release = _with_control(X, release, control)
    pair = make_pair(X, release, same_rows=False)
    return AttributeAttack(pair, records, n_control).guess(column, width, n_jobs)


def _with_control(X: Any, release: Any, control: Any) -> Any:
    """A release and the rows of other people, which are then read in the same way."""
    n_columns, n_others = (len(columns_of(table, "control")) for table in (X, control))
    if n_others != n_columns:
        raise ValueError(f"control with {n_others} columns must have those of X, {n_columns}.")
    check_names_match(names_in_frame(X), names_in_frame(control), "control")
    if are_numbers(X, release) and are_numbers(control):
        return np.vstack([*check_pair(control, release, same_rows=False)][::-1])
    pandas = import_extra("pandas", "table", "A table of columns of any kind")
    released, others = Frame(release).table, Frame(control).table
    return pandas.concat([released, others.set_axis(released.columns, axis=1)])


def draw_records(n_records: int, most: int, random: Any = None) -> Labels:
    """All records, or some drawn at random: always the same, unless `random` draws them."""
    if n_records <= most:
        return np.arange(n_records)
    return np.sort((random or np.random.RandomState(0)).choice(n_records, most, replace=False))


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

    `extra` is one more column, which is guessed and never known: its original values, those of the
    released rows, and whether they lie on a line.
    """

    def __init__(
        self,
        pair: Pair,
        records: Any = slice(None),
        n_control: int = 0,
        extra: tuple[Floats, Floats, bool] | None = None,
    ) -> None:
        n_rows = len(pair.released) - n_control
        classes = row_classes(pair.released[:n_rows], "release")
        if extra is not None:
            codes = number_values(extra[1][:n_rows])
            classes = classes * (codes.max() + 1) + codes
        first, self._counts = np.unique(classes, return_index=True, return_counts=True)[1:]
        self.names = pair.names
        places = {name: place for place, name in enumerate(pair.names)}
        self._column_of = np.array(
            [places[name] for name in pair.column_of_coordinates()], dtype=np.intp
        )
        self._columns = [
            (np.append(values[records], released[n_rows:]), released[first], is_line)
            for values, released, is_line in (*pair.columns(), *(() if extra is None else (extra,)))
        ]
        points = [pair.points(records)]
        if n_control:
            points.append(pair.released_points(slice(n_rows, None)))
        self._points, self._rows = _stack(points), pair.released_points(first)
        self.is_member = np.arange(len(self._points)) < len(self._points) - n_control

    def guess(self, column: Hashable, width: float, n_jobs: int | None) -> AttributeInference:
        """How well a column is guessed from all others, by the best attacker."""
        place = _place(column, self.names)
        best, hit, by_chance = self.hits(place, width, n_jobs)
        is_known = self.is_known(place)
        is_asked, is_control = is_known & self.is_member, is_known & ~self.is_member
        if not is_asked.any():
            return AttributeInference(0.0, 0.0)
        return AttributeInference(
            success=float(hit[is_asked].mean()),
            baseline=float(by_chance[is_asked].mean()),
            attacker=best,
            control=float(hit[is_control].mean()) if is_control.any() else None,
        )

    def is_known(self, place: int) -> Booleans:
        """Whose value of a column is known."""
        return ~np.isnan(self._columns[place][0])

    def hits(self, place: int, width: float, n_jobs: int | None) -> tuple[str, Booleans, Booleans]:
        """The best attacker, whose values it guesses, and whose are guessed by chance."""
        values, released, is_line = self._columns[place]
        is_asked = ~np.isnan(values) & self.is_member
        if not is_asked.any():
            nobody = np.zeros(len(values), dtype=bool)
            return AttributeInference.attacker, nobody, nobody
        tolerance = width * standard_deviations(values[is_asked, None])[0] if is_line else 0.0
        if not is_line:
            # A value that no record has is not a guess.
            released = np.where(np.isin(released, values[is_asked]), released, np.nan)
        hits = {
            attacker: np.abs(guesses - values) <= tolerance
            for attacker, guesses in self._guesses(place, released, tolerance, n_jobs).items()
        }
        best = max(hits, key=lambda attacker: hits[attacker][is_asked].mean())
        blind = most_frequent(released, self._counts, tolerance)
        return best, hits[best], np.abs(blind - values) <= tolerance

    def _guesses(
        self, place: int, released: Floats, tolerance: float, n_jobs: int | None
    ) -> dict[str, Floats]:
        others = [j for j in range(len(self.names)) if j != place]
        classes = self.classes_by(others)
        by_class = most_frequent_by_class(classes, released, self._counts, tolerance)
        nearest = self.nearest_by(others, classes, n_jobs)
        guesses = {"nearest rows": by_class[nearest]}
        kept = np.flatnonzero(self._column_of != place)
        is_known = ~np.isnan(released)
        if not len(kept) or not is_known.any():
            return guesses
        points, rows = (_matrix(_coordinates(p, kept)) for p in (self._points, self._rows))
        values, _, is_line = self._columns[place]
        if is_line:
            line = Ridge().fit(rows[is_known], released[is_known], self._counts[is_known])
            first = np.unique(classes, return_index=True)[1]
            slopes = line.predict(points) - line.predict(rows)[first][nearest]
            guesses["corrected rows"] = by_class[nearest] + slopes
        trained = np.flatnonzero(is_known)
        trained = trained[draw_records(len(trained), MOST_ROWS)]
        trees = ExtraTreesRegressor if is_line else ExtraTreesClassifier
        forest = trees(N_TREES, random_state=0, n_jobs=n_jobs)
        with warnings.catch_warnings():
            # A category may have nearly as many values as there are rows.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            known, of_rows = self._for_trees(points, rows, others)
            forest.fit(of_rows[trained], released[trained], self._counts[trained])
        guesses["forest"] = forest.predict(known)
        if is_line and not np.any(values[~np.isnan(values)] % 1):
            for attacker in ("corrected rows", "forest"):  # They know that these are integers.
                guesses[attacker] = np.rint(guesses[attacker])
        return guesses

    def _for_trees(self, points: Any, rows: Any, places: list[int]) -> tuple[Any, Any]:
        """Points and rows; if most coordinates are 0, by a number per column, which is faster."""
        if not isinstance(self._points, SparsePoints):
            return points, rows
        both = zip(*(self._columns[place][:2] for place in places), strict=True)
        known, released = (np.nan_to_num(np.column_stack(part), nan=-1.0) for part in both)
        return known, released

    def classes_by(self, places: list[int]) -> Labels:
        columns = [self._columns[place][1] for place in places]
        if not columns:
            return np.zeros(len(self._counts), dtype=np.intp)
        return row_classes(np.column_stack(columns), "release")

    def nearest_by(self, places: list[int], classes: Labels, n_jobs: int | None) -> Labels:
        kept = np.flatnonzero(np.isin(self._column_of, places))
        first = np.unique(classes, return_index=True)[1]
        if not len(kept):  # Nothing is known that tells one record from another.
            return np.zeros(len(self._points), dtype=np.intp)
        points, rows = (_coordinates(part, kept) for part in (self._points, self._rows[first]))
        return nearest_points(points, rows, n_jobs)


def _coordinates(points: Points, kept: Labels) -> Points:
    if isinstance(points, SparsePoints):
        return SparsePoints(points.matrix[:, kept], points.routing)
    return np.ascontiguousarray(points[:, kept])


def _matrix(points: Points) -> Any:
    return with_small_indices(points.matrix) if isinstance(points, SparsePoints) else points


def _stack(parts: list[Any]) -> Points:
    if not isinstance(parts[0], SparsePoints):
        return np.vstack(parts)
    matrices, routing = [part.matrix for part in parts], [part.routing for part in parts]
    return SparsePoints(vstack(matrices, format="csr"), vstack(routing, format="csr"))


def most_frequent_by_class(
    classes: Labels, values: Floats, counts: Labels, tolerance: float
) -> Floats:
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    found = values[order[starts]]
    sizes = np.diff(starts, append=len(order))
    for number in np.flatnonzero(sizes > 1):
        rows = order[starts[number] : starts[number] + sizes[number]]
        found[number] = most_frequent(values[rows], counts[rows], tolerance)
    return found


def most_frequent(values: Floats, counts: Labels, tolerance: float) -> float:
    """The value with the most values near it, the lowest of several; NaN if all are missing."""
    is_known = ~np.isnan(values)
    if not is_known.any():
        return np.nan
    order = np.argsort(values[is_known], kind="stable")
    values, counts = values[is_known][order], counts[is_known][order]
    total = np.concatenate([[0], np.cumsum(counts)])
    ends = np.searchsorted(values, values + tolerance, "right")
    starts = np.searchsorted(values, values - tolerance, "left")
    return values[np.argmax(total[ends] - total[starts])]
