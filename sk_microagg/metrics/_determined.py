"""Anonymized columns that follow from unchanged columns, or from each other."""

from __future__ import annotations

import warnings
from copy import copy
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.utils import _safe_indexing, check_consistent_length

from sk_microagg._utils._tables import as_table, cells_of, column_names, columns_of, missing_cells
from sk_microagg._utils._typing import Floats, Labels, TableLike
from sk_microagg.privacy._codes import codes_of

# Dependencies are looked for in this many records. A sample does: they hold for most records.
SAMPLE_SIZE = 10_000
FEWEST_RECORDS = 10

# A column is determined if rows that agree in others agree in it, beyond chance; or by correlation.
LEAST_AGREEMENT, LEAST_CORRELATION = 0.9, 0.98

# Correlation must not be due to few people: values beyond these quantiles count as these, and ranks
# must be correlated, too.
WINSORIZED, LEAST_RANK_CORRELATION = (0.05, 0.95), 0.9

# How unlikely agreement by chance must be, as minus its logarithm; chances multiply with choices.
EVIDENCE = 20.0

# Columns of few values, such as dummies, may determine a column of few values together.
MOST_VALUES, MOST_VALUES_DETERMINED, MOST_DUMMIES = 20, 100, 64
LEAST_GAIN = 0.01

# Several columns together are looked at in this many records, and for sums, in this many for each
# column. Least squares are fitted again, this often, without this share of the records, which fit
# worst; columns that contribute less than this share of a sum are left out.
SAMPLE_SIZE_TOGETHER, ROWS_PER_COLUMN = 2_000, 8
N_REFITS, MOST_OUTLIERS, LEAST_CONTRIBUTION = 3, 0.1, 0.02
SPREADS = 0.5, 0.75, 1 - MOST_OUTLIERS


def determined_columns(
    X: TableLike, unchanged: TableLike | None = None, unit: TableLike | None = None
) -> list[tuple[tuple[str, ...], str]]:
    """Anonymized columns that are (nearly) determined by others.

    A column that is released next to its own square is not anonymized: its values can be computed.
    The same holds for a year next to dummies for each year, and a total next to its parts. If both
    are anonymized, their means are two sums of the same values, which together often tell these.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original columns that were anonymized.

    unchanged : array-like or DataFrame of shape (n_samples, n_unchanged) or None, default=None
        The columns that are released unchanged, with the records in the same order; None to look
        for columns of `X` that others of `X` determine. Of columns that determine each other, only
        the last is found.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to: then only each person's first record is used, since the records
        of one person are similar anyway.

    Returns
    -------
    found : list of tuple
        The names of one or several columns, and the name of the column of `X` that they determine.
        Columns without names are called x0, x1 and so on.

    See Also
    --------
    unchanged_uniqueness : How many rows the columns single out.

    Notes
    -----
    A column determines another if one of three conditions holds: their rank correlation is at least
    0.98; their Pearson correlation is at least 0.98 after winsorizing the lowest and the highest 5%
    of each, and their rank correlation at least 0.9; or records that share its value also share the
    value of the other with a probability, corrected for chance, of at least 0.9. So no single
    person's values decide it.

    Columns with few distinct values are also tried together, and so are numbers: a weighted sum of
    columns, or a product of their powers, such as a quotient, determines another one if least
    squares fitted on half of the records predict it in the other half, with errors whose quantiles
    of 50%, 75% and 90% are at most a seventh of those of the median as a prediction. A sample is
    used if there are more than 10,000 records, or 2,000 for several columns together. Other
    functions of several columns are not found.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg.metrics import determined_columns
    >>> years = np.random.RandomState(0).randint(40, size=(500, 1))
    >>> determined_columns(years, np.c_[years**2, years[::-1]])
    [(('x0',), 'x0')]
    >>> determined_columns(np.c_[years, years[::-1], years**2])
    [(('x0',), 'x2')]
    """
    is_within = unchanged is None
    unchanged = X if unchanged is None else unchanged
    names, others = column_names(X), column_names(unchanged)
    X, unchanged, sampled = _sample(X, unchanged, unit)
    given = [_Values(column) for column in columns_of(unchanged, "unchanged")]
    rows = np.random.RandomState(0).permutation(len(given[0].codes))[:SAMPLE_SIZE_TOGETHER]
    fewer = [other.take(rows) for other in given]
    found: list[tuple[tuple[str, ...], str]] = []
    for place, (name, column) in enumerate(zip(names, columns_of(X, "X"), strict=True)):
        # Within a table, only columns before it: a relation is said once.
        n_others = place if is_within else len(given)
        values = _Values(column)
        single = [
            j for j, other in enumerate(given[:n_others]) if _determines(other, values, sampled)
        ]
        found += [((others[j],), name) for j in single]
        if not single:
            values, few = values.take(rows), fewer[:n_others]
            if together := _determine_together(few, values) or _sum_up(few, values):
                found.append((tuple(others[j] for j in together), name))
    return found


