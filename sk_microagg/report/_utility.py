"""What a release keeps for analysts: moments, correlations, resemblance, and their own regressions.

A figure of the original is rounded to a step that is at least its standard error, and at least the
largest change that leaving out one person makes; confidence intervals are multiples of that step.
Somebody who knows all other records can then compute a value from no figure to better than such a
step hides: see tests/attacks/test_figures_of_a_report.py. Columns with known values of fewer people
than a report may speak of have no figures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import compress
from math import ceil, isfinite, log10
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy.stats import t as student
from sklearn.tree import DecisionTreeClassifier

from sk_microagg._model._points import routing_of
from sk_microagg._model._router import as_array
from sk_microagg._utils._statistics import n_people, take_units
from sk_microagg._utils._typing import Array, Floats
from sk_microagg.metrics import propensity_mse
from sk_microagg.metrics._attribute_inference import draw_records
from sk_microagg.metrics._changes import LARGEST_SEED
from sk_microagg.metrics._pairs import Pair, standard_deviations

# Steps are these times a power of 10.
STEPS = (1, 2, 5, 10)

# Pairs of columns whose correlation changed most, by name.
MOST_PAIRS = 5

# Rows of which a tree learns to tell released from original ones, and releases by chance.
MOST_ROWS, ROWS_PER_LEAF, N_NULLS = 2_000, 20, 5

# Records per coefficient; with fewer, each depends on a few people.
RECORDS_PER_TERM = 20
MOST_TERMS = 50
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Rounded:
    """A figure before and after, both rounded to a step."""

    before: float
    after: float
    step: float

    def texts(self) -> tuple[str, str]:
        """Both as text, with the decimals of the step."""
        return written(self.before, self.step), written(self.after, self.step)


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation of a column."""

    name: str
    mean: Rounded
    standard_deviation: Rounded


@dataclass(frozen=True)
class Correlation:
    """The correlation of two columns."""

    columns: tuple[str, str]
    change: Rounded


@dataclass(frozen=True)
class UtilityFacts:
    """What a report states about utility."""

    propensity_ratio: float
    columns: list[Moments]
    correlations: list[Correlation]


@dataclass(frozen=True)
class Term:
    """A coefficient before and after, and how far both intervals overlap, at most 1."""

    term: str
    before: Interval
    after: Interval
    overlap: float


@dataclass(frozen=True)
class Analysis:
    """A regression before and after; `why_not` says why there is none."""

    formula: str
    terms: list[Term]
    why_not: str | None = None


@dataclass(frozen=True)
class Interval:
    """A coefficient with its confidence interval, rounded to a step."""

    estimate: float
    low: float
    high: float
    step: float

    def __str__(self) -> str:
        low, high = (written(end, self.step) for end in (self.low, self.high))
        return f"{written(self.estimate, self.step)} [{low}, {high}]"


def step_above(size: float) -> float:
    """The smallest of 1, 2 and 5 times a power of 10 that is at least this large."""
    if not (isfinite(size) and size > 0):
        return 0.0
    power = 10.0 ** ceil(log10(size) - 1 - 1e-9)
    return next(float(step * power) for step in STEPS if step * power >= size * (1 - 1e-9))


def rounded(value: float, step: float) -> float:
    """A value as a multiple of a step; 0 stands for no rounding."""
    return float(value) if step == 0 else round(value / step) * step


def rounded_above(values: Any, step: float) -> Any:
    """Values as multiples of a step that are not below them; 0 stands for no rounding."""
    return np.round(np.ceil(np.divide(values, step) - 1e-9) * step, 12) if step else values


def written(value: float, step: float) -> str:
    """A multiple of a step with no more decimals than the step."""
    decimals = 0 if step == 0 else max(-int(np.floor(log10(step) + 1e-9)), 0)
    if step == 0 or abs(value) >= 1e9:
        return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
    return f"{value + 0.0:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def largest_change(influence: Floats, units: Array | None) -> float:
    """The largest change by one person, given what leaving out each record changes."""
    if units is not None:
        influence = np.bincount(units, influence)
    return float(np.abs(influence).max(initial=0.0))


