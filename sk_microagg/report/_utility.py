"""What a release keeps for analysts: moments, categories, correlations and resemblance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.tree import DecisionTreeClassifier

from sk_microagg._model._points import routing_of
from sk_microagg._model._router import as_array
from sk_microagg._utils._formatting import percent, printable, three_digits
from sk_microagg._utils._tables import cells_of, missing_cells, text_of_day
from sk_microagg._utils._typing import Floats
from sk_microagg.metrics import propensity_mse
from sk_microagg.metrics._attribute_inference import draw_records
from sk_microagg.metrics._changes import LARGEST_SEED
from sk_microagg.metrics._pairs import MixedPair, Pair
from sk_microagg.report._sections import CategoryShare, Change, Correlation, Moments, Utility
from sk_microagg.tables._dates import days_of_dates

# Pairs of columns whose correlation changed most, and categories whose share did.
MOST_PAIRS, MOST_CATEGORIES = 5, 10

# Rows of which a tree learns to tell released from original ones, and releases by chance.
MOST_ROWS, ROWS_PER_LEAF, N_NULLS = 2_000, 20, 5

QUARTILES = 0.25, 0.5, 0.75

# Means of dates that deviate by more days than this are written without a time.
DAYS_WITHOUT_TIME = 3.0


class Weights(NamedTuple):
    """The weights of all records, before and after, and their name."""

    name: str
    before: Floats
    after: Floats


class Line(NamedTuple):
    """A column of numbers or dates, before and after; NaN where a value is missing."""

    name: str
    before: Floats
    after: Floats
    is_date: bool


def measure_utility(
    pair: Pair, names: list[str], random: RandomState, weights: Weights | None
) -> Utility:
    """Measure a release of averages."""
    lines = [*lines_of(pair, names)]
    w = [np.ones(len(pair.original))] * 2 if weights is None else [*weights[1:]]
    both = [
        correlations([line.before for line in lines], w[0]),
        correlations([line.after for line in lines], w[1]),
    ]
    pairs = np.column_stack(np.triu_indices(len(lines), 1))
    # As in `correlation_change`, one that is not defined counts as 0.
    before, after = (np.nan_to_num(each[pairs[:, 0], pairs[:, 1]]) for each in both)
    changes = np.abs(after - before)
    correlations_first = pairs[np.argsort(-changes, kind="stable")[:MOST_PAIRS]]
    return Utility(
        propensity_ratio=propensity_ratio(pair, random),
        weighted_by=None if weights is None else weights.name,
        moments=_most_changed(lines, w),
        categories=_categories(pair, names, w),
        correlations=[
            Correlation(
                [lines[i].name, lines[j].name],
                Change.of(both[0][i, j], both[1][i, j], _correlation),
            )
            for i, j in correlations_first
        ],
        mean_correlation_change=float(changes.mean()) if len(changes) else 0.0,
        largest_correlation_change=float(changes.max(initial=0.0)),
    )


def lines_of(pair: Pair, names: list[str]) -> Iterator[Line]:
    """Yield the columns of numbers and of dates, these as days since 1970 if they are any."""
    columns = pair.encoder.columns if isinstance(pair, MixedPair) else [None] * len(names)
    for name, column, values in zip(names, columns, pair.columns(), strict=True):
        before, after, is_line = values
        is_date = False
        if column is not None and column.kind == "date":
            tables = pair.original, pair.released
            try:
                before, after = (days_of_dates(table[column.name]) for table in tables)
                is_date = True
            except TypeError:  # times of day, durations and periods
                pass
        if is_line:
            yield Line(name, before, after, is_date)


def _most_changed(lines: list[Line], weights: list[Floats]) -> list[Moments]:
    """Moments of columns, those first in which mean or deviation changed most."""
    found = []
    for line in lines:
        before, after = (
            _moments(part, w) for part, w in zip((line.before, line.after), weights, strict=True)
        )
        spread = before[1] or 1.0
        change = max(abs(after[0] - before[0]), abs(after[1] - before[1])) / spread
        write, of_spread = three_digits, three_digits
        if line.is_date:
            write, of_spread = (_moment if spread < DAYS_WITHOUT_TIME else _day), _days
        changes = [
            Change.of(old, new, of_spread if place == 1 else write)
            for place, (old, new) in enumerate(zip(before, after, strict=True))
        ]
        found.append((-np.nan_to_num(change, nan=np.inf), Moments(line.name, *changes)))
    return [moments for _, moments in sorted(found, key=lambda one: one[0])]


def _moments(values: Floats, weights: Floats) -> tuple[float, ...]:
    """Mean, standard deviation as of a sample, and quartiles of known values."""
    known = ~np.isnan(values)
    values, weights = values[known], weights[known]
    n = len(values)
    if n == 0:
        return (np.nan,) * 5
    mean = float(np.average(values, weights=weights))
    variance = float(np.average((values - mean) ** 2, weights=weights)) * n / max(n - 1, 1)
    if np.ptp(weights) == 0:
        quartiles = np.quantile(values, QUARTILES)
    else:
        quartiles = np.quantile(values, QUARTILES, weights=weights, method="inverted_cdf")
    # Between two values, a quartile has digits of rounding errors.
    return (mean, float(np.sqrt(variance)), *(float(f"{each:.12g}") for each in quartiles))


def _day(days: float) -> str:
    """The day in which a moment lies."""
    return three_digits(days) if np.isnan(days) else text_of_day(float(np.floor(days)))[:10]


def _moment(days: float) -> str:
    return three_digits(days) if np.isnan(days) else text_of_day(round(days * 1440) / 1440)[:16]


def _days(spread: float) -> str:
    return f"{three_digits(spread)} days"


def _correlation(number: float) -> str:
    return (
        three_digits(number) if np.isnan(number) else f"{number:.3f}".replace("-", "\N{MINUS SIGN}")
    )


def _categories(pair: Pair, names: list[str], weights: list[Floats]) -> list[CategoryShare]:
    """Shares of categories, those first that changed most.

    Changes are compared by the differences of arcsines of square roots, Cohen's h: of a small
    share, a small change is a large one.
    """
    if not isinstance(pair, MixedPair):
        return []
    found = []
    for name, column, (*_, is_line) in zip(
        names, pair.encoder.columns, pair.columns(), strict=True
    ):
        if is_line:
            continue
        before, after = (
            _shares(table[column.name], w)
            for table, w in zip((pair.original, pair.released), weights, strict=True)
        )
        for category in dict.fromkeys([*before, *after]):
            old, new = before.get(category, 0.0), after.get(category, 0.0)
            size = abs(np.arcsin(np.sqrt(old)) - np.arcsin(np.sqrt(new)))
            share = CategoryShare(name, printable(category), Change.of(old, new, percent))
            found.append((-size, share))
    found = sorted(found, key=lambda one: one[0])
    return [share for size, share in found[:MOST_CATEGORIES] if size < 0]


def _shares(cells: Any, weights: Floats) -> dict[str, float]:
    """The share of each category among the known cells."""
    known = ~np.asarray(missing_cells(cells))
    texts = np.array([str(cell) for cell in cells_of(cells)], dtype=object)[known]
    categories, codes = np.unique(texts.astype(str), return_inverse=True)
    counts = np.bincount(codes, weights[known], minlength=len(categories))
    total = counts.sum()
    return {
        str(category): min(float(count / total), 1.0)
        for category, count in zip(categories, counts, strict=True)
    }


def correlations(columns: list[Floats], weights: Floats) -> Floats:
    """Weighted correlations of columns, each pair where both are known; NaN if there is none."""
    if not columns:
        return np.empty((0, 0))
    X = np.column_stack(columns)
    known = ~np.isnan(X)
    n_known = np.maximum(known.sum(axis=0), 1)
    X = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / n_known, 0.0)
    largest = np.abs(X).max(axis=0, initial=0.0)
    X /= np.where(largest > 0, largest, 1.0)
    is_known = known.astype(np.float64)
    weighted, of_known = X * weights[:, None], is_known * weights[:, None]
    total = np.maximum(of_known.T @ is_known, 1e-300)
    sums, squares = weighted.T @ is_known, (weighted * X).T @ is_known
    covariances = weighted.T @ X - sums * sums.T / total
    variances = squares - sums**2 / total
    variances[variances <= 1e-12 * squares] = np.nan
    return covariances / np.sqrt(variances * variances.T)


def propensity_ratio(pair: Pair, random: RandomState) -> float:
    """How well a tree tells released rows from original ones, over how well it does by chance.

    By chance, each record and its released row are exchanged or not: they cannot be told apart.
    """
    rows = draw_records(len(pair.original), MOST_ROWS, random)
    tables = [as_array(routing_of(of(rows))) for of in (pair.points, pair.released_points)]
    seed = random.randint(LARGEST_SEED)
    tree = DecisionTreeClassifier(min_samples_leaf=ROWS_PER_LEAF, random_state=seed)
    folds = min(5, len(rows))
    if folds < 2:
        return 1.0

    def error(X: Floats, release: Floats) -> float:
        return propensity_mse(X, release, estimator=tree, cv=folds, random_state=seed)

    nulls = []
    for _ in range(N_NULLS):
        swap = random.randint(2, size=(len(rows), 1)) == 1
        nulls.append(error(np.where(swap, *tables), np.where(swap, *tables[::-1])))
    null = float(np.mean(nulls))
    return error(*tables) / null if null > 0 else 1.0