def _sample(X: Any, unchanged: Any, unit: Any) -> tuple[Any, Any, float]:
    """Rows of both tables, at most one of each unit, and which share of these they are."""
    X, unchanged = as_table(X), as_table(unchanged)
    check_consistent_length(X, unchanged, unit)
    rows = np.arange(len(X)) if unit is None else np.unique(codes_of(unit)[0], return_index=True)[1]
    n_rows = len(rows)
    if n_rows > SAMPLE_SIZE:
        rows = np.random.RandomState(0).choice(rows, SAMPLE_SIZE, replace=False)
    return _safe_indexing(X, rows), _safe_indexing(unchanged, rows), len(rows) / n_rows


class _Values:
    """The values of a column as codes and, if possible, as numbers."""

    def __init__(self, column: Any) -> None:
        self.is_known = ~missing_cells(column)
        self.codes = codes_of(column)[0].astype(np.intp)
        self.n_values = int(self.codes.max()) + 1
        self.numbers = self._as_numbers(column)

    def take(self, rows: Labels) -> _Values:
        taken = copy(self)
        taken.__dict__.pop("ranks", None)  # those of all rows
        taken.is_known, taken.codes = self.is_known[rows], self.codes[rows]
        taken.numbers = None if self.numbers is None else self.numbers[rows]
        return taken

    @cached_property
    def ranks(self) -> Floats:
        return rankdata(self.numbers)

    def _as_numbers(self, column: Any) -> Floats | None:
        """Numbers or dates, also as text; NaN where one is missing; None if there are others."""
        cells = np.empty(len(self.codes), dtype=object)
        cells[:] = cells_of(column)
        numbers = np.full(len(cells), np.nan)
        known = cells[self.is_known]
        text = [cell.replace(",", ".") if isinstance(cell, str) else cell for cell in known]
        for values, kind in ((known, "f8"), (text, "f8"), (known, "M8[us]")):
            try:
                with warnings.catch_warnings():
                    # NumPy says that it takes times with a zone as UTC.
                    warnings.simplefilter("ignore", UserWarning)
                    converted = np.array(values, dtype=object).astype(kind)
                numbers[self.is_known] = converted.astype("f8")
            except (TypeError, ValueError):
                continue
            return np.where(np.isfinite(numbers), numbers, np.nan)
        return None


def _determines(given: _Values, values: _Values, sampled: float) -> bool:
    if given.n_values < 2 or values.n_values < 2:
        return False
    return _are_correlated(given, values) or _agree(given.codes, values, 0.5 * sampled)


def _are_correlated(given: _Values, values: _Values) -> bool:
    if given.numbers is None or values.numbers is None:
        return False
    known = ~np.isnan(given.numbers) & ~np.isnan(values.numbers)
    a, b = given.numbers[known], values.numbers[known]
    if len(a) < FEWEST_RECORDS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return False
    # Two columns of two values may well be equal in a few records.
    by_chance = max(_agreement_by_chance(each.codes[known]) for each in (given, values))
    if len(a) * -_log(by_chance) < EVIDENCE:
        return False
    of_ranks = _correlation(
        *((given.ranks, values.ranks) if known.all() else (rankdata(a), rankdata(b)))
    )
    if of_ranks >= LEAST_CORRELATION or of_ranks < LEAST_RANK_CORRELATION:
        return of_ranks >= LEAST_CORRELATION
    return _correlation(*(np.clip(x, *np.quantile(x, WINSORIZED)) for x in (a, b))) >= (
        LEAST_CORRELATION
    )


def _correlation(a: Floats, b: Floats) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return abs(float(np.corrcoef(a, b)[0, 1]))


def _agree(classes: Labels, values: _Values, least_shared: float, choices: float = 0.0) -> bool:
    """Whether rows of a class have the same value; in small tables they may do so by chance."""
    agreement, is_shared, evidence = _agreement(classes, values)
    return (
        agreement >= LEAST_AGREEMENT
        and is_shared >= least_shared
        and evidence >= EVIDENCE + choices
    )


def _agreement(classes: Labels, values: _Values) -> tuple[float, float, float]:
    """How far rows of a class agree, from 0 for chance to 1; in which share of rows; evidence."""
    classes, codes = classes[values.is_known], values.codes[values.is_known]
    if len(codes) < FEWEST_RECORDS:
        return 0.0, 0.0, 0.0
    sizes = np.bincount(classes)
    of_class, n_both = _counted(classes, codes)
    n_pairs = np.bincount(of_class, n_both * (n_both - 1.0), minlength=len(sizes))
    by_chance = _agreement_by_chance(codes)
    several = sizes > 1
    n_shared = sizes[several].sum()
    if not n_shared or by_chance >= 1:
        return 0.0, 0.0, 0.0
    # Without bias, whatever the size of classes: a row is compared with the others of its own.
    share = (n_pairs[several] / (sizes[several] - 1)).sum() / n_shared
    evidence = (n_shared - several.sum()) * -_log(by_chance)
    return (share - by_chance) / (1 - by_chance), n_shared / len(codes), evidence