def measure_utility(
    pair: Pair, names: list[str], fewest: int, random: RandomState, units: Array | None
) -> UtilityFacts:
    """Measure a release of averages, in columns with at least `fewest` known values."""
    on_a_line = [
        (name, before, after)
        for name, (before, after, is_line) in zip(names, pair.columns(), strict=True)
        if is_line
    ]
    shown = [(~np.isnan(before)).sum() >= fewest for _, before, _ in on_a_line]
    columns = [
        Moments(name, *_moments(before, after, units))
        for name, before, after in compress(on_a_line, shown)
    ]
    tables, names = [X[:, shown] for X in pair.numbers()], [one.name for one in columns]
    return UtilityFacts(
        propensity_ratio(pair, random), columns, _correlations(tables, names, units)
    )


def _moments(values: Floats, released: Floats, units: Array | None) -> tuple[Rounded, Rounded]:
    """Mean and standard deviation before and after, of known values."""
    known = ~np.isnan(values)
    units = take_units(units, known)
    values, released = values[known], released[~np.isnan(released)]
    n = len(values)
    spread, after = (
        float(standard_deviations(part[:, None])[0]) if len(part) else 0.0
        for part in (values, released)
    )
    deviations = (values - values.mean()) / max(n - 1, 1)
    step = step_above(max(spread / np.sqrt(n), largest_change(deviations, units)))
    mean_after = released.mean() if len(released) else np.nan
    mean = Rounded(rounded(values.mean(), step), rounded(mean_after, step), step)
    if spread == 0:
        return mean, Rounded(0.0, after, 0.0)
    squares = ((values - values.mean()) ** 2 / spread - spread) / (2 * max(n - 1, 1))
    step = step_above(max(spread / np.sqrt(2 * n), largest_change(squares, units)))
    return mean, Rounded(rounded(spread, step), rounded(after, step), step)


def _correlations(tables: list[Floats], names: list[str], units: Array | None) -> list[Correlation]:
    """Correlations before and after of the pairs of columns where they differ most."""
    scaled = [_standardized(table) for table in tables]
    n = len(scaled[0])
    before, after = (table.T @ table / n for table in scaled)
    pairs = np.column_stack(np.triu_indices(len(names), 1))
    changes = np.abs(after - before)[pairs[:, 0], pairs[:, 1]]
    found = []
    for i, j in pairs[np.argsort(-changes, kind="stable")[:MOST_PAIRS]]:
        x, y = scaled[0][:, i], scaled[0][:, j]
        r = before[i, j]
        influence = (x * y - r * (x**2 + y**2) / 2) / max(n - 1, 1)
        size = max((1 - r**2) / np.sqrt(n), largest_change(influence, units), 0.01)
        step = step_above(size)
        both = Rounded(rounded(r, step), rounded(after[i, j], step), step)
        found.append(Correlation((names[i], names[j]), both))
    return found


def _standardized(X: Floats) -> Floats:
    spreads = standard_deviations(X)
    return (X - X.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)


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
    return float(f"{error(*tables) / null:.2g}") if null > 0 else 1.0


def parse_formula(formula: str) -> tuple[str, list[str]]:
    """The names on both sides of a formula; backticks enclose names with + or ~ in them."""
    if not isinstance(formula, str):
        raise TypeError(f"analysis={formula!r} must be text, as 'income ~ age + sex'.")
    parts = re.findall(r"`[^`]*`|[~+]|[^`~+]+", formula)
    words = [part.strip().strip("`") if part not in "~+" else part for part in parts]
    words = [word for word in words if word]
    names, signs = words[::2], words[1::2]
    if len(names) < 2 or len(names) != len(signs) + 1 or signs != ["~"] + ["+"] * (len(signs) - 1):
        raise ValueError(f"analysis={formula!r} must be a formula, as 'income ~ age + sex'.")
    return names[0], names[1:]


def analyze(
    formula: str, columns: dict[str, tuple[Any, Any]], fewest: int, units: Array | None, show: Any
) -> Analysis:
    """Fit a regression to the original and to the release, where no value is missing.

    `columns` has both by name: floats, or texts of categories. Least squares are our own: of
    statsmodels, a dozen lines would be needed, which need NumPy only.
    """
    response, terms = parse_formula(formula)
    for name in (response, *terms):
        if name not in columns:
            raise ValueError(
                f"analysis={formula!r} names {name!r}, which must be one of the released columns, "
                f"{list(columns)}."
            )
    if any(part.dtype.kind == "O" for part in columns[response]):
        raise ValueError(
            f"analysis={formula!r} explains {response!r}, which must hold numbers or dates."
        )
    shown = f"{show(response)} ~ {' + '.join(map(show, terms))}"
    labels, designs = ["(intercept)"], [[np.ones(len(part))] for part in columns[response]]
    for name in terms:
        coded = [*_coded(name, *columns[name], fewest, units, show)]
        if not coded:
            return Analysis(shown, [], f"{show(name)} has no two values that enough people share")
        for label, *parts in coded:
            labels.append(label)
            for design, part in zip(designs, parts, strict=True):
                design.append(part)
    fits = []
    for design, y in zip(designs, columns[response], strict=True):
        X = np.column_stack(design)
        known = ~np.isnan(X).any(axis=1) & ~np.isnan(y)
        people = known.sum() if units is None else len(np.unique(units[known]))
        if len(labels) > MOST_TERMS or people < RECORDS_PER_TERM * len(labels):
            return Analysis(shown, [], "there are too few records for its terms")
        fits.append(_least_squares(X[known], y[known], None if units is None else units[known]))
    if any(fit is None for fit in fits):
        return Analysis(shown, [], "its terms determine each other in one of both tables")
    return Analysis(shown, _compared(labels, *fits))


def _coded(
    name: str, before: Array, after: Array, fewest: int, units: Array | None, show: Any
) -> Any:
    """Columns of a term: numbers as they are, categories as indicators of all but the first.

    Rare categories, which would be disclosed, are one; the most frequent one is the first.
    """
    if before.dtype.kind != "O":
        yield show(name), before, after
        return
    known = np.array([value is not None for value in before])
    values, codes = np.unique(before[known].astype(str), return_inverse=True)
    people = n_people(codes, len(values), None if units is None else units[known])
    common = [
        values[j] for j in np.argsort(-np.bincount(codes), kind="stable") if people[j] >= fewest
    ]
    missing = [np.array([cell is None for cell in cells]) for cells in (before, after)]

    def indicators(value):
        """Whether cells have a value, or a rare one; NaN where they are missing."""
        found = [
            ~np.isin(cells, [*common, None]) if value is None else cells == value
            for cells in (before, after)
        ]
        return [np.where(gap, np.nan, part) for gap, part in zip(missing, found, strict=True)]

    for value in common[1:]:
        yield f"{show(name)}: {show(value)}", *indicators(value)
    others = indicators(None)
    if all(np.nansum(other) >= fewest for other in others):
        yield f"{show(name)}: other", *others


def _least_squares(X: Floats, y: Floats, units: Array | None) -> Any:
    """Coefficients, half widths of their confidence intervals, and the step of each."""
    n, d = X.shape
    scales = np.abs(X).max(axis=0)
    scales[scales == 0] = 1.0
    X = X / scales
    if np.linalg.matrix_rank(X) < d:
        return None
    inverse = np.linalg.inv(X.T @ X)
    solver = inverse @ X.T
    weights = solver @ y
    errors = y - X @ weights
    sigma = np.sqrt(errors @ errors / (n - d))
    standard = sigma * np.sqrt(np.diag(inverse))
    leverage = np.einsum("ij,ji->i", X, solver)
    influence = solver * (errors / np.maximum(1 - leverage, 1e-9))
    steps = [
        step_above(max(error, largest_change(of_term, units)) / scale)
        for error, of_term, scale in zip(standard, influence, scales, strict=True)
    ]
    half = student.ppf(0.5 + CONFIDENCE / 2, n - d) * standard
    return weights / scales, half / scales, steps


def _compared(labels: list[str], before: Any, after: Any) -> list[Term]:
    terms = []
    for j, label in enumerate(labels):
        one, other = (_interval(fit[0][j], fit[1][j], before[2][j]) for fit in (before, after))
        terms.append(Term(label, one, other, round(overlap(one, other), 2)))
    return terms


def _interval(estimate: float, half: float, step: float) -> Interval:
    """A coefficient and a confidence interval around it that is not narrower, in steps."""
    estimate = rounded(estimate, step)
    half = ceil(half / step - 1e-9) * step if step else half
    return Interval(estimate, estimate - half, estimate + half, step)


def overlap(one: Interval, other: Interval) -> float:
    """Mean share of two intervals that lies in both; below 0 as far as they are apart."""
    common = min(one.high, other.high) - max(one.low, other.low)
    lengths = [max(each.high - each.low, each.step, 1e-300) for each in (one, other)]
    return max(sum(common / length for length in lengths) / 2, -1.0)