def _agreement_by_chance(codes: Labels) -> float:
    """How probably two records share a value."""
    n_of = np.bincount(codes)
    return float(n_of @ (n_of - 1.0) / (len(codes) * (len(codes) - 1.0)))


def _log(chance: float) -> float:
    return log(max(chance, 1e-9))


def _counted(classes: Labels, codes: Labels) -> tuple[Labels, Labels]:
    """The class of each combination that occurs, and in how many rows it does."""
    n_codes = int(codes.max()) + 1
    joint = classes * n_codes + codes
    if (classes.max() + 1) * n_codes > 10 * len(codes):
        both, n_rows = np.unique(joint, return_counts=True)
        return both // n_codes, n_rows
    n_rows = np.bincount(joint)
    return np.arange(len(n_rows)) // n_codes, n_rows


def _determine_together(given: list[_Values], values: _Values) -> list[int]:
    """Columns of few values that determine a column of few values together; maybe none."""
    few = [j for j, other in enumerate(given) if 1 < other.n_values <= MOST_VALUES]
    few = few[:MOST_DUMMIES]
    if len(few) < 2 or not 1 < values.n_values <= MOST_VALUES_DETERMINED:
        return []
    chosen: list[int] = []
    classes, reached, is_shared = np.zeros(len(values.codes), dtype=np.intp), 0.0, 1.0
    gains = dict.fromkeys(few, np.inf)  # as they were when columns were tried last
    # With each further column, fewer rows agree in all of them.
    while gains and is_shared >= 0.5 and reached < 1 - LEAST_GAIN:
        for j in sorted(gains, key=lambda j: -gains[j]):
            joint = classes * given[j].n_values + given[j].codes
            gains[j] = _agreement(joint, values)[0] - reached
            if gains[j] >= max(gains.values()):
                break
        best = max(gains, key=lambda j: gains[j])
        if gains.pop(best) < LEAST_GAIN:
            break
        joint = classes * given[best].n_values + given[best].codes
        reached, is_shared, _ = _agreement(joint, values)
        classes = np.unique(joint, return_inverse=True)[1]
        chosen.append(best)
    choices = len(chosen) * log(len(few))
    return sorted(chosen) if _agree(classes, values, 0.5, choices) else []


def _sum_up(given: list[_Values], values: _Values) -> list[int]:
    """Columns of numbers of which a column is a weighted sum or a product; maybe none."""
    if values.numbers is None or values.n_values < 2:
        return []
    columns = {j: other.numbers for j, other in enumerate(given) if other.numbers is not None}
    positive = {j: column for j, column in columns.items() if not (column <= 0).any()}
    found = _fit_sum(columns, values.numbers)
    if not found and not (values.numbers <= 0).any():
        logs = {j: np.log(column) for j, column in positive.items()}
        found = _fit_sum(logs, np.log(values.numbers))
    return found


def _fit_sum(columns: dict[int, Floats], target: Floats) -> list[int]:
    """Columns that predict a column in records on which least squares were not fitted."""
    chosen = list(columns)
    while len(chosen) > 1:
        X = np.column_stack([columns[j] for j in chosen])
        known = ~np.isnan(X).any(axis=1) & ~np.isnan(target)
        X, y = X[known], target[known]
        if len(y) < ROWS_PER_COLUMN * max(len(chosen), FEWEST_RECORDS):
            return []
        X, y = X - np.median(X, axis=0), y - np.median(y)
        X = X / np.maximum(_spread(X), 1e-300)
        weights = _least_squares(X[::2], y[::2])
        errors = y[1::2] - X[1::2] @ weights[1:] - weights[0]
        # Codes for missing values in all columns make up much of the larger spread.
        spreads = np.array([[_spread(each, share) for share in SPREADS] for each in (errors, y)])
        spreads = spreads[:, spreads[1] > 0]
        if not spreads.size or (spreads[0] ** 2 > (1 - LEAST_CORRELATION) * spreads[1] ** 2).any():
            return []
        contributes = np.abs(weights[1:]) >= LEAST_CONTRIBUTION * spreads[1, -1]
        if contributes.all():
            return chosen
        chosen = [j for j, does in zip(chosen, contributes, strict=True) if does]
    return []


def _spread(X: Floats, share: float = 1 - MOST_OUTLIERS) -> Any:
    """How far this share of the values of each column is from 0, at most."""
    return np.quantile(np.abs(X), share, axis=0)


def _least_squares(X: Floats, y: Floats) -> Floats:
    """Constant and weights that fit most records."""
    X = np.column_stack([np.ones(len(X)), X])
    rows = np.arange(len(y))
    for _ in range(1 + N_REFITS):
        weights = np.linalg.lstsq(X[rows], y[rows], rcond=None)[0].astype(np.float64)
        errors = np.abs(y - X @ weights)
        rows = np.flatnonzero(errors <= _spread(errors))
    return weights
